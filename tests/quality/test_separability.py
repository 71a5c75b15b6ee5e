"""Tests of separability against the golden record, all permutations one by one, and exact distributions."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import mannwhitneyu, rankdata, wilcoxon
from worlds import GOLDEN

from gnz_track.errors import BadValue
from gnz_track.quality import separability
from gnz_track.quality.separability import TESTS, SeparabilitySettings, compare_pairs, compare_samples, smallest_p
from gnz_track.types import Direction

KS = GOLDEN["separability_ks"]
SAMPLES = [name for name, item in KS.items() if "x" in item]
FEW = st.lists(st.integers(0, 5).map(float), min_size=1, max_size=9)


@pytest.mark.parametrize("name", SAMPLES)
def test_ks_is_the_golden_one_to_the_bit(name: str) -> None:
    item = KS[name]
    found = compare_samples(item["x"], item["y"], SeparabilitySettings(compat="rings"))
    assert (found.statistic, found.p) == (item["ref_score"], item["ref_pvalue"])
    assert compare_samples(item["x"], item["y"]).p == item["plus_one"]


def test_family_of_six_modes_is_the_golden_one_to_the_bit() -> None:
    stream = np.random.RandomState(7)
    means = {"o": 0.80, "eg": 0.79, "cg": 0.80, "rg": 0.78, "cf": 0.75, "rf": 0.60}
    samples = {name: stream.normal(mean, 0.03, 100) for name, mean in means.items()}
    family = KS["functor_6modes"]
    found = compare_pairs(samples, SeparabilitySettings(compat="rings", n_permutations=family["B"]))
    rows = [(pair.first, pair.second, pair.statistic, pair.p, pair.p_adjusted, pair.is_significant) for pair in found]
    keys = ("mode1", "mode2", "score", "pvalue", "pvalue_adjusted", "significant")
    assert rows == [tuple(row[key] for key in keys) for row in family["rows"]]
    assert len(found) == 15
    assert found[4].outperforms, "o is far better than rf"


def test_example_of_the_published_package() -> None:
    stream = np.random.RandomState(42)
    x, y = stream.normal(0, 1, 100), stream.normal(0.5, 1, 100)
    ks = compare_samples(x, y, SeparabilitySettings(compat="rings"))
    assert (ks.statistic, ks.p) == (KS["repo_example_ks"]["score"], KS["repo_example_ks"]["pvalue"])
    paired = compare_samples(x, y, SeparabilitySettings(test="signed_rank", compat="rings", n_permutations=2000))
    expected = KS["repo_example_wilcoxon_B2000"]
    assert (paired.statistic, paired.p) == (expected["score"], expected["pvalue"])


@settings(max_examples=80, deadline=None)
@given(x=FEW, y=FEW)
def test_statistics_are_those_of_their_definitions(x: list[float], y: list[float]) -> None:
    few = {"n_permutations": 20}
    # SciPy's own statistic warns of small samples: it has a p-value to give.
    expected = max(abs(np.mean(np.array(x) <= v) - np.mean(np.array(y) <= v)) for v in (*x, *y))
    assert compare_samples(x, y, SeparabilitySettings(**few)).statistic == pytest.approx(expected)
    larger = np.mean([(a > b) + (a == b) / 2 for a in x for b in y])
    assert compare_samples(x, y, SeparabilitySettings(test="rank_sum", **few)).statistic == pytest.approx(larger)
    if len(x) == len(y) and x != y:
        differences = np.array([a - b for a, b in zip(x, y, strict=True) if a != b])
        ranks = rankdata(np.abs(differences))
        expected = min(ranks[differences > 0].sum(), ranks[differences < 0].sum())
        found = compare_samples(x, y, SeparabilitySettings(test="signed_rank", **few)).statistic
        assert found == pytest.approx(expected)


@pytest.mark.parametrize("test", ["ks", "rank_sum"])
@pytest.mark.parametrize(("x", "y"), [([1, 2, 2, 5], [2, 3, 3]), ([1, 1, 4, 6, 9], [2, 7, 8, 8, 8])])
def test_p_is_the_share_of_all_permutations(test: str, x: list[float], y: list[float]) -> None:
    pooled = np.array([*x, *y], dtype=float)

    def statistic(first: np.ndarray) -> float:
        one, two = pooled[first], np.delete(pooled, first)
        if test == "ks":
            return max(abs((one <= v).mean() - (two <= v).mean()) for v in pooled)
        return abs(mannwhitneyu(one, two, method="asymptotic").statistic - len(one) * len(two) / 2)

    ways = [np.array(way) for way in itertools.combinations(range(len(pooled)), len(x))]
    observed = statistic(np.arange(len(x)))
    exact = np.mean([statistic(way) >= observed - 1e-12 for way in ways])
    found = compare_samples(x, y, SeparabilitySettings(test=test, n_permutations=20_000))
    assert found.p == pytest.approx(exact, abs=4 * math.sqrt(exact * (1 - exact) / 20_000) + 1e-4)


def test_rank_sum_and_signed_rank_agree_with_exact_distributions() -> None:
    stream = np.random.default_rng(3)
    x, y = stream.normal(0.6, 1, 12), stream.normal(0, 1, 12)
    many = {"n_permutations": 40_000}
    found = compare_samples(x, y, SeparabilitySettings(test="rank_sum", **many)).p
    assert found == pytest.approx(mannwhitneyu(x, y, method="exact").pvalue, abs=0.01)
    found = compare_samples(x, y, SeparabilitySettings(test="signed_rank", **many)).p
    assert found == pytest.approx(wilcoxon(x, y, method="exact").pvalue, abs=0.01)


@pytest.mark.parametrize("test", ["ks", "rank_sum"])
def test_false_alarms_are_as_rare_as_promised(test: str) -> None:
    stream = np.random.default_rng(11)
    n_families, alpha = 300, 0.05
    options = SeparabilitySettings(test=test, n_permutations=199, alpha=alpha)
    alarms = sum(
        any(
            pair.is_significant
            for pair in compare_pairs(dict(zip("abc", stream.normal(size=(3, 12)), strict=True)), options)
        )
        for _ in range(n_families)
    )
    # 199 permutations can reach 0.005 * 3 = 0.015: the test can reject at all, and in at most 5 % of the families.
    assert 0 < alarms <= n_families * alpha + 3 * math.sqrt(n_families * alpha * (1 - alpha))


@settings(max_examples=40, deadline=None)
@given(x=FEW, y=FEW, test=st.sampled_from(["ks", "rank_sum"]))
def test_laws(x: list[float], y: list[float], test: str) -> None:
    one = SeparabilitySettings(test=test, n_permutations=99)
    found, turned = compare_samples(x, y, one), compare_samples(y, x, one)
    assert 1 / 100 <= found.p <= found.p_adjusted <= 1
    assert not (found.outperforms and turned.outperforms)
    grown = compare_samples([math.exp(v) for v in x], [math.exp(v) for v in y], one)
    assert (grown.statistic, grown.p) == (found.statistic, found.p), "only the order of scores counts"
    published = compare_samples(x, y, SeparabilitySettings(test=test, n_permutations=99, compat="rings"))
    if x != y:
        assert published.p == pytest.approx((found.p * 100 - 1) / 99)
    assert compare_samples(x, x, one).p == 1.0
    assert found.p_adjusted * 1 == found.p
    assert compare_samples(x, y, one, n_hypotheses=15).p_adjusted == min(1.0, 15 * found.p)


def test_portions_make_no_difference(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = np.random.default_rng(5)
    x, y = stream.normal(size=20), stream.normal(0.4, 1, 15)
    whole = compare_samples(x, y)
    monkeypatch.setattr(separability, "MOST_LABELS", 1000)
    assert compare_samples(x, y) == whole


@pytest.mark.parametrize("direction", Direction)
def test_direction_says_who_outperforms(direction: Direction) -> None:
    high, low = [0.9 + 0.001 * i for i in range(12)], [0.5 + 0.001 * i for i in range(12)]
    for test in TESTS:
        found = compare_samples(high, low, SeparabilitySettings(test=test, direction=direction))
        assert found.is_significant, test
        assert found.outperforms is (direction is Direction.up), test


def test_bootstrap_interval_covers_and_is_adjusted() -> None:
    stream = np.random.default_rng(8)
    covered = 0
    for seed in range(200):
        x, y = stream.normal(1.0, 1, 30), stream.normal(0.0, 1, 30)
        found = compare_samples(x, y, SeparabilitySettings(test="bootstrap", alpha=0.1, n_permutations=400, seed=seed))
        assert found.low is not None
        assert found.high is not None
        covered += found.low <= 1.0 <= found.high
        wider = compare_samples(
            x, y, SeparabilitySettings(test="bootstrap", alpha=0.1, n_permutations=400, seed=seed), n_hypotheses=4
        )
        assert wider.low is not None
        assert wider.low <= found.low
        assert found.is_significant == (found.low > 0 or found.high < 0)
    # 90 % of 200, less a little for the percentile interval's own bias.
    assert 165 <= covered <= 192


def test_smallest_p_is_reached_and_never_passed() -> None:
    apart, below = [1.0, 2.0, 3.0, 4.0], [5.0, 6.0, 7.0, 8.0]
    options = SeparabilitySettings(n_permutations=50_000)
    assert smallest_p(4, 4, options) == pytest.approx(2 / 70)
    assert compare_samples(apart, below, options).p == pytest.approx(2 / 70, abs=0.003)
    assert (
        smallest_p(7, 7, SeparabilitySettings(), n_hypotheses=15)
        < 0.01
        < smallest_p(6, 6, SeparabilitySettings(), n_hypotheses=15)
    )
    assert smallest_p(100, 100, SeparabilitySettings(n_permutations=999)) == 1 / 1000
    assert smallest_p(2, 2, SeparabilitySettings(), n_hypotheses=15) == 1.0


@pytest.mark.parametrize(
    ("x", "sentence"),
    [
        ([], "the scores of first"),
        ([0.5, float("nan")], "one finite number or more"),
        (["a"], "numbers"),
        ([[1.0]], "in one dimension"),
    ],
)
def test_scores_that_are_none(x: list[object], sentence: str) -> None:
    with pytest.raises(BadValue, match=sentence):
        compare_samples(x, [1.0])  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "wrong",
    [{"test": "t"}, {"n_permutations": 0}, {"alpha": 1.0}, {"compat": "ring"}],
    ids=lambda item: next(iter(item)),
)
def test_settings_that_are_none(wrong: dict[str, object]) -> None:
    with pytest.raises(BadValue, match=next(iter(wrong))):
        SeparabilitySettings(**wrong)  # type: ignore[arg-type]


def test_pairs_need_as_many_scores() -> None:
    with pytest.raises(BadValue, match="rank_sum"):
        compare_samples([1.0, 2.0], [1.0], SeparabilitySettings(test="signed_rank"))


def test_few_samples_have_no_pair() -> None:
    assert compare_pairs({}) == []
    assert compare_pairs({"original": [1.0]}) == []
