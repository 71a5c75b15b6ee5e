"""Named sets of features of a graph, each with a version: what a number means never changes under one name."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gnz_track.registry import Registry
from gnz_track.selection.features.contents import Contents
from gnz_track.selection.features.networks import Network, make_network
from gnz_track.selection.features.orbits import ORBITS, EdgeOrbits, Triangles, count_edge_orbits
from gnz_track.selection.features.statistics import STATISTICS, describe_vector
from gnz_track.selection.features.task_features import TASK_FEATURES, describe_problem
from gnz_track.selection.features.vectors import core_numbers, loop_degrees, page_ranks, wedge_counts

__all__ = ["FEATURE_SETS", "FeatureSet", "GraphParts", "features_of"]

Real = NDArray[np.float64]
# From this degree on, assortativity is not computed, and 0.
MOST_DEGREE = 1000
_CLIQUES = ("P4", "claw", "C4", "paw", "diamond", "K4")


@dataclass(frozen=True, eq=False)
class GraphParts:
    """Quantities that sets of features are made of, each computed once and when it is first asked for."""

    network: Network
    contents: Contents = field(default_factory=Contents)

    @cached_property
    def degrees(self) -> Real:
        """Degrees with self-loops."""
        return loop_degrees(self.network).astype(np.float64)

    @cached_property
    def cores(self) -> Real:
        """Core numbers."""
        return core_numbers(self.network).astype(np.float64)

    @cached_property
    def page_ranks(self) -> Real:
        """PageRanks."""
        return page_ranks(self.network)

    @cached_property
    def triangles(self) -> Triangles:
        """Triangles of edges and nodes."""
        return Triangles(self.network)

    @cached_property
    def orbits(self) -> EdgeOrbits:
        """Edge orbits."""
        return count_edge_orbits(self.network, self.triangles)

    @cached_property
    def density(self) -> float:
        """Entries of the symmetric matrix, self-loops included, over ``n (n - 1)``; 0 for one node.

        So it is published, and so it goes up to ``n / (n - 1)`` where all nodes have a loop.
        """
        n = self.network.n_nodes
        return (2 * self.network.n_edges + self.network.n_loops) / (n * (n - 1)) if n > 1 else 0.0

    @cached_property
    def assortativity(self) -> float:
        """Correlation of the degrees at both ends of edges (Newman, 2002); 0 where undefined or degrees are huge."""
        degrees = self.network.degrees
        if not self.network.n_edges or degrees.max() >= MOST_DEGREE:
            return 0.0
        at_row, at_column = degrees[self.network.rows], degrees[self.network.indices]
        centred = at_row - at_row.mean()
        variance = float(np.mean(centred**2))
        return float(np.mean(centred * (at_column - at_row.mean()))) / variance if variance > 0 else 0.0


@dataclass(frozen=True, kw_only=True)
class FeatureSet:
    """Names of features in their order, a version, and the function that computes them."""

    name: str
    version: int
    names: tuple[str, ...]
    compute: Callable[[GraphParts], Real]
    description: str

    @property
    def label(self) -> str:
        """Name and version, as files and models carry them."""
        return f"{self.name}@{self.version}"


FEATURE_SETS = Registry[FeatureSet]("feature set", command="gnz features --help")


def features_of(edge_index: ArrayLike, n_nodes: int | None = None, *, name: str = "regular") -> dict[str, float]:
    """Return the features of a graph by name; directions are dropped and repeated edges count once.

    A self-loop counts as one neighbour and one edge in degrees, wedges, ``n_edges`` and ``density`` of the published
    sets, and nowhere else; the set ``task`` leaves loops out.

    Parameters
    ----------
    edge_index
        Edges [2, m] as numbers of nodes.
    n_nodes
        Nodes; without, one more than the largest number.
    name
        Name of the set of features.

    Examples
    --------
    >>> round(features_of([[0, 1, 2], [1, 2, 0]], name="compact")["global_clustering"], 3)
    1.0
    """
    wanted = FEATURE_SETS.get(name)
    found = wanted.compute(GraphParts(make_network(edge_index, n_nodes)))
    return dict(zip(wanted.names, found.tolist(), strict=True))


def _regular(parts: GraphParts) -> Real:
    # What is published as the density of the square is that of an elementwise square, which is the density itself.
    vectors = (parts.degrees, parts.cores, parts.page_ranks, wedge_counts(parts.network), parts.triangles.of_nodes)
    described = [describe_vector(vector) for vector in vectors]
    return np.concatenate([[parts.density, parts.density, parts.assortativity], *described])


def _graphlets(parts: GraphParts) -> Real:
    return np.concatenate([describe_vector(counts) for counts in parts.orbits.counts])


def _tiny(parts: GraphParts) -> Real:
    degrees, cores, ranks = parts.degrees, parts.cores, parts.page_ranks
    spread = [value for vector in (cores, ranks) for value in (vector.max(), np.median(vector), vector.mean())]
    sizes = [np.count_nonzero(degrees), parts.network.n_edges + parts.network.n_loops, parts.density]
    return np.array([*sizes, degrees.max(), np.median(degrees), degrees.mean(), parts.assortativity, *spread])


def _compact(parts: GraphParts) -> Real:
    counts, degrees = parts.orbits.counts, parts.degrees
    totals = parts.orbits.totals()
    values = [np.count_nonzero(degrees), parts.network.n_edges + parts.network.n_loops, parts.density]
    values += [degrees.max(), degrees.mean(), parts.assortativity]
    with np.errstate(all="ignore"):
        values += [3.0 * totals["K3"] / wedge_counts(parts.network).sum(), totals["K3"], *_peak_and_mean(counts[1])]
        # The published sum runs over both directions of all six edges of a clique.
        values += [12.0 * totals["K4"], *_peak_and_mean(counts[11])]
        values += [parts.cores.max(), np.median(parts.cores), parts.cores.mean()]
        shares = np.array([totals[name] for name in _CLIQUES], dtype=np.float64)
        values += list(shares / shares.sum())
    m = counts.shape[1]
    values += list(np.trunc(np.median(counts, axis=1)) if m else np.zeros(len(ORBITS)))
    values += list(np.round(counts.mean(axis=1), 2) if m else np.zeros(len(ORBITS)))
    values += list(counts.max(axis=1, initial=0))
    return np.nan_to_num(np.array(values, dtype=np.float64))


def _task(parts: GraphParts) -> Real:
    return describe_problem(parts.network, parts.contents, parts.triangles.of_nodes)


def _peak_and_mean(counts: NDArray[np.int64]) -> tuple[float, float]:
    """Return the largest count of an edge, and the mean over edges that have any."""
    some = counts[counts > 0]
    return float(counts.max(initial=0)), float(some.mean()) if len(some) else float("nan")


def _compact_names() -> Iterator[str]:
    yield from ("n_nodes_non_isolated", "n_edges", "density", "max_degree", "mean_degree", "assortativity")
    yield from ("global_clustering", "n_triangles", "triangles_per_edge.max", "triangles_per_edge.mean_nonzero")
    yield from ("k4_sum_12x", "k4_per_edge.max", "k4_per_edge.mean_nonzero")
    yield from ("max_kcore", "median_kcore", "mean_kcore")
    yield from (f"share.{name}" for name in _CLIQUES)
    yield from (f"{orbit}.{what}" for what in ("median_int", "mean_round2", "max") for orbit in ORBITS)


_VECTORS = ("degree", "kcore", "pagerank", "wedges", "triangles")
_REGULAR_NAMES: tuple[str, ...] = (
    *("density", "density_A2", "assortativity"),
    *(f"{vector}.{name}" for vector in _VECTORS for name in STATISTICS),
)
_GRAPHLET_NAMES = tuple(f"{orbit}.{name}" for orbit in ORBITS for name in STATISTICS)
_TINY_NAMES: tuple[str, ...] = (
    *("n_nodes_non_isolated", "n_edges", "density", "max_degree", "median_degree", "mean_degree", "assortativity"),
    *("max_kcore", "median_kcore", "mean_kcore", "max_pagerank", "median_pagerank", "mean_pagerank"),
)

for _name, _names, _compute, _text in (
    ("regular", _REGULAR_NAMES, _regular, "statistics of degree, core number, PageRank, wedges and triangles"),
    ("graphlets", _GRAPHLET_NAMES, _graphlets, "statistics of twelve edge orbits of up to four nodes, exact counts"),
    ("compact", tuple(_compact_names()), _compact, "sizes, clustering, cores, shares and summaries of graphlets"),
    ("tiny", _TINY_NAMES, _tiny, "sizes, degrees, cores and PageRank"),
    (
        "regular_graphlets",
        _REGULAR_NAMES + _GRAPHLET_NAMES,
        lambda parts: np.concatenate([_regular(parts), _graphlets(parts)]),
        "regular and graphlets together",
    ),
    ("task", TASK_FEATURES, _task, "sizes, shape, attributes and labels of a dataset of one graph or of many"),
):
    FEATURE_SETS.add(_name, FeatureSet(name=_name, version=1, names=_names, compute=_compute, description=_text))
