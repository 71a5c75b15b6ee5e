"""Part of a dataset that a search may see under one split: no label of a test example, no link that is held out.

Features of a task decide where searches begin, and so they are computed from this alone.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from gnz_track.datasets.frozen import FrozenDataset
from gnz_track.datasets.splits.links import split_links, split_triples
from gnz_track.datasets.splits.nodes_and_graphs import Parts, split_edges, split_graphs, split_nodes
from gnz_track.errors import SplitImpossible
from gnz_track.runs.protocol_resolution import settings_of
from gnz_track.training.protocols import PROTOCOLS
from gnz_track.types import Cell, TaskType

__all__ = ["VisiblePart", "are_classes", "reason_against_split", "visible_edges", "visible_labels", "visible_part_of"]

# Whose labels a split keeps back: those of nodes, or of all that belongs to a graph.
_BY_NODES = frozenset({TaskType.node_cls, TaskType.node_reg})
_BY_GRAPHS = frozenset({TaskType.graph_cls, TaskType.graph_reg, TaskType.multi_task})


@dataclass(frozen=True, kw_only=True)
class VisiblePart:
    """The split by which a dataset is described: that of a kind of problem, by a policy and a seed.

    Past graphs, and whoever names no other, have seed 0 of the usual protocol, so that all are described alike.
    """

    task_type: TaskType
    policy: str = PROTOCOLS.get("graphnetz").splits
    seed: int = 0

    @property
    def label(self) -> str:
        """Text that tells descriptions of the same data apart, as names of files have it."""
        return f"{self.task_type}-{self.policy}-{self.seed}"

    @property
    def words(self) -> str:
        """Description of what is left out; nothing where nothing is."""
        split = f"seed {self.seed} under the split policy {self.policy!r}"
        if self.task_type is TaskType.link_pred:
            return f"without the links that {split} holds out"
        is_labelled = self.task_type in _BY_NODES | _BY_GRAPHS
        return f"with the labels for training and validation alone, of {split}" if is_labelled else ""


def visible_part_of(cell: Cell) -> VisiblePart:
    """Return the split under which a cell is trained."""
    settings = settings_of(cell, is_multi_label=False)
    return VisiblePart(task_type=cell.task.task_type, policy=settings.splits, seed=settings.seed_of("split"))


def are_classes(visible: VisiblePart | None) -> bool:
    """Tell whether labels are classes, and not numbers to predict."""
    return visible is None or not visible.task_type.predicts_numbers


def visible_edges(dataset: FrozenDataset, visible: VisiblePart | None) -> tuple[Tensor, bool]:
    """Return the edges ``[2, m]`` through all graphs that may be seen, and whether some of them lacks its reverse.

    Of a problem of links these are the ones that pass messages, of one of triples those for training.
    """
    whole = dataset.global_edge_index
    edges = (
        whole if visible is None or visible.task_type is not TaskType.link_pred else _message_edges(dataset, visible)
    )
    if edges is whole:
        return whole, dataset.is_directed
    source, target = edges
    forth, back = source * dataset.n_nodes + target, target * dataset.n_nodes + source
    return edges, not torch.equal(torch.unique(forth), torch.unique(back))


def visible_labels(dataset: FrozenDataset, visible: VisiblePart | None, n_rows: int) -> Tensor | None:
    """Tell of each row of ``y`` whether it may be seen [n_rows]; None where all may.

    Where the data do not fit the split, none may. Labels that a problem does not ask for are data as attributes are:
    classes of nodes where links or edges are to be predicted.

    Parameters
    ----------
    dataset, visible
        The data and the split.
    n_rows
        Rows of ``y``.
    """
    if visible is None or visible.task_type not in _BY_NODES | _BY_GRAPHS:
        return None
    is_seen = _visible_units(dataset, visible)
    # Several labels of one node or graph may lie behind each other.
    times, rest = divmod(n_rows, max(is_seen.numel(), 1))
    return torch.zeros(n_rows, dtype=torch.bool) if rest else is_seen.repeat_interleave(times)


def reason_against_split(dataset: FrozenDataset, visible: VisiblePart) -> str:
    """Say why the split of a visible cannot be drawn; nothing where it can."""
    if visible.task_type.unit == "edge" and "edge_label" not in dataset.tensors:
        return "it has no edge_label_index with an edge_label each"
    try:
        if not dataset.is_relational:
            _SPLITS[visible.task_type](dataset, policy=visible.policy, seed=visible.seed)
    except SplitImpossible as error:
        return str(error)
    return ""


_SPLITS: dict[TaskType, Callable[..., object]] = {
    TaskType.node_cls: split_nodes,
    TaskType.edge_cls: split_edges,
    TaskType.node_reg: split_nodes,
    TaskType.edge_reg: split_edges,
    TaskType.link_pred: split_links,
    **dict.fromkeys(_BY_GRAPHS, split_graphs),
}


def _visible_units(dataset: FrozenDataset, visible: VisiblePart) -> Tensor:
    """Tell of each node or graph, whatever has labels, whether it is for training or validation."""
    by_nodes = visible.task_type in _BY_NODES
    n_units = dataset.n_nodes if by_nodes else len(dataset)
    is_seen = torch.zeros(n_units, dtype=torch.bool)
    try:
        parts: Parts = (split_nodes if by_nodes else split_graphs)(dataset, policy=visible.policy, seed=visible.seed)
    except SplitImpossible:
        # Rather no label than one that somebody's test may ask for.
        return is_seen
    is_seen[torch.cat([parts.train, parts.val])] = True
    # Numbers of nodes and of their graph are held out together.
    of_nodes = visible.task_type is TaskType.multi_task
    return is_seen.repeat_interleave(dataset.node_ptr.diff()) if of_nodes else is_seen


def _message_edges(dataset: FrozenDataset, visible: VisiblePart) -> Tensor:
    if dataset.is_relational:
        return split_triples(dataset, seed=visible.seed).train.edge_index
    try:
        return split_links(dataset, policy=visible.policy, seed=visible.seed).message_edges
    except SplitImpossible:
        # No link is held out where none can be, and no search takes such data.
        return dataset.global_edge_index
