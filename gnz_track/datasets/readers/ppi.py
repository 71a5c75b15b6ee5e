"""Interactions of proteins in human tissues.

Circles with skip links, which tell apart what message passing can and cannot see.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import torch
from torch_geometric.data import Data

from gnz_track.datasets.readers.raw_files import both_ways, distinct
from gnz_track.datasets.readers.restricted_pickle import load_arrays, load_tensors

__all__ = ["read_ppi", "read_skip_links"]


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


def read_ppi(folder: Path, *, part: str, graph: int) -> Data:
    """Read one tissue: x ``[n, 50]``, y ``[n, 121]`` float32, links without self-loops.

    Zitnik, Leskovec: Predicting multicellular function through multi-layer tissue networks, 2017.

    Parameters
    ----------
    folder
    part, graph
        The tissue is number ``graph`` of its part.
    """
    tissue = np.load(folder / f"{part}_graph_id.npy", allow_pickle=False)
    is_chosen = torch.from_numpy(tissue == tissue.min() + graph)
    content = json.loads((folder / f"{part}_graph.json").read_text(encoding="utf-8"))
    edges = torch.tensor([[link["source"], link["target"]] for link in content["links"]]).t()
    edges = edges[:, is_chosen[edges].all(dim=0) & (edges[0] != edges[1])]
    edges = (is_chosen.cumsum(0) - 1)[edges]
    n_nodes = int(is_chosen.sum())
    x, y = (
        torch.from_numpy(np.load(folder / f"{part}_{name}.npy", allow_pickle=False)) for name in ("feats", "labels")
    )
    merged = distinct(edges, n_nodes) if content.get("directed") else both_ways(edges, n_nodes)
    return Data(x=x[is_chosen].float(), y=y[is_chosen].float(), edge_index=merged)
