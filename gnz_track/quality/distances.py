"""Distances between the nodes of many small graphs at once, by their features and along their edges.

Metrics of features take ``x [b, m, k]`` to ``[b, m, m]``; rows that are equal are at distance zero in every metric,
exactly, and so are rows of zeros under the cosine. Metrics of graphs take ``adjacency [b, m, m]``, symmetric matrices
of connected graphs that are padded with zeros to one size, and ``sizes [b]``; each yields ``[b, m, m]`` for each of the
times, and leaves undefined what belongs to the padding.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.sparse import csgraph, csr_array

from gnz_track.errors import BadValue
from gnz_track.registry import Registry

__all__ = ["GRAPH_METRICS", "FeatureMetric", "GraphMetric", "find_feature_metric"]


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


Whole = NDArray[np.int64]
Times = Sequence[int]


@dataclass(frozen=True, kw_only=True)
class GraphMetric:
    """One metric; ``powers`` is there for those that row blocks of a large graph can be made of.

    ``has_times`` says whether the distances depend on a time at all.
    """

    name: str
    distances: Callable[[Numbers, Whole, Times], Iterator[Numbers]]
    description: str
    has_times: bool = True
    powers: str = ""


GRAPH_METRICS: Registry[GraphMetric] = Registry("distance between nodes")


def _normalised_laplacian(adjacency: Numbers) -> Numbers:
    """Return I - D^(-1/2) A D^(-1/2); padding stays zero."""
    degrees = adjacency.sum(axis=-1)
    roots = _inverse_roots(degrees)
    base = adjacency * -roots[..., :, None]
    base *= roots[..., None, :]
    place = np.arange(base.shape[-1])
    base[..., place, place] += degrees > 0
    return base


def _symmetric_walk(adjacency: Numbers) -> tuple[Numbers, Numbers]:
    """Return the walk D^(-1) A, made symmetric, and the weights ``[..., m]`` that scale distances back."""
    degrees = adjacency.sum(axis=-1)
    roots = _inverse_roots(degrees)
    base = adjacency * roots[..., :, None]
    base *= roots[..., None, :]
    stationary = np.sqrt(degrees / np.maximum(degrees.sum(axis=-1, keepdims=True), np.finfo(float).tiny))
    return base - stationary[..., :, None] * stationary[..., None, :], roots


def _inverse_roots(degrees: Numbers) -> Numbers:
    return np.divide(1.0, np.sqrt(degrees), out=np.zeros_like(degrees), where=degrees > 0)


def _from_powers(base: Numbers, times: Times, outer: Numbers | None = None) -> Iterator[Numbers]:
    """Yield distances of embeddings that are powers of a symmetric matrix: ``K = base^(2t)``, scaled by ``outer``.

    d(i, j)^2 = K_ii + K_jj - 2 K_ij, so that no eigenvector is needed.
    """
    step: Numbers = base @ base
    kernel = step
    for time in range(1, max(times) + 1):
        if time > 1:
            kernel = kernel @ step
        if time in times:
            yield _embedded(kernel, outer)


def _diffusion(adjacency: Numbers, _: Whole, times: Times) -> Iterator[Numbers]:
    return _from_powers(_normalised_laplacian(adjacency), times)


def _walk(adjacency: Numbers, _: Whole, times: Times) -> Iterator[Numbers]:
    base, roots = _symmetric_walk(adjacency)
    return _from_powers(base, times, outer=roots)


def _unnormalised_diffusion(adjacency: Numbers, _: Whole, times: Times) -> Iterator[Numbers]:
    return _from_powers(_laplacian(adjacency), times)


def _embedded(kernel: Numbers, outer: Numbers | None = None) -> Numbers:
    """Return the Euclidean distances of points with these inner products."""
    if outer is not None:
        kernel = kernel * outer[..., :, None] * outer[..., None, :]
    squares = kernel * -2.0
    diagonal = np.einsum("...ii->...i", kernel)
    squares += diagonal[..., :, None]
    squares += diagonal[..., None, :]
    np.maximum(squares, 0.0, out=squares)
    # In each, as in each other sum of three, the last digits are lost; on the diagonal nothing may be left.
    np.einsum("...ii->...i", squares)[...] = 0.0
    return np.sqrt(squares, out=squares)


def _laplacian(adjacency: Numbers) -> Numbers:
    laplacian = -adjacency
    np.einsum("...ii->...i", laplacian)[...] += adjacency.sum(axis=-1)
    return laplacian


def _heat(adjacency: Numbers, _: Whole, times: Times) -> Iterator[Numbers]:
    values, vectors = np.linalg.eigh(_normalised_laplacian(adjacency))
    for time in times:
        embedding = vectors * np.exp(-time * values)[..., None, :]
        yield _embedded(embedding @ np.swapaxes(embedding, -1, -2))


def _resistance(adjacency: Numbers, sizes: Whole, times: Times) -> Iterator[Numbers]:
    inside = (np.arange(adjacency.shape[-1]) < sizes[:, None]).astype(np.float64)
    # The constant vector, in which no distance lies, is filled up; so is the padding.
    filled: Numbers = _laplacian((adjacency > 0).astype(np.float64)) + _outer(inside) / sizes[:, None, None]
    np.einsum("...ii->...i", filled)[...] += 1.0 - inside
    found = _embedded(np.linalg.inv(filled).astype(np.float64, copy=False)) ** 2
    for _ in times:
        yield found.copy()


def _shortest_paths(adjacency: Numbers, sizes: Whole, times: Times) -> Iterator[Numbers]:
    found = np.zeros_like(adjacency)
    for matrix, n, place in zip(adjacency, sizes.tolist(), range(len(sizes)), strict=True):
        found[place, :n, :n] = csgraph.shortest_path(csr_array(matrix[:n, :n]), directed=False)
    for _ in times:
        yield found.copy()


def _from_right_vectors(adjacency: Numbers, sizes: Whole, times: Times) -> Iterator[Numbers]:
    """Yield distances of unit right eigenvectors of I - D^(-1) A; they depend on the basis where values repeat."""
    parts = []
    for matrix, n in zip(adjacency, sizes.tolist(), strict=True):
        own = matrix[:n, :n]
        values, vectors = np.linalg.eig(np.eye(n) - own / own.sum(axis=1, keepdims=True))
        parts.append((np.maximum(values.real, 0.0), vectors.real))
    for time in times:
        found = np.zeros_like(adjacency)
        for place, (values, vectors) in enumerate(parts):
            embedding = vectors * values**time
            n = len(values)
            found[place, :n, :n] = _embedded(embedding @ embedding.T)
        yield found


def _outer(vectors: Numbers) -> Numbers:
    return vectors[..., :, None] * vectors[..., None, :]


for _metric in (
    GraphMetric(
        name="diffusion",
        distances=_diffusion,
        description="powers of the normalised Laplacian, as published: a longer time amplifies what is near",
        powers="laplacian",
    ),
    GraphMetric(
        name="walk",
        distances=_walk,
        description="where walks of a length end (R. Coifman, S. Lafon, Diffusion maps, 2006)",
        powers="walk",
    ),
    GraphMetric(
        name="heat",
        distances=_heat,
        description="the heat kernel of the normalised Laplacian (X. Bai, E. Hancock, 2004), with e^(-t lambda)",
    ),
    GraphMetric(
        name="resistance",
        distances=_resistance,
        description="the resistance between nodes, each edge a resistor of one ohm (D. Klein, M. Randic, 1993)",
        has_times=False,
    ),
    GraphMetric(
        name="shortest_path",
        distances=_shortest_paths,
        description="edges, or their weights, along a shortest path",
        has_times=False,
    ),
    GraphMetric(
        name="diffusion_unnormalised",
        distances=_unnormalised_diffusion,
        description="powers of the Laplacian D - A",
    ),
    GraphMetric(
        name="diffusion_asymmetric",
        distances=_from_right_vectors,
        description="as published for an asymmetric Laplacian; it depends on the basis where eigenvalues repeat",
    ),
):
    GRAPH_METRICS.add(_metric.name, _metric)
