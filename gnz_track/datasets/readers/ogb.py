"""Graphs of the Open Graph Benchmark from its own csv tables, read in pieces, without the package of that name."""

from __future__ import annotations

import pickle
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch
from torch import Tensor
from torch_geometric.data import Data

from gnz_track.datasets.readers.raw_files import GraphParts
from gnz_track.datasets.readers.restricted_pickle import load_saved_arrays, load_tensors

__all__ = ["read_ogb_graphs", "read_ogb_links", "read_ogb_nodes"]

_PIECE = 250_000
_PARTS = {"train": "train", "val": "valid", "test": "test"}


def read_ogb_nodes(folder: Path, *, split: str, is_directed: bool) -> Data:
    """Read one graph with labelled nodes: x ``[n, d]`` float32, y ``[n]``, the published split as masks ``[n]``.

    Hu et al.: Open Graph Benchmark: Datasets for Machine Learning on Graphs, NeurIPS 2020.

    Parameters
    ----------
    folder, split, is_directed
    """
    y = _read_table(folder / "raw" / "node-label.csv.gz", np.int64)[:, 0]
    masks = {}
    for name, published in _PARTS.items():
        masks[f"{name}_mask"] = torch.zeros(y.numel(), dtype=torch.bool)
        masks[f"{name}_mask"][_read_table(folder / "split" / split / f"{published}.csv.gz", np.int64)[:, 0]] = True
    x = _read_table(folder / "raw" / "node-feat.csv.gz", np.float32)
    return Data(x=x, y=y, edge_index=_read_edges(folder, is_directed=is_directed), **masks)


def read_ogb_links(folder: Path, *, split: str) -> Data:
    """Read the training graph of a link benchmark: x ``[n, d]``, undirected edges that repeat, weight and year ``[m]``.

    The published parts are ``train_link_index``, ``val_link_index`` and ``test_link_index`` ``[2, .]``, each link once,
    and the pairs that these two are told from ``val_non_link_index`` and ``test_non_link_index``. Hu et al.: Open Graph
    Benchmark: Datasets for Machine Learning on Graphs, NeurIPS 2020.
    """
    columns = {
        name: _read_table(folder / "raw" / f"{name}.csv.gz", np.int64)[:, 0].repeat(2)
        for name in ("edge_weight", "edge_year")
        if (folder / "raw" / f"{name}.csv.gz").exists()
    }
    for name, published in _PARTS.items():
        found = _load_saved(folder / "split" / split / f"{published}.pt")
        columns[f"{name}_link_index"] = _as_pairs(found["edge"])
        if name != "train":
            columns[f"{name}_non_link_index"] = _as_pairs(found["edge_neg"])
    x = _read_table(folder / "raw" / "node-feat.csv.gz", np.float32)
    return Data(x=x, edge_index=_read_edges(folder, is_directed=False), **columns)


def read_ogb_graphs(folder: Path, *, split: str) -> GraphParts:
    """Read molecules: x ``[n, 9]`` and edge_attr ``[m, 3]`` whole numbers, y ``[1, k]``, the published parts.

    y is float32 with NaN where a label is missing, else int64. Hu et al.: Open Graph Benchmark, NeurIPS 2020.
    """
    raw = folder / "raw"
    n_nodes, n_edges = (
        _read_table(raw / f"num-{name}-list.csv.gz", np.int64)[:, 0].tolist() for name in ("node", "edge")
    )
    edges = _read_table(raw / "edge.csv.gz", np.int64).t().split(n_edges, dim=1)
    bonds = _read_table(raw / "edge-feat.csv.gz", np.int64).split(n_edges)
    atoms = _read_table(raw / "node-feat.csv.gz", np.int64).split(n_nodes)
    labels = _read_table(raw / "graph-label.csv.gz", np.float32)
    labels = labels if bool(labels.isnan().any()) else labels.long()
    graphs = [
        Data(x=x, edge_index=torch.cat([pairs, pairs.flip(0)], dim=1), edge_attr=bond.repeat(2, 1), y=y[None])
        for x, pairs, bond, y in zip(atoms, edges, bonds, labels, strict=True)
    ]
    train, val, test = (
        [graphs[place] for place in _read_table(folder / "split" / split / f"{part}.csv.gz", np.int64)[:, 0].tolist()]
        for part in _PARTS.values()
    )
    return train, val, test


def _load_saved(path: Path) -> Mapping[str, Any]:
    """Return what a file of ``torch.save`` holds: arrays as its publisher has them, or tensors."""
    try:
        return load_tensors(path)  # type: ignore[no-any-return]
    except pickle.UnpicklingError:
        return load_saved_arrays(path)  # type: ignore[no-any-return]


def _as_pairs(rows: Any) -> Tensor:
    """Return pairs of nodes ``[n, 2]`` as ``[2, n]``."""
    return torch.as_tensor(np.asarray(rows, dtype=np.int64)).t().contiguous()


def _read_edges(folder: Path, *, is_directed: bool) -> Tensor:
    edges = _read_table(folder / "raw" / "edge.csv.gz", np.int64).t()
    return edges.contiguous() if is_directed else torch.cat([edges, edges.flip(0)], dim=1)


def _read_table(path: Path, dtype: Any) -> Tensor:
    """Return a table without header ``[rows, columns]``."""
    pieces = pd.read_csv(path, header=None, chunksize=_PIECE)
    return torch.from_numpy(np.concatenate([piece.to_numpy(dtype=dtype) for piece in pieces]))
