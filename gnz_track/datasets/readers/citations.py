"""Articles and pages with links and published splits: Planetoid, Geom-GCN, heterophilous graphs, Wiki-CS."""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch_geometric.data import Data

from gnz_track.datasets.readers.raw_files import both_ways, distinct
from gnz_track.datasets.readers.restricted_pickle import SparseParts, load_arrays

__all__ = ["read_geom_gcn", "read_heterophilous", "read_planetoid", "read_wikics"]

_PLANETOID_VALIDATION = 500
_GEOM_GCN_SPLITS = 10


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
        val_mask=(order >= n_train) & (order < n_train + _PLANETOID_VALIDATION),
        test_mask=torch.isin(order, test),
    )


def read_geom_gcn(folder: Path, *, prefix: str) -> Data:
    """Read x ``[n, words]`` float32, y ``[n]``, directed edges and mask columns ``[n, 10]``.

    Pei, Wei, Chang, Lei, Yang: Geom-GCN: Geometric Graph Convolutional Networks, ICLR 2020.
    """
    rows = [line.split("\t") for line in _lines_after_header(folder / "out1_node_feature_label.txt")]
    x = torch.from_numpy(np.stack([np.array(row[1].split(","), dtype=np.float32) for row in rows]))
    y = torch.tensor([int(row[2]) for row in rows])
    edges = [[int(end) for end in line.split("\t")] for line in _lines_after_header(folder / "out1_graph_edges.txt")]
    return Data(x=x, y=y, edge_index=distinct(torch.tensor(edges).t(), y.numel()), **_read_masks(folder, prefix))


def read_heterophilous(folder: Path, *, file: str) -> Data:
    """Read x ``[n, d]`` float32, y ``[n]``, undirected edges and ten published splits as mask columns ``[n, 10]``.

    Platonov et al.: A critical look at the evaluation of GNNs under heterophily, ICLR 2023.
    """
    with np.load(folder / file, allow_pickle=False) as arrays:
        x = torch.from_numpy(arrays["node_features"]).float()
        y = torch.from_numpy(arrays["node_labels"]).long()
        edges = torch.from_numpy(arrays["edges"]).long().t()
        masks = {
            f"{name}_mask": torch.from_numpy(arrays[f"{name}_masks"]).bool().t().contiguous()
            for name in ("train", "val", "test")
        }
    return Data(x=x, y=y, edge_index=both_ways(edges, y.numel()), **masks)


def read_wikics(folder: Path, *, joins_stopping: bool = False) -> Data:
    """Read x ``[n, 300]``, y ``[n]``, undirected edges, 20 training and validation columns, one test mask ``[n]``.

    ``stopping_mask [n, 20]`` is the second validation part of the paper; ``joins_stopping`` adds it to the first, as
    Dwivedi et al., Benchmarking Graph Neural Networks, 2023, do. Mernyei, Cangea: Wiki-CS, 2020.
    """
    content = json.loads((folder / "data.json").read_text(encoding="utf-8"))
    y = torch.tensor(content["labels"], dtype=torch.int64)
    sizes = torch.tensor([len(targets) for targets in content["links"]])
    source = torch.arange(y.numel()).repeat_interleave(sizes)
    target = torch.tensor(list(itertools.chain.from_iterable(content["links"])), dtype=torch.int64)

    def columns(name: str) -> Tensor:
        return torch.tensor(content[name], dtype=torch.bool).t().contiguous()

    val, stopping = columns("val_masks"), columns("stopping_masks")
    return Data(
        x=torch.tensor(content["features"], dtype=torch.float32),
        y=y,
        edge_index=both_ways(torch.stack([source, target]), y.numel()),
        train_mask=columns("train_masks"),
        val_mask=val | stopping if joins_stopping else val,
        stopping_mask=stopping,
        test_mask=torch.tensor(content["test_mask"], dtype=torch.bool),
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


def _lines_after_header(path: Path) -> list[str]:
    """Return the lines after the header."""
    return path.read_text(encoding="utf-8").splitlines()[1:]


def _read_masks(folder: Path, prefix: str) -> dict[str, Tensor]:
    columns: dict[str, list[Tensor]] = {"train_mask": [], "val_mask": [], "test_mask": []}
    for place in range(_GEOM_GCN_SPLITS):
        with np.load(folder / f"{prefix}_split_0.6_0.2_{place}.npz", allow_pickle=False) as split:
            for name, found in columns.items():
                found.append(torch.from_numpy(split[name]).bool())
    return {name: torch.stack(found, dim=1) for name, found in columns.items()}
