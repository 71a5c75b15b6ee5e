"""Graphs that were published as lists of tensors in one torch file; nothing but tensors and containers is unpickled."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from torch_geometric.data import Data

from gnz_track.datasets.readers.published_parts import GraphParts, with_validation
from gnz_track.datasets.readers.restricted_pickle import load_tensors

__all__ = ["read_first_graphs", "read_graph_list", "read_graph_parts", "read_peptides"]


def read_graph_parts(folder: Path, *, file: str) -> GraphParts:
    """Read one list of graphs for each part; of two parts, the first also gives the validation graphs."""
    parts = [_graphs_of(part) for part in load_tensors(folder / file)]
    if len(parts) == 2:
        return with_validation(*parts)
    train, val, test = parts
    return train, val, test


def read_first_graphs(folder: Path, *, file: str, first: int) -> list[Data]:
    """Read the first graphs of the training part alone, in no part.

    Parameters
    ----------
    folder, file
    first
        How many.
    """
    return _graphs_of(load_tensors(folder / file)[0][:first])


def read_graph_list(folder: Path, *, file: str) -> list[Data]:
    """Read one list of graphs without parts."""
    return _graphs_of(load_tensors(folder / file))


def read_peptides(folder: Path) -> GraphParts:
    """Read peptides: x ``[n, 9]`` and edge_attr ``[m, 3]`` whole numbers, y ``[1, k]`` float32, three published parts.

    Dwivedi et al.: Long Range Graph Benchmark, NeurIPS 2022.
    """
    fields = ("x", "edge_attr", "edge_index", "y")
    train, val, test = (
        [Data(**dict(zip(fields, graph, strict=True))) for graph in load_tensors(folder / f"{part}.pt")]
        for part in ("train", "val", "test")
    )
    return train, val, test


def _graphs_of(records: Iterable[Mapping[str, Any]]) -> list[Data]:
    return [Data(**record) for record in records]
