"""Web pages and articles in the text format of Geom-GCN, with its ten splits."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch
from torch import Tensor
from torch_geometric.data import Data

from gnz_track.datasets.readers.edge_arrays import distinct

__all__ = ["read_geom_gcn"]

_N_SPLITS = 10


def read_geom_gcn(folder: Path, *, prefix: str) -> Data:
    """Read x ``[n, words]`` float32, y ``[n]``, directed edges and mask columns ``[n, 10]``.

    Pei, Wei, Chang, Lei, Yang: Geom-GCN: Geometric Graph Convolutional Networks, ICLR 2020.
    """
    rows = [line.split("\t") for line in _lines_after_header(folder / "out1_node_feature_label.txt")]
    x = torch.from_numpy(np.stack([np.array(row[1].split(","), dtype=np.float32) for row in rows]))
    y = torch.tensor([int(row[2]) for row in rows])
    edges = [[int(end) for end in line.split("\t")] for line in _lines_after_header(folder / "out1_graph_edges.txt")]
    return Data(x=x, y=y, edge_index=distinct(torch.tensor(edges).t(), y.numel()), **_read_masks(folder, prefix))


def _lines_after_header(path: Path) -> list[str]:
    """Return the lines after the header."""
    return path.read_text(encoding="utf-8").splitlines()[1:]


def _read_masks(folder: Path, prefix: str) -> dict[str, Tensor]:
    columns: dict[str, list[Tensor]] = {"train_mask": [], "val_mask": [], "test_mask": []}
    for place in range(_N_SPLITS):
        with np.load(folder / f"{prefix}_split_0.6_0.2_{place}.npz", allow_pickle=False) as split:
            for name, found in columns.items():
                found.append(torch.from_numpy(split[name]).bool())
    return {name: torch.stack(found, dim=1) for name, found in columns.items()}
