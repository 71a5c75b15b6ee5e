"""Whatever a user calls a graph: a file, a name of the catalogue, a PyG object, a networkx graph."""

from __future__ import annotations

import copy
import os
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

import networkx as nx
import numpy as np
import torch
from numpy.typing import NDArray
from scipy import sparse
from torch_geometric.data import Batch, Data
from torch_geometric.data.data import BaseData

from gnz_track.datasets.catalogue import DATASETS, TASKS
from gnz_track.datasets.collation import collate, describe
from gnz_track.datasets.frozen import FrozenDataset, freeze
from gnz_track.datasets.homes import data_home
from gnz_track.datasets.own.tasks import own_row, refuse_types, task_from_dataset
from gnz_track.datasets.preparation import prepare, prepare_dataset
from gnz_track.datasets.steady import open_steady
from gnz_track.errors import BadValue
from gnz_track.selection.features.feature_sets import GraphParts
from gnz_track.selection.features.graph import Contents, make_network
from gnz_track.selection.graph_files import graph_of_matrix, graph_of_networkx, read_graph_file, read_labelled_file
from gnz_track.selection.graph_names import check_graph_name, find_graph_file
from gnz_track.selection.visible_parts import (
    VisiblePart,
    are_classes,
    reason_against_split,
    visible_edges,
    visible_labels,
    visible_part_of,
)
from gnz_track.types import Cell, DatasetRow, Task, TaskType

__all__ = ["OpenedGraph", "describe_frozen", "open_graph", "view_as", "view_whole"]

_FIELDS = frozenset({"edge_index", "x", "y", "edge_attr", "num_nodes"})
_ONLY_FILES = "only GraphML and GML files have attributes by name"
_PLAIN = (torch.Tensor, int, float, bool, str)


@dataclass(frozen=True, eq=False)
class OpenedGraph:
    """A graph, or a collection of them, ready for features; ``task`` is that of the catalogue, where it was named.

    ``parts`` hold what may be seen under the split of ``visible``; without one, all there is. ``split_problem`` says
    why the split cannot be drawn. ``kept`` are other views of the same graph, so that none is made twice.
    """

    name: str
    parts: GraphParts
    task: Task | None = None
    graphs: Sequence[Data] = field(default=(), repr=False)
    visible: VisiblePart | None = None
    split_problem: str = ""
    kept: dict[TaskType | None, OpenedGraph] = field(default_factory=dict, repr=False)


def open_graph(
    source: object, *, home: Path | None = None, mirror: str | Path | None = None, label: str = ""
) -> OpenedGraph:
    """Return the graph behind a path, a name, or an object.

    A task is described without what the split of seed 0 keeps for tests; all else is described whole until it is posed
    as a kind of problem.

    Parameters
    ----------
    source
        A file, a task or dataset by name, a PyG ``Data``, ``Batch`` or ``Dataset``, a networkx graph, a matrix of
        scipy, or a list of these, which is a collection. A ``Task`` or ``DatasetRow`` is prepared as its name would be,
        a ``Cell`` is its task as its search may see it, and an opened graph is returned as it is. Files are edge lists
        (two numbers a line, or a table with columns ``source`` and ``target``), ``.npz`` (an array ``edge_index``, or
        what ``scipy.sparse.save_npz`` writes), Matrix Market, GraphML and GML; each may be packed (``.gz``).
    home, mirror
        Folders of prepared and of raw data.
    label
        Attribute of nodes or edges of GraphML and GML that is to be told.
    """
    if label and not isinstance(source, str | os.PathLike):
        raise BadValue("label", label, f"nothing for a {type(source).__name__}: {_ONLY_FILES}")
    if isinstance(source, OpenedGraph):
        return source
    if isinstance(source, str | os.PathLike):
        return _open_named(os.fspath(source), home=home or data_home(), mirror=mirror, label=label)
    if isinstance(source, Cell | Task | DatasetRow):
        return _open_known(source, home=home or data_home(), mirror=mirror)
    if isinstance(source, BaseData | nx.Graph) or sparse.issparse(source) or not isinstance(source, Iterable):
        return _open_graphs("graph", _data_of(source, "the graph"))
    listed = [_data_of(one, f"graph {place} of the list") for place, one in enumerate(source)]
    return _open_graphs("graph", [graph for graphs in listed for graph in graphs])


def _data_of(graph: object, where: str) -> list[Data]:
    """Return one graph, or those of a batch."""
    if isinstance(graph, nx.Graph):
        return [graph_of_networkx(graph)]
    if sparse.issparse(graph):
        return [graph_of_matrix(graph, where)]
    refuse_types(graph, where)
    if not isinstance(graph, Data):
        allowed = "a path, a name, a Task; a Data, a networkx graph, a sparse matrix, or a list of these three"
        raise BadValue(where, type(graph).__name__, allowed)
    if graph.edge_index is None:
        raise BadValue(f"edge_index of {where}", None, "a tensor [2, n_edges], which may be empty")
    return list(graph.to_data_list()) if isinstance(graph, Batch) else [graph]


def _open_known(source: Cell | Task | DatasetRow, *, home: Path, mirror: str | Path | None) -> OpenedGraph:
    if isinstance(source, Cell):
        return _open_task(source.task, open_steady(source.data), visible_part_of(source))
    if isinstance(source, Task):
        dataset = prepare(source, seed=0, home=home, mirror=mirror)
        return _open_task(source, open_steady(dataset.folder), VisiblePart(task_type=source.task_type))
    dataset = prepare_dataset(source, seed=0, home=home, mirror=mirror)
    return describe_frozen(source.name, open_steady(dataset.folder))


def _open_named(name: str, *, home: Path, mirror: str | Path | None, label: str) -> OpenedGraph:
    check_graph_name(name)
    path = find_graph_file(name)
    if path is not None:
        return _open_graphs(path.name, [read_labelled_file(path, label) if label else read_graph_file(path)])
    if label:
        raise BadValue("label", label, f"nothing for {name}: {_ONLY_FILES}")
    return _open_known(TASKS.get(name) if name in TASKS else DATASETS.get(name), home=home, mirror=mirror)


def _open_task(task: Task, dataset: FrozenDataset, visible: VisiblePart) -> OpenedGraph:
    return replace(describe_frozen(task.name, dataset, visible), task=task)


def describe_frozen(name: str, dataset: FrozenDataset, visible: VisiblePart | None = None) -> OpenedGraph:
    """Return a frozen dataset ready for features.

    Parameters
    ----------
    name
        Name of the graph.
    dataset
        The data.
    visible
        Split whose visible part is described; without, all of it.
    """
    tensors = dict(dataset.tensors)
    edges, is_directed = visible_edges(dataset, visible)
    contents = _contents_of(tensors, is_directed=is_directed, are_classes=are_classes(visible))
    if contents.labels is not None:
        is_seen = visible_labels(dataset, visible, len(contents.labels))
        if is_seen is not None:
            contents.labels[~is_seen.numpy()] = np.nan
    parts = GraphParts(make_network(edges.numpy(), dataset.n_nodes), contents)
    return OpenedGraph(name, parts, graphs=dataset, visible=visible)


def view_as(opened: OpenedGraph, task_type: TaskType) -> OpenedGraph:
    """Return a graph as it may be seen where it is posed as a kind of problem.

    One of the user's own is described by the split that a confirmation on it would draw from seed 0.
    """
    known = opened.visible
    if known is not None and known.task_type is task_type:
        return opened
    if task_type not in opened.kept:
        visible = VisiblePart(task_type=task_type) if known is None else replace(known, task_type=task_type)
        with _freeze_for(opened, task_type) as dataset:
            parts, split_problem = (
                describe_frozen(opened.name, dataset, visible).parts,
                reason_against_split(dataset, visible),
            )
        opened.kept[task_type] = replace(opened, parts=parts, visible=visible, split_problem=split_problem)
    return replace(opened.kept[task_type], name=opened.name)


def view_whole(opened: OpenedGraph) -> OpenedGraph:
    """Return an opened graph with all that its split keeps for tests, labels and links."""
    if opened.visible is None:
        return opened
    if None not in opened.kept:
        graphs, name = opened.graphs, opened.name
        whole = describe_frozen(name, graphs) if isinstance(graphs, FrozenDataset) else _open_graphs(name, graphs)
        opened.kept[None] = replace(whole, task=opened.task)
    return opened.kept[None]


@contextmanager
def _freeze_for(opened: OpenedGraph, task_type: TaskType) -> Iterator[FrozenDataset]:
    """Yield a graph as it is trained on; one of the user's own is frozen for as long as it is looked at."""
    if isinstance(opened.graphs, FrozenDataset):
        yield opened.graphs
        return
    row = own_row(task_from_dataset(opened.name, task_type, list(opened.graphs)))
    with tempfile.TemporaryDirectory() as folder:
        yield freeze(list(opened.graphs), Path(folder) / "graph", row=row)


def _open_graphs(name: str, graphs: Sequence[Data]) -> OpenedGraph:
    bare = [_without_notes(graph) for graph in graphs]
    collated = collate(bare)
    tensors = dict(collated.tensors)
    starts = tensors["ptr/node"]
    edges = tensors["edge_index"] + starts[:-1].repeat_interleave(tensors["ptr/edge"].diff())
    y = tensors.get("y")
    are_classes = y is None or not y.is_floating_point()
    contents = _contents_of(tensors, is_directed=bool(describe(tensors)["is_directed"]), are_classes=are_classes)
    return OpenedGraph(name, GraphParts(make_network(edges.numpy(), int(starts[-1])), contents), None, bare)


def _without_notes(graph: Data) -> Data:
    """Return a graph without notes that are no tensors or single values: they say nothing to features."""
    notes = [name for name, value in graph.to_dict().items() if name not in _FIELDS and not isinstance(value, _PLAIN)]
    if not notes:
        return graph
    bare = copy.copy(graph)
    for name in notes:
        del bare[name]
    return bare


def _contents_of(tensors: dict[str, torch.Tensor], *, is_directed: bool, are_classes: bool) -> Contents:
    x, y, edge_attr = (tensors.get(name) for name in ("x", "y", "edge_attr"))
    n_nodes = int(tensors["ptr/node"][-1])
    if x is not None and (x.dim() == 0 or len(x) != n_nodes):
        raise BadValue("shape of x", tuple(x.shape), f"({n_nodes}, ...), a row for each node")
    return Contents(
        attributes=None if x is None else _flatten_rows(x).float().numpy(),
        labels=None if y is None or not y.numel() else _first_labels(y),
        are_classes=are_classes,
        node_ptr=tensors["ptr/node"].numpy(),
        n_edge_attributes=0 if edge_attr is None else _flatten_rows(edge_attr).shape[1],
        is_directed=is_directed,
    )


def _flatten_rows(values: torch.Tensor) -> torch.Tensor:
    return values.reshape(len(values), -1)


def _first_labels(y: torch.Tensor) -> NDArray[np.float64]:
    """Return the first column of labels, NaN where there is none; whole numbers below 0 mean that."""
    labels: NDArray[np.float64] = _flatten_rows(y)[:, 0].to(torch.float64).numpy().copy()
    if not y.is_floating_point():
        labels[labels < 0] = np.nan
    return labels
