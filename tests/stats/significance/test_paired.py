from __future__ import annotations

import itertools
import json
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from gnz_track.errors import BadValue
from gnz_track.records import to_json
from gnz_track.stats.comparison.joins import SeedPairs, join, join_all, quantise
from gnz_track.stats.significance.paired import (
    Outcome,
    PairedTest,
    nadeau_bengio,
    paired_t,
    paired_t_rows,
    sign_flip,
    sign_flip_rows,
    signed_rank_p,
    signed_ranks,
    wilcoxon,
    wilcoxon_rows,
)
from gnz_track.types import Direction

ALL_TESTS = (paired_t, wilcoxon, sign_flip)
# Scores of three decimals: ties and zeros are common.
decimals = st.lists(
    st.tuples(st.integers(795, 805), st.integers(795, 805)).map(lambda pair: (pair[0] / 1000, pair[1] / 1000)),
    min_size=2,
    max_size=9,
)


def pair_of(differences: list[float] | np.ndarray, direction: str = "up") -> SeedPairs:
    return join(
        dict(enumerate(map(float, differences))), dict.fromkeys(range(len(differences)), 0.0), direction=direction
    )


def from_couples(couples: list[tuple[float, float]], *, factor: float = 1.0, noise: float = 0.0) -> SeedPairs:
    """Pair couples of scores, scaled, and shaken by noise of either sign."""
    shaken = [
        ((a + noise * (-1) ** seed) * factor, (b - noise * (seed % 3)) * factor) for seed, (a, b) in enumerate(couples)
    ]
    first, second = (dict(enumerate(side)) for side in zip(*shaken, strict=True))
    return join(first, second, direction="up")


def by_brute_force(differences: np.ndarray, zero_method: str) -> float:
    """Return the two-sided signed-rank p by going through all sign patterns."""
    kept = differences[differences != 0]
    if not len(kept):
        return 1.0
    if zero_method == "wilcox":
        ranks = stats.rankdata(np.abs(kept))
    else:
        ranks = stats.rankdata(np.abs(differences))[differences != 0]
    signs = np.array(list(itertools.product((-1, 1), repeat=len(kept))))
    far = abs((np.sign(kept) * ranks).sum())
    return float(np.mean(np.abs(signs @ ranks) >= far - 1e-9))


# Joining.


def test_join_on_seeds_counts_what_it_drops() -> None:
    first = {0: 0.9, 1: None, 2: 0.8, 3: math.nan, 4: 0.7, 7: 0.6}
    second = {0: 0.8, 1: 0.8, 2: 0.9, 3: 0.5, 4: math.inf, 9: 0.1}
    found = join(first, second, direction="up")
    assert found.seeds == (0, 2)
    assert found.quantised == pytest.approx((0.1, -0.1))
    assert (found.n_pairs, found.n_missing, found.n_unmatched) == (2, 3, 2)
    assert str(found) == "2 seeds in common (2 unmatched, 3 missing)"


def test_order_of_the_seeds_does_not_matter() -> None:
    first, second = {0: 0.9, 1: 0.7, 2: 0.8}, {2: 0.5, 0: 0.6, 1: 0.4}
    assert join(first, second, direction="up") == join(dict(reversed(first.items())), second, direction="up")


def test_lower_is_better_turns_the_sign() -> None:
    up, down = (join({0: 2.0, 1: 3.0}, {0: 1.0, 1: 1.5}, direction=d) for d in Direction)
    assert up.advantages == (1.0, 1.5)
    assert down.advantages == (-1.0, -1.5)


def test_quantised_decimals_tie_where_they_should() -> None:
    found = join({0: 0.3, 1: 0.2, 2: 0.1 + 0.2}, {0: 0.2, 1: 0.1, 2: 0.3}, direction="up")
    assert len(set(found.advantages)) == 3
    assert found.quantised[0] == found.quantised[1]
    assert found.quantised[2] == 0
    assert found.quantum == pytest.approx(3e-11)


def test_noise_does_not_decide_half_way_between_two_quanta() -> None:
    # 1e-5 / 0.512 = 1.953125e-5 has its eleventh decimal at 5.
    d = np.array([1e-5, 1e-5 + 1e-17, 1e-5 - 1e-17])
    assert len(set(quantise(d, 0.512).tolist())) == 1


def test_resolution_overrides_the_quantum() -> None:
    found = join({0: 0.501, 1: 0.25}, {0: 0.25, 1: 0.251}, direction="up", resolution=0.01)
    assert found.quantised == pytest.approx((0.25, 0.0))
    assert (found.quantum, found.resolution) == (0.01, 0.01)


def test_all_zero_scores_are_quantised_without_division() -> None:
    assert join({0: 0.0, 1: 0.0}, {0: 0.0, 1: 0.0}, direction="up").is_all_zero


@pytest.mark.parametrize(
    ("choice", "words"), [({"direction": "higher"}, "direction is 'higher'"), ({"resolution": 0.0}, "resolution")]
)
def test_join_refuses_wrong_choices(choice: dict[str, object], words: str) -> None:
    with pytest.raises(BadValue, match=words):
        join({0: 1.0}, {0: 1.0}, **{"direction": "up", **choice})


# Tests.


@pytest.mark.parametrize("test", ALL_TESTS)
@pytest.mark.parametrize("n", [0, 1])
def test_fewer_than_two_pairs_are_not_run(test: object, n: int) -> None:
    found = test(pair_of([0.1] * n))
    assert (found.outcome, found.p, found.statistic, found.n_pairs) == (Outcome.not_run, None, None, n)
    assert "fewer than 2 seeds" in str(found)


@pytest.mark.parametrize("test", ALL_TESTS)
def test_all_zero_has_p_one(test: object) -> None:
    found = test(pair_of([0.0] * 5))
    assert (found.outcome, found.p, found.statistic) == (Outcome.run, 1.0, 0.0)


@given(decimals)
@settings(max_examples=100, deadline=None)
def test_paired_t_equals_scipy(couples: list[tuple[float, float]]) -> None:
    pair = from_couples(couples)
    found = paired_t(pair)
    if pair.is_all_zero or pair.is_degenerate:
        assert found.p == (1.0 if pair.is_all_zero else None)
        return
    expected = stats.ttest_rel(*zip(*couples, strict=True))
    assert (found.statistic, found.p) == pytest.approx((expected.statistic, expected.pvalue), rel=1e-8)


def test_constant_difference_has_no_t_verdict() -> None:
    found = paired_t(pair_of([0.1] * 5))
    assert (found.outcome, found.p) == (Outcome.degenerate, None)
    assert "no spread" in found.note


@pytest.mark.parametrize("zero_method", ["wilcox", "pratt"])
def test_wilcoxon_equals_brute_force(zero_method: str) -> None:
    rng = np.random.default_rng(11)
    for _ in range(2000):
        d = rng.integers(-4, 5, size=rng.integers(2, 13)).astype(float)
        expected = by_brute_force(d, zero_method)
        found = wilcoxon(pair_of(d), zero_method=zero_method)
        assert found.p == pytest.approx(expected, abs=1e-12), d


@given(decimals)
@settings(max_examples=100, deadline=None)
def test_tests_ignore_noise_and_scale(couples: list[tuple[float, float]]) -> None:
    plain = from_couples(couples)
    for other in (
        from_couples(couples, noise=1e-17),
        from_couples(couples, factor=1e-3),
        from_couples(couples, factor=1e3),
    ):
        for zero_method in ("wilcox", "pratt"):
            assert wilcoxon(other, zero_method=zero_method).p == wilcoxon(plain, zero_method=zero_method).p
        assert sign_flip(other).p == sign_flip(plain).p
        assert paired_t(other).outcome == paired_t(plain).outcome
        if (p := paired_t(plain).p) is not None:
            assert paired_t(other).p == pytest.approx(p, rel=1e-9)


@given(st.lists(st.floats(-5, 5).map(lambda x: round(x, 2)), min_size=2, max_size=9))
@settings(max_examples=60, deadline=None)
def test_turning_the_pair_round_turns_the_statistic_only(differences: list[float]) -> None:
    for test in ALL_TESTS:
        there, back = test(pair_of(differences)), test(pair_of([-d for d in differences]))
        assert there.p == (None if back.p is None else pytest.approx(back.p, rel=1e-12))
        if there.statistic is not None and back.statistic is not None:
            assert there.statistic == pytest.approx(-back.statistic, rel=1e-12, abs=1e-12)


def test_wilcoxon_of_many_seeds_is_exact_and_near_the_normal() -> None:
    d = np.random.default_rng(1).normal(0.1, 1, size=300)
    expected = stats.wilcoxon(d, method="asymptotic", correction=True).pvalue
    assert wilcoxon(pair_of(d)).p == pytest.approx(expected, rel=0.01)
    d = d[:40]
    assert wilcoxon(pair_of(d)).p == pytest.approx(stats.wilcoxon(d, method="exact").pvalue, rel=1e-10)


def test_signed_rank_takes_plain_rows() -> None:
    ranks = signed_ranks([[1.0, -2.0, 2.0, np.nan], [0.0, 0.0, 3.0, 1.0]])
    assert ranks.doubled.tolist() == [[2, 5, 5, 0], [0, 0, 4, 2]]
    assert ranks.n_effective.tolist() == [3, 2]
    assert signed_rank_p(ranks).tolist() == [1.0, 0.5]


def test_unknown_zero_method_is_refused() -> None:
    with pytest.raises(BadValue, match="allowed: wilcox, pratt"):
        wilcoxon(pair_of([1.0, 2.0]), zero_method="zsplit")


@given(st.lists(st.integers(-20, 20).map(lambda x: x / 100), min_size=2, max_size=10))
@settings(max_examples=60, deadline=None)
def test_exact_sign_flip_equals_enumeration(differences: list[float]) -> None:
    whole = np.round(np.array(differences) * 100)
    signs = np.array(list(itertools.product((-1, 1), repeat=len(whole))))
    expected = np.mean(np.abs(signs @ whole) >= abs(whole.sum()))
    assert sign_flip(pair_of(differences)).p == pytest.approx(expected, rel=1e-12)


def test_drawn_sign_flip_is_near_the_t_and_repeats_with_its_seed() -> None:
    pair = pair_of(np.random.default_rng(4).normal(0.3, 1, size=40))
    found = sign_flip(pair, seed=3)
    assert found.choices == {"null": "drawn", "n_resamples": 99_999, "seed": 3}
    assert found.p == pytest.approx(paired_t(pair).p, abs=0.01)
    assert found == sign_flip(pair, seed=3)
    assert found.p != sign_flip(pair, seed=4).p


def test_drawn_sign_flip_is_never_zero() -> None:
    assert sign_flip(pair_of(np.arange(1.0, 31.0)), n_resamples=99).p == pytest.approx(0.01)
    with pytest.raises(BadValue, match="n_resamples"):
        sign_flip(pair_of([1.0, 2.0]), n_resamples=0)


def test_nadeau_bengio_widens_the_variance() -> None:
    pair = pair_of([0.1, 0.3, 0.2, 0.15, 0.4])
    found = nadeau_bengio(pair, n_train=80, n_test=20)
    d = np.array(pair.advantages)
    t = d.mean() / math.sqrt(d.var(ddof=1) * (1 / 5 + 20 / 80))
    assert (found.statistic, found.p) == pytest.approx((t, 2 * stats.t.sf(t, 4)))
    assert found.p > paired_t(pair).p
    with pytest.raises(BadValue, match="n_train is 0"):
        nadeau_bengio(pair, n_train=0, n_test=20)


def test_nadeau_bengio_keeps_its_size_on_overlapping_splits() -> None:
    rng = np.random.default_rng(8)
    n_splits, rho = 10, 0.2
    shared, own = rng.normal(size=(4000, 1)), rng.normal(size=(4000, n_splits))
    rows = math.sqrt(rho) * shared + math.sqrt(1 - rho) * own
    pairs = [pair_of(row) for row in rows]
    naive = np.mean([test.p <= 0.05 for test in paired_t_rows(pairs)])
    corrected = np.mean([nadeau_bengio(pair, n_train=80, n_test=20).p <= 0.05 for pair in pairs])
    # Three standard errors around the measured sizes.
    assert naive == pytest.approx(0.255, abs=0.021)
    assert corrected == pytest.approx(0.05, abs=0.011)


def test_many_pairs_are_as_pairs_alone() -> None:
    rng = np.random.default_rng(6)
    pairs = [pair_of(np.round(rng.normal(size=n), 1)) for n in (0, 1, 2, 5, 10, 20, 5)] + [pair_of([0.1] * 4)]
    for rows, single in ((paired_t_rows, paired_t), (wilcoxon_rows, wilcoxon), (sign_flip_rows, sign_flip)):
        assert rows(pairs) == tuple(single(pair) for pair in pairs)
        assert rows([]) == ()


def test_join_of_many_is_as_join_of_one() -> None:
    first, second, third = {0: 0.5, 1: 0.7}, {0: 0.4, 1: None, 2: 0.1}, {5: 1.0}
    couples = [(first, second), (first, third), (second, first)]
    assert join_all(couples, direction="down") == tuple(join(*couple, direction="down") for couple in couples)


def test_results_are_records() -> None:
    for test in ALL_TESTS:
        found = test(pair_of([0.1, -0.2, 0.3]))
        assert isinstance(found, PairedTest)
        written = json.loads(to_json(found))
        assert written["p"] == found.p
        assert written["outcome"] == "run"
    assert json.loads(to_json(wilcoxon(pair_of([0.1, 0.2]))))["choices"] == {"null": "exact", "zero_method": "wilcox"}
    assert str(paired_t(pair_of([0.1, 0.2, 0.3]))) == "paired t: p = 0.07418, statistic 3.464, 3 pairs"
