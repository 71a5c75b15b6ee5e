"""Function call graphs of Android software, by family of malware."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
import torch
from torch_geometric.data import Data

from gnz_track.datasets.readers.raw_files import GraphParts, rank, read_bundle

__all__ = ["read_malnet"]

_ROOT = "malnet-graphs-tiny"


def read_malnet(folder: Path) -> GraphParts:
    """Read directed call graphs without features, y ``[1]`` the type of the software, three published parts.

    Freitas, Dong, Neil, Chau: A Large-Scale Database for Graph Representation Learning, NeurIPS 2021.
    """
    lists = [
        (folder / "split_info_tiny" / "type" / f"{part}.txt").read_text(encoding="utf-8").split()
        for part in ("train", "val", "test")
    ]
    kinds = rank(name.split("/")[0] for part in lists for name in part)
    graphs: dict[str, Data] = {}
    for path, content in read_bundle(folder, archive=f"{_ROOT}.tar.gz", suffix=".edgelist"):
        name = path.with_suffix("").as_posix().removeprefix(f"{_ROOT}/")
        graphs[name] = _call_graph(content, kinds.get(name.split("/")[0], -1))
    train, val, test = ([graphs[name] for name in part] for part in lists)
    return train, val, test


def _call_graph(content: bytes, kind: int) -> Data:
    edges = np.loadtxt(io.BytesIO(content), dtype=np.int64, comments="#", ndmin=2).reshape(-1, 2)
    n_nodes = int(edges.max()) + 1 if edges.size else 0
    return Data(edge_index=torch.from_numpy(edges.T.copy()), y=torch.tensor([kind]), num_nodes=n_nodes)
