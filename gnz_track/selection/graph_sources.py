"""Whatever a user calls a graph: a file, a name of the catalogue, a PyG object, a networkx graph."""

from __future__ import annotations

import copy
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import networkx as nx
import numpy as np
import torch
from numpy.typing import NDArray
from scipy import sparse
from torch_geometric.data import Batch, Data
from torch_geometric.data.data import BaseData

from gnz_track.datasets.catalogue import DATASETS, TASKS
from gnz_track.datasets.collation import collate
from gnz_track.datasets.facts import describe
from gnz_track.datasets.frozen import FrozenDataset
from gnz_track.datasets.homes import data_home
from gnz_track.datasets.preparation import prepare, prepare_dataset
from gnz_track.errors import BadValue
from gnz_track.selection.features.contents import Contents
from gnz_track.selection.features.feature_sets import Parts
from gnz_track.selection.features.networks import make_network
from gnz_track.selection.graph_files import graph_of_matrix, read_graph_file, without_words
from gnz_track.selection.graph_names import check_graph_name, find_graph_file, form_of
from gnz_track.selection.labelled_files import LABELLED_FORMS, read_labelled_file
from gnz_track.types import DatasetRow, Task, TaskType

__all__ = ["OpenedGraph", "check_labels", "describe_frozen", "note_on_labels", "open_graph", "reason_against"]

# Those of a split of links, and of one of graphs.
FEWEST_EDGES = FEWEST_GRAPHS = 3
_FIELDS = frozenset({"edge_index", "x", "y", "edge_attr", "num_nodes"})
_ONLY_FILES = "only GraphML and GML files have attributes by name"
_PLAIN = (torch.Tensor, int, float, bool, str)


@dataclass(frozen=True, eq=False)
class OpenedGraph:
    """A graph, or a collection of them, ready for features; ``task`` is that of the catalogue, where it was named."""

    name: str
    parts: Parts
    task: Task | None = None
    graphs: Sequence[Data] = field(default=(), repr=False)


def open_graph(
    source: object, *, home: Path | None = None, mirror: str | Path | None = None, label: str = ""
) -> OpenedGraph:
    """Return the graph behind a path, a name of the catalogue, a PyG ``Data``, a networkx graph, a matrix of scipy.

    A list of such objects is a collection, and so is a PyG ``Batch`` or ``Dataset``. A ``Task`` or a ``DatasetRow`` is
    prepared as its name would be, and what is open already is returned as it is.

    Files are edge lists (two numbers a line, or a table with columns ``source`` and ``target``), ``.npz`` (an array
    ``edge_index``, or what ``scipy.sparse.save_npz`` writes), Matrix Market, GraphML and GML; each may be packed
    (``.gz``). Of GraphML and GML, ``label`` names the attribute of nodes or edges that is to be told.
    """
    if label and not isinstance(source, str | os.PathLike):
        raise BadValue("label", label, f"nothing for a {type(source).__name__}: {_ONLY_FILES}")
    if isinstance(source, OpenedGraph):
        return source
    if isinstance(source, str | os.PathLike):
        return _open_named(os.fspath(source), home=home or data_home(), mirror=mirror, label=label)
    if isinstance(source, Task):
        return describe_frozen(source.name, prepare(source, seed=0, home=home or data_home(), mirror=mirror), source)
    if isinstance(source, DatasetRow):
        row = prepare_dataset(source, seed=0, home=home or data_home(), mirror=mirror)
        return describe_frozen(source.name, row, None)
    if isinstance(source, BaseData | nx.Graph) or sparse.issparse(source) or not isinstance(source, Iterable):
        return _open_graphs("graph", _data_of(source, "the graph"))
    listed = [_data_of(one, f"graph {place} of the list") for place, one in enumerate(source)]
    return _open_graphs("graph", [graph for graphs in listed for graph in graphs])


def _data_of(graph: object, where: str) -> list[Data]:
    """Return one graph, or those of a batch."""
    if isinstance(graph, nx.Graph):
        return [without_words(graph)]
    if sparse.issparse(graph):
        return [graph_of_matrix(graph, where)]
    if not isinstance(graph, Data):
        allowed = "a path, a name, a Task; a Data, a networkx graph, a sparse matrix, or a list of these three"
        raise BadValue(where, type(graph).__name__, allowed)
    if graph.edge_index is None:
        raise BadValue(f"edge_index of {where}", None, "a tensor [2, n_edges], which may be empty")
    return list(graph.to_data_list()) if isinstance(graph, Batch) else [graph]


def _open_named(name: str, *, home: Path, mirror: str | Path | None, label: str) -> OpenedGraph:
    check_graph_name(name)
    path = find_graph_file(name)
    if path is not None:
        return _open_graphs(path.name, [read_labelled_file(path, label) if label else read_graph_file(path)])
    if label:
        raise BadValue("label", label, f"nothing for {name}: {_ONLY_FILES}")
    if name in TASKS:
        task = TASKS.get(name)
        return describe_frozen(name, prepare(task, seed=0, home=home, mirror=mirror), task)
    return describe_frozen(name, prepare_dataset(DATASETS.get(name), seed=0, home=home, mirror=mirror), None)


def describe_frozen(name: str, dataset: FrozenDataset, task: Task | None) -> OpenedGraph:
    """Return a frozen dataset, posed as a task or not, ready for features."""
    tensors = dict(dataset.tensors)
    edges = dataset.global_edge_index.numpy()
    are_classes = task is None or task.task_type is not TaskType.graph_reg
    contents = _contents(tensors, is_directed=dataset.is_directed, are_classes=are_classes)
    return OpenedGraph(name, Parts(make_network(edges, dataset.n_nodes), contents), task, dataset)


def _open_graphs(name: str, graphs: list[Data]) -> OpenedGraph:
    bare = [_bare(graph) for graph in graphs]
    collated = collate(bare)
    tensors = dict(collated.tensors)
    starts = tensors["ptr/node"]
    edges = tensors["edge_index"] + starts[:-1].repeat_interleave(tensors["ptr/edge"].diff())
    y = tensors.get("y")
    are_classes = y is None or not y.is_floating_point()
    contents = _contents(tensors, is_directed=bool(describe(tensors)["is_directed"]), are_classes=are_classes)
    return OpenedGraph(name, Parts(make_network(edges.numpy(), int(starts[-1])), contents), None, bare)


def _bare(graph: Data) -> Data:
    """Return a graph without notes that are no tensors or single values: they say nothing to features."""
    notes = [name for name, value in graph.to_dict().items() if name not in _FIELDS and not isinstance(value, _PLAIN)]
    if not notes:
        return graph
    bare = copy.copy(graph)
    for name in notes:
        del bare[name]
    return bare


def reason_against(opened: OpenedGraph, task_type: TaskType) -> str:
    """Say why a graph cannot be posed as a kind of problem, as far as that shows; nothing where it can."""
    if task_type is TaskType.link_pred:
        return _reason_against_links(opened)
    labels = opened.parts.contents.labels
    if labels is None:
        where = "; --label NAME says which attribute holds them" if form_of(Path(opened.name)) in LABELLED_FORMS else ""
        return "" if task_type is TaskType.edge_cls else f"it has no labels (y), and {task_type} needs them{where}"
    # A task of the catalogue is known to fit, in a form of its own.
    is_task = opened.task is not None and opened.task.task_type is task_type
    return "" if is_task or task_type not in _LABELLED else _reason_against_labels(opened, task_type, labels)


def check_labels(opened: OpenedGraph, task_type: TaskType) -> None:
    """Raise where there are labels, and as many as there are neither nodes nor graphs: nobody knows whose they are."""
    labels, n_nodes, n_graphs = opened.parts.contents.labels, opened.parts.network.n_nodes, len(opened.graphs)
    if labels is None or task_type not in _LABELLED or isinstance(opened.graphs, FrozenDataset):
        return
    if len(labels) not in {n_nodes, n_graphs}:
        each = f"{n_nodes}, one for each node" if task_type is TaskType.node_cls else f"{n_graphs}, one for each graph"
        raise BadValue("number of labels (y)", len(labels), each)


_LABELLED = frozenset({TaskType.node_cls, TaskType.graph_cls, TaskType.graph_reg})


def _reason_against_links(opened: OpenedGraph) -> str:
    graphs = opened.graphs
    if isinstance(graphs, FrozenDataset) and (graphs.is_relational or "train_link_index" in graphs.tensors):
        return ""
    n_edges, n_nodes = _count_links(opened), opened.parts.network.n_nodes
    if n_edges < FEWEST_EDGES:
        return f"{n_edges} edge{'' if n_edges == 1 else 's'}, at least {FEWEST_EDGES} are needed to hide some"
    n_pairs = n_nodes * (n_nodes - 1) // (1 if opened.parts.contents.is_directed else 2)
    few = f"{n_edges} edges among {n_nodes} nodes leave fewer non-edges than edges, and as many are needed"
    return few if n_pairs < 2 * n_edges else ""


def _count_links(opened: OpenedGraph) -> int:
    """Return how many links a split has: edges without loops, each once, and each direction where that counts."""
    if not opened.parts.contents.is_directed:
        return opened.parts.network.n_edges
    arcs = [graph.edge_index[:, graph.edge_index[0] != graph.edge_index[1]] for graph in opened.graphs]
    return sum(torch.unique(found, dim=1).size(1) for found in arcs)


def _reason_against_labels(opened: OpenedGraph, task_type: TaskType, labels: NDArray[np.float64]) -> str:
    n_graphs, is_of_nodes = len(opened.graphs), task_type is TaskType.node_cls
    n, what = (opened.parts.network.n_nodes, "node") if is_of_nodes else (n_graphs, "graph")
    if len(labels) != n:
        return f"number of labels (y) is {len(labels)}, and {task_type} needs {n}, one for each {what}"
    if not np.isfinite(labels).any():
        return f"none of its labels (y) is known, and {task_type} needs them"
    y = opened.graphs[0].y
    n_columns, is_real = (y.numel() // max(len(y), 1) if y.dim() > 1 else 1), y.is_floating_point()
    # Several labels of a graph are told by their numbers; a node has one.
    if is_of_nodes and n_columns > 1:
        return f"its labels (y) have {n_columns} columns, and {task_type} needs one"
    if task_type is not TaskType.graph_reg and is_real and n_columns == 1:
        return f"its labels (y) are {y.dtype}, and {task_type} needs whole numbers: y.long() makes classes of them"
    if is_of_nodes or isinstance(opened.graphs, FrozenDataset) or n_graphs >= FEWEST_GRAPHS:
        return ""
    return f"{n_graphs} graph{'' if n_graphs == 1 else 's'}, at least {FEWEST_GRAPHS} are needed"


def note_on_labels(opened: OpenedGraph, task_type: TaskType) -> str:
    """Say where all labels are one class; nothing where they are not."""
    contents = opened.parts.contents
    if contents.labels is None or task_type not in {TaskType.node_cls, TaskType.graph_cls} or not contents.are_classes:
        return ""
    n_classes = len(np.unique(contents.labels[np.isfinite(contents.labels)]))
    return "all its labels (y) are of one class: any model can be right" if n_classes == 1 else ""


def _contents(tensors: dict[str, torch.Tensor], *, is_directed: bool, are_classes: bool) -> Contents:
    x, y, edge_attr = (tensors.get(name) for name in ("x", "y", "edge_attr"))
    n_nodes = int(tensors["ptr/node"][-1])
    if x is not None and (x.dim() == 0 or len(x) != n_nodes):
        raise BadValue("shape of x", tuple(x.shape), f"({n_nodes}, ...), a row for each node")
    return Contents(
        attributes=None if x is None else _flat(x).float().numpy(),
        labels=None if y is None or not y.numel() else _first_labels(y),
        are_classes=are_classes,
        node_ptr=tensors["ptr/node"].numpy(),
        n_edge_attributes=0 if edge_attr is None else _flat(edge_attr).shape[1],
        is_directed=is_directed,
    )


def _flat(values: torch.Tensor) -> torch.Tensor:
    return values.reshape(len(values), -1)


def _first_labels(y: torch.Tensor) -> NDArray[np.float64]:
    """Return the first column of labels, NaN where there is none; whole numbers below 0 mean that."""
    labels: NDArray[np.float64] = _flat(y)[:, 0].to(torch.float64).numpy().copy()
    if not y.is_floating_point():
        labels[labels < 0] = np.nan
    return labels
