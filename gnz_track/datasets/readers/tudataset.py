"""Graphs in the text format of the TUDataset collection."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch_geometric.data import Data

__all__ = ["read_tudataset"]


def read_tudataset(folder: Path, *, prefix: str, features: str = "labels") -> list[Data]:
    """Read labelled graphs: x and edge_attr are the one-hot node and edge labels, y ``[1]`` the class of the graph.

    Self-loops are removed, repeated edges merged with their labels summed. Morris et al.: TUDataset: A collection of
    benchmark datasets for learning with graphs, ICML GRL+ 2020.

    Parameters
    ----------
    folder, prefix
    features
        "labels", or "attributes" for the continuous attributes of nodes as x.
    """
    edges = _read_numbers(folder / f"{prefix}_A.txt").t() - 1
    graph_of = _read_numbers(folder / f"{prefix}_graph_indicator.txt")[:, 0] - 1
    y = torch.unique(_read_numbers(folder / f"{prefix}_graph_labels.txt")[:, 0], return_inverse=True)[1]
    x = _FEATURES[features](folder / f"{prefix}_node_{features}.txt")
    edge_attr = _one_hot(folder / f"{prefix}_edge_labels.txt")
    edges, edge_attr = _merged(edges, edge_attr, graph_of.numel())
    n_graphs = y.numel()
    n_nodes, n_edges = (torch.bincount(of, minlength=n_graphs) for of in (graph_of, graph_of[edges[0]]))
    edges = edges - (n_nodes.cumsum(0) - n_nodes)[graph_of[edges[0]]]
    columns = {
        "edge_index": edges.split(n_edges.tolist(), dim=1),
        "y": y.split(1),
        "x": None if x is None else x.split(n_nodes.tolist()),
        "edge_attr": None if edge_attr is None else edge_attr.split(n_edges.tolist()),
        "num_nodes": n_nodes.tolist() if x is None else None,
    }
    present = {key: column for key, column in columns.items() if column is not None}
    return [Data(**{key: column[graph] for key, column in present.items()}) for graph in range(n_graphs)]


def _read_numbers(path: Path, dtype: Any = np.int64) -> Tensor:
    return torch.from_numpy(np.loadtxt(path, dtype=dtype, delimiter=",", ndmin=2))


def _one_hot(path: Path) -> Tensor | None:
    """Return one block of columns for each column of labels, counted from its smallest; None without a file."""
    if not path.exists():
        return None
    labels = _read_numbers(path)
    labels = labels - labels.amin(dim=0)
    blocks: list[Any] = [torch.nn.functional.one_hot(column).float() for column in labels.unbind(dim=1)]
    return torch.cat(blocks, dim=1)


_FEATURES = {"labels": _one_hot, "attributes": partial(_read_numbers, dtype=np.float32)}


def _merged(edges: Tensor, edge_attr: Tensor | None, n_nodes: int) -> tuple[Tensor, Tensor | None]:
    keep = edges[0] != edges[1]
    codes, place = torch.unique((edges[0] * n_nodes + edges[1])[keep], return_inverse=True)
    merged = torch.stack([codes // n_nodes, codes % n_nodes])
    if edge_attr is None:
        return merged, None
    return merged, edge_attr.new_zeros(codes.numel(), edge_attr.size(1)).index_add(0, place, edge_attr[keep])
