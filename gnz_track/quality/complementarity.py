"""Mode complementarity: how unlike the distances along edges and those between features are, graph by graph.

gamma = || D_X - D_G || over pairs of nodes, each divided by its largest entry; of a graph in several components the
mean of theirs, weighted by nodes. Near 0 edges and features say the same, near 1 they have nothing to do with one
another. An isolated node adds 0; a graph without any edge is one space, whose nodes are all at distance 0. Mode
diversity follows from it: how much the distances within one mode differ from having none of them differ.

C. Coupette et al., No metric to rule them all (2025), in the form of its published implementation, with one difference:
the features of a component belong to the nodes whose distances are taken, in every case.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gnz_track.datasets.perturbations import ORIGINAL
from gnz_track.errors import BadValue
from gnz_track.quality.distances import GRAPH_METRICS, FeatureMetric, find_feature_metric
from gnz_track.quality.large_graphs import compare_large
from gnz_track.quality.measures import (
    ALONG_EDGES,
    COMPLETE_FEATURES,
    COMPLETE_GRAPH,
    EMPTY_FEATURES,
    EMPTY_GRAPH,
    FIXED_MODES,
    OF_FEATURES,
    Measure,
)
from gnz_track.quality.node_sets import Bucket, GraphSet, Spaces, bucket_spaces, cut_into_components, gather, take_whole

__all__ = [
    "Complementarity",
    "agree",
    "diversity_of",
    "measure_complementarity",
]


Numbers = NDArray[np.float64]
Whole = NDArray[np.int64]

MOST_TIME = 500
# Nodes from which one space is taken block by block: its matrices would no longer be small.
LARGE = 320


@dataclass(frozen=True, eq=False, kw_only=True)
class Complementarity:
    """``values[mode] [n_graphs, n_times]``, NaN where undefined; ``notes`` say why, and what was made of the graphs."""

    times: tuple[int, ...]
    values: Mapping[str, Numbers]
    n_nodes: Whole
    notes: tuple[str, ...] = field(default=())

    def at(self, mode: str, time: int) -> Numbers:
        """Return the values of all graphs ``[n_graphs]`` under a mode at a time."""
        return self.values[mode][:, self.times.index(time)]

    def mean(self, mode: str, time: int) -> float:
        """Return the mean over graphs that have a value; NaN where none has."""
        found = self.at(mode, time)
        found = found[np.isfinite(found)]
        return float(found.mean()) if len(found) else float("nan")

    def sd(self, mode: str, time: int) -> float:
        """Return the standard deviation of the graphs as a population (ddof 0), as published."""
        found = self.at(mode, time)
        found = found[np.isfinite(found)]
        return float(found.std()) if len(found) else float("nan")


def measure_complementarity(
    graphs: Sequence[Any] | GraphSet,
    measure: Measure | None = None,
    *,
    modes: Iterable[str] = FIXED_MODES,
    times: Iterable[int] = range(1, 11),
) -> Complementarity:
    """Return the complementarity of every graph, under each of the fixed modes and at each time, in one pass.

    Other modes are those of perturbed graphs: perturb them first and ask for ``original``.

    Parameters
    ----------
    graphs
        PyG graphs.
    measure
        Distances and their comparison.
    modes
        Names of fixed modes.
    times
        Steps of diffusion.
    """
    measure, wanted, moments = measure or Measure(), tuple(modes), tuple(times)
    _check_request(measure, wanted, moments)
    graph_set = graphs if isinstance(graphs, GraphSet) else gather(graphs, uses_weights=measure.uses_weights)
    metric = GRAPH_METRICS.get(measure.graph)
    # A distance without a time is computed once.
    taken = moments if metric.has_times else moments[:1]
    totals = {mode: np.zeros((graph_set.n_graphs, len(taken))) for mode in wanted}
    spaces = cut_into_components(graph_set)
    n_spaces = np.bincount(spaces.graph, minlength=graph_set.n_graphs)
    is_one = n_spaces[spaces.graph] == 1 if len(spaces.graph) else np.zeros(0, dtype=bool)
    _add_spaces(_Job(graph_set, spaces, measure, wanted, taken), totals, share=is_one)
    features_only = tuple(mode for mode in wanted if mode in OF_FEATURES)
    apart = np.flatnonzero((n_spaces > 1) & graph_set.has_x)
    if features_only and len(apart):
        _add_spaces(_Job(graph_set, take_whole(graph_set, apart), measure, features_only, taken), totals, share=None)
    for values in totals.values():
        values[~graph_set.has_x] = np.nan
    found = {mode: np.ascontiguousarray(np.broadcast_to(v, (len(v), len(moments)))) for mode, v in totals.items()}
    notes = graph_set.notes
    if any(np.isnan(values[graph_set.has_x]).any() for values in found.values()):
        notes = (*notes, "some graphs have nodes whose edges all weigh nothing: undefined")
    return Complementarity(times=moments, values=found, n_nodes=graph_set.sizes, notes=notes)


@dataclass(frozen=True, eq=False)
class _Job:
    """Spaces of a set of graphs, and what is to be computed of them."""

    graphs: GraphSet
    spaces: Spaces
    measure: Measure
    modes: tuple[str, ...]
    times: tuple[int, ...]


def _check_request(measure: Measure, modes: Sequence[str], times: Sequence[int]) -> None:
    for mode in modes:
        if mode not in FIXED_MODES:
            raise BadValue("mode", mode, ", ".join(FIXED_MODES), command="perturb the graphs, then ask for original")
    if not times or not all(isinstance(time, int) and 1 <= time <= MOST_TIME for time in times):
        raise BadValue("times", tuple(times), f"whole numbers from 1 to {MOST_TIME}")
    of_normalised = {COMPLETE_FEATURES, COMPLETE_GRAPH} & set(modes)
    if of_normalised and not measure.is_normalised:
        raise BadValue("modes of distances as they are", ", ".join(sorted(of_normalised)), "the other fixed modes")


def _add_spaces(job: _Job, totals: Mapping[str, Numbers], *, share: NDArray[np.bool_] | None) -> None:
    """Add what each space contributes to its graph; modes of features alone only where a space is a whole graph.

    ``share [n_spaces]`` says which spaces are whole graphs; None where all are.
    """
    metric = find_feature_metric(job.measure.features)
    n_nodes = job.graphs.sizes
    for bucket in bucket_spaces(job.spaces, largest=LARGE):
        owners = job.spaces.graph[bucket.index]
        weights = (bucket.sizes / n_nodes[owners])[:, None]
        for mode, values in _compare_bucket(job, bucket, metric).items():
            counts = (
                np.ones(len(owners), dtype=bool) if share is None or mode not in OF_FEATURES else share[bucket.index]
            )
            np.add.at(totals[mode], owners[counts], (values * weights)[counts])
    for index in np.flatnonzero(job.spaces.sizes > LARGE).tolist():
        owner = int(job.spaces.graph[index])
        if not job.graphs.has_x[owner]:
            continue
        nodes = job.spaces.nodes[job.spaces.ptr[index] : job.spaces.ptr[index + 1]]
        modes = tuple(mode for mode in job.modes if share is None or share[index] or mode not in OF_FEATURES)
        found = compare_large(job.graphs, nodes, job.measure, modes=modes, times=job.times)
        for mode, row in found.items():
            totals[mode][owner] += row * len(nodes) / n_nodes[owner]


def _compare_bucket(job: _Job, bucket: Bucket, metric: FeatureMetric) -> dict[str, Numbers]:
    """Return the values of the spaces of a bucket: mode -> ``[b, n_times]``."""
    measure, found = job.measure, {}
    features = _scale_to_largest(bucket.blank(_feature_distances(job, bucket, metric)), measure)
    for mode in (mode for mode in OF_FEATURES if mode in job.modes):
        column = _norm_share(_distances_from_mode(features, mode, bucket), bucket, measure)
        found[mode] = np.broadcast_to(column[:, None], (len(column), len(job.times)))
    along = tuple(mode for mode in ALONG_EDGES if mode in job.modes)
    rows: dict[str, list[Numbers]] = {mode: [] for mode in along}
    for distances in _graph_distances(job, bucket) if along else ():
        # Those of edges are not needed once they are compared: they are changed in place.
        for mode in (EMPTY_FEATURES, COMPLETE_FEATURES):
            if mode in rows:
                rows[mode].append(_norm_share(_distances_from_mode(distances, mode, bucket), bucket, measure))
        if ORIGINAL in rows:
            np.subtract(distances, features, out=distances)
            rows[ORIGINAL].append(_norm_share(np.abs(distances, out=distances), bucket, measure))
    return found | {mode: np.stack(columns, axis=1) for mode, columns in rows.items()}


def _feature_distances(job: _Job, bucket: Bucket, metric: FeatureMetric) -> Numbers:
    x = job.graphs.x[bucket.nodes]
    return metric(x, x)


def _graph_distances(job: _Job, bucket: Bucket) -> Iterator[Numbers]:
    """Yield the distances along edges at each time, zero where a space has no edge, scaled."""
    adjacency = _adjacency(job, bucket)
    degrees = adjacency.sum(axis=2)
    # Not by weight: edges may weigh nothing.
    has_edges = (np.diff(job.graphs.adjacency.indptr)[bucket.nodes] > 0).any(axis=1)
    inside = np.arange(adjacency.shape[1]) < bucket.sizes[:, None]
    lacks = has_edges & ((degrees <= 0) & inside).any(axis=1)
    counts = has_edges & ~lacks
    for distances in _distances_where(job, adjacency, bucket.sizes, counts):
        distances[lacks] = np.nan
        yield _scale_to_largest(bucket.blank(distances), job.measure)


def _distances_where(job: _Job, adjacency: Numbers, sizes: Whole, counts: NDArray[np.bool_]) -> Iterator[Numbers]:
    """Yield the distances of those that count, and zeros for the others."""
    metric = GRAPH_METRICS.get(job.measure.graph)
    if counts.all():
        yield from metric.distances(adjacency, sizes, job.times)
    elif not counts.any():
        yield from (np.zeros_like(adjacency) for _ in job.times)
    else:
        for distances in metric.distances(adjacency[counts], sizes[counts], job.times):
            found = np.zeros_like(adjacency)
            found[counts] = distances
            yield found


def _adjacency(job: _Job, bucket: Bucket) -> Numbers:
    b, m = bucket.nodes.shape
    rows = job.graphs.adjacency
    inside = np.arange(m) < bucket.sizes[:, None]
    nodes = bucket.nodes[inside]
    starts, counts = rows.indptr[nodes], rows.indptr[nodes + 1] - rows.indptr[nodes]
    entries = np.arange(counts.sum()) + np.repeat(starts - np.cumsum(counts) + counts, counts)
    found = np.zeros(b * m * m)
    found[np.repeat(np.flatnonzero(inside), counts) * m + job.spaces.places[rows.indices[entries]]] = rows.data[entries]
    return found.reshape(b, m, m)


def _scale_to_largest(distances: Numbers, measure: Measure) -> Numbers:
    if measure.is_normalised:
        largest = distances.max(axis=(1, 2))
        distances /= np.where(largest > 0, largest, 1.0)[:, None, None]
    return distances


def _distances_from_mode(distances: Numbers, mode: str, bucket: Bucket) -> Numbers:
    """Return how far distances are from 0, or for complete modes from 1 off the diagonal."""
    if mode in {EMPTY_FEATURES, EMPTY_GRAPH}:
        return distances
    found = bucket.blank(np.abs(1.0 - distances))
    np.einsum("...ii->...i", found)[...] = 0.0
    return found


def _norm_share(differences: Numbers, bucket: Bucket, measure: Measure) -> Numbers:
    return measure.norm.share(measure.norm.columns(differences).sum(axis=-1), bucket.sizes)


def diversity_of(found: Complementarity) -> tuple[Numbers, Numbers]:
    """Return Delta = 1 - |1 - 2 gamma| of structure and of features, both of each graph ``[n_graphs]``, from 0 to 1.

    The structure is what is left without features, and the other way round. Both are at the first time, and NaN where
    undefined.
    """
    of_structure, of_features = (found.at(mode, found.times[0]) for mode in (EMPTY_FEATURES, EMPTY_GRAPH))
    return 1.0 - np.abs(1.0 - 2.0 * of_structure), 1.0 - np.abs(1.0 - 2.0 * of_features)


def agree(first: ArrayLike, second: ArrayLike) -> dict[str, float | None]:
    """Return the share of two sets of graphs, each ``[n_graphs]`` of whether a graph is in it, that both have.

    ``jaccard`` is the share of those in either (P. Jaccard, 1912), ``of_first`` and ``of_second`` are those of one set;
    None where there is nothing to divide by.

    >>> agree([True, True, False], [True, False, False])["jaccard"]
    0.5
    """
    one, two = (np.asarray(item, dtype=bool) for item in (first, second))
    if one.shape != two.shape or one.ndim != 1:
        raise BadValue("the shapes of two sets of graphs", (one.shape, two.shape), "one entry for each graph in both")
    n_both = int((one & two).sum())
    sizes = {"jaccard": int((one | two).sum()), "of_first": int(one.sum()), "of_second": int(two.sum())}
    return {name: n_both / size if size else None for name, size in sizes.items()}
