"""A graph as features see it, one number per node (degree, core number, PageRank, wedges), and statistics of vectors.

A network is undirected, has each edge once, and nodes in ascending order of degree. Every feature is invariant under
renumbering, and with this order the neighbours behind a node are at most ``sqrt(2 m)``: triangles, 4-cycles and
4-cliques are then enumerated in O(m sqrt(m)) (Chiba and Nishizeki, 1985). The statistics are sixty-three, in the order
of the GLEMOS meta-graph features (Park et al., 2023).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from scipy.special import entr

from gnz_track.errors import BadValue

__all__ = [
    "MOST_NODES",
    "STATISTICS",
    "Contents",
    "Network",
    "check_arcs",
    "core_numbers",
    "describe_vector",
    "loop_degrees",
    "make_network",
    "page_ranks",
    "wedge_counts",
]


@dataclass(frozen=True, eq=False)
class Contents:
    """Attributes ``[n, d]``, labels, and the first node of each graph ``[n_graphs + 1]``; all may be missing.

    ``labels`` are of nodes ``[n]`` or of graphs ``[n_graphs]``; NaN says that there is none. Numbers to predict have
    ``are_classes`` False. ``n_edge_attributes`` counts the attributes of an edge. Labels that must stay unseen are to
    be NaN here: nothing below knows of parts.
    """

    attributes: NDArray[np.float32] | None = None
    labels: NDArray[np.float64] | None = None
    are_classes: bool = True
    node_ptr: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    n_edge_attributes: int = 0
    is_directed: bool = False


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


Real = NDArray[np.float64]
_SIDES = ("all", "low", "high")

STATISTICS: tuple[str, ...] = (
    *("mean", "median", "min", "max", "var", "std", "entropy", "norm_entropy", "gini", "coeff_variation", "mad"),
    *("avg_abs_dev", "quartile_dispersion", "snr", "efficiency_ratio", "var_to_mean", "skew"),
    *("kurt_fisher_biased", "kurt_pearson_biased", "kurt_fisher_unbiased", "kurt_pearson_unbiased"),
    *("geometric_mean", "harmonic_mean"),
    *(f"iqr{k}_out_{what}_{side}" for k in ("1.5", "3") for what in ("frac", "count") for side in _SIDES),
    *("iqr3_lower_bound", "iqr3_upper_bound", "iqr", "q1", "q3", "iqr1.5_lower_bound", "iqr1.5_upper_bound"),
    *(f"std{k}_out_{what}_{side}" for k in (1, 2, 3) for what in ("count", "frac") for side in _SIDES),
    *("mode", "mode_count", "mode_frac"),
)
_LEAST_FOR_UNBIASED = 4


def describe_vector(values: ArrayLike) -> Real:
    """Return the :data:`STATISTICS` of a vector ``[n]``, in their order ``[63]``.

    What is undefined is 0: moments of a constant, ratios to a mean of zero, everything of an empty vector. Quartiles
    are the published ones, entries ``n // 2 -+ n // 4`` of the sorted vector.
    """
    x = np.sort(np.asarray(values, dtype=np.float64))
    if not len(x):
        return np.zeros(len(STATISTICS))
    with np.errstate(all="ignore"):
        found = np.array(
            [
                *_location_statistics(x),
                *_share_statistics(x),
                *_spread_statistics(x),
                *_shape_statistics(x),
                *_other_means(x),
                *_outliers(x),
                *_mode_statistics(x),
            ]
        )
    return np.where(np.isfinite(found), found, 0.0)


def _location_statistics(x: Real) -> Iterator[np.float64]:
    yield from (x.mean(), np.median(x), x[0], x[-1], x.var(), x.std())


def _share_statistics(x: Real) -> Iterator[np.float64]:
    """Entropy of the shares of the total, the same over its bound, and the Gini coefficient."""
    shares = x / x.sum()
    entropy = entr(shares).sum()
    shifted = (x - x[0] if x[0] < 0 else x) + 1e-7
    n = len(x)
    gini = np.sum((2 * np.arange(1, n + 1) - n - 1) * shifted) / (n * shifted.sum())
    yield from (entropy, entropy / np.log2(n), gini)


def _spread_statistics(x: Real) -> Iterator[np.float64]:
    mean, var, std = x.mean(), x.var(), x.std()
    q1, q3 = _quartiles(x)
    yield from (std / mean, np.median(np.abs(x - np.median(x))), np.abs(x - mean).mean(), (q3 - q1) / (q3 + q1))
    yield from (mean**2 / std**2, std**2 / mean**2, var / mean)


def _shape_statistics(x: Real) -> Iterator[np.float64]:
    """Skewness and kurtosis; of a constant both are undefined."""
    n, centred = len(x), x - x.mean()
    m2, m3, m4 = (np.mean(centred**power) for power in (2, 3, 4))
    if m2 <= (np.finfo(np.float64).resolution * x.mean()) ** 2:
        yield from np.full(5, np.nan)
        return
    biased = m4 / m2**2 - 3
    is_large = n >= _LEAST_FOR_UNBIASED
    unbiased = (n - 1) / ((n - 2) * (n - 3)) * ((n + 1) * biased + 6) if is_large else biased
    yield from (m3 / m2**1.5, biased, biased + 3, unbiased, unbiased + 3)


def _other_means(x: Real) -> Iterator[np.float64]:
    yield from (np.exp(np.mean(np.log(x))), len(x) / np.sum(1 / (x + 1e-10)))


def _outliers(x: Real) -> Iterator[np.float64]:
    """Fractions and counts outside of fences, all, below and above them; strictly."""
    q1, q3 = _quartiles(x)
    iqr = q3 - q1
    for width in (1.5, 3.0):
        counts = _count_outside(x, q1 - width * iqr, q3 + width * iqr)
        yield from (*(counts / len(x)), *counts)
    yield from (q1 - 3 * iqr, q3 + 3 * iqr, iqr, q1, q3, q1 - 1.5 * iqr, q3 + 1.5 * iqr)
    for width in (1, 2, 3):
        counts = _count_outside(x, x.mean() - width * x.std(), x.mean() + width * x.std())
        yield from (*counts, *(counts / len(x)))


def _count_outside(x: Real, low: np.float64, high: np.float64) -> Real:
    n_low, n_high = np.searchsorted(x, low, "left"), len(x) - np.searchsorted(x, high, "right")
    return np.array([n_low + n_high, n_low, n_high], dtype=np.float64)


def _quartiles(x: Real) -> tuple[np.float64, np.float64]:
    half, quarter = len(x) // 2, len(x) // 4
    return x[half - quarter], x[half + quarter]


def _mode_statistics(x: Real) -> Iterator[np.float64]:
    """Find the most frequent value, the smallest of those that tie."""
    starts = np.flatnonzero(np.concatenate([[True], x[1:] != x[:-1]]))
    counts = np.diff(np.append(starts, len(x)))
    most = int(counts.argmax())
    yield from (x[starts[most]], np.float64(counts[most]), counts[most] / len(x))


DAMPING, MOST_STEPS, TOLERANCE = 0.7, 100, 1e-6


def loop_degrees(network: Network) -> Whole:
    """Return neighbours of each node ``[n]``, where a self-loop counts as one."""
    return network.degrees + network.has_loop


def wedge_counts(network: Network) -> Real:
    """Return pairs of neighbours of each node ``[n]``: ``d (d - 1) / 2``, a self-loop counting as a neighbour."""
    degrees = loop_degrees(network).astype(np.float64)
    return degrees * (degrees - 1) / 2


def core_numbers(network: Network) -> Whole:
    """Return the largest k of each node ``[n]`` such that it lies in a subgraph where all have k neighbours.

    Batagelj and Zaversnik (2003): nodes are taken off in order of what is left of their degree, in O(n + m).
    """
    degrees = network.degrees.tolist()
    indptr, indices = network.indptr.tolist(), network.indices.tolist()
    # Nodes stand in ascending order of degree already.
    queue, place = list(range(network.n_nodes)), list(range(network.n_nodes))
    most = degrees[-1] if degrees else 0
    first = np.searchsorted(network.degrees, np.arange(most + 2)).tolist()
    for position in range(network.n_nodes):
        node = queue[position]
        own = degrees[node]
        for other in indices[indptr[node] : indptr[node + 1]]:
            left = degrees[other]
            if left > own:
                # Swap with the first node of its degree, whose degree class then starts one later.
                start, here = first[left], place[other]
                moved = queue[start]
                queue[start], queue[here] = other, moved
                place[other], place[moved] = start, here
                first[left] = start + 1
                degrees[other] = left - 1
    return np.array(degrees, dtype=np.int64)


def page_ranks(network: Network) -> Real:
    """Return the PageRank of each node ``[n]``: damping 0.7, uniform teleport, isolated nodes spread evenly.

    Power iteration until the sum of changes is below ``n * 1e-6``, at most 100 steps (Page et al., 1999).
    """
    n, degrees = network.n_nodes, network.degrees
    share = np.divide(1.0, degrees, out=np.zeros(n), where=degrees > 0)
    matrix, is_isolated = network.to_sparse(), degrees == 0
    ranks = np.full(n, 1 / n)
    for _ in range(MOST_STEPS):
        spread = matrix @ (ranks * share) + ranks[is_isolated].sum() / n
        following = DAMPING * spread + (1 - DAMPING) / n
        change = np.abs(following - ranks).sum()
        ranks = following
        if change < n * TOLERANCE:
            break
    return np.asarray(ranks)
