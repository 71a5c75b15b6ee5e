"""The audit of a dataset without training: complementarity under all perturbations, diversity, and the verdict.

A dataset of few large graphs is measured on neighbourhoods of sampled nodes, each a graph of its own. That is an
extension: the published method is for datasets of many graphs.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from scipy import sparse
from torch import Tensor
from torch_geometric.data import Data
from torch_geometric.utils import degree

from gnz_track.datasets.frozen import FrozenDataset
from gnz_track.datasets.perturbations import ORIGINAL, perturb
from gnz_track.datasets.steady import hold_steady
from gnz_track.errors import BadValue, DataUnusable
from gnz_track.quality.complementarity import Complementarity, agree, diversity_of, measure_complementarity
from gnz_track.quality.measures import FIXED_MODES, Measure
from gnz_track.quality.verdict import DIVERSITY_MEAN, DIVERSITY_SD, decide, grade
from gnz_track.seeds import derive
from gnz_track.store.audits import AuditRecord, DiversityRecord, ModeRecord
from gnz_track.types import Task

__all__ = ["RANDOM_MODES", "Depth", "audit_dataset", "audit_graphs", "sample_neighbourhoods"]


Whole = NDArray[np.int64]


def sample_neighbourhoods(
    x: Tensor, edge_index: Tensor, *, n_centres: int = 200, n_hops: int = 2, most_nodes: int = 100, seed: int = 0
) -> list[Data]:
    """Return the graphs that edges induce on all nodes within some steps of each of the sampled nodes.

    Parameters
    ----------
    x
        Features of nodes [n, k].
    edge_index
        Edges [2, m].
    n_centres
        Nodes that are drawn, without repetition; a graph with fewer nodes has as many neighbourhoods.
    n_hops
        Steps from a centre.
    most_nodes
        Nodes beyond which only a random part of the last hop is taken.
    seed
        Seed of the draws.
    """
    if min(n_centres, n_hops, most_nodes) < 1:
        raise BadValue("n_centres, n_hops, most_nodes", (n_centres, n_hops, most_nodes), "whole numbers from 1 upwards")
    n = x.size(0)
    stream = np.random.default_rng(derive(seed, "neighbourhoods", n, edge_index.size(1)))
    rows, columns = edge_index.numpy()
    graph = sparse.coo_array((np.ones(len(rows), dtype=bool), (rows, columns)), shape=(n, n)).tocsr()
    graph = (graph + graph.T).tocsr()
    centres = stream.permutation(n)[:n_centres]
    found = []
    for centre in centres.tolist():
        nodes = _reachable_nodes(graph, centre, n_hops, most_nodes, stream)
        part = graph[nodes][:, nodes].tocoo()
        edges = torch.from_numpy(np.stack([part.row, part.col]).astype(np.int64))
        found.append(Data(x=x[torch.from_numpy(nodes)], edge_index=edges, num_nodes=len(nodes)))
    return found


def _reachable_nodes(
    graph: sparse.csr_array, centre: int, n_hops: int, most_nodes: int, stream: np.random.Generator
) -> Whole:
    nodes = np.array([centre])
    last = nodes
    for _ in range(n_hops):
        ends = [graph.indices[graph.indptr[node] : graph.indptr[node + 1]] for node in last.tolist()]
        last = np.setdiff1d(np.concatenate(ends), nodes).astype(np.int64) if ends else nodes[:0]
        if len(nodes) + len(last) > most_nodes:
            last = stream.choice(last, size=most_nodes - len(nodes), replace=False)
            return np.concatenate([nodes, last])
        nodes = np.concatenate([nodes, last])
    return nodes


Numbers = NDArray[np.float64]
RANDOM_MODES = ("random-graph", "shuffled-graph", "random-features", "shuffled-features")
FEW_GRAPHS = 10
HIGH_DIVERSITY = 0.4
OF_GRAPHS = "the graphs of the dataset"


@dataclass(frozen=True, kw_only=True)
class Depth:
    """Amount that is measured: at most ``most_graphs``, drawn at random where there are more; at which times.

    Random perturbations are drawn ``n_draws`` times, fewer where there are many graphs. Datasets of fewer than ten
    graphs are measured by ``n_neighbourhoods``, of at most ``most_nodes`` nodes each. ``most_values`` are kept for
    figures.
    """

    times: tuple[int, ...] = tuple(range(1, 11))
    measure: Measure = field(default_factory=Measure)
    most_graphs: int = 5000
    n_draws: int = 3
    n_neighbourhoods: int = 200
    most_nodes: int = 100
    most_values: int = 300
    seed: int = 0


def audit_dataset(dataset: FrozenDataset, task: Task, depth: Depth | None = None) -> AuditRecord:
    """Return the audit of the dataset of a task, without any training.

    Parameters
    ----------
    dataset, task
        The data, and the task that they are.
    depth
        Graphs and times that are measured.
    """
    facts = {"task": task.name, "task_type": str(task.task_type), "dataset": dataset.name}
    with hold_steady(dataset.folder, digest=dataset.digest):
        return audit_graphs(dataset, depth, dataset_digest=dataset.digest, **facts)


def audit_graphs(
    graphs: Sequence[Any], depth: Depth | None = None, *, task: str = "graphs", **facts: str
) -> AuditRecord:
    """Return the audit of any graphs.

    Parameters
    ----------
    graphs
        A list of ``Data``, a PyG dataset, a frozen dataset.
    depth
        Graphs and times that are measured.
    task
        Name in the record.
    facts
        Texts of the record: task_type, dataset, dataset_digest.
    """
    from gnz_track import __version__

    began, depth = time.perf_counter(), depth or Depth()
    if not len(graphs):
        raise DataUnusable(task, "memory", "it has no graph", command="give it at least one")
    chosen, source, notes = _choose_graphs(graphs, depth)
    if not _has_features(graphs):
        chosen, depth = _with_degrees(chosen), _with_discrete_features(depth)
        notes = [*notes, "the dataset has no features: the one-hot degree of each node is taken, as published"]
    fixed = measure_complementarity(chosen, depth.measure, modes=FIXED_MODES, times=depth.times)
    modes = [_mode_record(mode, fixed, depth) for mode in FIXED_MODES]
    modes += [_random_mode(name, chosen, depth) for name in RANDOM_MODES]
    of_structure, of_features = diversity_of(fixed)
    structure, features = _diversity_record(of_structure), _diversity_record(of_features)
    decision, rule = decide(performance="", diversity=structure.grade)
    both = agree(of_structure >= HIGH_DIVERSITY, of_features >= HIGH_DIVERSITY)
    given: dict[str, Any] = {"task_type": "", "dataset": task, "dataset_digest": "", **facts}
    return AuditRecord(
        task=task,
        n_graphs=len(graphs),
        source=source,
        measure=_describe_measure(depth.measure),
        times=depth.times,
        modes=tuple(modes),
        structure=structure,
        features=features,
        decision=str(decision),
        rule=rule,
        agreement={"jaccard": both["jaccard"], "of_structure": both["of_first"], "of_features": both["of_second"]},
        seconds=time.perf_counter() - began,
        version=__version__,
        notes=(*notes, *fixed.notes),
        **given,
    )


def _choose_graphs(graphs: Sequence[Any], depth: Depth) -> tuple[Sequence[Any], str, list[str]]:
    """Return the graphs that stand for a dataset, where they are from, and what is to be said of them."""
    n = len(graphs)
    if n < FEW_GRAPHS:
        listed, source = _cut_neighbourhoods(graphs, depth)
        return listed, source, []
    if n <= depth.most_graphs:
        return graphs, OF_GRAPHS, []
    stream = np.random.default_rng(derive(depth.seed, "audit", n))
    chosen = np.sort(stream.choice(n, size=depth.most_graphs, replace=False))
    note = f"{depth.most_graphs:,} of {n:,} graphs, drawn at random, stand for all"
    return [graphs[int(number)] for number in chosen], OF_GRAPHS, [note]


def _has_features(graphs: Sequence[Any]) -> bool:
    if isinstance(graphs, FrozenDataset):
        return "x" in graphs.tensors
    return any(graph.x is not None for graph in graphs)


def _with_discrete_features(depth: Depth) -> Depth:
    """Return a depth whose features are equal or not, as one-hot vectors are."""
    measure = Measure(graph=depth.measure.graph, features="discrete", norm=depth.measure.norm)
    return replace(depth, measure=measure)


def _with_degrees(graphs: Sequence[Any]) -> list[Data]:
    """Return graphs whose features are the degrees of their nodes."""
    found = []
    for graph in graphs:
        n = int(graph.num_nodes or 0)
        edges = graph.edge_index if graph.edge_index is not None else torch.zeros(2, 0, dtype=torch.long)
        found.append(Data(x=degree(edges[0], n).unsqueeze(1), edge_index=edges, num_nodes=n))
    return found


def _cut_neighbourhoods(graphs: Sequence[Any], depth: Depth) -> tuple[list[Data], str]:
    """Return neighbourhoods from all graphs, as many of each as it has a share of the nodes."""
    sizes = [int(graph.num_nodes or 0) for graph in graphs]
    listed: list[Data] = []
    for number, (graph, n) in enumerate(zip(graphs, sizes, strict=True)):
        n_centres = max(1, round(depth.n_neighbourhoods * n / max(sum(sizes), 1)))
        edges = graph.edge_index if graph.edge_index is not None else torch.zeros(2, 0, dtype=torch.long)
        # Without features, numbers stand for nodes; nothing is made of them.
        x = graph.x if graph.x is not None else torch.zeros(n, 1)
        options = {"n_centres": n_centres, "most_nodes": depth.most_nodes, "seed": derive(depth.seed, number)}
        listed += sample_neighbourhoods(x, edges, **options)
    source = (
        f"neighbourhoods of {len(listed)} sampled nodes within 2 hops, at most {depth.most_nodes} nodes each "
        "(an extension: the method is made for datasets of many graphs)"
    )
    return listed, source


def _random_mode(name: str, graphs: Sequence[Any], depth: Depth) -> ModeRecord:
    """Return the record of a random perturbation, averaged over draws graph by graph."""
    n_draws = max(1, min(depth.n_draws, 3000 // len(graphs)))
    draws = []
    for number in range(n_draws):
        generator = torch.Generator().manual_seed(derive(depth.seed, name, number))
        changed = [perturb(graph, name, generator) for graph in graphs]
        found = measure_complementarity(changed, depth.measure, modes=[ORIGINAL], times=depth.times)
        draws.append(found.values[ORIGINAL])
    mean = Complementarity(times=depth.times, values={name: np.mean(draws, axis=0)}, n_nodes=found.n_nodes)
    return _mode_record(name, mean, depth, n_draws=n_draws)


def _mode_record(mode: str, found: Complementarity, depth: Depth, *, n_draws: int = 1) -> ModeRecord:
    first = found.at(mode, depth.times[0])
    # Spread over the whole dataset, which may be sorted by class.
    shown = first[np.linspace(0, len(first) - 1, min(len(first), depth.most_values)).astype(int)]
    return ModeRecord(
        name=mode,
        means=tuple(_none_for_nan(found.mean(mode, moment)) for moment in depth.times),
        sds=tuple(_none_for_nan(found.sd(mode, moment)) for moment in depth.times),
        n_draws=n_draws,
        values=tuple(_none_for_nan(round(float(value), 6)) for value in shown),
    )


def _diversity_record(values: Numbers) -> DiversityRecord:
    finite = values[np.isfinite(values)]
    mean, sd = (float(finite.mean()), float(finite.std())) if len(finite) else (math.nan, math.nan)
    return DiversityRecord(
        mean=_none_for_nan(mean),
        sd=_none_for_nan(sd),
        grade=grade(mean, DIVERSITY_MEAN),
        sd_grade=grade(sd, DIVERSITY_SD),
    )


def _none_for_nan(value: float) -> float | None:
    return None if math.isnan(value) else value


def _describe_measure(measure: Measure) -> dict[str, str]:
    features = measure.features if isinstance(measure.features, str) else "a function"
    norm = f"L_{{{measure.norm.p:g},{measure.norm.q:g}}}"
    return {"graph": measure.graph, "features": features, "norm": norm}
