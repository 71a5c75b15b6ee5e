"""Aggregates over tasks and seeds: by hand, against SciPy, and the coverage that the expansion buys."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import mannwhitneyu, trim_mean

from gnz_track.errors import BadValue
from gnz_track.records import to_json
from gnz_track.stats.estimates.aggregate import (
    Resampling,
    improve_probability,
    interquartile_mean,
    normalise,
    optimality_gap,
    performance_profile,
)

LAW = settings(deadline=None, max_examples=50)
FEW = Resampling(n_resamples=50)
TASK = st.lists(st.integers(0, 100).map(lambda n: n / 100), min_size=1, max_size=6)
STRATA = st.lists(TASK, min_size=1, max_size=5)


@LAW
@given(STRATA)
def test_middle_mean_is_scipy_s(strata: list[list[float]]) -> None:
    found = interquartile_mean(strata, resampling=FEW)
    assert found.value == pytest.approx(trim_mean(np.concatenate(strata), 0.25))
    assert found.n_runs == sum(len(item) for item in strata)
    assert (found.low is None) == (min(len(item) for item in strata) < 2)
    to_json(found)


@LAW
@given(STRATA, st.floats(0.1, 1.5))
def test_gap_is_zero_only_above_the_target(strata: list[list[float]], target: float) -> None:
    found = optimality_gap(strata, target=target, resampling=FEW)
    pooled = np.concatenate(strata)
    assert found.value == pytest.approx(np.mean([max(0.0, target - x) for x in pooled]))
    assert (found.value == 0.0) == bool((pooled >= target).all())
    assert found.low is None or 0.0 <= found.low <= (found.high or 0.0)


@LAW
@given(st.lists(st.tuples(TASK, TASK), min_size=1, max_size=4))
def test_probability_of_improvement_is_mann_whitney(pairs: list[tuple[list[float], list[float]]]) -> None:
    ours, theirs = [list(side) for side in zip(*pairs, strict=True)]
    found = improve_probability(ours, theirs, resampling=FEW)
    expected = [mannwhitneyu(x, y, method="asymptotic").statistic / (len(x) * len(y)) for x, y in pairs]
    assert found.value == pytest.approx(np.mean(expected))
    assert improve_probability(theirs, ours, resampling=FEW).value == pytest.approx(1 - np.mean(expected))
    assert found.n_tasks == len(pairs)


@LAW
@given(STRATA)
def test_profile_falls_and_gives_tasks_the_same_weight(strata: list[list[float]]) -> None:
    limits = [-0.1, 0.25, 0.5, 0.75, 1.0]
    found = performance_profile(strata, limits, resampling=FEW)
    expected = [np.mean([np.mean([x > limit for x in task]) for task in strata]) for limit in limits]
    assert found.shares == pytest.approx(expected)
    assert (np.diff(found.shares) <= 1e-12).all()
    assert (found.shares[0], found.shares[-1]) == pytest.approx((1.0, 0.0))
    if found.lows is not None and found.highs is not None:
        assert all(0.0 <= low <= high <= 1.0 for low, high in zip(found.lows, found.highs, strict=True))
    to_json(found)


def test_bounds_are_declared_and_errors_turn_round() -> None:
    assert normalise([0.5, 1.0], worst=0.5, best=1.0).tolist() == [0.0, 1.0]
    assert normalise([4.0, 1.0], worst=4.0, best=0.0).tolist() == [0.0, 0.75]
    for bounds in ((1.0, 1.0), (float("nan"), 1.0), (0.0, float("inf"))):
        with pytest.raises(BadValue, match="declared with the task"):
            normalise([0.5], worst=bounds[0], best=bounds[1])
    with pytest.raises(BadValue, match="leave missing scores out"):
        normalise([np.nan], worst=0.0, best=1.0)


def test_resampling_is_seeded_and_recorded() -> None:
    strata = np.random.default_rng(0).random((4, 5))
    found = interquartile_mean(list(strata))
    assert found == interquartile_mean(list(strata))
    assert found.low != interquartile_mean(list(strata), resampling=Resampling(base_seed=1)).low
    assert (found.factor, found.seeds_per_task, found.resampling.n_resamples) == (np.sqrt(5 / 4), (5, 5), 2000)
    assert "expanded by sqrt(S / (S - 1))" in found.method


def test_unequal_and_single_seeds_are_said() -> None:
    unequal = interquartile_mean([[0.1, 0.2, 0.3], [0.3, 0.2]])
    assert unequal.factor == pytest.approx(np.sqrt(2))
    assert "unequal" in unequal.note
    single = interquartile_mean([[0.1, 0.2], [0.3]])
    assert (single.low, single.factor) == (None, None)
    assert "one seed" in single.note
    none = interquartile_mean([])
    assert (none.value, none.note) == (None, "no task")
    assert performance_profile([], [0.5]).shares == ()
    to_json(none)


def test_interval_of_a_mean_has_the_width_that_theory_gives() -> None:
    # With the target above all scores the gap is a mean, whose stratified standard error is known.
    strata = list(np.random.default_rng(3).random((6, 4)))
    found = optimality_gap(strata, target=2.0, resampling=Resampling(n_resamples=20_000))
    error = np.sqrt(np.mean([task.var(ddof=1) / 4 for task in strata]) / 6)
    assert (found.high or 0) - (found.low or 0) == pytest.approx(2 * 1.96 * error, rel=0.03)


def test_expansion_brings_the_coverage_near_its_level() -> None:
    # Ten tasks, three seeds: the plain percentile interval covers about .87 of the time, the expanded one .925.
    rng = np.random.default_rng(4)
    hits, n = 0, 400
    for repetition in range(n):
        strata = list(rng.normal(0.5, 0.1, size=(10, 3)))
        found = optimality_gap(strata, target=5.0, resampling=Resampling(n_resamples=400, base_seed=repetition))
        hits += (found.low or 9) <= 4.5 <= (found.high or 0)
    assert hits / n == pytest.approx(0.925, abs=3 * np.sqrt(0.925 * 0.075 / n))


def test_bad_input_is_refused() -> None:
    with pytest.raises(BadValue, match="leave missing scores out"):
        interquartile_mean([[0.1, np.nan]])
    with pytest.raises(BadValue, match="the same tasks"):
        improve_probability([[0.1]], [])
    with pytest.raises(BadValue, match="n_resamples"):
        Resampling(n_resamples=0)
    with pytest.raises(BadValue, match="from 1 on"):
        interquartile_mean([[]])
