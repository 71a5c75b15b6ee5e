"""Adding seeds: the e-process by its definition, its error under the null, and the record of looks."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.stats import nct, norm, ttest_1samp
from scipy.stats import t as student

from gnz_track.errors import BadValue
from gnz_track.records import to_json
from gnz_track.stats.significance.sequential import (
    LOOKS,
    anytime_p,
    look_at_every_seed,
    look_at_fixed_seeds,
    paired_t_log_e,
    t_at_looks,
)

LAW = settings(deadline=None, max_examples=50)
ADVANTAGES = st.lists(st.integers(-50, 50).map(lambda n: n / 100), min_size=2, max_size=30)


@pytest.mark.parametrize("g", [0.25, 1.0, 4.0])
@pytest.mark.parametrize("n", [2, 5, 12])
def test_e_is_the_bayes_factor_of_noncentral_t(n: int, g: float) -> None:
    d = np.random.default_rng(n).normal(0.6, 1, size=n)
    statistic = ttest_1samp(d, 0).statistic

    def weighted(effect: float) -> float:
        return float(nct.pdf(statistic, n - 1, effect * np.sqrt(n)) * norm.pdf(effect, scale=np.sqrt(g)))

    mixed, _ = quad(weighted, -6 * np.sqrt(g), 6 * np.sqrt(g), limit=200)
    assert np.exp(paired_t_log_e(d, g=g)[-1]) == pytest.approx(mixed / student.pdf(statistic, n - 1), rel=1e-6)


@LAW
@given(ADVANTAGES)
def test_formula_and_p(d: list[float]) -> None:
    log_e = paired_t_log_e(d)
    for n in range(2, len(d) + 1):
        if len(set(d[:n])) > 1:
            squared = ttest_1samp(d[:n], 0).statistic ** 2
            nu = n - 1
            expected = -0.5 * np.log(1 + n) + n / 2 * (np.log1p(squared / nu) - np.log1p(squared / ((1 + n) * nu)))
            assert log_e[n - 1] == pytest.approx(expected, rel=1e-7, abs=1e-9)
        else:
            assert log_e[n - 1] == 0.0
    p = anytime_p(log_e)
    assert (np.diff(p) <= 0.0).all()
    assert ((p > 0.0) & (p <= 1.0)).all()
    assert p[-1] == pytest.approx(min(1.0, 1 / np.exp(log_e.max())))


@LAW
@given(ADVANTAGES, st.sampled_from([1e-3, 7.0]))
def test_scale_and_sign_do_not_matter(d: list[float], factor: float) -> None:
    expected = paired_t_log_e(d)
    assert paired_t_log_e(factor * np.array(d)) == pytest.approx(expected, abs=1e-8)
    assert paired_t_log_e(-np.array(d)) == pytest.approx(expected, abs=1e-12)


@LAW
@given(ADVANTAGES)
def test_t_at_looks_is_scipy_s(d: list[float]) -> None:
    found = t_at_looks(d)
    sizes = [size for size in LOOKS if size <= len(d)]
    assert found.shape == (len(sizes),)
    for size, value in zip(sizes, found, strict=True):
        if len(set(d[:size])) > 1:
            assert value == pytest.approx(ttest_1samp(d[:size], 0).pvalue, rel=1e-7)
        else:
            assert np.isnan(value) if d[0] else value == 1.0


def test_many_sequences_at_once_are_each_by_itself() -> None:
    d = np.random.default_rng(0).normal(size=(3, 4, 10))
    assert paired_t_log_e(d)[1, 2] == pytest.approx(paired_t_log_e(d[1, 2]))
    assert t_at_looks(d)[1, 2] == pytest.approx(t_at_looks(d[1, 2]))


def test_errors_under_the_null() -> None:
    n = 4000
    d = np.random.default_rng(5).normal(size=(n, 30))
    every = (paired_t_log_e(d) >= np.log(1 / 0.05)).any(axis=1).mean()
    looks = (t_at_looks(d) <= 0.05 / 5).any(axis=1).mean()
    naive = (t_at_looks(d, range(3, 31)) <= 0.05).any(axis=1).mean()
    # Measured with 10,000 sequences: .021, .040 and .26.
    assert every == pytest.approx(0.021, abs=0.01)
    assert looks == pytest.approx(0.040, abs=0.011)
    assert naive > 0.2


def test_power_and_seeds_that_it_takes() -> None:
    d = np.random.default_rng(6).normal(1.0, 1.0, size=(2000, 30))
    crossed = paired_t_log_e(d) >= np.log(1 / 0.05)
    assert crossed.any(axis=1).mean() == pytest.approx(0.983, abs=0.012)
    seeds = np.where(crossed.any(axis=1), crossed.argmax(axis=1) + 1, 30)
    assert seeds.mean() == pytest.approx(13.3, abs=0.6)


def test_every_look_is_in_the_record() -> None:
    d = np.random.default_rng(7).normal(1.5, 1, size=20)
    found = look_at_every_seed(d, m=6)
    assert [look.n for look in found.looks] == list(range(2, 21))
    assert found.threshold == pytest.approx(120.0)
    first = next(look for look in found.looks if (look.log_e or 0) >= np.log(120))
    assert found.n_at_stop == first.n
    assert found.p == found.looks[-1].p
    assert f"stop at {first.n}" in str(found)
    assert '"looks": [' in to_json(found)


def test_fixed_looks_are_in_the_record() -> None:
    d = np.random.default_rng(8).normal(2.0, 1, size=12)
    found = look_at_fixed_seeds(d)
    assert [look.n for look in found.looks] == [3, 5, 10]
    assert (found.planned, found.next_look, found.alpha_per_look) == (LOOKS, 20, 0.01)
    smallest = min(ttest_1samp(d[:n], 0).pvalue for n in (3, 5, 10))
    assert found.p == pytest.approx(min(1.0, 5 * smallest))
    assert (found.n_at_stop is not None) == (smallest <= 0.01)
    stricter = look_at_fixed_seeds(d, m=10**9)
    assert (stricter.n_at_stop, stricter.p) == (None, found.p)
    to_json(found)


def test_constant_differences_give_no_verdict_and_zeros_give_p_one() -> None:
    for d in ([0.1] * 6, [0.3 - 0.2, 0.2 - 0.1] * 3):
        for found in (look_at_every_seed(d), look_at_fixed_seeds(d)):
            assert (found.p, found.n_at_stop) == (None, None)
            assert "degenerate" in str(found)
            to_json(found)
    for zeros in (look_at_every_seed([0.0] * 6), look_at_fixed_seeds([0.0] * 6)):
        assert (zeros.p, zeros.n_at_stop) == (1.0, None)


def test_a_large_mean_does_not_swallow_the_spread() -> None:
    d = 1.0 + np.random.default_rng(9).normal(size=10) * 1e-6
    moved = d - 1.0  # exact: both lie within a factor of two
    squares, between = ((moved - moved.mean()) ** 2).sum(), 10 * d.mean() ** 2
    expected = -0.5 * np.log(11) + 5 * (np.log(squares + between) - np.log(squares + between / 11))
    assert paired_t_log_e(d)[-1] == pytest.approx(expected, rel=1e-9)
    assert t_at_looks(d, [10])[0] == pytest.approx(2 * student.sf(np.sqrt(9 * between / squares), 9), rel=1e-8)


def test_too_few_pairs() -> None:
    assert look_at_every_seed([0.1]).p is None
    assert look_at_every_seed([]).looks == ()
    found = look_at_fixed_seeds([0.1, 0.2])
    assert (found.p, found.next_look) == (None, 3)
    assert "2 of 3" in str(found)


def test_bad_input_is_refused() -> None:
    with pytest.raises(BadValue, match="prior variance"):
        paired_t_log_e([0.1, 0.2], g=0)
    with pytest.raises(BadValue, match="rising numbers"):
        look_at_fixed_seeds([0.1, 0.2], planned=(5, 3))
    with pytest.raises(BadValue, match="leave missing scores out"):
        look_at_every_seed([0.1, float("nan")])
    with pytest.raises(BadValue, match="finite differences"):
        paired_t_log_e([0.1, float("nan")])
