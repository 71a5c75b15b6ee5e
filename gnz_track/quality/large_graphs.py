"""Complementarity of one large space, block of columns by block: memory grows with its nodes, not with their square.

Columns of a power of a sparse matrix cost as many products as the matrix has entries. The largest distances have to be
known before any difference is taken, so every block is made twice: once for them, once for the sums.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from gnz_track.datasets.perturbations import ORIGINAL
from gnz_track.errors import BadValue
from gnz_track.quality.distances import GRAPH_METRICS, find_feature_metric
from gnz_track.quality.measures import COMPLETE_FEATURES, COMPLETE_GRAPH, EMPTY_FEATURES, OF_FEATURES, Measure
from gnz_track.quality.node_sets import GraphSet

__all__ = ["MOST_DENSE", "compare_large"]

Numbers = NDArray[np.float64]
Whole = NDArray[np.int64]

# Numbers in a block of columns, 16 MB, of which a few are held at once.
MOST_NUMBERS = 1 << 21
# Nodes up to which whole matrices are held; metrics that are no powers of a sparse matrix need them.
MOST_DENSE = 4000
_OF_EDGES = (EMPTY_FEATURES, COMPLETE_FEATURES)


def compare_large(
    graphs: GraphSet, nodes: Whole, measure: Measure, *, modes: Sequence[str], times: Sequence[int]
) -> dict[str, Numbers]:
    """Return the values of one space under each mode: mode -> [n_times].

    Parameters
    ----------
    graphs, nodes
        The graphs, and the nodes of the space.
    measure
        Distances and their comparison.
    modes, times
        Names of fixed modes, and steps of diffusion.
    """
    space = _Space(graphs.adjacency[nodes][:, nodes].tocsr(), graphs.x[nodes], measure, tuple(times))
    needs_edges = any(mode not in OF_FEATURES for mode in modes)
    largest_x, largest = space.find_largest(needs_edges=needs_edges)
    totals = {mode: np.zeros(len(times)) for mode in modes}
    for columns in space.blocks():
        features = space.features(columns) / largest_x
        for mode in (mode for mode in modes if mode in OF_FEATURES):
            totals[mode] += space.add_up(_distances_from_mode(features, mode, columns))
        for at, distances in enumerate(space.edges(columns) if needs_edges else ()):
            scaled = np.divide(distances, largest[at], out=distances)
            for mode in (mode for mode in modes if mode in _OF_EDGES):
                totals[mode][at] += space.add_up(_distances_from_mode(scaled, mode, columns))
            if ORIGINAL in modes:
                scaled -= features
                totals[ORIGINAL][at] += space.add_up(np.abs(scaled, out=scaled))
    return {mode: measure.norm.share(total, np.array([len(nodes)])) for mode, total in totals.items()}


@dataclass(eq=False)
class _Space:
    """One space: its edges, the features of its nodes, and what is to be taken of them."""

    adjacency: sparse.csr_array
    x: Numbers
    measure: Measure
    times: tuple[int, ...]

    def __post_init__(self) -> None:
        self.n = self.x.shape[0]
        self._step = max(1, MOST_NUMBERS // self.n)
        self._metric = find_feature_metric(self.measure.features)
        self._held: dict[int, Numbers] = {}
        self._along = _distances_along(self.adjacency, self.measure, self.times)

    def blocks(self) -> Iterator[slice]:
        """Yield the columns of each block."""
        for start in range(0, self.n, self._step):
            yield slice(start, min(start + self._step, self.n))

    def features(self, columns: slice) -> Numbers:
        """Return distances between features ``[n, columns]``; kept where the whole matrix may be held."""
        if columns.start not in self._held:
            found: Numbers = self._metric(self.x[None, columns], self.x[None])[0]
            if self.n > MOST_DENSE:
                return found
            self._held[columns.start] = found
        return self._held[columns.start]

    def edges(self, columns: slice) -> Iterator[Numbers]:
        """Yield distances along edges ``[n, columns]`` at each time; they may be changed."""
        return self._along(columns)

    def find_largest(self, *, needs_edges: bool) -> tuple[float, Numbers]:
        """Return the largest distance of features, and that along edges at each time; 1 where all are 0."""
        largest_x, largest = 0.0, np.zeros(len(self.times))
        if not self.measure.is_normalised:
            return 1.0, np.ones(len(self.times))
        for columns in self.blocks():
            largest_x = max(largest_x, float(self.features(columns).max()))
            for at, distances in enumerate(self.edges(columns) if needs_edges else ()):
                largest[at] = np.maximum(largest[at], distances.max())
        return largest_x or 1.0, np.where(largest == 0, 1.0, largest)

    def add_up(self, differences: Numbers) -> float:
        """Return what a block adds to the sum over all columns."""
        return float(self.measure.norm.columns(differences).sum())


@dataclass(eq=False)
class _SparsePowers:
    """Powers of a sparse symmetric matrix; see ``_from_powers`` of :mod:`gnz_track.quality.distances`."""

    base: sparse.csr_array
    times: tuple[int, ...]
    outer: Numbers
    removed: Numbers

    def __post_init__(self) -> None:
        self._squared = (self.base @ self.base).tocsc()
        self._diagonals = self._find_diagonals()

    def distances(self, columns: slice) -> Iterator[Numbers]:
        kernel = np.zeros((0, 0))
        for time in range(1, max(self.times) + 1):
            kernel = self._squared[:, columns].toarray() if time == 1 else self.base @ (self.base @ kernel)
            if time in self.times:
                yield self._embedded(kernel, columns, self._diagonals[self.times.index(time)])

    def _embedded(self, kernel: Numbers, columns: slice, diagonal: Numbers) -> Numbers:
        found = kernel * -2.0
        if self.removed.any():
            found += 2.0 * self.removed[:, None] * self.removed[columns]
            found *= self.outer[:, None]
            found *= self.outer[columns]
        found += diagonal[:, None]
        found += diagonal[columns]
        np.maximum(found, 0.0, out=found)
        found[np.arange(columns.start, columns.stop), np.arange(columns.stop - columns.start)] = 0.0
        return np.sqrt(found, out=found)

    def _find_diagonals(self) -> list[Numbers]:
        """Return the diagonals of the powers: squared lengths of the rows of half the power."""
        n, found = self.base.shape[0], {time: np.zeros(self.base.shape[0]) for time in self.times}
        if set(self.times) == {1}:
            found[1] = self._squared.diagonal()
        else:
            step = max(1, MOST_NUMBERS // n)
            for start in range(0, n, step):
                columns = slice(start, min(start + step, n))
                rows = self.base[:, columns].toarray()
                for time in range(1, max(self.times) + 1):
                    rows = rows if time == 1 else self.base @ rows
                    if time in found:
                        found[time][columns] = np.einsum("ij,ij->j", rows, rows)
        return [(found[time] - self.removed**2) * self.outer**2 for time in self.times]


def _distances_along(
    adjacency: sparse.csr_array, measure: Measure, times: tuple[int, ...]
) -> Callable[[slice], Iterator[Numbers]]:
    """Return the function that yields the distances of some columns ``[n, columns]`` at each time."""
    n = adjacency.shape[0]
    degrees = np.asarray(adjacency.sum(axis=1)).ravel()
    if adjacency.nnz == 0:
        return lambda columns: (np.zeros((n, columns.stop - columns.start)) for _ in times)
    if (degrees <= 0).any():
        # Edges that weigh nothing leave distances undefined.
        return lambda columns: (np.full((n, columns.stop - columns.start), np.nan) for _ in times)
    metric = GRAPH_METRICS.get(measure.graph)
    if not metric.powers:
        if n > MOST_DENSE:
            allowed = f"at most {MOST_DENSE:,}; diffusion and walk take any number"
            raise BadValue(f"the number of connected nodes for the metric {metric.name!r}", n, allowed)
        matrices = [matrix[0] for matrix in metric.distances(adjacency.toarray()[None], np.array([n]), times)]
        return lambda columns: (matrix[:, columns].copy() for matrix in matrices)
    roots = 1.0 / np.sqrt(degrees)
    scaled = sparse.diags_array(roots) @ adjacency @ sparse.diags_array(roots)
    if metric.powers == "walk":
        removed = np.sqrt(degrees / degrees.sum())
        return _SparsePowers(scaled.tocsr(), times, outer=roots, removed=removed).distances
    base = (sparse.eye_array(n) - scaled).tocsr()
    return _SparsePowers(base, times, outer=np.ones(n), removed=np.zeros(n)).distances


def _distances_from_mode(distances: Numbers, mode: str, columns: slice) -> Numbers:
    """Return how far distances are from 0, or for complete modes from 1 off the diagonal."""
    if mode not in {COMPLETE_FEATURES, COMPLETE_GRAPH}:
        return distances
    found = np.abs(1.0 - distances)
    found[np.arange(columns.start, columns.stop), np.arange(columns.stop - columns.start)] = 0.0
    return found
