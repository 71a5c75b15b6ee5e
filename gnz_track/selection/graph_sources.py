"""Whatever a user calls a graph: a file, a name of the catalogue, a PyG object, a networkx graph."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import networkx as nx
import numpy as np
import torch
from numpy.typing import NDArray
from torch_geometric.data import Data

from gnz_track.datasets.catalogue import DATASETS, TASKS
from gnz_track.datasets.collation import collate
from gnz_track.datasets.facts import describe
from gnz_track.datasets.frozen import FrozenDataset
from gnz_track.datasets.homes import data_home
from gnz_track.datasets.own.own_graphs import from_networkx, read_tables
from gnz_track.datasets.own.own_tables import open_table
from gnz_track.datasets.preparation import prepare, prepare_dataset
from gnz_track.datasets.readers.edge_lists import read_edge_list
from gnz_track.datasets.readers.gml import read_gml
from gnz_track.errors import BadValue, UnknownName
from gnz_track.selection.features.contents import Contents
from gnz_track.selection.features.feature_sets import Parts
from gnz_track.selection.features.networks import make_network
from gnz_track.types import Task, TaskType

__all__ = ["OpenedGraph", "describe_frozen", "open_graph"]


@dataclass(frozen=True, eq=False)
class OpenedGraph:
    """A graph, or a collection of them, ready for features; ``task`` is that of the catalogue, where it was named."""

    name: str
    parts: Parts
    task: Task | None = None
    graphs: Sequence[Data] = field(default=(), repr=False)


def open_graph(source: object, *, home: Path | None = None, mirror: str | Path | None = None) -> OpenedGraph:
    """Return the graph behind a path, a name of the catalogue, a ``Data``, a list of them, or a networkx graph.

    What is open already is returned as it is.

    Files are edge lists (two numbers a line, or a table with columns ``source`` and ``target``), ``.npz`` (an array
    ``edge_index``, or what ``scipy.sparse.save_npz`` writes), GraphML and GML.
    """
    if isinstance(source, OpenedGraph):
        return source
    if isinstance(source, str | Path):
        return _open_named(str(source), home=home or data_home(), mirror=mirror)
    if isinstance(source, nx.Graph):
        return _open_graphs("graph", [_without_words(source)])
    listed = [source] if isinstance(source, Data) else list(source) if isinstance(source, Sequence) else []
    if not listed or any(not isinstance(graph, Data) for graph in listed):
        raise BadValue("the graph", type(source).__name__, "a path, a name, a Data, a list of Data, a networkx graph")
    return _open_graphs("graph", listed)


def _open_named(name: str, *, home: Path, mirror: str | Path | None) -> OpenedGraph:
    path = Path(name).expanduser()
    if path.is_file():
        return _open_graphs(path.name, [_read(path)])
    if name in TASKS:
        task = TASKS.get(name)
        return describe_frozen(name, prepare(task, seed=0, home=home, mirror=mirror), task)
    if name in DATASETS:
        return describe_frozen(name, prepare_dataset(DATASETS.get(name), seed=0, home=home, mirror=mirror), None)
    if "/" in name or path.suffix:
        raise BadValue("the graph", name, f"a file that exists, ending in {', '.join(_READERS)}, or a name")
    raise UnknownName("graph", name, [*TASKS.names(), *DATASETS.names()], command="gnz tasks")


def describe_frozen(name: str, dataset: FrozenDataset, task: Task | None) -> OpenedGraph:
    """Return a frozen dataset, posed as a task or not, ready for features."""
    tensors = dict(dataset.tensors)
    edges = dataset.global_edge_index.numpy()
    are_classes = task is None or task.task_type is not TaskType.graph_reg
    contents = _contents(tensors, is_directed=dataset.is_directed, are_classes=are_classes)
    return OpenedGraph(name, Parts(make_network(edges, dataset.n_nodes), contents), task, dataset)


def _open_graphs(name: str, graphs: list[Data]) -> OpenedGraph:
    collated = collate(graphs)
    tensors = dict(collated.tensors)
    starts = tensors["ptr/node"]
    edges = tensors["edge_index"] + starts[:-1].repeat_interleave(tensors["ptr/edge"].diff())
    y = tensors.get("y")
    are_classes = y is None or not y.is_floating_point()
    contents = _contents(tensors, is_directed=bool(describe(tensors)["is_directed"]), are_classes=are_classes)
    return OpenedGraph(name, Parts(make_network(edges.numpy(), int(starts[-1])), contents), None, graphs)


def _contents(tensors: dict[str, torch.Tensor], *, is_directed: bool, are_classes: bool) -> Contents:
    x, y, edge_attr = (tensors.get(name) for name in ("x", "y", "edge_attr"))
    return Contents(
        attributes=None if x is None else _flat(x).float().numpy(),
        labels=None if y is None else _first_labels(y),
        are_classes=are_classes,
        node_ptr=tensors["ptr/node"].numpy(),
        n_edge_attributes=0 if edge_attr is None else _flat(edge_attr).shape[1],
        is_directed=is_directed,
    )


def _flat(values: torch.Tensor) -> torch.Tensor:
    return values.reshape(len(values), -1)


def _first_labels(y: torch.Tensor) -> NDArray[np.float64]:
    """Return the first column of labels, NaN where there is none; whole numbers below 0 mean that."""
    labels: NDArray[np.float64] = _flat(y)[:, 0].to(torch.float64).numpy().copy()
    if not y.is_floating_point():
        labels[labels < 0] = np.nan
    return labels


def _read(path: Path) -> Data:
    suffix = path.suffix.lower()
    if suffix not in _READERS:
        raise BadValue("the graph", str(path), f"a file that ends in {', '.join(_READERS)}, or a name")
    try:
        return _READERS[suffix](path)
    except (ValueError, OSError, KeyError) as error:
        raise BadValue("the graph", str(path), f"a file that reads ({error})") from error


def _read_npz(path: Path) -> Data:
    with np.load(path, allow_pickle=False) as arrays:
        if "edge_index" in arrays:
            edges = np.asarray(arrays["edge_index"], dtype=np.int64)
            if edges.ndim != 2 or 2 not in edges.shape:
                raise BadValue(f"edge_index of {path.name}", edges.shape, "shape (2, n)")
            edges = edges if edges.shape[0] == 2 else edges.T
            n_nodes = int(arrays["num_nodes"]) if "num_nodes" in arrays else int(edges.max(initial=0)) + 1
            return Data(edge_index=torch.from_numpy(edges.copy()), num_nodes=n_nodes)
        if {"indptr", "indices", "shape"} <= set(arrays.files):
            rows = np.repeat(np.arange(len(arrays["indptr"]) - 1), np.diff(arrays["indptr"]))
            edges = np.stack([rows, arrays["indices"]]).astype(np.int64)
            return Data(edge_index=torch.from_numpy(edges), num_nodes=int(max(arrays["shape"])))
        found = ", ".join(arrays.files)
    raise BadValue(f"arrays of {path.name}", found, "edge_index (and num_nodes), or a matrix of scipy.sparse.save_npz")


def _read_table(path: Path) -> Data:
    frame = open_table(path, "edges").frame
    # Network repositories write the line of names as a comment, with spaces: "# source, target".
    names = {name: str(name).lstrip("#").strip() for name in frame}
    is_bare = all(name == bare for name, bare in names.items())
    frame = frame if is_bare else frame.rename(columns=names)
    # Words say nothing to features of a graph, and are no reason to refuse it.
    words = [name for name in frame if name not in {"source", "target"} and frame[name].dtype.kind not in "biuf"]
    found: Any = read_tables(path if is_bare else frame, ignore=words)
    if isinstance(found, Data):
        return found
    raise BadValue("the graph", str(path), "a table of one graph; a collection is a list of Data")


def _read_list(path: Path) -> Data:
    return read_edge_list(path.parent, file=path.name)


def _read_gml(path: Path) -> Data:
    return read_gml(path.parent, file=path.name)


def _read_graphml(path: Path) -> Data:
    try:
        graph = nx.read_graphml(path)
    except (nx.NetworkXException, ET.ParseError, KeyError) as error:
        raise BadValue("the graph", str(path), f"a file that reads ({type(error).__name__}: {error})") from error
    return _without_words(graph)


def _without_words(graph: nx.Graph) -> Data:
    """Return a networkx graph without attributes that are no numbers: they say nothing to features."""
    bare = graph.copy()
    described = [*bare.nodes(data=True), *(edge[1:] for edge in bare.edges(data=True))]
    for _, attributes in described:
        for name in [name for name, value in attributes.items() if not isinstance(value, int | float)]:
            del attributes[name]
    return from_networkx(bare)


_READERS: dict[str, Callable[[Path], Data]] = {
    **dict.fromkeys((".txt", ".edges", ".edgelist"), _read_list),
    **dict.fromkeys((".csv", ".tsv", ".parquet"), _read_table),
    ".npz": _read_npz,
    ".gml": _read_gml,
    **dict.fromkeys((".graphml", ".xml"), _read_graphml),
}
