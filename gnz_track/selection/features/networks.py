"""A graph as features see it: undirected, each edge once, nodes in ascending order of degree.

Every feature is invariant under renumbering, and with this order the neighbours behind a node are at most
``sqrt(2 m)``: triangles, 4-cycles and 4-cliques are then enumerated in O(m sqrt(m)) (Chiba and Nishizeki, 1985).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from gnz_track.errors import BadValue

__all__ = ["MOST_NODES", "Network", "check_arcs", "make_network"]

Whole = NDArray[np.int64]
# Beyond it, arrays of numbers per node alone take gigabytes; so large a number is mostly an id and counts nothing.
MOST_NODES = 100_000_000


@dataclass(frozen=True, eq=False)
class Network:
    """Neighbours of ``n_nodes`` nodes as sorted rows ``indices[indptr[i]:indptr[i + 1]]``, without self-loops.

    ``has_loop [n]`` says which nodes had one; ``original [n]`` is the number that a node had before it was renumbered.
    """

    indptr: Whole
    indices: Whole
    has_loop: NDArray[np.bool_]
    original: Whole

    @property
    def n_nodes(self) -> int:
        """Nodes, isolated ones included."""
        return len(self.has_loop)

    @property
    def n_edges(self) -> int:
        """Undirected edges without self-loops."""
        return len(self.indices) // 2

    @property
    def n_loops(self) -> int:
        """Nodes with a self-loop."""
        return int(self.has_loop.sum())

    @cached_property
    def degrees(self) -> Whole:
        """Neighbours of each node ``[n]``, itself not counted."""
        return np.diff(self.indptr)

    @cached_property
    def rows(self) -> Whole:
        """Node at whose row each arc stands ``[2 m]``; :attr:`indices` is the other one."""
        return np.repeat(np.arange(self.n_nodes), self.degrees)

    @cached_property
    def reverse(self) -> Whole:
        """Place of the arc that leads back, for each arc ``[2 m]``."""
        return np.argsort(self.indices, kind="stable")

    @cached_property
    def edge_of_arc(self) -> Whole:
        """Number of the edge of each arc ``[2 m]``; edges are numbered by (lower node, higher node)."""
        is_upward = self.rows < self.indices
        numbers = np.cumsum(is_upward) - 1
        return np.where(is_upward, numbers, numbers[self.reverse])

    @cached_property
    def edges(self) -> Whole:
        """Lower and higher node of each edge ``[2, m]``."""
        is_upward = self.rows < self.indices
        return np.stack([self.rows[is_upward], self.indices[is_upward]])

    @cached_property
    def upward(self) -> Whole:
        """First edge of each lower node, and one past the last ``[n + 1]``."""
        counts = np.bincount(self.edges[0], minlength=self.n_nodes)
        return np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)

    def to_sparse(self) -> Any:
        """Return the symmetric matrix of ones, float64."""
        ones = np.ones(len(self.indices))
        return sparse.csr_matrix((ones, self.indices, self.indptr), shape=(self.n_nodes, self.n_nodes))


def make_network(edge_index: ArrayLike, n_nodes: int | None = None) -> Network:
    """Return the network of arcs ``[2, n]``: directions are dropped, repeated edges count once, isolated nodes stay.

    >>> make_network([[0, 1, 1, 2], [1, 0, 2, 2]], 4).degrees.tolist()
    [0, 1, 1, 2]
    """
    ends, n = check_arcs(edge_index, n_nodes)
    is_loop = ends[0] == ends[1]
    has_loop = np.zeros(n, dtype=bool)
    has_loop[ends[0, is_loop]] = True
    low, high = np.sort(ends[:, ~is_loop], axis=0)
    low, high = np.divmod(np.unique(low * n + high), n)
    degrees = np.bincount(low, minlength=n) + np.bincount(high, minlength=n)
    original = np.argsort(degrees, kind="stable")
    place = np.empty(n, dtype=np.int64)
    place[original] = np.arange(n)
    low, high = place[low], place[high]
    rows, columns = np.divmod(np.sort(np.concatenate([low * n + high, high * n + low])), n)
    indptr = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=n))]).astype(np.int64)
    return Network(indptr, columns, has_loop[original], original)


def check_arcs(edge_index: ArrayLike, n_nodes: int | None = None, *, where: str = "edge_index") -> tuple[Whole, int]:
    """Return arcs [2, n] as whole numbers, and the number of nodes.

    Parameters
    ----------
    edge_index
        Arcs [2, n] of any numbers that are whole.
    n_nodes
        Nodes; without, one more than the largest number.
    where
        The argument's name, for the error.
    """
    given = np.asarray(edge_index)
    given = given.reshape(2, -1) if not given.size else given
    if given.ndim != 2 or given.shape[0] != 2:
        raise BadValue(f"shape of {where}", given.shape, "(2, edges), sources above targets")
    if given.dtype.kind not in "iuf":
        raise BadValue(f"type of {where}", str(given.dtype), "whole numbers")
    if given.dtype.kind == "f" and (odd := given[~(np.isfinite(given) & (given == np.round(given)))]).size:
        raise BadValue(f"a number in {where}", float(odd[0]), "whole numbers of nodes")
    most, least = (int(given.max()), int(given.min())) if given.size else (-1, 0)
    n = most + 1 if n_nodes is None else int(n_nodes)
    if n < 1:
        raise BadValue("number of nodes", n, "at least 1")
    if n > MOST_NODES:
        remedy = "number the nodes without gaps, as numpy.unique(edge_index, return_inverse=True) does"
        raise BadValue("number of nodes", n, f"at most {MOST_NODES:,}; {remedy}")
    if most >= n or least < 0:
        raise BadValue(f"a node in {where}", most if most >= n else least, f"numbers from 0 to {n - 1}")
    return given.astype(np.int64), n
