"""Files that say more of nodes and edges than numbers: one attribute, asked for by name, is what is to be told."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

import networkx as nx
from torch_geometric.data import Data

from gnz_track.errors import BadValue
from gnz_track.selection.graph_files import graph_of_networkx, read_graph_file
from gnz_track.selection.graph_names import form_of

__all__ = ["LABELLED_FORMS", "read_labelled_file"]


def read_labelled_file(path: Path, label: str) -> Data:
    """Return the graph of a GraphML or GML file, packed or not, with an attribute of its nodes or edges as labels."""
    if form_of(path) not in _NETWORKS:
        allowed = f"nothing for a file of this form: {', '.join(_NETWORKS)} have attributes by name"
        raise BadValue(f"label of {path.name}", label, allowed)
    return read_graph_file(path, {form: partial(_read_with_label, read, label) for form, read in _NETWORKS.items()})


def _read_with_label(read: Callable[[Path], nx.Graph], label: str, path: Path) -> Data:
    graph = read(path)
    described = [of for _, of in graph.nodes(data=True)] + [of for *_, of in graph.edges(data=True)]
    known = sorted({str(name) for of in described for name in of})
    if label not in known:
        allowed = f"an attribute of nodes or edges that the file has ({', '.join(known) or 'it has none'})"
        raise BadValue(f"label of {path.name}", label, allowed)
    return graph_of_networkx(graph, label=label)


# What GML calls a label is the name of a node.
_NETWORKS: dict[str, Callable[[Path], nx.Graph]] = {
    ".graphml": nx.read_graphml,
    ".xml": nx.read_graphml,
    ".gml": partial(nx.read_gml, label="id"),
}
LABELLED_FORMS = frozenset(_NETWORKS)
