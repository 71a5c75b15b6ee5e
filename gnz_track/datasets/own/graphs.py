"""Graphs of one's own: from an edge list with tables, from GraphML and GML, from networkx."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import networkx as nx
import numpy as np
import pandas as pd
import torch
from torch import Tensor
from torch_geometric.data import Data

from gnz_track.datasets.own.tables import (
    SPLITS,
    TIME,
    Reading,
    Table,
    labels_of,
    numbers_of,
    open_table,
    read_options,
    split_of,
    times_of,
)
from gnz_track.errors import BadValue, UnknownName

__all__ = ["from_networkx", "read_network", "read_tables"]

Array = np.ndarray[Any, Any]
Source = str | Path | pd.DataFrame
_PARTS = ("train", "val", "test")
_ONCE = "each id once; this one stands in {first} too"


def read_tables(edges: Source, nodes: Source | None = None, graphs: Source | None = None, **options: Any) -> Any:
    """Read one graph, or many, from tables: CSV, TSV or parquet files, or pandas frames.

    Labels of nodes, graphs or edges are column ``label="label"`` of their table, published parts its column ``split``
    (train, val, test), and times for a temporal split its column ``time``; all other columns are features and must be
    numbers, but for those in ``ignore=``. Edges go both
    ways unless ``is_directed=True``; missing labels are an error unless ``allow_unlabelled=True``. Returns what
    ``task_from_dataset`` takes: a ``Data``, a list of them, or (train, val, test).

    Parameters
    ----------
    edges
        Columns ``source`` and ``target``; also ``graph``, where ids of nodes repeat in several graphs.
    nodes
        Column ``id``, and with several graphs ``graph``.
    graphs
        Column ``id``.
    **options
        ``label``, ``ignore``, ``is_directed`` and ``allow_unlabelled``.
    """
    reading = read_options(options)
    node_table = None if nodes is None else open_table(nodes, "nodes")
    graph_table = None if graphs is None else open_table(graphs, "graphs")
    tables = [open_table(edges, "edges"), *(table for table in (node_table, graph_table) if table is not None)]
    _check_labels_exist(tables, reading, options)
    return _graphs_from(tables[0], node_table, graph_table, reading)


def read_network(path: str | Path, **options: Any) -> Data:
    """Read one graph from a GraphML or GML file, with the options of :func:`read_tables`; attributes are the columns.

    The file says whether the graph is directed. A label is read where ``label=`` names its attribute.
    """
    path = Path(path)
    if path.suffix.lower() not in _NETWORKS or not path.is_file():
        raise BadValue("the network", str(path), f"a file that exists and ends in {', '.join(_NETWORKS)}")
    try:
        graph = _NETWORKS[path.suffix.lower()](path)
    except (nx.NetworkXException, ET.ParseError, ValueError, KeyError) as error:
        raise BadValue("the network", str(path), f"a file that reads ({type(error).__name__}: {error})") from error
    return from_networkx(graph, **options)


def from_networkx(graph: nx.Graph, **options: Any) -> Data:
    """Turn a networkx graph into a ``Data``, with the options of :func:`read_tables`; attributes are the columns."""
    reading = read_options({"label": (), "is_directed": graph.is_directed(), **options})
    if "is_directed" in options:
        raise BadValue(reading.say("is_directed"), options["is_directed"], "nothing: the graph says it itself")
    places = list(graph.nodes)
    numbers = {node: number for number, node in enumerate(places)}
    ends = list(graph.edges(data=True))
    node_frame = pd.DataFrame([dict(graph.nodes[node]) for node in places]).drop(columns="id", errors="ignore")
    node_frame = node_frame.reindex(range(len(places))).assign(id=range(len(places)))
    edge_frame = pd.DataFrame([attributes for _, _, attributes in ends]).drop(columns="id", errors="ignore")
    edge_frame = edge_frame.reindex(range(len(ends)))
    edge_frame = edge_frame.assign(source=[numbers[a] for a, _, _ in ends], target=[numbers[b] for _, b, _ in ends])
    nodes = Table("the nodes", node_frame, lambda row: f"node {places[row]!r}")
    edges = Table("the edges", edge_frame, lambda row: f"edge {ends[row][:2]!r}")
    _check_labels_exist([nodes, edges], reading, options)
    found: Data = _graphs_from(edges, nodes, None, reading)
    return found


# Names of nodes are their ids; what GML calls a label is a name too.
_NETWORKS = {".graphml": nx.read_graphml, ".xml": nx.read_graphml, ".gml": lambda path: nx.read_gml(path, label="id")}


def _check_labels_exist(tables: list[Table], reading: Reading, options: Mapping[str, Any]) -> None:
    """Raise where a label is asked for by name and no table has it; the usual name may be missing."""
    for name in reading.labels:
        if "label" in options and not any(name in table for table in tables):
            columns = sorted({str(column) for table in tables for column in table.frame.columns})
            raise UnknownName("column of labels", name, columns)


def _graphs_from(edges: Table, nodes: Table | None, graphs: Table | None, reading: Reading) -> Any:
    numbers, graph_of, names = _index_nodes(edges, nodes, graphs)
    whole = Data(num_nodes=len(graph_of))
    if nodes is not None:
        _add_nodes(whole, nodes, reading)
    ends = _find_ends(edges, numbers, graph_of)
    _add_edges(whole, edges, ends, reading)
    if graphs is None and len(names) == 1:
        return whole
    listed = [_cut_graph(whole, graph_of == number) for number in range(len(names))]
    return listed if graphs is None else _add_graphs(listed, graphs, nodes, reading)


def _index_nodes(edges: Table, nodes: Table | None, graphs: Table | None) -> tuple[dict[Any, int], Array, list[str]]:
    """Return the numbers of nodes by (graph, id) or id, the graph of each ``[n]``, and the names of graphs."""
    if nodes is None:
        if graphs is not None or "graph" in edges:
            raise BadValue(
                "the table of nodes", None, "a table with columns id and graph, where there are several graphs"
            )
        found = {*edges.ids("source"), *edges.ids("target")}
        ids = sorted(found, key=lambda text: (0, int(text), "") if text.isdecimal() else (1, 0, text))
        return {text: number for number, text in enumerate(ids)}, np.zeros(len(ids), dtype=np.int64), [""]
    ids = nodes.ids("id")
    of_node = nodes.ids("graph") if "graph" in nodes else [""] * len(ids)
    names = list(dict.fromkeys(of_node)) if graphs is None else graphs.ids("id")
    place = {name: number for number, name in enumerate(names)}
    if graphs is not None:
        _refuse_repeated(graphs, names, "id")
        nodes.refuse(np.array([name not in place for name in of_node]), "graph", f"an id of {graphs.name}")
    keys: list[Any] = list(zip(of_node, ids, strict=True)) if "graph" in edges else list(ids)
    _refuse_repeated(nodes, keys, "id")
    return {key: number for number, key in enumerate(keys)}, np.array([place[name] for name in of_node]), names


def _refuse_repeated(table: Table, keys: list[Any], column: str, allowed: str = _ONCE) -> None:
    """Raise at the second row of a key; ``allowed`` says what is, given the place of the first row."""
    is_repeated = pd.Series(pd.factorize(pd.Series(keys, dtype=object))[0]).duplicated().to_numpy()
    if is_repeated.any():
        first = table.place(keys.index(keys[int(is_repeated.argmax())]))
        table.refuse(is_repeated, column, allowed.format(first=first))


def _find_ends(edges: Table, numbers: Mapping[Any, int], graph_of: Array) -> Array:
    """Return the numbers of both nodes of each edge ``[2, n]``."""
    of_edge = edges.ids("graph") if "graph" in edges else None
    ends = []
    for name in ("source", "target"):
        ids = edges.ids(name)
        keys: list[Any] = ids if of_edge is None else list(zip(of_edge, ids, strict=True))
        found = np.array([numbers.get(key, -1) for key in keys], dtype=np.int64)
        edges.refuse(found < 0, name, "an id of the table of nodes")
        ends.append(found)
    crosses = graph_of[ends[0]] != graph_of[ends[1]]
    edges.refuse(crosses, "target", "a node of the same graph as the source")
    return np.stack(ends)


def _add_nodes(whole: Data, nodes: Table, reading: Reading) -> None:
    x, y, split = (
        numbers_of(nodes, ("id", "graph", "split", TIME, *reading.labels), reading),
        labels_of(nodes, reading),
        split_of(nodes),
    )
    if x is not None:
        whole.x = x
    if y is not None:
        whole.y = y
    if (times := times_of(nodes)) is not None:
        whole.time = times
    if split is not None:
        for number, part in enumerate(_PARTS):
            whole[f"{part}_mask"] = split == number


def _add_edges(whole: Data, edges: Table, ends: Array, reading: Reading) -> None:
    """Add edges, both ways where they have no direction, and their labels, features and parts."""
    taken = ("source", "target", "graph", "split", TIME, *reading.labels)
    times = times_of(edges)
    features, labels, split = numbers_of(edges, taken, reading), labels_of(edges, reading), split_of(edges)
    pairs = torch.from_numpy(ends)
    keep = torch.arange(pairs.size(1))
    if not reading.is_directed:
        keep = _distinct_rows(edges, ends, reading, times, is_plain=features is None and labels is None)
    both = pairs[:, keep]
    is_loop = both[0] == both[1]
    back = torch.empty(0, dtype=torch.int64) if reading.is_directed else keep[~is_loop]
    whole.edge_index = torch.cat([both, pairs[:, back].flip(0)], dim=1)
    if features is not None:
        whole.edge_attr = torch.cat([features[keep], features[back]])
    if times is not None:
        whole.edge_time = torch.cat([times[keep], times[back]])
    if labels is not None:
        whole.edge_label_index, whole.edge_label = both, labels[keep]
        if times is not None:
            whole.edge_label_time = times[keep]
        if features is not None:
            whole.edge_label_attr = features[keep]
        if split is not None:
            for number, part in enumerate(_PARTS):
                whole[f"{part}_edge_mask"] = split[keep] == number


def _distinct_rows(edges: Table, ends: Array, reading: Reading, times: Tensor | None, *, is_plain: bool) -> Tensor:
    """Return the first row of each undirected edge, in time; rows that say something of an edge may not repeat it."""
    low, high = np.sort(ends, axis=0)
    codes = low.astype(np.int64) * (int(high.max(initial=0)) + 1) + high
    if not is_plain:
        allowed = f"each undirected edge once; {{first}} has it too (or {reading.say('is_directed')})"
        _refuse_repeated(edges, codes.tolist(), "source", allowed)
    order = np.arange(len(codes)) if times is None else np.argsort(times.numpy(), kind="stable")
    return torch.from_numpy(np.sort(order[np.unique(codes[order], return_index=True)[1]]))


def _cut_graph(whole: Data, is_of_it: Array) -> Data:
    """Return one graph of the whole; ``is_of_it`` [n] tells which nodes it has."""
    nodes = torch.from_numpy(np.flatnonzero(is_of_it))
    place = torch.full((len(is_of_it),), -1)
    place[nodes] = torch.arange(nodes.numel())
    graph = Data(num_nodes=nodes.numel())
    of_edges = {
        "edge_index": ("edge_attr", "edge_time"),
        "edge_label_index": ("edge_label", "edge_label_attr", "edge_label_time"),
    }
    of_edges["edge_label_index"] += tuple(f"{part}_edge_mask" for part in _PARTS)
    for ends, fields in of_edges.items():
        if ends in whole:
            is_here = place[whole[ends][0]] >= 0
            graph[ends] = place[whole[ends][:, is_here]]
            for name in fields:
                if name in whole:
                    graph[name] = whole[name][is_here]
    for name in ("x", "y", TIME, *(f"{part}_mask" for part in _PARTS)):
        if name in whole:
            graph[name] = whole[name][nodes]
    return graph


def _add_graphs(listed: list[Data], graphs: Table, nodes: Table | None, reading: Reading) -> Any:
    """Add labels of graphs, and divide graphs by their published part."""
    y, split = labels_of(graphs, reading), split_of(graphs)
    if y is not None and nodes is not None and any(name in nodes for name in reading.labels):
        both = f"{graphs.name} and {nodes.name}"
        raise BadValue("the column of labels", reading.label, f"a column of one of {both}; rename it in the other")
    for number, graph in enumerate(listed):
        if y is not None:
            graph.y = y[number : number + 1]
    if split is None:
        return listed
    graphs.refuse((split < 0).numpy(), "split", ", ".join(SPLITS))
    parts = split.tolist()
    return tuple([graph for graph, part in zip(listed, parts, strict=True) if part == number] for number in range(3))
