"""Circles with skip links, which tell apart what message passing can and cannot see."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch
from torch_geometric.data import Data

from gnz_track.datasets.readers.restricted_pickle import load_arrays, load_tensors

__all__ = ["read_skip_links"]


def read_skip_links(folder: Path) -> list[Data]:
    """Read 150 circles of 41 nodes with skip links of ten lengths: y ``[1]`` tells the length; no features.

    Murphy, Srinivasan, Rao, Ribeiro: Relational Pooling for Graph Representations, ICML 2019.
    """
    matrices = load_arrays(folder / "graphs_Kary_Deterministic_Graphs.pkl")
    classes = load_tensors(folder / "y_Kary_Deterministic_Graphs.pt").tolist()
    graphs: list[Data] = []
    for parts, kind in zip(matrices, classes, strict=True):
        links = parts.matrix().tocoo()
        row, column = (torch.from_numpy(np.asarray(end, dtype=np.int64)) for end in (links.row, links.col))
        edges = torch.stack([row, column])[:, row != column]
        graphs.append(Data(edge_index=edges, y=torch.tensor([int(kind)]), num_nodes=links.shape[0]))
    return graphs
