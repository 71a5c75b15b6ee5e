"""Benchmark collections in formats of their own: sets of many graphs, and the Open Graph Benchmark.

The latter is read from its csv tables, in pieces, without the package of that name.
"""

from __future__ import annotations

import io
import pickle
from collections.abc import Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch
from torch import Tensor
from torch_geometric.data import Data

from gnz_track.datasets.readers.raw_files import GraphParts, rank, read_bundle, with_validation
from gnz_track.datasets.readers.restricted_pickle import load_arrays, load_saved_arrays, load_tensors

__all__ = [
    "read_first_graphs",
    "read_graph_list",
    "read_graph_parts",
    "read_malnet",
    "read_ogb_graphs",
    "read_ogb_links",
    "read_ogb_nodes",
    "read_skip_links",
    "read_tudataset",
]

_PIECE = 250_000
_PARTS = {"train": "train", "val": "valid", "test": "test"}
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


def read_ogb_nodes(folder: Path, *, split: str, is_directed: bool) -> Data:
    """Read one graph with labelled nodes: x ``[n, d]`` float32, y ``[n]``, the published split as masks ``[n]``.

    Hu et al.: Open Graph Benchmark: Datasets for Machine Learning on Graphs, NeurIPS 2020.

    Parameters
    ----------
    folder, split, is_directed
    """
    y = _read_table(folder / "raw" / "node-label.csv.gz", np.int64)[:, 0]
    masks = {}
    for name, published in _PARTS.items():
        masks[f"{name}_mask"] = torch.zeros(y.numel(), dtype=torch.bool)
        masks[f"{name}_mask"][_read_table(folder / "split" / split / f"{published}.csv.gz", np.int64)[:, 0]] = True
    x = _read_table(folder / "raw" / "node-feat.csv.gz", np.float32)
    return Data(x=x, y=y, edge_index=_read_edges(folder, is_directed=is_directed), **masks)


def read_ogb_links(folder: Path, *, split: str) -> Data:
    """Read the training graph of a link benchmark: x ``[n, d]``, undirected edges that repeat, weight and year ``[m]``.

    The published parts are ``train_link_index``, ``val_link_index`` and ``test_link_index`` ``[2, .]``, each link once,
    and the pairs that these two are told from ``val_non_link_index`` and ``test_non_link_index``. Hu et al.: Open Graph
    Benchmark: Datasets for Machine Learning on Graphs, NeurIPS 2020.
    """
    columns = {
        name: _read_table(folder / "raw" / f"{name}.csv.gz", np.int64)[:, 0].repeat(2)
        for name in ("edge_weight", "edge_year")
        if (folder / "raw" / f"{name}.csv.gz").exists()
    }
    for name, published in _PARTS.items():
        found = _load_saved(folder / "split" / split / f"{published}.pt")
        columns[f"{name}_link_index"] = _as_pairs(found["edge"])
        if name != "train":
            columns[f"{name}_non_link_index"] = _as_pairs(found["edge_neg"])
    x = _read_table(folder / "raw" / "node-feat.csv.gz", np.float32)
    return Data(x=x, edge_index=_read_edges(folder, is_directed=False), **columns)


def read_ogb_graphs(folder: Path, *, split: str) -> GraphParts:
    """Read molecules: x ``[n, 9]`` and edge_attr ``[m, 3]`` whole numbers, y ``[1, k]``, the published parts.

    y is float32 with NaN where a label is missing, else int64. Hu et al.: Open Graph Benchmark, NeurIPS 2020.
    """
    raw = folder / "raw"
    n_nodes, n_edges = (
        _read_table(raw / f"num-{name}-list.csv.gz", np.int64)[:, 0].tolist() for name in ("node", "edge")
    )
    edges = _read_table(raw / "edge.csv.gz", np.int64).t().split(n_edges, dim=1)
    bonds = _read_table(raw / "edge-feat.csv.gz", np.int64).split(n_edges)
    atoms = _read_table(raw / "node-feat.csv.gz", np.int64).split(n_nodes)
    labels = _read_table(raw / "graph-label.csv.gz", np.float32)
    labels = labels if bool(labels.isnan().any()) else labels.long()
    graphs = [
        Data(x=x, edge_index=torch.cat([pairs, pairs.flip(0)], dim=1), edge_attr=bond.repeat(2, 1), y=y[None])
        for x, pairs, bond, y in zip(atoms, edges, bonds, labels, strict=True)
    ]
    train, val, test = (
        [graphs[place] for place in _read_table(folder / "split" / split / f"{part}.csv.gz", np.int64)[:, 0].tolist()]
        for part in _PARTS.values()
    )
    return train, val, test


def _load_saved(path: Path) -> Mapping[str, Any]:
    """Return what a file of ``torch.save`` holds: arrays as its publisher has them, or tensors."""
    try:
        return load_tensors(path)  # type: ignore[no-any-return]
    except pickle.UnpicklingError:
        return load_saved_arrays(path)  # type: ignore[no-any-return]


def _as_pairs(rows: Any) -> Tensor:
    """Return pairs of nodes ``[n, 2]`` as ``[2, n]``."""
    return torch.as_tensor(np.asarray(rows, dtype=np.int64)).t().contiguous()


def _read_edges(folder: Path, *, is_directed: bool) -> Tensor:
    edges = _read_table(folder / "raw" / "edge.csv.gz", np.int64).t()
    return edges.contiguous() if is_directed else torch.cat([edges, edges.flip(0)], dim=1)


def _read_table(path: Path, dtype: Any) -> Tensor:
    """Return a table without header ``[rows, columns]``."""
    pieces = pd.read_csv(path, header=None, chunksize=_PIECE)
    return torch.from_numpy(np.concatenate([piece.to_numpy(dtype=dtype) for piece in pieces]))
