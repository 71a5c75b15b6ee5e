"""Named sets of features of a graph, each with a version: what a number means never changes under one name.

Features of the set ``task`` go beyond the meta-graph features of the literature, which see one bare graph: a collection
of graphs, attributes and labels decide between models too. What cannot be said of a dataset is 0, and a feature of its
own says so (``n_attributes.log``, ``n_classes.log``).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse.csgraph import connected_components

from gnz_track.registry import Registry
from gnz_track.seeds import derive
from gnz_track.selection.features.graph import (
    STATISTICS,
    Contents,
    Network,
    core_numbers,
    describe_vector,
    loop_degrees,
    make_network,
    page_ranks,
    wedge_counts,
)
from gnz_track.selection.features.orbits import ORBITS, Triangles, count_edge_orbits, count_subgraphs

__all__ = ["FEATURE_SETS", "TASK_FEATURES", "FeatureSet", "GraphParts", "describe_problem", "features_of"]


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
    def orbits(self) -> NDArray[np.int64]:
        """Places of edges in small subgraphs ``[12, m]``."""
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
    return np.concatenate([describe_vector(counts) for counts in parts.orbits])


def _tiny(parts: GraphParts) -> Real:
    degrees, cores, ranks = parts.degrees, parts.cores, parts.page_ranks
    spread = [value for vector in (cores, ranks) for value in (vector.max(), np.median(vector), vector.mean())]
    sizes = [np.count_nonzero(degrees), parts.network.n_edges + parts.network.n_loops, parts.density]
    return np.array([*sizes, degrees.max(), np.median(degrees), degrees.mean(), parts.assortativity, *spread])


def _compact(parts: GraphParts) -> Real:
    counts, degrees = parts.orbits, parts.degrees
    totals = count_subgraphs(counts)
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


# Most nodes whose attributes are read, and most edges along which they are compared.
MOST_NODES, MOST_EDGES = 5_000, 5_000


def describe_problem(network: Network, contents: Contents, node_triangles: NDArray[np.int64]) -> Real:
    """Return the :data:`TASK_FEATURES` of a problem, in their order.

    Parameters
    ----------
    network
        The disjoint union of all its graphs.
    contents
        Attributes of nodes, labels and parts.
    node_triangles
        Triangles at each node [n].
    """
    # Attributes and labels of users may be infinite, or too large to be squared; what comes of that is 0 below.
    with np.errstate(over="ignore", invalid="ignore"):
        found = {
            **_describe_sizes(network, contents),
            **_describe_shape(network, node_triangles),
            **_describe_attributes(network, contents),
            **_describe_labels(network, contents),
        }
    return np.nan_to_num(np.array([found[name] for name in TASK_FEATURES], dtype=np.float64), posinf=0, neginf=0)


def _describe_sizes(network: Network, contents: Contents) -> dict[str, float]:
    sizes = np.diff(contents.node_ptr) if len(contents.node_ptr) > 1 else np.array([network.n_nodes])
    n, m = network.n_nodes, network.n_edges
    return {
        "n_nodes.log": np.log1p(n),
        "n_edges.log": np.log1p(m),
        "n_graphs.log": np.log(len(sizes)),
        "graph_size.log": np.log1p(sizes.mean()),
        "graph_size.coeff_variation": sizes.std() / max(sizes.mean(), 1),
        "graph_density": 2 * m / max(float((sizes * (sizes - 1.0)).sum()), 1.0),
        "is_directed": float(contents.is_directed),
        "n_edge_attributes.log": np.log1p(contents.n_edge_attributes),
    }


def _describe_shape(network: Network, node_triangles: NDArray[np.int64]) -> dict[str, float]:
    degrees = network.degrees.astype(np.float64)
    wedges = (degrees * (degrees - 1) / 2).sum()
    at_row, at_column = degrees[network.rows], degrees[network.indices]
    spread = at_row.std() if len(at_row) else 0.0
    _, part = connected_components(network.to_sparse(), directed=False)
    sizes = np.bincount(part)
    return {
        "degree.mean.log": np.log1p(degrees.mean()),
        "degree.coeff_variation": degrees.std() / max(degrees.mean(), 1e-9),
        "degree.max_share": degrees.max() / network.n_nodes,
        "degree.leaf_share": float(np.mean(degrees == 1)),
        "degree.isolated_share": float(np.mean(degrees == 0)),
        "assortativity": float(np.corrcoef(at_row, at_column)[0, 1]) if spread > 0 else 0.0,
        "clustering": float(node_triangles.sum() / wedges) if wedges else 0.0,
        "kcore.max.log": np.log1p(core_numbers(network).max()),
        "components.largest_share": sizes.max() / network.n_nodes,
        "components.density": len(sizes) / network.n_nodes,
    }


def _describe_attributes(network: Network, contents: Contents) -> dict[str, float]:
    """Return the number of attributes, how filled they are, and whether neighbours are more alike than strangers."""
    x = contents.attributes
    names = ("n_attributes.log", "attributes.filled_share", "attributes.are_whole", "attributes.likeness_of_neighbours")
    if x is None or not x.size:
        return dict.fromkeys(names, 0.0)
    random = np.random.default_rng(derive(0, "task_features", *x.shape))
    rows = np.sort(random.permutation(len(x))[:MOST_NODES])
    seen = np.asarray(x[rows])
    edges = network.edges[:, np.sort(random.permutation(network.n_edges)[:MOST_EDGES])]
    ends = network.original[edges]
    strangers = random.integers(0, len(x), ends.shape)
    centre = seen.mean(axis=0)
    likeness = _mean_cosine(x, ends, centre) - _mean_cosine(x, strangers, centre)
    whole = float(np.all(seen == np.round(seen)))
    return dict(zip(names, (np.log1p(x.shape[1]), float(np.mean(seen != 0)), whole, likeness), strict=True))


def _mean_cosine(x: NDArray[np.float32], pairs: NDArray[np.int64], centre: NDArray[np.float32]) -> float:
    if not pairs.size:
        return 0.0
    total = 0.0
    for start in range(0, pairs.shape[1], 1000):
        a, b = (x[side[start : start + 1000]] - centre for side in pairs)
        norms = np.linalg.norm(a, axis=1) * np.linalg.norm(b, axis=1)
        total += float(np.divide((a * b).sum(axis=1), norms, out=np.zeros(len(a), np.float32), where=norms > 0).sum())
    return total / len(pairs[0])


def _describe_labels(network: Network, contents: Contents) -> dict[str, float]:
    """Classes, their evenness, how many rows have a label, and whether neighbours share it."""
    names = ("n_classes.log", "labels.evenness", "labels.known_share", "labels.homophily", "labels.adjusted_homophily")
    found = dict.fromkeys((*names, "labels.skew", "labels.explained_by_attributes"), 0.0)
    y = contents.labels
    if y is None or not np.isfinite(y).any():
        return found
    known = np.isfinite(y)
    found["labels.known_share"] = float(known.mean())
    if not contents.are_classes:
        centred = y[known] - y[known].mean()
        spread = centred.std()
        found["labels.skew"] = float(np.mean(centred**3) / spread**3) if spread > 0 else 0.0
        return found
    classes, codes = np.unique(y[known], return_inverse=True)
    shares = np.bincount(codes) / len(codes)
    entropy = -float((shares * np.log(shares)).sum())
    found["n_classes.log"] = np.log(len(classes))
    found["labels.evenness"] = entropy / np.log(len(classes)) if len(classes) > 1 else 0.0
    if len(y) == network.n_nodes:
        found |= _homophily(network, y)
        found["labels.explained_by_attributes"] = _share_explained(contents, y)
    return found


def _homophily(network: Network, y: Real) -> dict[str, float]:
    """Share of edges within a class, and the same adjusted for degrees (Platonov et al., 2023)."""
    here = y[network.original]
    a, b = here[network.edges[0]], here[network.edges[1]]
    both = np.isfinite(a) & np.isfinite(b)
    if not both.any():
        return {}
    share = float(np.mean(a[both] == b[both]))
    _, codes = np.unique(np.concatenate([a[both], b[both]]), return_inverse=True)
    expected = float(np.sum((np.bincount(codes) / len(codes)) ** 2))
    adjusted = (share - expected) / (1 - expected) if expected < 1 else 0.0
    return {"labels.homophily": share, "labels.adjusted_homophily": adjusted}


def _share_explained(contents: Contents, y: Real) -> float:
    """Return the share of the variance of attributes that lies between classes, less what chance would give."""
    x, known = contents.attributes, np.flatnonzero(np.isfinite(y))
    if x is None or not x.size or len(known) < 2:
        return 0.0
    random = np.random.default_rng(derive(0, "explained", len(known)))
    rows = np.sort(random.permutation(known)[:MOST_NODES])
    seen = np.asarray(x[rows], dtype=np.float64)
    _, codes = np.unique(y[rows], return_inverse=True)
    counts = np.bincount(codes).astype(np.float64)
    means = np.stack([np.bincount(codes, column) / counts for column in seen.T], axis=1)
    total = ((seen - seen.mean(axis=0)) ** 2).sum()
    between = (counts[:, None] * (means - seen.mean(axis=0)) ** 2).sum()
    chance = (len(counts) - 1) / (len(rows) - 1)
    return float((between / total - chance) / (1 - chance)) if total > 0 and chance < 1 else 0.0


_EMPTY = Network(np.zeros(2, np.int64), np.zeros(0, np.int64), np.zeros(1, bool), np.zeros(1, np.int64))


TASK_FEATURES: tuple[str, ...] = (
    *_describe_sizes(_EMPTY, Contents()),
    *_describe_shape(_EMPTY, np.zeros(1, np.int64)),
    *_describe_attributes(_EMPTY, Contents()),
    *_describe_labels(_EMPTY, Contents()),
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
