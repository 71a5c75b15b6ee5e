"""Bayesian tests: closed forms, quadrature, and symmetry."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import beta, t, ttest_1samp

from gnz_track.errors import BadValue
from gnz_track.records import to_json
from gnz_track.stats.significance.bayes import correlated_t, signed_rank_posterior

LAW = settings(deadline=None, max_examples=50)
ADVANTAGES = st.lists(st.integers(-50, 50).map(lambda n: n / 100), min_size=2, max_size=12).filter(
    lambda d: len(set(d)) > 1
)


@LAW
@given(ADVANTAGES)
def test_without_rope_and_correlation_it_is_the_one_sided_t_test(d: list[float]) -> None:
    found = correlated_t(d)
    assert found.p_worse == pytest.approx(ttest_1samp(d, 0, alternative="greater").pvalue, rel=1e-9)
    assert found.p_equal == pytest.approx(0.0, abs=1e-12)
    to_json(found)


@LAW
@given(ADVANTAGES, st.floats(0.0, 0.3), st.floats(0.0, 0.5))
def test_closed_form_and_mirror(d: list[float], rope: float, rho: float) -> None:
    found, mirrored = correlated_t(d, rope=rope, rho=rho), correlated_t([-x for x in d], rope=rope, rho=rho)
    scale = np.std(d, ddof=1) * np.sqrt(1 / len(d) + rho / (1 - rho))
    posterior = t(len(d) - 1, np.mean(d), scale)
    assert found.p_better == pytest.approx(posterior.sf(rope), rel=1e-9, abs=1e-12)
    assert found.p_worse == pytest.approx(posterior.cdf(-rope), rel=1e-9, abs=1e-12)
    assert (found.p_better or 0) + (found.p_equal or 0) + (found.p_worse or 0) == pytest.approx(1.0)
    assert found.p_better == pytest.approx(mirrored.p_worse, rel=1e-9, abs=1e-15)


def test_scale_for_seeds_is_one_over_n() -> None:
    # D16: another library takes 1/10 + 1/9 here, and divides by zero where all runs are of one fold.
    d = np.linspace(-1, 2, 10)
    assert correlated_t(d).scale == pytest.approx(d.std(ddof=1) * np.sqrt(1 / 10))
    assert correlated_t(d, rho=0.1).scale == pytest.approx(d.std(ddof=1) * np.sqrt(1 / 10 + 1 / 9))


def test_degenerate_and_too_few_have_no_posterior() -> None:
    for d, word in (([0.1] * 5, "degenerate"), ([0.0] * 5, "degenerate"), ([0.1], "fewer"), ([], "fewer")):
        found = correlated_t(d)
        assert (found.p_better, found.p_equal, found.p_worse, found.scale) == (None,) * 4
        assert word in str(found)
        to_json(found)


def test_signed_rank_of_two_tasks_by_quadrature() -> None:
    # Weights (u, 1 - u) on d = (3, -1), next to no prior: z_i + z_j > 0 but for the second task with itself, so
    # "better" has 1 - (1 - u)^2 against (1 - u)^2, and u is uniform.
    found = signed_rank_posterior([3.0, -1.0], prior_strength=1e-9, n_draws=40_000)
    expected = beta(1, 1).sf(1 - np.sqrt(0.5))
    assert found.p_better == pytest.approx(expected, abs=4 * (found.largest_standard_error or 0))
    assert found.p_worse == pytest.approx(1 - expected, abs=4 * (found.largest_standard_error or 0))


@LAW
@given(ADVANTAGES, st.integers(0, 99))
def test_signed_rank_sums_to_one_and_mirrors(d: list[float], seed: int) -> None:
    found = signed_rank_posterior(d, rope=0.1, n_draws=500, base_seed=seed)
    mirrored = signed_rank_posterior([-x for x in d], rope=0.1, n_draws=500, base_seed=seed)
    assert (found.p_better or 0) + (found.p_equal or 0) + (found.p_worse or 0) == pytest.approx(1.0)
    assert found.p_better == pytest.approx(mirrored.p_worse, abs=1e-12)
    assert found == signed_rank_posterior(d, rope=0.1, n_draws=500, base_seed=seed)
    to_json(found)


def test_signed_rank_is_certain_where_all_tasks_agree() -> None:
    assert signed_rank_posterior([0.1] * 20, n_draws=2000).p_better == pytest.approx(1.0, abs=1e-3)
    assert signed_rank_posterior([0.1] * 20, rope=0.1, n_draws=2000).p_equal == pytest.approx(1.0, abs=1e-3)
    # On the border of the rope on paper, whatever the float noise.
    assert signed_rank_posterior([0.3 - 0.2] * 20, rope=0.1, n_draws=2000).p_equal == pytest.approx(1.0, abs=1e-3)


def test_signed_rank_in_blocks_is_the_same_for_many_tasks() -> None:
    d = np.random.default_rng(0).normal(0.05, 1, size=60)
    found = signed_rank_posterior(d, n_draws=50_000)
    assert found.n_draws == 50_000
    assert (found.p_better or 0) + (found.p_worse or 0) + (found.p_equal or 0) == pytest.approx(1.0)


def test_too_few_tasks() -> None:
    found = signed_rank_posterior([0.1])
    assert (found.p_better, found.largest_standard_error) == (None, None)
    assert "fewer than two tasks" in str(found)


def test_bad_input_is_refused() -> None:
    with pytest.raises(BadValue, match="n_test / n"):
        correlated_t([0.1, 0.2], rho=1.0)
    with pytest.raises(BadValue, match="half-width"):
        correlated_t([0.1, 0.2], rope=-0.1)
    with pytest.raises(BadValue, match="prior_strength"):
        signed_rank_posterior([0.1, 0.2], prior_strength=0)
    with pytest.raises(BadValue, match="leave missing scores out"):
        signed_rank_posterior([0.1, float("nan")])
