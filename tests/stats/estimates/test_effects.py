from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import integrate, special, stats

from gnz_track.errors import BadValue
from gnz_track.records import to_json
from gnz_track.stats.comparison.joins import SeedPairs, join
from gnz_track.stats.design.power import noncentral_t_cdf, noncentrality_at
from gnz_track.stats.estimates.effects import (
    effects,
    effects_rows,
    hedges_factor,
    mean_advantage,
    mean_advantage_rows,
    widen_for_overlap,
)
from gnz_track.stats.significance.paired import nadeau_bengio

some_differences = st.lists(st.integers(-50, 80).map(lambda x: x / 100), min_size=3, max_size=12).filter(
    lambda d: len(set(d)) > 1
)


def pair_of(differences: list[float]) -> SeedPairs:
    return join(dict(enumerate(differences)), dict.fromkeys(range(len(differences)), 0.0), direction="up")


@given(some_differences, st.sampled_from([0.01, 0.05, 0.2]))
@settings(max_examples=60, deadline=None)
def test_intervals_contain_their_estimates(differences: list[float], alpha: float) -> None:
    found = effects(pair_of(differences), alpha=alpha)
    for low, value, high in (
        (found.mean.low, found.mean.mean, found.mean.high),
        (found.standardised.low, found.standardised.d_z, found.standardised.high),
        (found.standardised.hedges_low, found.standardised.hedges, found.standardised.hedges_high),
        (found.superiority.low, found.superiority.share, found.superiority.high),
    ):
        assert low <= value <= high
    assert -1 <= found.rank_biserial <= 1
    assert min(differences) - 1e-9 <= found.hodges_lehmann <= max(differences) + 1e-9


def test_intervals_shrink_with_pairs() -> None:
    pattern = [0.1, -0.2, 0.4, 0.3, 0.0, 0.2] * 20
    found = [effects(pair_of(pattern[:n])) for n in (6, 12, 30, 120)]
    for part, low, high in (
        ("mean", "low", "high"),
        ("standardised", "low", "high"),
        ("standardised", "hedges_low", "hedges_high"),
        ("superiority", "low", "high"),
    ):
        widths = [getattr(getattr(item, part), high) - getattr(getattr(item, part), low) for item in found]
        assert widths == sorted(widths, reverse=True)


@given(some_differences, st.sampled_from([1e-3, 7.0, 1e3]))
@settings(max_examples=40, deadline=None)
def test_scaling_leaves_what_has_no_unit(differences: list[float], factor: float) -> None:
    plain, scaled = effects(pair_of(differences)), effects(pair_of([d * factor for d in differences]))
    assert scaled.standardised.d_z == pytest.approx(plain.standardised.d_z, rel=1e-9, abs=1e-12)
    assert scaled.standardised.low == pytest.approx(plain.standardised.low, rel=1e-7, abs=1e-9)
    assert scaled.rank_biserial == plain.rank_biserial
    assert scaled.superiority == plain.superiority
    assert scaled.mean.high == pytest.approx(plain.mean.high * factor, rel=1e-9, abs=1e-12 * factor)
    assert scaled.hodges_lehmann == pytest.approx(plain.hodges_lehmann * factor, rel=1e-8, abs=1e-9 * factor)


def test_advantage_interval_agrees_with_the_paired_t_of_scipy() -> None:
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(2, 9))
    found = mean_advantage(join(dict(enumerate(a)), dict(enumerate(b)), direction="up"), alpha=0.01)
    expected = stats.ttest_rel(a, b).confidence_interval(0.99)
    assert (found.low, found.high) == pytest.approx((expected.low, expected.high))


def test_the_interval_over_overlapping_splits_is_that_of_its_test() -> None:
    rng = np.random.default_rng(3)
    n_rejected = 0
    for _ in range(200):
        pair = pair_of(list(rng.normal(0.8, 1, 9)))
        test = nadeau_bengio(pair, n_train=90, n_test=30)
        found = widen_for_overlap(mean_advantage(pair), n_train=90, n_test=30)
        assert (found.low > 0 or found.high < 0) is (test.p < 0.05)
        n_rejected += test.p < 0.05
    assert 20 < n_rejected < 180
    d = np.array(pair.advantages)
    half = stats.t.ppf(0.975, 8) * np.sqrt(d.var(ddof=1) * (1 / 9 + 30 / 90))
    assert (found.low, found.high) == pytest.approx((d.mean() - half, d.mean() + half))
    constant = mean_advantage(pair_of([0.1, 0.1, 0.1]))
    assert widen_for_overlap(constant, n_train=90, n_test=30) == constant


@pytest.mark.parametrize("share", [0.0, 0.1, 0.5, 0.9, 1.0])
@pytest.mark.parametrize(("name", "scipy_name"), [("wilson", "wilson"), ("clopper_pearson", "exact")])
def test_share_intervals_equal_scipy(share: float, name: str, scipy_name: str) -> None:
    won = int(share * 10)
    found = effects(pair_of([1.0 + k for k in range(won)] + [-1.0 - k for k in range(10 - won)]), share_interval=name)
    expected = stats.binomtest(won, 10).proportion_ci(0.95, method=scipy_name)
    assert (found.superiority.low, found.superiority.high) == pytest.approx((expected.low, expected.high), abs=1e-12)
    assert found.superiority.share == share
    assert found.superiority.method == name


def test_ties_count_half() -> None:
    assert effects(pair_of([0.0, 0.0, 1.0, -1.0, 2.0])).superiority.share == pytest.approx(0.6)


def test_hedges_factors_are_those_of_the_book() -> None:
    assert hedges_factor(np.array([3.0, 5.0, 10.0, 30.0])) == pytest.approx([0.564, 0.798, 0.914, 0.974], abs=5e-4)


def test_hedges_factor_removes_the_bias() -> None:
    d = np.random.default_rng(3).normal(0.8, 1, size=(4000, 6))
    found = effects_rows([pair_of(row) for row in d.tolist()])
    # The standard error of the mean of 4,000 is about .009.
    assert np.mean([item.standardised.hedges for item in found]) == pytest.approx(0.8, abs=0.03)
    assert np.mean([item.standardised.d_z for item in found]) > 0.9
    covered = [item.standardised.low <= 0.8 <= item.standardised.high for item in found]
    assert np.mean(covered) == pytest.approx(0.95, abs=0.0104)


@pytest.mark.parametrize(
    ("differences", "words"),
    [([], "fewer than 2"), ([0.1], "fewer than 2"), ([0.0] * 4, "all differences are zero"), ([0.1] * 4, "no spread")],
)
def test_undefined_effects_say_why(differences: list[float], words: str) -> None:
    found = effects(pair_of(differences))
    assert (found.standardised.d_z, found.standardised.low, found.standardised.hedges) == (None, None, None)
    assert words in str(found)
    assert json.loads(to_json(found))["standardised"]["d_z"] is None


def test_two_pairs_have_no_hedges_factor() -> None:
    found = effects(pair_of([0.01, 0.03])).standardised
    assert found.d_z == pytest.approx(2**0.5)
    assert (found.factor, found.hedges) == (None, None)
    assert found.note


def test_constant_difference_has_a_mean_and_no_interval() -> None:
    found = effects(pair_of([0.1] * 4))
    assert (found.mean.mean, found.mean.sd, found.mean.low) == (pytest.approx(0.1), 0.0, None)
    assert (found.rank_biserial, found.hodges_lehmann) == (1.0, pytest.approx(0.1))


def test_many_pairs_are_as_pairs_alone() -> None:
    rng = np.random.default_rng(1)
    pairs = [pair_of(np.round(rng.normal(size=n), 1).tolist()) for n in (0, 1, 2, 3, 9, 17)] + [pair_of([0.1] * 4)]
    assert effects_rows(pairs) == tuple(effects(pair) for pair in pairs)
    assert mean_advantage_rows(pairs, alpha=0.01) == tuple(mean_advantage(pair, alpha=0.01) for pair in pairs)
    assert effects_rows([]) == ()


def test_wrong_choices_are_refused() -> None:
    with pytest.raises(BadValue, match="allowed: wilson, clopper_pearson"):
        effects(pair_of([1.0, 2.0]), share_interval="wald")
    with pytest.raises(BadValue, match="alpha is 0"):
        effects(pair_of([1.0, 2.0]), alpha=0)


# The noncentral t underneath.


@pytest.mark.parametrize("df", [1, 2, 4, 9, 29, 200])
def test_noncentral_t_equals_the_library_where_that_has_a_value(df: int) -> None:
    rng = np.random.default_rng(df)
    t, shift = rng.uniform(-40, 60, size=400), rng.uniform(-5, 15, size=400)
    found, expected = noncentral_t_cdf(t, df, shift), special.nctdtr(df, shift, t)
    assert np.isfinite(found).all()
    is_known = np.isfinite(expected)
    assert is_known.sum() > 300
    assert found[is_known] == pytest.approx(expected[is_known], abs=1e-12)


@pytest.mark.parametrize(("t", "df", "shift"), [(-4.3, 2, 8.2), (-127.3, 1, 50.0), (127.3, 1, 160.0), (9.9, 2, 30.0)])
def test_noncentral_t_equals_adaptive_quadrature(t: float, df: int, shift: float) -> None:
    def integrand(s: float) -> float:
        return float(stats.chi.pdf(s, df, scale=df**-0.5) * special.ndtr(t * s - shift))

    edge = abs(shift / t)
    points = sorted({edge, max(edge - 5 / abs(t), 1e-9), edge + 5 / abs(t)})
    expected, _ = integrate.quad(integrand, 0, 12, points=points, epsabs=1e-14, epsrel=1e-12, limit=500)
    assert noncentral_t_cdf(t, df, shift)[0] == pytest.approx(expected, abs=1e-11)


@given(st.floats(0, 1e5), st.integers(1, 500), st.sampled_from([0.001, 0.025, 0.5, 0.975, 0.9999]))
@settings(max_examples=60, deadline=None)
def test_noncentrality_inverts_the_distribution(t: float, df: int, probability: float) -> None:
    assert noncentral_t_cdf(t, df, noncentrality_at(t, df, probability))[0] == pytest.approx(probability, rel=1e-7)
