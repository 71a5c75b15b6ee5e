"""The range of normals against the studentised range of scipy, against what two normals give, and as a law."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import norm, studentized_range

from gnz_track.stats.ranking.groups import range_quantile, range_tail


@pytest.mark.parametrize("k", [2, 3, 4, 10, 30, 100])
def test_the_tail_is_that_of_scipy(k: int) -> None:
    r = np.array([0.0, 0.01, 0.5, 1.0, 2.0, 3.3, 5.0, 7.0])
    np.testing.assert_allclose(range_tail(r, k), studentized_range.sf(r, k, np.inf), atol=2e-10)


@pytest.mark.parametrize("k", [2, 3, 4, 14, 50, 100])
@pytest.mark.parametrize("alpha", [0.2, 0.05, 0.01, 1e-6])
def test_the_upper_point_has_its_probability(k: int, alpha: float) -> None:
    assert range_tail([range_quantile(alpha, k)], k)[0] == pytest.approx(alpha, rel=1e-11)


def test_two_normals_differ_by_a_normal_and_small_tails_keep_their_digits() -> None:
    r = np.array([1.0, 4.0, 8.0, 12.0, 20.0])
    np.testing.assert_allclose(range_tail(r, 2), 2 * norm.sf(r / np.sqrt(2)), rtol=1e-11)


@given(st.integers(2, 60), st.lists(st.floats(0, 30), min_size=2, max_size=20))
def test_the_tail_falls_with_r_and_rises_with_k(k: int, r: list[float]) -> None:
    tail = range_tail(sorted(r), k)
    assert (np.diff(tail) <= 1e-12).all()
    assert (range_tail(sorted(r), k + 1) >= tail - 1e-12).all()
    assert ((tail >= 0) & (tail <= 1)).all()


def test_a_value_does_not_depend_on_its_company() -> None:
    alone = float(range_tail([3.0], 5)[0])
    assert range_tail([3.0, 25.0], 5)[0] == pytest.approx(alone, rel=1e-12)
