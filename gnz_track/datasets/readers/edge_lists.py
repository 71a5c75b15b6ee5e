"""Plain lists of edges, as the SNAP collection has them: two numbers a line, comments after ``#`` or ``%``."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch
from torch_geometric.data import Data

from gnz_track.datasets.readers.edge_arrays import both_ways, renumber

__all__ = ["read_edge_list"]


def read_edge_list(folder: Path, *, file: str) -> Data:
    """Read edge_index ``[2, m]`` and num_nodes; ids may have gaps or start at 1, further columns are left out.

    Leskovec, Krevl: SNAP Datasets, 2014. A node without an edge cannot be told in this format.
    """
    with (folder / file).open(encoding="utf-8") as lines:
        ids = np.loadtxt(lines, dtype=np.int64, comments=["#", "%"], usecols=(0, 1), ndmin=2)
    if not ids.size:
        message = f"{file} has no edge"
        raise ValueError(message)
    numbers, n_nodes = renumber(ids)
    edges = torch.from_numpy(numbers.T.copy())
    return Data(edge_index=both_ways(edges, n_nodes), num_nodes=n_nodes)
