"""Sets of many graphs in the formats of their collections."""

from __future__ import annotations

import io
from collections.abc import Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch_geometric.data import Data

from gnz_track.datasets.readers.raw_files import GraphParts, rank, read_bundle, with_validation
from gnz_track.datasets.readers.restricted_pickle import load_arrays, load_tensors

__all__ = [
    "read_first_graphs",
    "read_graph_list",
    "read_graph_parts",
    "read_malnet",
    "read_skip_links",
    "read_tudataset",
]

_MALNET = "malnet-graphs-tiny"


def read_tudataset(folder: Path, *, prefix: str, features: str = "labels") -> list[Data]:
    """Read labelled graphs: x and edge_attr are the one-hot node and edge labels, y ``[1]`` the class of the graph.

    Self-loops are removed, repeated edges merged with their labels summed. Morris et al.: TUDataset: A collection of
    benchmark datasets for learning with graphs, ICML GRL+ 2020.

    Parameters
    ----------
    folder, prefix
    features
        "labels", or "attributes" for the continuous attributes of nodes as x.
    """
    edges = _read_numbers(folder / f"{prefix}_A.txt").t() - 1
    graph_of = _read_numbers(folder / f"{prefix}_graph_indicator.txt")[:, 0] - 1
    y = torch.unique(_read_numbers(folder / f"{prefix}_graph_labels.txt")[:, 0], return_inverse=True)[1]
    x = _FEATURES[features](folder / f"{prefix}_node_{features}.txt")
    edge_attr = _one_hot(folder / f"{prefix}_edge_labels.txt")
    edges, edge_attr = _merge_edges(edges, edge_attr, graph_of.numel())
    n_graphs = y.numel()
    n_nodes, n_edges = (torch.bincount(of, minlength=n_graphs) for of in (graph_of, graph_of[edges[0]]))
    edges = edges - (n_nodes.cumsum(0) - n_nodes)[graph_of[edges[0]]]
    columns = {
        "edge_index": edges.split(n_edges.tolist(), dim=1),
        "y": y.split(1),
        "x": None if x is None else x.split(n_nodes.tolist()),
        "edge_attr": None if edge_attr is None else edge_attr.split(n_edges.tolist()),
        "num_nodes": n_nodes.tolist() if x is None else None,
    }
    present = {key: column for key, column in columns.items() if column is not None}
    return [Data(**{key: column[graph] for key, column in present.items()}) for graph in range(n_graphs)]


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
    for path, content in read_bundle(folder, archive=f"{_MALNET}.tar.gz", suffix=".edgelist"):
        name = path.with_suffix("").as_posix().removeprefix(f"{_MALNET}/")
        graphs[name] = _call_graph(content, kinds.get(name.split("/")[0], -1))
    train, val, test = ([graphs[name] for name in part] for part in lists)
    return train, val, test


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


def read_graph_parts(folder: Path, *, file: str) -> GraphParts:
    """Read one list of graphs for each part; of two parts, the first also gives the validation graphs."""
    parts = [_graphs_of(part) for part in load_tensors(folder / file)]
    if len(parts) == 2:
        return with_validation(*parts)
    train, val, test = parts
    return train, val, test


def read_first_graphs(folder: Path, *, file: str, first: int) -> list[Data]:
    """Read the first graphs of the training part alone, in no part.

    Parameters
    ----------
    folder, file
    first
        How many.
    """
    return _graphs_of(load_tensors(folder / file)[0][:first])


def read_graph_list(folder: Path, *, file: str) -> list[Data]:
    """Read one list of graphs without parts."""
    return _graphs_of(load_tensors(folder / file))


def _read_numbers(path: Path, dtype: Any = np.int64) -> Tensor:
    return torch.from_numpy(np.loadtxt(path, dtype=dtype, delimiter=",", ndmin=2))


def _one_hot(path: Path) -> Tensor | None:
    """Return one block of columns for each column of labels, counted from its smallest; None without a file."""
    if not path.exists():
        return None
    labels = _read_numbers(path)
    labels = labels - labels.amin(dim=0)
    blocks: list[Any] = [torch.nn.functional.one_hot(column).float() for column in labels.unbind(dim=1)]
    return torch.cat(blocks, dim=1)


def _merge_edges(edges: Tensor, edge_attr: Tensor | None, n_nodes: int) -> tuple[Tensor, Tensor | None]:
    keep = edges[0] != edges[1]
    codes, place = torch.unique((edges[0] * n_nodes + edges[1])[keep], return_inverse=True)
    merged = torch.stack([codes // n_nodes, codes % n_nodes])
    if edge_attr is None:
        return merged, None
    return merged, edge_attr.new_zeros(codes.numel(), edge_attr.size(1)).index_add(0, place, edge_attr[keep])


def _call_graph(content: bytes, kind: int) -> Data:
    edges = np.loadtxt(io.BytesIO(content), dtype=np.int64, comments="#", ndmin=2).reshape(-1, 2)
    n_nodes = int(edges.max()) + 1 if edges.size else 0
    return Data(edge_index=torch.from_numpy(edges.T.copy()), y=torch.tensor([kind]), num_nodes=n_nodes)


def _graphs_of(records: Iterable[Mapping[str, Any]]) -> list[Data]:
    return [Data(**record) for record in records]


_FEATURES = {"labels": _one_hot, "attributes": partial(_read_numbers, dtype=np.float32)}
