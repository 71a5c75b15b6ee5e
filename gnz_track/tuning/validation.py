"""Check that a search can choose: by a validation part, and by nothing else."""

from __future__ import annotations

from collections.abc import Callable

from gnz_track.datasets.frozen import FrozenDataset, open_frozen
from gnz_track.datasets.splits import split_edges, split_graphs, split_links, split_nodes, split_triples
from gnz_track.errors import SplitImpossible
from gnz_track.types import Cell, TaskType

__all__ = ["reason_against_search"]


def reason_against_search(cell: Cell) -> str:
    """Return why the task of a cell cannot be searched on, nothing where it can: it needs examples to validate by."""
    dataset = open_frozen(cell.data)
    kind = "triples" if cell.task.task_type is TaskType.link_pred and dataset.is_relational else cell.task.task_type
    try:
        n_examples = _COUNTS[kind](dataset, cell)
    except SplitImpossible as error:
        return str(error)
    return "" if n_examples else f"dataset {dataset.name!r} has no validation part by which a search could choose"


def _count_links(dataset: FrozenDataset, cell: Cell) -> int:
    return int(split_links(dataset, policy=cell.protocol.splits, seed=cell.seed).val.labels.numel())


def _count_triples(dataset: FrozenDataset, cell: Cell) -> int:
    return int(split_triples(dataset, seed=cell.seed).val.edge_type.numel())


def _count_nodes(dataset: FrozenDataset, cell: Cell) -> int:
    return int(split_nodes(dataset, policy=cell.protocol.splits, seed=cell.seed).val.numel())


def _count_graphs(dataset: FrozenDataset, cell: Cell) -> int:
    return int(split_graphs(dataset, policy=cell.protocol.splits, seed=cell.seed).val.numel())


def _count_edges(dataset: FrozenDataset, cell: Cell) -> int:
    return int(split_edges(dataset, policy=cell.protocol.splits, seed=cell.seed).val.numel())


_COUNTS: dict[str, Callable[[FrozenDataset, Cell], int]] = {
    TaskType.node_cls: _count_nodes,
    TaskType.graph_cls: _count_graphs,
    TaskType.graph_reg: _count_graphs,
    TaskType.link_pred: _count_links,
    TaskType.edge_cls: _count_edges,
    "triples": _count_triples,
}
