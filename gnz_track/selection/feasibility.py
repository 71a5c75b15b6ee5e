"""Checks of a graph before anything is trained: reasons against a kind of problem, and past graphs like it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import torch

from gnz_track.datasets.catalogue import TASKS
from gnz_track.datasets.collation import is_multi_label
from gnz_track.datasets.frozen import FrozenDataset
from gnz_track.errors import BadValue
from gnz_track.selection.evidence import Evidence
from gnz_track.selection.features.feature_sets import FEATURE_SETS
from gnz_track.selection.graph_files import LABELLED_FORMS
from gnz_track.selection.graph_input import OpenedGraph, view_as, view_whole
from gnz_track.selection.graph_names import form_of
from gnz_track.text import plural
from gnz_track.types import TaskType

__all__ = ["check_labels", "find_duplicate_graphs", "note_on_duplicates", "note_on_labels", "reason_against"]


# Those of a split of links, and of one of graphs.
FEWEST_EDGES = FEWEST_GRAPHS = 3
_LABELLED = frozenset({TaskType.node_cls, TaskType.node_reg, TaskType.graph_cls, TaskType.graph_reg})
_CLASSES = frozenset({TaskType.node_cls, TaskType.graph_cls})


def reason_against(opened: OpenedGraph, task_type: TaskType) -> str:
    """Say why a graph cannot be posed as a kind of problem, as far as that shows; nothing where it can."""
    # A task of the catalogue is known to fit, in a form of its own.
    if opened.task is not None and opened.task.task_type is task_type and opened.task.name in TASKS:
        return ""
    reason = _REASONS.get(task_type, _reason_against_labels)(view_whole(opened), task_type)
    return reason or view_as(opened, task_type).split_problem


def check_labels(opened: OpenedGraph, task_type: TaskType) -> None:
    """Raise where there are labels, and as many as there are neither nodes nor graphs: nobody knows whose they are."""
    labels, n_nodes, n_graphs = opened.parts.contents.labels, opened.parts.network.n_nodes, len(opened.graphs)
    if labels is None or task_type not in _LABELLED or isinstance(opened.graphs, FrozenDataset):
        return
    if len(labels) not in {n_nodes, n_graphs}:
        each = f"{n_nodes}, one for each node" if task_type.unit == "node" else f"{n_graphs}, one for each graph"
        raise BadValue("number of labels (y)", len(labels), each)


def _reason_against_links(opened: OpenedGraph, task_type: TaskType) -> str:
    graphs = opened.graphs
    if len(graphs) != 1:
        return f"it has {len(graphs)} graphs, and {task_type} is within one"
    if isinstance(graphs, FrozenDataset) and (graphs.is_relational or "train_link_index" in graphs.tensors):
        return ""
    n_edges, n_nodes = _count_links(opened), opened.parts.network.n_nodes
    if n_edges < FEWEST_EDGES:
        return f"{plural(n_edges, 'edge')}, at least {FEWEST_EDGES} are needed to hide some"
    n_pairs = n_nodes * (n_nodes - 1) // (1 if opened.parts.contents.is_directed else 2)
    few = f"{n_edges} edges among {n_nodes} nodes leave fewer non-edges than edges, and as many are needed"
    return few if n_pairs < 2 * n_edges else ""


def _count_links(opened: OpenedGraph) -> int:
    """Return how many links a split has: edges without loops, each once, and each direction where that counts."""
    if not opened.parts.contents.is_directed:
        return opened.parts.network.n_edges
    arcs = [graph.edge_index[:, graph.edge_index[0] != graph.edge_index[1]] for graph in opened.graphs]
    return sum(torch.unique(found, dim=1).size(1) for found in arcs)


def _reason_against_labels(opened: OpenedGraph, task_type: TaskType) -> str:
    labels, n_graphs, is_of_nodes = opened.parts.contents.labels, len(opened.graphs), task_type.unit == "node"
    if labels is None:
        is_named = form_of(Path(opened.name)) in LABELLED_FORMS
        where = "; --label NAME says which attribute of nodes holds them" if is_named else ""
        return f"it has no labels (y), and {task_type} needs them{where}"
    n, what = (opened.parts.network.n_nodes, "node") if is_of_nodes else (n_graphs, "graph")
    if task_type in _LABELLED and len(labels) != n:
        return f"number of labels (y) is {len(labels)}, and {task_type} needs {n}, one for each {what}"
    if not np.isfinite(labels).any():
        return f"none of its labels (y) is known, and {task_type} needs them"
    if is_of_nodes or isinstance(opened.graphs, FrozenDataset) or n_graphs >= FEWEST_GRAPHS:
        return _reason_against_kind(opened.graphs[0].y, task_type)
    return f"{plural(n_graphs, 'graph')}, at least {FEWEST_GRAPHS} are needed"


def _reason_against_kind(labels: object, task_type: TaskType) -> str:
    """Say why labels of one graph, a tensor or a number, are not of the kind that is needed."""
    y = torch.as_tensor(labels)
    n_columns = y.numel() // max(len(y), 1) if y.dim() > 1 else 1
    # Several labels of a graph are told by their numbers.
    if task_type is TaskType.node_cls and n_columns > 1 and not is_multi_label(y):
        return f"its labels (y) have {n_columns} columns, and {task_type} needs one, or several of 0 and 1"
    if task_type in _CLASSES and y.is_floating_point() and n_columns == 1:
        return f"its labels (y) are {y.dtype}, and {task_type} needs whole numbers, as y.long() makes them in Python"
    return ""


# Kind of problem -> what there is against it; all others are of labels.
_REASONS: dict[TaskType, Callable[[OpenedGraph, TaskType], str]] = {
    TaskType.link_pred: _reason_against_links,
    # Its split tells.
    TaskType.edge_cls: lambda *_: "",
    TaskType.edge_reg: lambda *_: "",
}


def note_on_labels(opened: OpenedGraph, task_type: TaskType) -> str:
    """Say where all labels are one class; nothing where they are not."""
    contents = view_whole(opened).parts.contents
    if contents.labels is None or task_type not in _CLASSES or not contents.are_classes:
        return ""
    n_classes = len(np.unique(contents.labels[np.isfinite(contents.labels)]))
    return "all its labels (y) are of one class: any model can be right" if n_classes == 1 else ""


# One reader keeps the weights of edges, and another one drops them.
_OF_FORM = frozenset({"n_edge_attributes.log"})


def find_duplicate_graphs(opened: OpenedGraph, evidence: Evidence, features: str, name: str) -> tuple[str, ...]:
    """Return the past graphs that have the same features as this one; how many numbers an edge has does not count.

    Parameters
    ----------
    opened, evidence
        The graph, and past runs.
    features
        Name of the set of features.
    name
        A past graph that is left out.
    """
    kept = FEATURE_SETS.get(features)
    compared = [column for column, feature in enumerate(kept.names) if feature not in _OF_FORM]
    whole = view_whole(opened).parts
    n_nodes, n_edges = (kept.names.index(f"n_{part}.log") for part in ("nodes", "edges"))
    sizes = np.log1p([whole.network.n_nodes, whole.network.n_edges])
    of_size = {graph: row for graph, row in evidence.whole.items() if np.allclose(row[[n_nodes, n_edges]], sizes)}
    if not of_size:
        # All other features take long for large graphs.
        return ()
    own = kept.compute(whole)[compared]
    # Sums over nodes in another order differ in their last digits.
    are_close = {
        graph: np.allclose(row[compared], own, rtol=1e-9, atol=1e-12, equal_nan=True) for graph, row in of_size.items()
    }
    return tuple(graph for graph, is_close in are_close.items() if is_close and graph != name)


def note_on_duplicates(alike: Sequence[str], *, is_unseen: bool) -> list[str]:
    """Say which past graphs are this one by all that is compared, and whether their scores count."""
    if not alike:
        return []
    names = ", ".join(alike)
    if is_unseen:
        return [f"{names} is left out too: it is this graph in all that is compared"]
    counts = "its scores count as those of a past graph"
    return [f"it looks like {names} in all that is compared; {counts}, and are left out by --unseen"]
