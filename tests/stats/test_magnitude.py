"""The laws of scale: a unit changes no verdict, from 1e-300 to 1e300, and what has a unit goes with it."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from score_tables import table_of

from gnz_track.stats.comparison.compare import compare
from gnz_track.stats.comparison.comparison import Comparison
from gnz_track.stats.comparison.costs import pareto_front
from gnz_track.stats.comparison.joins import SeedPairs, join
from gnz_track.stats.estimates.aggregate import interquartile_mean, normalise
from gnz_track.stats.estimates.effects import effects
from gnz_track.stats.estimates.flags import flag_pair
from gnz_track.stats.estimates.intervals import INTERVALS, intervals_of, iqm, mean_curve
from gnz_track.stats.estimates.variance import decompose_variance
from gnz_track.stats.inputs import centre_and_spread, put_back, take_out
from gnz_track.stats.ranking.ranks import quantise_rows, rank_rows
from gnz_track.stats.search.borders import check_border
from gnz_track.stats.search.expected_best import expected_best
from gnz_track.stats.search.importance import rank_hyperparameters
from gnz_track.stats.significance.bayes import correlated_t, signed_rank_posterior
from gnz_track.stats.significance.equivalence import tost
from gnz_track.stats.significance.paired import nadeau_bengio, paired_t, sign_flip, wilcoxon
from gnz_track.stats.significance.sequential import paired_t_log_e, t_at_looks
from gnz_track.types import Direction

# Scores of three decimals, zeros and ties among them, and no two columns alike by construction.
samples = st.lists(st.integers(-40, 40).map(lambda n: n / 1000), min_size=3, max_size=9)
powers_of_ten = st.integers(-298, 301)
powers_of_two = st.integers(-980, 1000)


def pair_of(first: Sequence[float], second: Sequence[float]) -> SeedPairs:
    return join(dict(enumerate(first)), dict(enumerate(second)), direction="up")


def scaled(found: float | None, factor: float) -> Any:
    """Return what a number with the unit of the scores must be with another unit."""
    return None if found is None else pytest.approx(found * factor, rel=1e-8, abs=1e-12 * factor)


def same(found: float | None) -> Any:
    """Return what a number without a unit must be with another unit."""
    return None if found is None else pytest.approx(found, rel=1e-6, abs=1e-9)


@settings(max_examples=60, deadline=None)
@given(sample=samples, power=powers_of_ten)
def test_tests_of_a_pair_do_not_know_the_unit(sample: list[float], power: int) -> None:
    factor = 10.0**power
    plain, other = (pair_of([unit * x for x in sample], [0.0] * len(sample)) for unit in (1.0, factor))
    tests: list[Callable[[SeedPairs], Any]] = [
        paired_t,
        wilcoxon,
        sign_flip,
        lambda pair: nadeau_bengio(pair, n_train=80, n_test=20),
    ]
    for test in tests:
        one, two = test(plain), test(other)
        assert (two.outcome, two.note, two.n_effective) == (one.outcome, one.note, one.n_effective)
        assert two.p == same(one.p)
        expected = scaled if one.test == "sign flip of the mean" else lambda value, _: same(value)
        assert two.statistic == expected(one.statistic, factor)
    one_flags, two_flags = flag_pair(plain), flag_pair(other)
    assert two_flags.words == one_flags.words
    for name in ("skewness", "outlier_ratio", "p", "p_low", "p_high"):
        assert getattr(two_flags, name) == same(getattr(one_flags, name))


@settings(max_examples=60, deadline=None)
@given(sample=samples, power=powers_of_ten)
def test_effects_and_equivalence_go_with_the_unit(sample: list[float], power: int) -> None:
    factor = 10.0**power
    plain, other = (pair_of([unit * x for x in sample], [0.0] * len(sample)) for unit in (1.0, factor))
    one, two = effects(plain), effects(other)
    for name in ("mean", "sd", "low", "high"):
        assert getattr(two.mean, name) == scaled(getattr(one.mean, name), factor)
    assert two.hodges_lehmann == scaled(one.hodges_lehmann, factor)
    assert (two.rank_biserial, two.superiority) == (one.rank_biserial, one.superiority)
    for name in ("d_z", "low", "high", "hedges"):
        assert getattr(two.standardised, name) == same(getattr(one.standardised, name))
    near, far = tost(plain, margin=0.01), tost(other, margin=0.01 * factor)
    assert (far.outcome, far.p, far.p_lower) == (near.outcome, same(near.p), same(near.p_lower))
    assert (far.low, far.high) == (scaled(near.low, factor), scaled(near.high, factor))
    # A margin of another world is none, or all.
    assert (tost(other, margin=1e-320).p or 1.0) >= (near.p or 0.0) or factor < 1e-290


@settings(max_examples=40, deadline=None)
@given(sample=samples, power=powers_of_ten, method=st.sampled_from(sorted(INTERVALS)))
@example(sample=[0.018, 0.017, 0.0, 0.033], power=1, method="bootstrap_t")
def test_means_and_intervals_go_with_the_unit(sample: list[float], power: int, method: str) -> None:
    factor = 10.0**power
    one, two = (intervals_of([[unit * x for x in sample]], method=method, n_resamples=99)[0] for unit in (1.0, factor))
    for name in ("mean", "sd", "sem", "low", "high"):
        assert getattr(two, name) == scaled(getattr(one, name), factor)
    assert two.note == one.note
    assert iqm([factor * x for x in sample]) == scaled(iqm(sample), factor)
    curve = mean_curve([[factor * x, -factor * x] for x in sample])
    assert curve.highs[0] == scaled(mean_curve([[x, -x] for x in sample]).highs[0], factor)


@settings(max_examples=40, deadline=None)
@given(sample=samples, power=powers_of_ten)
def test_posteriors_and_sequential_tests_do_not_know_the_unit(sample: list[float], power: int) -> None:
    factor = 10.0**power
    other = [factor * x for x in sample]
    one, two = correlated_t(sample, rope=0.004), correlated_t(other, rope=0.004 * factor)
    assert (two.note, two.p_better, two.p_equal) == (one.note, same(one.p_better), same(one.p_equal))
    assert (two.mean, two.scale) == (scaled(one.mean, factor), scaled(one.scale, factor))
    across = [signed_rank_posterior(d, rope=r, n_draws=200) for d, r in ((sample, 0.004), (other, 0.004 * factor))]
    assert across[0].p_better == across[1].p_better
    np.testing.assert_allclose(paired_t_log_e(other), paired_t_log_e(sample), rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(t_at_looks(other), t_at_looks(sample), rtol=1e-6, atol=1e-8)


@settings(max_examples=40, deadline=None)
@given(sample=st.lists(st.integers(0, 40).map(lambda n: n / 1000), min_size=12, max_size=12), power=powers_of_ten)
def test_ranks_searches_and_components_do_not_know_the_unit(sample: list[float], power: int) -> None:
    factor = 10.0**power
    plain, other = np.array(sample), factor * np.array(sample)
    np.testing.assert_array_equal(
        rank_rows(other.reshape(3, 4), Direction.up), rank_rows(plain.reshape(3, 4), Direction.up)
    )
    np.testing.assert_allclose(quantise_rows(other.reshape(3, 4)) / factor, plain.reshape(3, 4), atol=1e-9)
    ids = {"model": [place // 4 for place in range(12)], "split": [place % 2 for place in range(12)]}
    one, two = decompose_variance(plain, ids), decompose_variance(other, ids)
    assert (two.next_run_buys_most, two.note) == (one.next_run_buys_most, one.note)
    for a, b in zip(one.components, two.components, strict=True):
        assert (b.share, b.sd) == (same(a.share), scaled(a.sd, factor))
        assert b.variance is None or math.isfinite(b.variance)
    best, best_other = expected_best(plain, Direction.up), expected_best(other, Direction.up)
    assert best_other.means == pytest.approx([factor * mean for mean in best.means], rel=1e-8)
    values = [{"lr": place % 3} for place in range(12)]
    assert [item.share for item in rank_hyperparameters(values, other, Direction.up, n_permutations=20)] == [
        item.share for item in rank_hyperparameters(values, plain, Direction.up, n_permutations=20)
    ]
    places = [place / 11 for place in range(12)]
    assert check_border("lr", places, other, Direction.up, winner=1.0) == check_border(
        "lr", places, plain, Direction.up, winner=1.0
    )
    costs = list(range(12))
    assert pareto_front(costs, other.tolist(), Direction.up) == pareto_front(costs, plain.tolist(), Direction.up)
    strata = [normalise(part, worst=0.0, best=0.04 * factor) for part in other.reshape(3, 4)]
    level = [normalise(part, worst=0.0, best=0.04) for part in plain.reshape(3, 4)]
    assert interquartile_mean(strata).high == same(interquartile_mean(level).high)


def told(found: Comparison) -> list[Any]:
    """Return all that is said of pairs and of the order, and has no unit."""
    pairs = [
        (pair.task, pair.first, pair.second, str(pair.verdict), pair.flags.words, pair.seeds_for_margin)
        for pair in found.pairs
    ]
    across = [(pair.first, pair.second, str(pair.verdict), pair.wins) for pair in found.across.pairs]
    ranks = found.across.ranks
    best = [(task.best, task.not_distinguishable, task.variance.next_run_buys_most) for task in found.tasks]
    return [pairs, across, ranks and ranks.mean_ranks, best]


@settings(max_examples=12, deadline=None)
@given(seed=st.integers(0, 2**31), power=powers_of_ten, test=st.sampled_from(["t", "sign_flip", "anytime"]))
def test_a_comparison_says_the_same_in_every_unit(seed: int, power: int, test: str) -> None:
    scores = np.round(0.5 + np.random.default_rng(seed).normal(0, 0.02, (2, 3, 6)), 3)
    factor = 10.0**power
    one = compare(table_of(scores), test=test, margin=0.03, rope=0.01)
    two = compare(table_of(scores * factor), test=test, margin=0.03 * factor, rope=0.01 * factor)
    assert told(two) == told(one)
    for a, b in zip(one.pairs, two.pairs, strict=True):
        assert (b.p_adjusted, b.equivalence_adjusted) == (same(a.p_adjusted), same(a.equivalence_adjusted))
        assert b.design.advantage == scaled(a.design.advantage, factor)


@settings(max_examples=50, deadline=None)
@given(sample=samples, power=powers_of_two)
def test_a_power_of_two_changes_no_digit(sample: list[float], power: int) -> None:
    factor = 2.0**power
    one, two = (intervals_of([[unit * x for x in sample]])[0] for unit in (1.0, factor))
    assert (two.mean, two.sd, two.low, two.high) == tuple(
        None if x is None else x * factor for x in (one.mean, one.sd, one.low, one.high)
    )
    pairs = [pair_of([unit * x for x in sample], [0.0] * len(sample)) for unit in (1.0, factor)]
    assert paired_t(pairs[0]) == paired_t(pairs[1])
    assert effects(pairs[0]).standardised == effects(pairs[1]).standardised


@settings(max_examples=50, deadline=None)
@given(
    rows=st.lists(
        st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=3, max_size=3), min_size=1, max_size=4
    )
)
def test_taking_out_a_power_of_two_can_be_undone_and_leaves_squares_finite(rows: list[list[float]]) -> None:
    array = np.array(rows)
    taken, exponents = take_out(array)
    assert np.isfinite(taken**3).all()
    largest = np.abs(array).max(axis=1, keepdims=True)
    lost = np.abs(put_back(taken, exponents) - array) > 0
    assert not (lost & (np.abs(array) >= largest * 2.0**-50)).any()
    mean, sd = centre_and_spread(array / 4)
    assert np.isfinite(mean).all()
    assert np.isfinite(sd).all()


def test_ordinary_samples_are_left_as_they_are() -> None:
    array = np.array([[0.8, 0.81], [1e-40, 3e50], [0.0, 0.0]])
    taken, exponents = take_out(array)
    np.testing.assert_array_equal(taken, array)
    assert not exponents.any()


@pytest.mark.parametrize("offset", [1e9, 1e12, 1e15])
def test_a_large_offset_keeps_the_spread_and_the_mean(offset: float) -> None:
    sample = np.array([3.0, 1.0, 4.0, 1.0, 5.0, 9.0, 2.0])
    found = intervals_of([sample, sample + offset])
    assert found[1].sd == pytest.approx(found[0].sd, rel=1e-9)
    assert found[1].mean == pytest.approx(offset + sample.mean(), abs=offset * 2e-16)


def test_mixed_magnitudes_are_decided_by_the_large_ones_and_nothing_is_certain() -> None:
    scores = np.array([[[1e300, 1e-300, 5e-324, 0.0, -1e10], [0.0, 1e-300, 0.0, -0.0, 1e-10]]])
    (pair,) = compare(table_of(scores), margin=1e290).pairs
    assert pair.p == pytest.approx(0.3739, abs=1e-3), "one difference of five is not zero"
    assert pair.effects.mean.sd == pytest.approx(1e300 / math.sqrt(5), rel=1e-9)
    assert not pair.is_rejected


def test_subnormal_scores_are_compared_and_infinite_ones_are_missing() -> None:
    steps = np.array([[[7, 5, 9, 6], [2, 1, 3, 1]]])
    (pair,) = compare(table_of(steps * 5e-324)).pairs
    (plain,) = compare(table_of(steps.astype(float))).pairs
    assert pair.p == pytest.approx(plain.p, rel=1e-9)
    broken = compare(table_of(np.array([[[1.0, np.inf, 3.0], [np.nan, 2.0, 2.0]]])))
    assert (broken.n_finished, broken.pairs[0].n_pairs) == (4, 1)


def test_a_resolution_finer_than_floats_rounds_nothing() -> None:
    scores = np.array([[[1e300, 2e300, 4e300], [2e300, 1e300, 1e300]]])
    (pair,) = compare(table_of(scores), resolution=1e-300).pairs
    (same_pair,) = compare(table_of(scores)).pairs
    assert pair.p == pytest.approx(same_pair.p)
    assert quantise_rows([[1e300, 2e300]], resolution=1e-300).tolist() == [[1e300, 2e300]]
