"""The heterophilous graphs of Platonov et al., one npz file each."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch
from torch_geometric.data import Data

from gnz_track.datasets.readers.edge_arrays import both_ways

__all__ = ["read_heterophilous"]


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
