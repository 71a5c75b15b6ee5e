"""Interactions of proteins in human tissues."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import torch
from torch_geometric.data import Data

from gnz_track.datasets.readers.edge_arrays import both_ways, distinct

__all__ = ["read_ppi"]


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
