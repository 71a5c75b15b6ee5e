from __future__ import annotations

import json
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from gnz_track.errors import BadValue
from gnz_track.records import to_json
from gnz_track.stats.comparison.joins import SeedPairs, join
from gnz_track.stats.design.power import (
    attainability,
    design_power,
    margin_needed,
    paired_t_power,
    seeds_needed,
    seeds_needed_rows,
    smallest_effect,
    smallest_p,
    smallest_seeds,
    tost_power,
)
from gnz_track.stats.estimates.effects import mean_advantage
from gnz_track.stats.significance.equivalence import tost, tost_rows
from gnz_track.stats.significance.paired import Outcome, paired_t_rows


def pair_of(differences: list[float]) -> SeedPairs:
    return join(dict(enumerate(differences)), dict.fromkeys(range(len(differences)), 0.0), direction="up")


def test_power_is_alpha_without_an_effect_and_symmetric() -> None:
    for n in (2, 3, 10, 100):
        assert paired_t_power(0.0, n, alpha=0.01) == pytest.approx(0.01, rel=1e-9)
        assert paired_t_power(-1.0, n) == pytest.approx(paired_t_power(1.0, n), rel=1e-12)


@given(st.floats(0.05, 3), st.integers(2, 60))
@settings(max_examples=50, deadline=None)
def test_power_grows_with_effect_and_seeds(d_z: float, n: int) -> None:
    power = paired_t_power(d_z, n)
    assert 0.05 <= power <= 1
    assert paired_t_power(d_z * 1.1, n) >= power - 1e-12
    assert paired_t_power(d_z, n + 1) >= power - 1e-12
    assert paired_t_power(d_z, n, alpha=0.01) <= power


def test_power_equals_simulation() -> None:
    d = np.random.default_rng(0).normal(1.0, 1.0, size=(4000, 8))
    rejected = np.mean([test.p <= 0.05 for test in paired_t_rows([pair_of(row) for row in d.tolist()])])
    assert rejected == pytest.approx(paired_t_power(1.0, 8), abs=3 * math.sqrt(0.25 / 4000))


@pytest.mark.parametrize("n", [2, 3, 5, 10, 30])
@pytest.mark.parametrize("alpha", [0.05, 0.05 / 6, 0.05 / 190])
def test_smallest_effect_has_the_power_asked_for(n: int, alpha: float) -> None:
    effect = smallest_effect(n, alpha=alpha, power=0.9)
    assert paired_t_power(effect, n, alpha=alpha) == pytest.approx(0.9, rel=1e-9)


@pytest.mark.parametrize("d_z", [0.2, 0.77, 1.3, 4.0, 20.0])
def test_seeds_needed_are_the_fewest(d_z: float) -> None:
    n = seeds_needed(d_z, power=0.9)
    assert paired_t_power(d_z, n) >= 0.9
    assert n == 2 or paired_t_power(d_z, n - 1) < 0.9


def test_no_number_of_seeds_finds_nothing() -> None:
    assert seeds_needed(0.0, most=1000) is None
    assert seeds_needed(0.05, most=100) is None


def test_fewer_than_two_pairs_have_no_power() -> None:
    assert (paired_t_power(1.0, 1), smallest_effect(1), tost_power(1.0, 1), margin_needed(1)) == (None,) * 4
    found = design_power(1, 6, sd=0.1)
    assert (found.effect, found.advantage, found.advantage_in_family) == (None, None, None)
    assert "at least 2 seeds" in str(found)


def test_design_is_stated_alone_and_in_its_family() -> None:
    found = design_power(10, 6, sd=0.02)
    assert (found.effect, found.effect_in_family) == pytest.approx((0.996, 1.371), abs=5e-4)
    assert found.advantage_in_family == pytest.approx(0.02 * found.effect_in_family)
    assert str(found) == "10 pairs detect d_z 0.996 with power 0.8 at 0.05, and 1.371 among 6 comparisons"
    assert json.loads(to_json(found))["m"] == 6


# Equivalence.


def test_margins_for_power_are_those_published() -> None:
    expected = {3: 2.67, 5: 1.60, 10: 1.01, 20: 0.68, 30: 0.55}
    for n, margin in expected.items():
        # The published figures were simulated and printed with two decimals.
        assert margin_needed(n) == pytest.approx(margin, abs=0.011)
        assert tost_power(margin_needed(n), n) == pytest.approx(0.8, rel=1e-9)


def test_equivalence_power_equals_simulation() -> None:
    d = np.random.default_rng(1).normal(size=(4000, 6))
    found = tost_rows([pair_of(row) for row in d.tolist()], margin=1.2)
    share = np.mean([test.p <= 0.05 for test in found])
    assert share == pytest.approx(tost_power(1.2, 6), abs=3 * math.sqrt(0.25 / 4000))


@given(
    st.lists(st.integers(-50, 60).map(lambda x: x / 1000), min_size=2, max_size=12), st.sampled_from([0.01, 0.03, 0.1])
)
@settings(max_examples=80, deadline=None)
def test_equivalence_is_the_interval_within_the_margin(differences: list[float], margin: float) -> None:
    pair = pair_of(differences)
    found = tost(pair, margin=margin)
    if pair.is_degenerate:
        assert (found.outcome, found.p) == (Outcome.degenerate, None)
        return
    interval = mean_advantage(pair, alpha=0.10)
    assert (found.low, found.high) == pytest.approx((interval.low, interval.high))
    if abs(found.p - 0.05) > 1e-9:
        assert (found.p <= 0.05) == (-margin < found.low and found.high < margin)
    assert found.p == max(found.p_lower, found.p_upper)


def test_equivalence_equals_two_tests_of_scipy() -> None:
    d = [0.01, -0.02, 0.03, 0.0, 0.015]
    found = tost(pair_of(d), margin=0.04)
    lower = stats.ttest_1samp(d, -0.04, alternative="greater").pvalue
    upper = stats.ttest_1samp(d, 0.04, alternative="less").pvalue
    assert (found.p_lower, found.p_upper) == pytest.approx((lower, upper))


def test_equivalence_of_few_pairs_is_not_run() -> None:
    found = tost(pair_of([0.1]), margin=1.0)
    assert (found.outcome, found.p, found.low) == (Outcome.not_run, None, None)
    assert json.loads(to_json(found))["p"] is None


def test_equivalence_of_equal_scores() -> None:
    assert tost(pair_of([0.0] * 5), margin=0.01).p == 0.0


# Attainability.


def test_sentence_of_a_test_that_cannot_reject() -> None:
    found = attainability(5, 6)
    assert str(found) == "with 5 seeds and 6 pairs the smallest adjusted p is .375: this test cannot reject"
    assert (found.can_reject, found.seeds_to_reject) == (False, 8)


def test_sentences_of_other_designs() -> None:
    assert (
        str(attainability(10, 6)) == "with 10 seeds and 6 pairs the smallest adjusted p is .0117: this test can reject"
    )
    assert str(attainability(1, 1)).startswith("with 1 seed and 1 pair no paired test can be run")
    assert attainability(2, 100).smallest_adjusted_p == 1.0


def test_minimum_seeds() -> None:
    families = (1, 3, 6, 10, 15, 21, 28, 45, 66, 105, 190, 435)
    assert [smallest_seeds(m) for m in families] == [6, 7, 8, 9, 10, 10, 11, 11, 12, 13, 13, 15]
    assert smallest_p(1) is None


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: paired_t_power(math.nan, 5), "d_z is nan"),
        (lambda: smallest_effect(5, power=0.01), "power is 0.01"),
        (lambda: design_power(5, 0), "m is 0"),
        (lambda: attainability(5, 0), "m is 0"),
        (lambda: tost(pair_of([0.1, 0.2]), margin=-1.0), "margin is -1.0"),
        (lambda: tost_power(0.0, 5), "margin is 0.0"),
        (lambda: smallest_seeds(6, alpha=1.5), "alpha is 1.5"),
    ],
)
def test_wrong_designs_are_refused(call: object, words: str) -> None:
    with pytest.raises(BadValue, match=words):
        call()


@pytest.mark.parametrize("alpha", [0.05, 0.05 / 6, 0.05 / 190])
def test_seeds_needed_of_many_effects_are_those_of_each(alpha: float) -> None:
    sizes = [*np.exp(np.random.default_rng(0).normal(-0.5, 1.2, 40)).tolist(), -0.8, 20.0, 1e3, 0.03, 1e-4]
    found = seeds_needed_rows([*sizes, 0.0, math.nan], alpha=alpha)
    assert found[:-2] == tuple(seeds_needed(size, alpha=alpha, most=10_000) for size in sizes)
    assert found[-2:] == (None, None)
    assert found[-3] is None


def test_attainability_speaks_of_tasks_too() -> None:
    assert str(attainability(5, 6, unit="task")) == (
        "with 5 tasks and 6 pairs the smallest adjusted p is .375: this test cannot reject"
    )


@pytest.mark.parametrize(("alpha", "power"), [(0.05, 0.8), (0.2, 0.9), (0.05, 0.06), (0.5, 0.55), (0.9, 0.95)])
def test_seeds_of_many_effects_are_those_of_each(alpha: float, power: float) -> None:
    sizes = [0.00733, 0.05, 0.3, 1.0, 4.737]
    alone = [seeds_needed(size, alpha=alpha, power=power, most=10_000) for size in sizes]
    assert list(seeds_needed_rows(sizes, alpha=alpha, power=power)) == alone
