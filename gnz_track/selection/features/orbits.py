"""Edge orbits: how often each edge takes each of twelve places in connected graphs of 3 and 4 nodes, exactly.

Triangles, 4-cliques and 4-cycles are enumerated; the other orbits follow from them by linear equations (in the manner
of Hocevar and Demsar, 2014). All counts are of induced subgraphs. Memory beyond the graph: a few arrays of one number
per edge, and :data:`CHUNK` times about 100 bytes (100 MiB), or 16 bytes per edge where one node alone needs more.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy import sparse

from gnz_track.selection.features.graph import Network, Whole

__all__ = ["ORBITS", "Triangles", "count_edge_orbits", "count_subgraphs"]

ORBITS: tuple[str, ...] = (
    "2-star",
    "triangle",
    "P4-end",
    "P4-centre",
    "claw",
    "C4",
    "paw-tail",
    "paw-base",
    "paw-centre",
    "diamond-rim",
    "diamond-chord",
    "K4",
)
# Most candidates that are held at once.
CHUNK = 1 << 20


@dataclass(frozen=True, eq=False)
class Triangles:
    """All triangles of a network, piece by piece, and how many each edge and node has."""

    network: Network

    def pieces(self) -> Iterator[tuple[Whole, Whole, Whole]]:
        """Yield (edge of low and middle, of low and high, of middle and high node), whole lowest nodes together."""
        network = self.network
        low, high = network.edges
        n, numbers = network.n_nodes, np.arange(1, network.n_edges + 1)
        upward = sparse.csr_matrix((numbers, high, network.upward), shape=(n, n))
        ones = sparse.csr_matrix((np.ones_like(numbers), high, network.upward), shape=(n, n))
        out = np.diff(network.upward)
        for start, stop in _cut_by_cost(out[low] + out[high], low):
            tails, heads = low[start:stop], high[start:stop]
            # The same pattern twice: the common neighbours above both ends, by either edge that leads there.
            by_low, by_middle = upward[tails].multiply(ones[heads]), ones[tails].multiply(upward[heads])
            found = np.repeat(np.arange(start, stop), np.diff(by_low.tocsr().indptr))
            yield found, by_low.tocsr().data - 1, by_middle.tocsr().data - 1

    @cached_property
    def of_edges(self) -> Whole:
        """Triangles of each edge ``[m]``."""
        counts = np.zeros(self.network.n_edges, dtype=np.int64)
        for piece in self.pieces():
            for edges in piece:
                np.add.at(counts, edges, 1)
        return counts

    @cached_property
    def of_nodes(self) -> Whole:
        """Triangles of each node ``[n]``."""
        weights, n = self.of_edges, self.network.n_nodes
        both = sum(np.bincount(ends, weights=weights, minlength=n) for ends in self.network.edges)
        return np.asarray(both).astype(np.int64) // 2


def count_edge_orbits(network: Network, triangles: Triangles | None = None) -> Whole:
    """Return how often each edge takes each of the twelve places ``[12, m]``, in the order of :data:`ORBITS`."""
    triangles = triangles or Triangles(network)
    t, degrees = triangles.of_edges, network.degrees
    (u, v), m = network.edges, network.n_edges
    k4, beside, common = np.zeros(m, dtype=np.int64), np.zeros((2, m), dtype=np.int64), np.zeros(m, dtype=np.int64)
    for piece in triangles.pieces():
        _add_cliques(k4, network, piece)
        _add_neighbours(beside, common, network, piece, t)
    k4 //= 2
    su, sv = degrees[u] - 1 - t, degrees[v] - 1 - t
    ru, rv = (side - t - 2 * k4 for side in beside)
    c4 = _count_cycles(network) - 2 * k4 - ru - rv
    eu, ev = triangles.of_nodes[u] - t - k4 - ru, triangles.of_nodes[v] - t - k4 - rv
    # Sum of degrees over the neighbours of each node.
    around = np.bincount(network.rows, weights=degrees[network.indices], minlength=network.n_nodes).astype(np.int64)
    ends = around[u] + around[v] - degrees[u] - degrees[v] - 2 * common - su - sv - ru - rv - 2 * (eu + ev) - 2 * c4
    return np.stack(
        [
            su + sv,
            t,
            ends,
            su * sv - c4,
            sv * (sv - 1) // 2 - ev + su * (su - 1) // 2 - eu,
            c4,
            eu + ev,
            common - 2 * t - ru - rv - 2 * k4,
            t * su - ru + t * sv - rv,
            ru + rv,
            t * (t - 1) // 2 - k4,
            k4,
        ]
    )


def count_subgraphs(counts: Whole) -> dict[str, int]:
    """Return how many induced subgraphs of each kind a graph has, from the places that its edges take ``[12, m]``.

    A path of three edges has two end edges and one middle edge, and so on: sums over edges, over places.
    """
    places = {"P3": (0, 2), "K3": (1, 3), "P4": (3, 1), "claw": (4, 3), "C4": (5, 4), "paw": (6, 1)}
    places |= {"diamond": (10, 1), "K4": (11, 6)}
    return {name: int(counts[orbit].sum()) // n for name, (orbit, n) in places.items()}


def _add_neighbours(beside: Whole, common: Whole, network: Network, piece: tuple[Whole, ...], t: Whole) -> None:
    """Add, per edge and end, triangles of the edges from there to common neighbours, and the degrees of these."""
    ab, ac, bc = piece
    low, high = network.edges
    a, b, c = low[ab], high[ab], high[ac]
    for edge, at_low, at_high, third in ((ab, ac, bc, c), (ac, ab, bc, b), (bc, ab, ac, a)):
        np.add.at(beside[0], edge, t[at_low])
        np.add.at(beside[1], edge, t[at_high])
        np.add.at(common, edge, network.degrees[third])


def _add_cliques(k4: Whole, network: Network, piece: tuple[Whole, ...]) -> None:
    """Add twice the 4-cliques of each edge whose lowest node is one of a piece.

    They are the triangles among the neighbours above that node; neighbourhoods of about one size are multiplied
    together as dense matrices, which fit into a chunk. Edges at the lowest node meet each clique from two sides.
    """
    ab, ac, bc = piece
    if not len(ab):
        return
    lowest = network.edges[0][ab]
    starts = np.flatnonzero(np.concatenate([[True], lowest[1:] != lowest[:-1]]))
    n_of_group = np.diff(np.append(starts, len(lowest)))
    nodes = lowest[starts]
    width = np.diff(network.upward)[nodes]
    sizes = 1 << np.ceil(np.log2(np.maximum(width, 2))).astype(np.int64)
    for size in np.unique(sizes[n_of_group > 2]):
        chosen = np.flatnonzero((sizes == size) & (n_of_group > 2))
        exact = min(int(size), int(width[chosen].max()))
        step = max(1, 4 * CHUNK // exact**2)
        for first in range(0, len(chosen), step):
            groups = chosen[first : first + step]
            where = _join_ranges(starts[groups], n_of_group[groups])
            slot = np.repeat(np.arange(len(groups)), n_of_group[groups])
            base = network.upward[nodes[groups]][slot]
            row, column = ab[where] - base, ac[where] - base
            local = np.zeros((len(groups), exact, exact), dtype=np.float32)
            local[slot, row, column] = local[slot, column, row] = 1
            closed = (local @ local)[slot, row, column].astype(np.int64)
            np.add.at(k4, bc[where], 2 * closed)
            np.add.at(k4, ab[where], closed)
            np.add.at(k4, ac[where], closed)


def _count_cycles(network: Network) -> Whole:
    """Return 4-cycles through each edge ``[m]``, induced or not.

    Paths w - v - u with u above both v and w are grouped by (u, w): those of a group close into cycles pairwise.
    """
    counts = np.zeros(network.n_edges, dtype=np.int64)
    down = np.flatnonzero(network.rows > network.indices)
    first = network.indptr[network.indices[down]]
    n_paths = network.reverse[down] - first
    down, first, n_paths = down[n_paths > 0], first[n_paths > 0], n_paths[n_paths > 0]
    tops = network.rows[down]
    for start, stop in _cut_by_cost(n_paths, tops):
        n_here, here = n_paths[start:stop], tops[start:stop]
        arcs = _join_ranges(first[start:stop], n_here)
        top = np.cumsum(np.concatenate([[0], here[1:] != here[:-1]]))
        keys = np.repeat(top, n_here) * network.n_nodes + network.indices[arcs]
        others = _group_sizes(keys) - 1
        np.add.at(counts, network.edge_of_arc[arcs], others)
        sums = np.add.reduceat(others, np.concatenate([[0], np.cumsum(n_here)[:-1]]))
        np.add.at(counts, network.edge_of_arc[down[start:stop]], sums)
    return counts


def _group_sizes(keys: Whole) -> Whole:
    """Return how many keys equal each key ``[n]``."""
    span = int(keys.max()) + 1
    if span <= 8 * CHUNK:
        return np.asarray(np.bincount(keys, minlength=span)[keys])
    _, inverse, sizes = np.unique(keys, return_inverse=True, return_counts=True)
    return np.asarray(sizes[inverse])


def _cut_by_cost(costs: Whole, groups: Whole) -> Iterator[tuple[int, int]]:
    """Yield ranges of about :data:`CHUNK` of cost that never part a group; one group may cost more."""
    ends = np.append(np.flatnonzero(groups[1:] != groups[:-1]) + 1, len(groups)) if len(groups) else np.zeros(0, int)
    totals = np.cumsum(costs)[ends - 1] if len(groups) else ends
    start = spent = 0
    while start < len(groups):
        last = max(int(np.searchsorted(totals, spent + CHUNK, "right")) - 1, int(np.searchsorted(ends, start, "right")))
        stop = int(ends[last])
        yield start, stop
        start, spent = stop, int(totals[last])


def _join_ranges(starts: Whole, lengths: Whole) -> Whole:
    """Return ``starts[0], starts[0] + 1, ...`` of each length, one after another."""
    starts = np.repeat(starts - (np.cumsum(lengths) - lengths), lengths)
    return starts + np.arange(len(starts))
