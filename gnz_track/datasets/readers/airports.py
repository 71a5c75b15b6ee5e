"""Airports and the flights between them, labelled by activity."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch
from torch_geometric.data import Data

from gnz_track.datasets.readers.edge_arrays import distinct

__all__ = ["read_airports"]


def read_airports(folder: Path, *, prefix: str) -> Data:
    """Read y ``[n]``, the quartile of activity, edges ``[2, m]`` and x, the identity ``[n, n]``.

    Ribeiro, Saverese, Figueiredo: struc2vec: Learning Node Representations from Structural Identity, KDD 2017.
    """
    labels = np.loadtxt(folder / f"labels-{prefix}-airports.txt", dtype=np.int64, skiprows=1, ndmin=2)
    number = {int(airport): place for place, airport in enumerate(labels[:, 0])}
    flights = np.loadtxt(folder / f"{prefix}-airports.edgelist", dtype=np.int64, ndmin=2)
    edges = torch.tensor([[number[int(end)] for end in flight[:2]] for flight in flights]).t()
    y = torch.from_numpy(labels[:, 1].copy())
    return Data(x=torch.eye(y.numel()), y=y, edge_index=distinct(edges, y.numel()))
