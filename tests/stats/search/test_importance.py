"""Shares against Kruskal and Wallis as SciPy has them, floors against chance, variance against its textbook table."""

from __future__ import annotations

import math

import numpy as np
import pytest
import scipy.stats
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from gnz_track.errors import BadValue
from gnz_track.records import to_json
from gnz_track.stats.search.importance import decompose_trials, midranks, rank_hyperparameters
from gnz_track.types import Direction

LAW = settings(deadline=None, max_examples=40)


@LAW
@given(st.lists(st.tuples(st.sampled_from("abc"), st.integers(0, 6)), min_size=5, max_size=25))
def test_share_is_that_of_kruskal_and_wallis(trials: list[tuple[str, int]]) -> None:
    scores = np.array([float(score) for _, score in trials])
    groups = [scores[[name == level for name, _ in trials]] for level in sorted({name for name, _ in trials})]
    assume(len(groups) > 1 and np.ptp(scores) > 0)
    (found,) = rank_hyperparameters([{"norm": name} for name, _ in trials], scores, Direction.up, n_permutations=9)
    expected = scipy.stats.kruskal(*groups).statistic / (len(trials) - 1)
    assert found.share == pytest.approx(expected, rel=1e-9, abs=1e-12)
    assert [group.n_trials for group in found.groups] == [len(group) for group in groups]
    assert [group.mean for group in found.groups] == pytest.approx([group.mean() for group in groups])
    to_json(found)


@LAW
@given(st.lists(st.integers(-5, 5), min_size=1, max_size=30))
def test_midranks_are_the_textbook_ranks(scores: list[int]) -> None:
    np.testing.assert_array_equal(midranks(np.array(scores, dtype=float)), scipy.stats.rankdata(scores))


def search(n: int, seed: int) -> tuple[list[dict[str, float | str]], np.ndarray]:
    """Return trials whose scores hang on the learning rate, on nothing else, and on chance."""
    rng = np.random.default_rng(seed)
    lr, idle, norm = 10 ** rng.uniform(-4, -1, n), rng.random(n), rng.choice(["batch", "none"], n)
    scores = -((np.log10(lr) + 2.5) ** 2) + 0.2 * rng.normal(size=n)
    return [{"lr": a, "idle": b, "norm": str(c)} for a, b, c in zip(lr, idle, norm, strict=True)], scores


def test_hyperparameter_that_matters_comes_first_and_is_found() -> None:
    values, scores = search(60, 0)
    found = rank_hyperparameters(values, scores, Direction.up)
    assert found[0].name == "lr"
    assert found[0].is_found
    assert (found[0].share or 0.0) > 0.5
    assert [one.is_found for one in found[1:]] == [False, False]
    # The middle of the range is best, which no rank correlation would show.
    means = [group.mean for group in found[0].groups]
    assert means.index(max(means)) in {1, 2, 3}


def test_floor_is_exceeded_by_chance_as_often_as_it_says() -> None:
    rng = np.random.default_rng(1)
    n, alpha = 20, 0.1
    values = [{"norm": "abcd"[place % 4]} for place in range(n)]
    found = [
        rank_hyperparameters(values, rng.normal(size=n), Direction.up, alpha=alpha, n_permutations=400, seed=seed)[0]
        for seed in range(400)
    ]
    rejected = np.mean([one.is_found for one in found])
    # 400 repetitions: a standard error of 0.015.
    assert 0.05 < rejected < 0.15
    assert 0.05 < np.mean([(one.p or 1.0) <= alpha for one in found]) < 0.15


def test_direction_of_scores_turns_nothing_but_the_best_of_a_group() -> None:
    values, scores = search(30, 2)
    up = rank_hyperparameters(values, scores, Direction.up)
    down = rank_hyperparameters(values, -scores, Direction.down)
    assert [(one.name, one.share) for one in down] == [(one.name, pytest.approx(one.share)) for one in up]
    assert up[0].groups[0].best == -down[0].groups[0].best


def test_monotone_scores_have_the_same_shares() -> None:
    values, scores = search(30, 3)
    one, other = (rank_hyperparameters(values, given, Direction.up) for given in (scores, np.exp(scores)))
    assert [item.share for item in one] == [item.share for item in other]


def test_what_is_not_known_is_said() -> None:
    values = [{"fixed": 1, "own": f"v{n}", "heads": n % 2} if n else {"fixed": 1, "own": "v0"} for n in range(6)]
    found = {one.name: one for one in rank_hyperparameters(values, [1.0, 2, 3, 4, 5, 6], Direction.up)}
    assert (found["fixed"].share, found["fixed"].note) == (None, "it had one value")
    assert found["own"].note == "each trial had its own value"
    assert found["heads"].note == "tried in 5 of 6 trials"
    assert found["heads"].share is not None
    assert str(found["fixed"]) == "fixed: it had one value"
    assert str(found["heads"]).startswith("heads: ")
    equal = rank_hyperparameters([{"a": n % 2} for n in range(4)], [0.5] * 4, Direction.up)
    assert equal[0].note == "all scores are equal"
    assert rank_hyperparameters([], [], Direction.up) == ()


def test_kinds_of_values_stay_apart() -> None:
    values: list[dict[str, object]] = [{"norm": value} for value in (True, "True", 1, "x", True, "True", 1, "x")]
    (found,) = rank_hyperparameters(values, range(8), Direction.up)  # type: ignore[arg-type]
    assert [group.n_trials for group in found.groups] == [2, 2, 2, 2]


@given(st.lists(st.floats(-1e3, 1e3), min_size=12, max_size=40, unique=True))
def test_parts_of_a_range_hold_about_equally_many_trials(values: list[float]) -> None:
    (found,) = rank_hyperparameters([{"lr": v} for v in values], range(len(values)), Direction.up, n_permutations=2)
    sizes = [group.n_trials for group in found.groups]
    assert sum(sizes) == len(values)
    assert max(sizes) - min(sizes) <= 1
    assert 2 <= len(sizes) <= 5


def test_scores_and_values_must_be_as_many() -> None:
    with pytest.raises(BadValue, match="one for each of 1 trials"):
        rank_hyperparameters([{"a": 1}], [1.0, 2.0], Direction.up)


def test_share_of_hyperparameters_is_that_of_the_textbook_table() -> None:
    rng = np.random.default_rng(0)
    n, k = 12, 3
    y = rng.normal(size=(n, 1)) + 0.3 * rng.normal(size=(1, k)) + 0.2 * rng.normal(size=(n, k))
    found = decompose_trials([dict(enumerate(row)) for row in y.tolist()])
    ms_trial = k * y.mean(axis=1).var(ddof=1)
    rest = y - y.mean(axis=1, keepdims=True) - y.mean(axis=0, keepdims=True) + y.mean()
    ms_rest = (rest**2).sum() / ((n - 1) * (k - 1))
    by_name = {item.factor: item.moment for item in found.components}
    assert by_name["hyperparameters"] == pytest.approx((ms_trial - ms_rest) / k)
    assert by_name["rest"] == pytest.approx(ms_rest)
    ms_seed = n * y.mean(axis=0).var(ddof=1)
    assert by_name["seed"] == pytest.approx((ms_seed - ms_rest) / n)


def test_trials_without_all_seeds_are_left_out_and_counted() -> None:
    rows = [{0: 0.5, 1: 0.6}, {0: 0.7, 1: 0.75}, {0: 0.1}, {}]
    found = decompose_trials(rows)
    assert found.n_runs == 4
    assert found.note.endswith("2 trials without a score on every seed are left out")
    alone = decompose_trials([{0: 0.5}, {0: 0.6}])
    assert not alone.components
    assert "every run has its own hyperparameters" in alone.note
    assert math.isclose(decompose_trials([{0: 1.0, 1: 2.0}]).mean or 0.0, 1.5)
