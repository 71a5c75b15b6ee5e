"""Cora, CiteSeer and PubMed from their published ``ind.*`` files, without running what a pickle may ask for."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch_geometric.data import Data

from gnz_track.datasets.readers.restricted_pickle import SparseParts, load_arrays

__all__ = ["read_planetoid"]

_N_VALIDATION = 500


def read_planetoid(folder: Path, *, prefix: str) -> Data:
    """Read citation graphs with the public split: x ``[n, words]`` float32, y ``[n]``, three masks ``[n]``.

    Yang, Cohen, Salakhutdinov: Revisiting Semi-Supervised Learning with Graph Embeddings, ICML 2016.
    """
    parts = {name: _load_part(folder / f"ind.{prefix}.{name}") for name in ("tx", "allx", "y", "ty", "ally", "graph")}
    test = torch.from_numpy(np.loadtxt(folder / f"ind.{prefix}.test.index", dtype=np.int64, ndmin=1))
    x, one_hot = (_with_test_rows(parts[f"all{key}"], parts[f"t{key}"], test) for key in ("x", "y"))
    y = one_hot.max(dim=1).indices
    n_nodes, n_train = y.numel(), len(parts["y"])
    if n_nodes != int(test.max()) + 1:
        message = f"{n_nodes} labels do not reach the last test node {int(test.max())}"
        raise ValueError(message)
    order = torch.arange(n_nodes)
    return Data(
        x=x,
        y=y,
        edge_index=_edges_of(parts["graph"], n_nodes),
        train_mask=order < n_train,
        val_mask=(order >= n_train) & (order < n_train + _N_VALIDATION),
        test_mask=torch.isin(order, test),
    )


def _with_test_rows(known: Tensor, listed: Tensor, test: Tensor) -> Tensor:
    """Append the test rows at the numbers they are listed under; CiteSeer's isolated nodes have no row, hence zeros."""
    first = int(test.min())
    rows = torch.zeros(int(test.max()) - first + 1, listed.size(1))
    rows[test - first] = listed
    return torch.cat([known, rows])


def _edges_of(graph: dict[int, list[int]], n_nodes: int) -> Tensor:
    """Return distinct edges ``[2, m]`` without self-loops, ordered by target, then by source."""
    sizes = torch.tensor([len(neighbours) for neighbours in graph.values()])
    source = torch.tensor(list(graph)).repeat_interleave(sizes)
    target = torch.tensor([node for neighbours in graph.values() for node in neighbours])
    codes = torch.unique((target * n_nodes + source)[source != target])
    return torch.stack([codes % n_nodes, codes // n_nodes])


def _load_part(path: Path) -> Any:
    found = load_arrays(path)
    if isinstance(found, dict):
        return found
    dense = found.matrix().toarray() if isinstance(found, SparseParts) else found
    return torch.from_numpy(np.asarray(dense, dtype=np.float32))
