from __future__ import annotations

import math
import os
import subprocess
import sys
import time
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from scipy import stats
from score_tables import table_of

from gnz_track.errors import BadValue, UnknownName
from gnz_track.stats.comparison.compare import compare
from gnz_track.stats.comparison.comparison import Verdict
from gnz_track.stats.ranking.friedman import exact_friedman_p
from gnz_track.store.results_table import make_table

# Two models: .01, .02, .03 between them, mean .02, sd .01.
SMALL = [[[0.80, 0.82, 0.84], [0.79, 0.80, 0.81]]]


def random_scores(shape: tuple[int, int, int], *, seed: int = 0, gap: float = 0.01) -> np.ndarray[Any, Any]:
    rng = np.random.default_rng(seed)
    return 0.7 + gap * rng.normal(size=(*shape[:2], 1)) + 0.01 * rng.normal(size=shape)


def _mean(pair: Any) -> float:
    return float(pair.effects.mean.mean or 0.0)


def test_a_small_case_by_hand() -> None:
    found = compare(table_of(SMALL))
    (pair,) = found.pairs
    assert (pair.first, pair.second, pair.n_pairs) == ("m00", "m01", 3)
    assert pair.effects.mean.mean == pytest.approx(0.02)
    assert pair.effects.mean.sd == pytest.approx(0.01)
    assert pair.t.statistic == pytest.approx(2 * math.sqrt(3))
    assert pair.p == pair.p_adjusted == pytest.approx(0.0741799, abs=1e-7)
    assert pair.wilcoxon.p == 0.25
    assert pair.effects.mean.high == pytest.approx(0.02 + 4.3026527 * 0.01 / math.sqrt(3))
    assert pair.effects.superiority.share == 1.0
    assert pair.verdict is Verdict.undetermined
    assert found["t00"].best == "m00"
    assert found["t00"].not_distinguishable == ("m01",)
    assert found["t00"].families[0].m == 1


def test_lower_is_better_turns_signs_and_ranks() -> None:
    up, down = compare(table_of(SMALL)), compare(table_of(SMALL, direction="down"))
    assert _mean(down.pairs[0]) == pytest.approx(-_mean(up.pairs[0]))
    assert (up["t00"].best, down["t00"].best) == ("m00", "m01")
    assert up.across.ranks is not None
    assert down.across.ranks is not None
    assert up.across.ranks.mean_ranks == (1.0, 2.0)
    assert down.across.ranks.mean_ranks == (2.0, 1.0)


def test_pairs_agree_with_scipy_and_holm() -> None:
    scores = random_scores((3, 4, 10))
    found = compare(table_of(scores))
    for row, task in enumerate(found.tasks):
        raw = [stats.ttest_rel(scores[row, a], scores[row, b]).pvalue for a, b in combinations(range(4), 2)]
        exact = [stats.wilcoxon(scores[row, a], scores[row, b]).pvalue for a, b in combinations(range(4), 2)]
        assert [pair.t.p for pair in task.pairs] == pytest.approx(raw)
        assert [pair.wilcoxon.p for pair in task.pairs] == pytest.approx(exact)
        order = np.argsort(raw)
        holm = np.minimum(np.maximum.accumulate(np.array(raw)[order] * np.arange(6, 0, -1)), 1.0)
        assert [task.pairs[place].p_adjusted for place in order] == pytest.approx(holm.tolist())
        assert {family.m for family in task.families} == {6}


def test_across_tasks_agrees_with_scipy() -> None:
    scores = random_scores((12, 3, 5))
    across = compare(table_of(scores)).across
    means = scores.mean(axis=2)
    assert across.friedman is not None
    assert across.friedman.chi2 == pytest.approx(stats.friedmanchisquare(*means.T).statistic)
    wanted = [stats.wilcoxon(means[:, a], means[:, b]).pvalue for a, b in combinations(range(3), 2)]
    assert [pair.wilcoxon.p for pair in across.pairs] == pytest.approx(wanted)
    assert across.nemenyi is not None
    assert across.nemenyi.critical_difference == pytest.approx(2.343701 * math.sqrt(12 / 72), abs=1e-5)
    assert across.stability is not None
    assert across.stability.n_tasks == 12
    few = compare(table_of(scores[:4])).across.friedman
    assert few is not None
    assert few.p == exact_friedman_p(stats.rankdata(-means[:4], axis=1))


def test_one_family_over_all_tasks() -> None:
    scores = random_scores((3, 4, 10))
    each, together = compare(table_of(scores)), compare(table_of(scores), family="all")
    assert {family.m for task in together.tasks for family in task.families} == {18}
    for one, other in zip(each.pairs, together.pairs, strict=True):
        assert one.p == other.p
        assert (one.p_adjusted or 0) <= (other.p_adjusted or 0)
    least = min(together.pairs, key=lambda pair: pair.p or 0)
    assert least.p_adjusted == pytest.approx(18 * (least.p or 0))
    assert together.pairs[0].simultaneous.alpha == pytest.approx(0.05 / 18)


def test_an_exact_test_that_cannot_reject_leaves_everything_undetermined() -> None:
    scores = random_scores((1, 4, 5), gap=1.0)
    exact, t = compare(table_of(scores), test="wilcoxon"), compare(table_of(scores))
    assert {pair.verdict for pair in exact.pairs} == {Verdict.undetermined}
    assert not any(pair.can_reject for pair in exact.pairs)
    assert "with 5 seeds and 6 pairs the smallest adjusted p is .375: this test cannot reject" in str(exact)
    assert "so its verdicts are undetermined" in str(exact)
    # The t test is not bounded by the number of seeds; the page says what it rests on.
    assert Verdict.different in {pair.verdict for pair in t.pairs}
    assert "the verdicts rest on the t test, and on normality" in str(t)


def test_equivalence_does_not_outvote_a_test_that_cannot_reject() -> None:
    noise = 1e-4 * np.array([-1, 1, -1, 1, 0])
    table = table_of([[0.5 + 0 * noise, 0.5 + noise, 0.5 - 2 * noise]])
    exact, t = compare(table, margin=0.01, test="wilcoxon"), compare(table, margin=0.01)
    assert {pair.verdict for pair in t.pairs} == {Verdict.equivalent}
    assert {pair.verdict for pair in exact.pairs} == {Verdict.undetermined}
    assert all((pair.equivalence_adjusted or 1) < 0.05 for pair in exact.pairs)


@pytest.mark.parametrize("alpha", [0.001, 0.3])
def test_alpha_is_used_everywhere(alpha: float) -> None:
    found = compare(table_of(random_scores((4, 4, 8))), alpha=alpha)
    for pair in found.pairs:
        assert pair.is_rejected == ((pair.p_adjusted or 0) <= alpha)
        assert pair.simultaneous.alpha == pytest.approx(alpha / 6)
        assert pair.effects.mean.alpha == pair.design.alpha == alpha
    assert {family.alpha for task in found.tasks for family in task.families} == {alpha}
    assert {family.simultaneous_level for task in found.tasks for family in task.families} == {alpha / 6}
    assert {cell.interval.alpha for task in found.tasks for cell in task.cells} == {alpha}
    assert found.across.friedman is not None
    assert found.across.nemenyi is not None
    assert found.across.wilcoxon_holm is not None
    assert found.across.friedman.alpha == found.across.nemenyi.alpha == found.across.wilcoxon_holm.alpha == alpha


def test_zeros_make_an_exact_test_unable_as_few_seeds_do() -> None:
    scores = np.tile(0.8, (1, 2, 10))
    scores[0, 0, :4] += np.array([0.01, 0.02, 0.03, 0.04])
    (pair,) = compare(table_of(scores), test="wilcoxon").pairs
    assert (pair.n_pairs, pair.chosen.n_effective, pair.p) == (10, 4, 0.125)
    assert not pair.can_reject


def test_the_four_verdicts_with_a_margin() -> None:
    noise = 0.001 * np.array([-1, 1, -1, 1, -1, 1, -1, 1, -1, 1])
    base = 0.8 + 0.05 * np.linspace(-1, 1, 10)
    rows = [base, base + 0.05 + noise, base + 0.004 + noise, base + noise, base + 30 * noise]
    found = compare(table_of([rows]), margin=0.01)
    by_pair = {(pair.first, pair.second): pair.verdict for pair in found.pairs}
    assert by_pair["m00", "m01"] is Verdict.different
    assert by_pair["m00", "m02"] is Verdict.trivial
    assert by_pair["m00", "m03"] is Verdict.equivalent
    assert by_pair["m00", "m04"] is Verdict.undetermined
    assert sum(found.count(verdict) for verdict in Verdict) == 10
    assert compare(table_of([rows]), margin={"t00": 0.01}).pairs == found.pairs
    assert compare(table_of([rows]), margin={"accuracy": 0.01}).pairs == found.pairs
    assert all(pair.equivalence is None for pair in compare(table_of([rows]), margin={"auc": 0.01}).pairs)


def test_degenerate_pairs_stay_in_their_family_without_a_verdict() -> None:
    base = np.array([0.1, 0.2, 0.3, 0.4, 0.5])
    other = base + np.array([0.3, 0.31, 0.29, 0.3, 0.32])
    found = compare(table_of([[base, base + 0.1, other]]))
    pair = found.pairs[0]
    assert (pair.p, pair.p_adjusted, pair.verdict) == (None, None, Verdict.undetermined)
    assert "degenerate" in pair.flags.words
    family = found["t00"].families[0]
    assert (family.m, family.n_degenerate, family.n_not_run) == (3, 1, 0)
    least = min(found.pairs[1:], key=lambda pair: pair.p or 1)
    assert least.p_adjusted == pytest.approx(3 * (least.p or 0))


@pytest.mark.parametrize("test", ["sign_flip", "nadeau_bengio", "anytime", "fixed_looks"])
def test_other_tests_stand_beside_the_two(test: str) -> None:
    found = compare(table_of(random_scores((2, 3, 8))), test=test, split_sizes=(80, 20))
    assert [family.test for family in found.tasks[0].families][:2] == ["paired t", "exact Wilcoxon"]
    assert len(found.tasks[0].families) == 3
    for pair in found.pairs:
        assert pair.p == pair.chosen.p
        assert test.split("_", maxsplit=1)[0] in pair.chosen.test.lower().replace("-", " ")
        assert f"p = {pair.p:.4g}" in str(pair.chosen)
    if test == "nadeau_bengio":
        assert all((pair.p or 0) > (pair.t.p or 0) for pair in found.pairs)


@pytest.mark.parametrize("test", ["anytime", "fixed_looks"])
def test_sequential_tests_of_flat_and_few_differences(test: str) -> None:
    base = np.linspace(0.1, 0.5, 5)
    same, apart = compare(table_of([[base, base, base + 0.1]]), test=test).pairs[:2]
    assert (same.verdict, apart.verdict) == (Verdict.identical, Verdict.undetermined)
    assert apart.p is None
    two = compare(table_of([[[0.1, 0.2], [0.3, 0.5]]]), test=test).pairs[0]
    assert (str(two.chosen.outcome) == "not run") == (test == "fixed_looks")
    one = compare(table_of([[[0.1], [0.3]]]), test=test).pairs[0]
    assert str(one.chosen.outcome) == "not run"


def test_bayesian_answers_only_with_a_rope() -> None:
    table = table_of(random_scores((6, 3, 5)))
    assert all(pair.posterior is None for pair in compare(table).pairs)
    found = compare(table, rope=0.01)
    assert all(pair.posterior is not None for pair in found.pairs)
    assert sum(pair.posterior is not None for pair in found.across.pairs) == 2


def test_aggregates_need_declared_bounds() -> None:
    scores = random_scores((6, 3, 5))
    table = table_of(scores)
    assert compare(table).aggregates == ()
    found = compare(table, bounds=(0.5, 1.0))
    assert found.across.ranks is not None
    assert tuple(item.model for item in found.aggregates) == found.across.ranks.order
    first = found.aggregates[0]
    place = found.models.index(first.model)
    middle = np.sort((scores[:, place].ravel() - 0.5) * 2)[7:-7].mean()
    assert first.interquartile_mean.value == pytest.approx(middle)
    assert first.optimality_gap.value == pytest.approx(1 - (scores[:, place].mean() - 0.5) * 2)
    assert first.improvement_by_first is None
    assert (found.aggregates[1].improvement_by_first.value or 0) > 0.5  # type: ignore[union-attr]
    assert f"{first.model}: interquartile mean" in str(found)
    with pytest.raises(BadValue, match=r"\(worst, best\) also for t01, t02"):
        compare(table, bounds={"t00": (0.5, 1.0)})


def test_variance_is_split_by_what_the_table_tells() -> None:
    rng = np.random.default_rng(2)
    scores = 0.7 + 0.02 * rng.normal(size=(1, 1, 30)) + 0.005 * rng.normal(size=(1, 4, 30))
    (task,) = compare(table_of(scores)).tasks
    parts = {item.factor: item.variance**0.5 for item in task.variance.components}
    assert set(parts) == {"model", "seed", "rest"}
    assert parts["seed"] == pytest.approx(0.02, rel=0.3)
    assert parts["rest"] == pytest.approx(0.005, rel=0.3)
    table = table_of(scores)
    told = compare(table.assign(split_seed=table["seed"] // 6, init_seed=table["seed"] % 6)).tasks[0].variance
    assert [item.factor for item in told.components] == ["model", "split_seed", "init_seed", "rest"]
    one_seed = compare(table[table["seed"] == 0]).tasks[0].variance
    assert one_seed.components == ()
    assert one_seed.note


def test_seeds_needed_are_for_pairs_that_are_not_settled() -> None:
    found = compare(table_of(random_scores((2, 3, 6))), margin=0.005)
    for pair in found.pairs:
        assert (pair.seeds_for_observed is None) == pair.is_rejected
        assert (pair.seeds_for_margin or 0) >= 2
        assert (pair.design.effect_in_family or 0) > (pair.design.effect or 0)


@pytest.mark.parametrize(
    "wrong",
    [
        {"alpha": 0.0},
        {"alpha": 1.5},
        {"power": 0.01},
        {"margin": -1.0},
        {"margin": {"t00": math.inf}},
        {"resolution": 0.0},
        {"rope": -0.1},
        {"n_resamples": 0},
        {"test": "nadeau_bengio"},
        {"test": "nadeau_bengio", "split_sizes": {"other": (1, 2)}},
        {"adjustment": "shaffer", "family": "all"},
    ],
)
def test_values_out_of_range_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(BadValue):
        compare(table_of(random_scores((2, 3, 5))), **wrong)


@pytest.mark.parametrize(
    "name", ["family", "posthoc", "test", "adjustment", "missing", "interval", "share_interval", "zero_method"]
)
def test_unknown_names_are_refused(name: str) -> None:
    with pytest.raises(UnknownName, match=f"unknown {name} 'holms'"):
        compare(table_of(SMALL), **{name: "holms"})
    with pytest.raises(UnknownName, match="did you mean 'alpha'"):
        compare(table_of(SMALL), alpa=0.1)


def test_twenty_models_on_a_hundred_tasks_take_seconds() -> None:
    # Ten seconds is the promise on one core; the tenth of it here leaves room for a busy machine.
    table = table_of(random_scores((10, 20, 10)))
    started = time.process_time()
    found = compare(table, margin=0.01)
    assert len(found.pairs) == 1900
    assert time.process_time() - started < 5.0


def test_pandas_and_what_is_slow_are_not_imported() -> None:
    code = (
        "import sys, gnz_track.stats.comparison.compare; "
        "print(sorted({'pandas', 'torch', 'mlflow', 'matplotlib', 'scipy.stats'} & set(sys.modules)))"
    )
    found = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env={**os.environ, "PYTHONPATH": ""}
    )
    assert found.stdout.strip() == "[]"


def test_a_results_table_is_read_as_it_is_stored() -> None:
    plain = table_of(SMALL)
    stored = make_table(
        {
            **{column: plain[column].tolist() for column in plain.columns},
            "run_id": [f"r{n}" for n in range(6)],
            "status": ["finished"] * 6,
            "hyperparameters": ["{}"] * 6,
        }
    )
    found = compare(stored)
    assert found["t00"].cells[1].run_ids == ("r3", "r4", "r5")
    assert found.pairs == compare(plain).pairs
