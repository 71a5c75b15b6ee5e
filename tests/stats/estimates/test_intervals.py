from __future__ import annotations

import json
import math
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from gnz_track.errors import BadValue
from gnz_track.records import to_json
from gnz_track.stats.estimates.intervals import COVERAGE, INTERVALS, coverage_warning, intervals_of, iqm

BOOTSTRAPS = ("percentile", "bca", "bootstrap_t")
some_scores = st.lists(st.integers(0, 1000).map(lambda value: value / 1000), min_size=4, max_size=12)


@given(some_scores, st.sampled_from(sorted(INTERVALS)))
@settings(max_examples=60, deadline=None)
def test_interval_contains_the_mean(scores: list[float], method: str) -> None:
    (found,) = intervals_of([scores], method=method, n_resamples=500)
    if found.low is None or found.high is None:
        assert method == "bootstrap_t"
        assert "not available" in str(found)
        return
    assert found.low <= found.mean + 1e-12
    assert found.high >= found.mean - 1e-12


@pytest.mark.parametrize("method", INTERVALS)
def test_interval_shrinks_with_seeds(method: str) -> None:
    pattern = np.tile([0.0, 1.0, 0.4, 0.7, 0.2, 0.9], 50)
    widths = [
        found.high - found.low
        for found in intervals_of([pattern[:n] for n in (6, 12, 30, 90, 300)], method=method)
        if found.high is not None and found.low is not None
    ]
    assert len(widths) == 5
    assert widths == sorted(widths, reverse=True)


@given(some_scores)
@settings(max_examples=50, deadline=None)
def test_t_interval_equals_scipy(scores: list[float]) -> None:
    (found,) = intervals_of([scores], alpha=0.1)
    if len(set(scores)) == 1:
        assert (found.low, found.high, found.sd) == (scores[0], scores[0], 0.0)
        return
    expected = stats.t.interval(0.9, len(scores) - 1, loc=np.mean(scores), scale=stats.sem(scores))
    assert (found.low, found.high) == pytest.approx(expected, rel=1e-10)


@pytest.mark.parametrize("method", INTERVALS)
@given(scores=some_scores, shift=st.sampled_from([0.0, -3.0]), scale=st.sampled_from([1.0, 1e-3, 50.0]))
@settings(max_examples=15, deadline=None)
def test_interval_moves_with_the_scores(method: str, scores: list[float], shift: float, scale: float) -> None:
    moved = [shift + scale * score for score in scores]
    plain, other = intervals_of([scores, moved], method=method, n_resamples=500)
    if plain.low is None or plain.high is None:
        assert other.low is None
        return
    expected = (shift + scale * plain.low, shift + scale * plain.high)
    # Quantiles may fall on the neighbouring point of the lattice where two resampled means are equal but for noise.
    assert (other.low, other.high) == pytest.approx(expected, rel=1e-6, abs=1e-9 * scale)


@pytest.mark.parametrize("method", INTERVALS)
@pytest.mark.parametrize("scores", [[], [0.5], [math.nan, math.nan], [0.5, math.nan], [math.inf, 0.5]])
def test_fewer_than_two_scores_have_no_interval(method: str, scores: list[float]) -> None:
    (found,) = intervals_of([scores], method=method)
    assert (found.low, found.high, found.sd, found.sem) == (None, None, None, None)
    assert found.n + found.n_missing == len(scores)
    assert "at least 2 seeds" in found.note


def test_missing_scores_are_counted_and_not_zero() -> None:
    (found,) = intervals_of([[0.8, math.nan, 0.82]])
    assert (found.n, found.n_missing) == (2, 1)
    assert found.mean == pytest.approx(0.81)
    assert "n = 2/3" in str(found)


@pytest.mark.parametrize(
    ("method", "expected"), [("percentile", 0.832), ("bca", 0.836), ("bootstrap_t", 0.949), ("t", 0.951)]
)
def test_coverage_of_five_normal_seeds_is_as_the_warning_says(method: str, expected: float) -> None:
    scores = np.random.default_rng(0).normal(size=(2000, 5))
    found = intervals_of(list(scores), method=method, n_resamples=1000)
    covered = np.mean([(item.low or 0.0) <= 0 <= (item.high or 0.0) for item in found])
    # Three standard errors of 2,000 repetitions.
    assert covered == pytest.approx(expected, abs=3 * math.sqrt(expected * (1 - expected) / 2000))
    if method in COVERAGE:
        assert COVERAGE[method][5][0] == expected


@pytest.mark.parametrize("method", BOOTSTRAPS)
def test_bootstrap_warns_below_twenty_seeds_only(method: str) -> None:
    few, many = intervals_of([np.linspace(0, 1, 19), np.linspace(0, 1, 20)], method=method)
    assert "measured to cover" in few.warning
    assert not many.warning
    assert not intervals_of([[0.1, 0.2]])[0].warning


def test_warning_quotes_the_nearest_number_of_seeds() -> None:
    assert ".832" in coverage_warning("percentile", 6)
    assert ".899" in coverage_warning("percentile", 19)
    # Between two, the fewer seeds: the warning must not flatter.
    assert ".749" in coverage_warning("percentile", 4)


def test_bootstrap_agrees_with_scipy() -> None:
    scores = np.random.default_rng(5).gamma(2.0, size=25)
    for name in ("percentile", "BCa"):
        expected = stats.bootstrap(
            (scores,), np.mean, n_resamples=10_000, method=name, rng=np.random.default_rng(0)
        ).confidence_interval
        (found,) = intervals_of([scores], method=name.lower())
        assert (found.low, found.high) == pytest.approx((expected.low, expected.high), abs=0.03 * scores.std())


def test_bootstrap_repeats_with_its_seed_and_differs_with_another() -> None:
    scores = np.random.default_rng(2).normal(size=12)
    for method in BOOTSTRAPS:
        first, again, other = (intervals_of([scores], method=method, seed=seed)[0] for seed in (1, 1, 2))
        assert first == again
        assert first.low != other.low
        assert (first.seed, first.n_resamples) == (1, 10_000)


@pytest.mark.parametrize("method", INTERVALS)
def test_cells_together_are_as_cells_alone(method: str) -> None:
    cells = [[0.1, 0.4, 0.2, 0.5, 0.9], [], [0.3, 0.1, 0.35, 0.2, 0.25], [0.5, 0.4], [0.5] * 5]
    together = intervals_of(cells, method=method, n_resamples=300)
    assert len(together) == len(cells)
    for cell, found in zip(cells, together, strict=True):
        (alone,) = intervals_of([cell], method=method, n_resamples=300)
        # Matrices of another shape are multiplied in another order.
        bounds = [None if bound is None else pytest.approx(bound, rel=1e-12) for bound in (alone.low, alone.high)]
        assert [found.low, found.high] == bounds
        assert (found.mean, found.sd, found.note, found.warning) == (alone.mean, alone.sd, alone.note, alone.warning)


def test_interquartile_mean() -> None:
    scores = [1.0, 2.0, 3.0, 4.0, 100.0, 5.0, -50.0, 6.0, 7.0]
    assert iqm(scores) == pytest.approx(stats.trim_mean(scores, 0.25))
    assert iqm([*scores, math.nan]) == iqm(scores)
    assert iqm([]) is None


def test_interval_is_written_as_json() -> None:
    written = json.loads(to_json(intervals_of([[0.5, 0.6]], method="bootstrap_t")[0]))
    assert written["low"] is None
    assert written["method"] == "bootstrap_t"


def test_wrong_choices_are_refused() -> None:
    with pytest.raises(BadValue, match="interval is 'normal'; allowed: t, percentile, bca, bootstrap_t"):
        intervals_of([[1.0, 2.0]], method="normal")
    with pytest.raises(BadValue, match="alpha is 5"):
        intervals_of([[1.0, 2.0]], alpha=5)
    with pytest.raises(BadValue, match="n_resamples is 0"):
        intervals_of([[1.0, 2.0]], n_resamples=0)


def test_import_is_light() -> None:
    every = "from gnz_track import stats; every = [getattr(stats, name) for name in stats.__all__]"
    heavy = "{'torch', 'mlflow', 'pandas', 'scipy.stats', 'sklearn'}"
    code = f"import sys; {every}; print(len(every) > 100, sorted({heavy} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "True []"
