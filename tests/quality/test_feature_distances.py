"""Distances of features against SciPy's, and their digits where products of matrices lose them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.distance import cdist

from gnz_track.errors import BadValue
from gnz_track.quality.distances import find_feature_metric

NAMES = {
    "euclidean": "euclidean",
    "l2": "euclidean",
    "manhattan": "cityblock",
    "cosine": "cosine",
    "chebyshev": "chebyshev",
}


@settings(max_examples=40, deadline=None)
@given(
    name=st.sampled_from(sorted(NAMES)),
    width=st.sampled_from([1, 3, 97, 200]),
    n=st.integers(1, 12),
    is_whole=st.booleans(),
    seed=st.integers(0, 20),
)
def test_they_are_those_of_scipy(*, name: str, width: int, n: int, is_whole: bool, seed: int) -> None:
    x = np.random.default_rng(seed).normal(size=(2, n, width)) * 3
    x = np.rint(x) + 1.0 if is_whole else x
    if name == "cosine":
        # Rows of zeros have no direction.
        x[..., 0] += 20.0
    found = find_feature_metric(name)(x, x[:, : n // 2 + 1])
    for part, distances in zip(x, found, strict=True):
        assert distances == pytest.approx(cdist(part[: n // 2 + 1], part, NAMES[name]), rel=1e-9, abs=1e-12)


def test_near_rows_of_many_columns_keep_their_digits() -> None:
    rng = np.random.default_rng(1)
    x = 1000.0 + 1e-3 * rng.normal(size=(30, 300))
    x[5], x[9] = x[3] + 1e-9 * rng.normal(size=300), x[4]
    found = find_feature_metric("euclidean")(x[None], x[None])[0]
    assert found == pytest.approx(cdist(x, x), rel=1e-6)
    assert found[4, 9] == 0.0


def test_rows_of_zeros_under_the_cosine() -> None:
    x = np.array([[[0.0, 0.0], [0.0, 0.0], [2.0, 0.0], [5.0, 0.0], [-1.0, 0.0]]])
    expected = [[0, 0, 1, 1, 1], [0, 0, 1, 1, 1], [1, 1, 0, 0, 2], [1, 1, 0, 0, 2], [1, 1, 2, 2, 0]]
    assert find_feature_metric("cosine")(x, x)[0].tolist() == expected


def test_an_own_function_of_two_rows() -> None:
    x = np.random.default_rng(2).normal(size=(1, 6, 2))
    found = find_feature_metric(lambda a, b: float(np.abs(a - b).max()))(x, x)
    assert found[0] == pytest.approx(cdist(x[0], x[0], "chebyshev"))


def test_metrics_that_are_none() -> None:
    with pytest.raises(BadValue, match="metric of features is 'euclid'; allowed: a function of two rows, or"):
        find_feature_metric("euclid")
