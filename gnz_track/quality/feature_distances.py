"""Distances between the features of nodes, for many small sets of nodes at once: ``x [b, m, k]`` to ``[b, m, m]``.

Rows that are equal are at distance zero in every metric, exactly; so are rows of zeros under the cosine.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
import torch
from numpy.typing import NDArray

from gnz_track.errors import BadValue

__all__ = ["FeatureMetric", "find_feature_metric"]

Numbers = NDArray[np.float64]
# From x [b, m, k] and y [b, r, k] to distances [b, r, m] of the rows of y from those of x.
FeatureMetric = Callable[[Numbers, Numbers], Numbers]

# Up to here differences are taken one by one, which is exact; above, products of matrices are much faster.
MOST_COLUMNS = 96
# Below this share of the largest square, a difference of products has lost too many digits.
CLOSE = 1e-6
MOST_WHOLE = 2.0**26


def find_feature_metric(metric: str | Callable[..., float]) -> FeatureMetric:
    """Return a metric by its name: euclidean, cosine, manhattan, discrete, or any of scikit-learn.

    A function is called with two vectors and returns their distance.
    """
    if callable(metric):
        return partial(_by_sklearn, metric=metric)
    if metric in _OWN:
        return _OWN[metric]
    from sklearn.metrics.pairwise import _VALID_METRICS

    known = sorted(set(_VALID_METRICS) - {"precomputed"})
    if metric not in known:
        raise BadValue("the metric of features", metric, f"a function of two rows, or {', '.join(known)}")
    return partial(_by_sklearn, metric=metric)


def euclidean(x: Numbers, y: Numbers) -> Numbers:
    """Return Euclidean distances without the loss of digits that a difference of products has between near rows."""
    if x.shape[-1] <= MOST_COLUMNS:
        mode = "donot_use_mm_for_euclid_dist"
        found: Numbers = torch.cdist(torch.from_numpy(y), torch.from_numpy(x), compute_mode=mode).numpy()
        return found
    squares = _squared_distances(x, y)
    return np.sqrt(squares, out=squares)


def _squared_distances(x: Numbers, y: Numbers) -> Numbers:
    is_exact = _is_whole(x) and (x is y or _is_whole(y))
    if not is_exact:
        # Where all rows share a large part, products would hold nothing else.
        centre = x.mean(axis=-2, keepdims=True)
        x, y = x - centre, y - centre
    norms, others = (x * x).sum(axis=-1), (y * y).sum(axis=-1)
    squares = y @ np.swapaxes(x, -1, -2)
    squares *= -2.0
    squares += others[..., :, None]
    squares += norms[..., None, :]
    if is_exact:
        return squares
    scale = norms.max(axis=-1)[..., None, None]
    batch, row, column = np.nonzero(squares <= CLOSE * scale)
    step = max(1, (1 << 22) // x.shape[-1])
    for at in range(0, len(batch), step):
        b, i, j = (index[at : at + step] for index in (batch, row, column))
        squares[b, i, j] = ((y[b, i] - x[b, j]) ** 2).sum(axis=-1)
    return squares


def _is_whole(x: Numbers) -> bool:
    """Tell whether products and their sums are whole numbers that are held without rounding."""
    largest = float(np.abs(x).max(initial=0.0))
    return largest * largest * x.shape[-1] < MOST_WHOLE**2 / 4 and bool((x == np.rint(x)).all())


def manhattan(x: Numbers, y: Numbers) -> Numbers:
    """Return sums of absolute differences."""
    found: Numbers = torch.cdist(torch.from_numpy(y), torch.from_numpy(x), p=1.0).numpy()
    return found


def cosine(x: Numbers, y: Numbers) -> Numbers:
    """Return 1 - cos; a row of zeros is at distance 1 from every other row, and at 0 from another one of zeros.

    It is half the square of the distance between unit vectors: equal directions are at distance zero.
    """
    first, second = _unit_rows(x), _unit_rows(y)
    found = euclidean(first, second) ** 2 / 2
    is_zero, other_is_zero = (np.abs(unit).max(axis=-1, initial=0.0) == 0 for unit in (first, second))
    found[is_zero[..., None, :] != other_is_zero[..., :, None]] = 1.0
    return found


def discrete(x: Numbers, y: Numbers) -> Numbers:
    """Return 0 for rows that are equal and 1 for others: as one-hot vectors, which need not be made."""
    found: Numbers = (torch.cdist(torch.from_numpy(y), torch.from_numpy(x), p=0.0) > 0).double().numpy()
    return found


def _unit_rows(x: Numbers) -> Numbers:
    lengths = np.sqrt((x * x).sum(axis=-1, keepdims=True))
    found: Numbers = np.divide(x, lengths, out=np.zeros_like(x), where=lengths > 0)
    return found


def _by_sklearn(x: Numbers, y: Numbers, *, metric: str | Callable[..., float]) -> Numbers:
    from sklearn.metrics import pairwise_distances

    return np.stack([pairwise_distances(b, a, metric=metric) for a, b in zip(x, y, strict=True)])


_OWN: dict[str, FeatureMetric] = {
    "euclidean": euclidean,
    "l2": euclidean,
    "manhattan": manhattan,
    "l1": manhattan,
    "cityblock": manhattan,
    "cosine": cosine,
    "discrete": discrete,
}
