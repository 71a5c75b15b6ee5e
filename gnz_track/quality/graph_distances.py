"""Distances between the nodes of a graph, for many small graphs at once.

``adjacency [b, m, m]`` are symmetric matrices of connected graphs, padded with zeros to one size; ``sizes [b]``. Each
metric yields a matrix of distances ``[b, m, m]`` for each of the times; what belongs to the padding is left undefined.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csgraph, csr_array

from gnz_track.registry import Registry

__all__ = ["GRAPH_METRICS", "GraphMetric", "Powers"]

Numbers = NDArray[np.float64]
Whole = NDArray[np.int64]
Times = Sequence[int]


@dataclass(frozen=True)
class Powers:
    """Distances of embeddings that are powers of a symmetric matrix: ``K = base^(2t)``, scaled by ``outer`` if given.

    d(i, j)^2 = K_ii + K_jj - 2 K_ij, so that no eigenvector is needed.
    """

    base: Numbers
    outer: Numbers | None = None


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


def _laplacian_powers(adjacency: Numbers) -> Powers:
    """Return the powers of the normalised Laplacian I - D^(-1/2) A D^(-1/2); padding stays zero."""
    degrees = adjacency.sum(axis=-1)
    roots = _inverse_roots(degrees)
    base = adjacency * -roots[..., :, None]
    base *= roots[..., None, :]
    place = np.arange(base.shape[-1])
    base[..., place, place] += degrees > 0
    return Powers(base)


def _walk_powers(adjacency: Numbers) -> Powers:
    """Return the powers of the walk D^(-1) A, made symmetric; distances are scaled back by the stationary weights."""
    degrees = adjacency.sum(axis=-1)
    roots = _inverse_roots(degrees)
    base = adjacency * roots[..., :, None]
    base *= roots[..., None, :]
    stationary = np.sqrt(degrees / np.maximum(degrees.sum(axis=-1, keepdims=True), np.finfo(float).tiny))
    return Powers(base - stationary[..., :, None] * stationary[..., None, :], outer=roots)


def _inverse_roots(degrees: Numbers) -> Numbers:
    return np.divide(1.0, np.sqrt(degrees), out=np.zeros_like(degrees), where=degrees > 0)


def _from_powers(make: Callable[[Numbers], Powers]) -> Callable[[Numbers, Whole, Times], Iterator[Numbers]]:
    def distances(adjacency: Numbers, _: Whole, times: Times) -> Iterator[Numbers]:
        powers = make(adjacency)
        step: Numbers = powers.base @ powers.base
        kernel = step
        for time in range(1, max(times) + 1):
            if time > 1:
                kernel = kernel @ step
            if time in times:
                yield _embedded(kernel, powers.outer)

    return distances


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
    values, vectors = np.linalg.eigh(_laplacian_powers(adjacency).base)
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
        distances=_from_powers(_laplacian_powers),
        description="powers of the normalised Laplacian, as published: a longer time amplifies what is near",
        powers="laplacian",
    ),
    GraphMetric(
        name="walk",
        distances=_from_powers(_walk_powers),
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
        distances=_from_powers(lambda adjacency: Powers(_laplacian(adjacency))),
        description="powers of the Laplacian D - A",
    ),
    GraphMetric(
        name="diffusion_asymmetric",
        distances=_from_right_vectors,
        description="as published for an asymmetric Laplacian; it depends on the basis where eigenvalues repeat",
    ),
):
    GRAPH_METRICS.add(_metric.name, _metric)
