"""Networks in the csv layout of the Netzschleuder archive, read in pieces so that millions of edges fit in memory."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch
from torch import Tensor
from torch_geometric.data import Data

from gnz_track.datasets.readers.edge_arrays import both_ways, distinct

__all__ = ["read_netzschleuder"]

_PIECE = 1_000_000


def read_netzschleuder(folder: Path, *, is_directed: bool = False, keep_parallel: bool = False) -> Data:
    """Read ``edges.csv`` and, for isolated nodes, ``nodes.csv``: edge_index ``[2, m]`` and num_nodes, no features.

    Undirected edges count both ways. Peixoto: The Netzschleuder network catalogue and repository, 2020.

    Parameters
    ----------
    folder, is_directed
    keep_parallel
        Keep parallel edges, which are merged else, and number the layers of a multiplex network as ``layer [m]``.
    """
    edges, layers = _read_edges(folder / "edges.csv")
    n_nodes = max(_count_nodes(folder / "nodes.csv"), int(edges.max()) + 1 if edges.numel() else 0)
    if not keep_parallel:
        merged = distinct(edges, n_nodes) if is_directed else both_ways(edges, n_nodes)
        return Data(edge_index=merged, num_nodes=n_nodes)
    if not is_directed:
        is_link = edges[0] != edges[1]
        edges = torch.cat([edges, edges[:, is_link].flip(0)], dim=1)
        layers = None if layers is None else torch.cat([layers, layers[is_link]])
    found = {"edge_index": edges} if layers is None else {"edge_index": edges, "layer": layers}
    return Data(**found, num_nodes=n_nodes)


def _read_edges(path: Path) -> tuple[Tensor, Tensor | None]:
    """Return edges ``[2, m]`` and, where there is such a column, the number of each edge's layer ``[m]``."""
    names = _read_header(path)
    places = [names.index(name) for name in ("source", "target", *(["layer"] if "layer" in names else []))]
    pieces = pd.read_csv(
        path,
        names=range(len(names)),
        skiprows=_header_line(path),
        usecols=places,
        skipinitialspace=True,
        chunksize=_PIECE,
    )
    ends: list[Any] = []
    layers: list[Any] = []
    for piece in pieces:
        ends.append(piece[places[:2]].to_numpy(dtype=np.int64))
        layers.extend([] if len(places) < 3 else [piece[places[2]].astype(str)])
    edges = torch.from_numpy(np.concatenate([np.empty((0, 2), np.int64), *ends]).T.copy())
    return edges, torch.from_numpy(pd.factorize(pd.concat(layers), sort=True)[0]) if layers else None


def _header_line(path: Path) -> int:
    """Count the lines up to and with the header, which may follow blank lines."""
    with path.open(encoding="utf-8") as file:
        return next((place for place, line in enumerate(file, start=1) if line.strip()), 0)


def _read_header(path: Path) -> list[str]:
    """Return the names of the columns; the header may start with ``#``."""
    with path.open(encoding="utf-8") as file:
        line = next((line for line in file if line.strip()), "")
    names = [name.strip() for name in line.strip().lstrip("#").split(",")]
    if not {"source", "target"} <= set(names):
        message = f"{path.name} starts with {line.strip()!r}, which names no source and target"
        raise ValueError(message)
    return names


def _count_nodes(path: Path) -> int:
    """Return one past the largest index of the nodes; 0 without the file."""
    if not path.exists():
        return 0
    with path.open(encoding="utf-8", newline="") as file:
        rows = (row for row in csv.reader(file, skipinitialspace=True) if row and not row[0].lstrip().startswith("#"))
        return max((int(row[0]) for row in rows if row[0].strip().isdecimal()), default=-1) + 1
