"""The expected best of n trials against all draws of n trials, one by one."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gnz_track.errors import BadValue
from gnz_track.records import to_json
from gnz_track.stats.search.expected_best import ExpectedBest, expected_best, rank_by_budget, spread_budgets
from gnz_track.types import Direction

LAW = settings(deadline=None, max_examples=40)
SCORES = st.floats(-100, 100, allow_nan=False).map(lambda value: round(value, 3))
TRIALS = st.lists(st.one_of(SCORES, st.just(math.nan)), min_size=1, max_size=8)
DIRECTIONS = st.sampled_from(list(Direction))


def bests(scores: list[float], n: int, direction: Direction) -> list[float]:
    """Return the best of each draw of n trials that has a score."""
    pick = max if direction is Direction.up else min
    draws = ([one for one in draw if not math.isnan(one)] for draw in itertools.combinations(scores, n))
    return sorted(pick(draw) for draw in draws if draw)


@LAW
@given(TRIALS, DIRECTIONS, st.sampled_from([0.1, 0.5]))
def test_mean_band_and_chance_are_those_of_all_draws(scores: list[float], direction: Direction, alpha: float) -> None:
    found = expected_best(scores, direction, alpha=alpha)
    expected = {n: bests(scores, n, direction) for n in range(1, len(scores) + 1)}
    assert found.budgets == tuple(n for n, best in expected.items() if best)
    for place, n in enumerate(found.budgets):
        best = expected[n]
        assert found.means[place] == pytest.approx(sum(best) / len(best), rel=1e-9, abs=1e-9)
        assert found.chances[place] == pytest.approx(len(best) / math.comb(len(scores), n))
        # The share of draws that lie outside of the band on either side is at most half of alpha.
        assert sum(one < found.lows[place] for one in best) <= alpha / 2 * len(best) + 1e-6
        assert sum(one > found.highs[place] for one in best) <= alpha / 2 * len(best) + 1e-6
        assert {found.lows[place], found.highs[place]} <= set(best)
    assert (found.n_trials, found.n_failed) == (len(scores), sum(map(math.isnan, scores)))
    to_json(found)


@LAW
@given(st.lists(SCORES, min_size=2, max_size=60), st.randoms(use_true_random=False))
def test_curve_rises_from_the_mean_to_the_best_whatever_the_order(scores: list[float], random: object) -> None:
    found = expected_best(scores, Direction.up)
    assert found.means[0] == pytest.approx(float(np.mean(scores)), rel=1e-9, abs=1e-9)
    assert found.means[-1] == found.lows[-1] == found.highs[-1] == max(scores)
    assert all(b >= a - 1e-9 for a, b in itertools.pairwise(found.means))
    assert all(low <= high for low, high in zip(found.lows, found.highs, strict=True))
    shuffled = list(scores)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    assert expected_best(shuffled, Direction.up) == found
    mirrored = expected_best([-score for score in scores], Direction.down)
    assert mirrored.means == tuple(-mean for mean in found.means)
    assert mirrored.lows == tuple(-high for high in found.highs)


def test_it_is_unbiased_for_new_trials_where_the_plug_in_is_not() -> None:
    rng = np.random.default_rng(0)
    searches = rng.random((4000, 6))
    # The best of n even draws from 0 to 1 is n / (n + 1) in the mean.
    means = np.mean([expected_best(row, Direction.up).means for row in searches], axis=0)
    np.testing.assert_allclose(means, [n / (n + 1) for n in range(1, 7)], atol=0.01)
    ordered = np.sort(searches, axis=1)
    weights = (np.arange(1, 7) / 6) ** 6 - (np.arange(6) / 6) ** 6
    assert abs((ordered @ weights).mean() - 6 / 7) > 0.04


def test_many_trials_neither_overflow_nor_take_long() -> None:
    scores = np.random.default_rng(0).normal(size=5000)
    found = expected_best(scores, Direction.up)
    assert len(found.budgets) == 400
    assert found.budgets[0] == 1
    assert found.budgets[-1] == 5000
    assert np.isfinite(found.means).all()
    assert found.means[-1] == scores.max()
    exact = expected_best(scores[:50], Direction.up, budgets=[7])
    by_hand = sum(
        value * math.comb(place, 6) / math.comb(50, 7) for place, value in enumerate(sorted(scores[:50].tolist()))
    )
    assert exact.means == (pytest.approx(by_hand, rel=1e-12),)


def test_all_trials_failed() -> None:
    found = expected_best([math.nan] * 3, Direction.up)
    assert (found.budgets, found.n_failed) == ((), 3)
    assert str(found) == "no trial has a score"
    assert isinstance(expected_best([], Direction.up), ExpectedBest)


def test_text_names_first_middle_and_last() -> None:
    assert str(expected_best([1.0, 2.0, 3.0], Direction.up)) == "best of 1: 2, 2: 2.667, 3: 3"


@pytest.mark.parametrize("budget", [0, 4, 1.5])
def test_budget_that_no_search_had_is_refused(budget: float) -> None:
    with pytest.raises(BadValue, match="a whole number of trials from 1 to 3"):
        expected_best([1.0, 2.0, 3.0], Direction.up, budgets=[budget])  # type: ignore[list-item]


def test_scores_that_are_infinite_are_refused() -> None:
    with pytest.raises(BadValue, match="finite"):
        expected_best([1.0, math.inf], Direction.up)


def test_model_that_needs_more_trials_overtakes_with_the_budget() -> None:
    # The steady model is better with one trial, the wild one with all; on the second task the error counts.
    steady, wild = [0.7, 0.71, 0.72], [0.2, 0.3, 0.9]
    scores = {"a": {"S": steady, "W": wild}, "b": {"S": [-one for one in steady], "W": [-one for one in wild]}}
    found = rank_by_budget(scores, {"a": Direction.up, "b": Direction.down})
    assert (found.n_tasks, found.budgets) == (2, (1, 2, 3))
    expected = {n: np.mean(bests(wild, n, Direction.up)) > np.mean(bests(steady, n, Direction.up)) for n in (1, 2, 3)}
    assert [rank == 1.0 for rank in found.ranks["W"]] == [expected[n] for n in (1, 2, 3)]
    assert all(a + b == 3.0 for a, b in zip(found.ranks["S"], found.ranks["W"], strict=True))


def test_tasks_that_lack_a_search_are_left_out_of_the_ranks() -> None:
    scores = {"a": {"S": [0.5, 0.6], "W": [0.4]}, "b": {"S": [0.5]}, "c": {"S": [0.5], "W": [math.nan]}}
    found = rank_by_budget(scores, dict.fromkeys(scores, Direction.up))
    assert (found.n_tasks, found.budgets) == (1, (1,))
    assert dict(found.ranks) == {"S": (1.0,), "W": (2.0,)}
    nothing = rank_by_budget({}, {})
    assert (nothing.models, nothing.n_tasks, nothing.budgets) == ((), 0, ())


@given(st.integers(1, 2000), st.integers(2, 50))
def test_budgets_are_spread_from_the_first_to_the_last(n: int, most: int) -> None:
    found = spread_budgets(n, most)
    assert (found[0], found[-1]) == (1, n)
    assert len(found) == min(n, most)
    assert len(set(found)) == len(found)
