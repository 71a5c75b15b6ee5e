"""Files of graphs from anywhere: edge lists, tables, arrays, matrices, GraphML, GML, Pajek; packed by gzip or not.

Whatever is in a file, the answer is a graph or a sentence that says what is wrong with it, and where.
Nothing in a file is run. GraphML and GML have attributes by name, of which one can be asked for as labels.
"""

from __future__ import annotations

import re
import tempfile
import warnings
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import networkx as nx
import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray
from scipy import sparse
from torch_geometric.data import Data

from gnz_track.datasets.own.graphs import from_networkx, read_tables
from gnz_track.datasets.own.tables import open_table
from gnz_track.datasets.readers.networks import read_gml
from gnz_track.datasets.readers.raw_files import both_ways, renumber
from gnz_track.datasets.sources.archives import LIMIT, extract
from gnz_track.errors import ArchiveUnusable, BadValue
from gnz_track.selection.features.graph import check_arcs
from gnz_track.selection.graph_names import PACKED, form_of

__all__ = [
    "LABELLED_FORMS",
    "READERS",
    "graph_of_matrix",
    "graph_of_networkx",
    "open_archive",
    "read_graph_file",
    "read_labelled_file",
]


_ARCHIVES_BROKEN = (OSError, ValueError, TypeError, EOFError, MemoryError, RuntimeError, zipfile.BadZipFile, zlib.error)


@contextmanager
def open_archive(what: str, path: str | Path) -> Iterator[Any]:
    """Open an archive of plain arrays, which are read as they are asked for; ``what`` it is stands in the message."""
    try:
        if not zipfile.is_zipfile(path):
            raise BadValue(what, str(path), "a whole .npz archive, as numpy.savez writes it; this is none, or cut off")
        with zipfile.ZipFile(path) as packed:
            # No member gives more bytes than it says.
            size, most = sum(member.file_size for member in packed.infolist()), LIMIT.of(Path(path))
        if size > most:
            raise BadValue(f"unpacked size of {what}", f"{size:,} bytes", f"at most {most:,}, as large as it is packed")
        with np.load(path, allow_pickle=False) as arrays:
            yield arrays
    except _ARCHIVES_BROKEN as error:
        # What numpy says of arrays of objects is how to run them.
        is_code = "allow_pickle" in str(error)
        reason = "it holds Python objects, which are never run" if is_code else f"{type(error).__name__}: {error}"
        allowed = f"an .npz archive of plain arrays of numbers that reads ({reason})"
        raise BadValue(what, str(path), allowed) from error


_BROKEN = (
    *(ValueError, TypeError, LookupError, AttributeError, ArithmeticError, MemoryError),
    *(OSError, EOFError, RuntimeError, zlib.error, nx.NetworkXException, ET.ParseError),
)
_WHOLE = re.compile(r"[+-]?\d{1,19}")
# What tables of edges mean by these columns says nothing to features.
_TAKEN = frozenset({"graph", "split"})


def read_graph_file(path: Path, readers: Mapping[str, Callable[[Path], Data]] | None = None) -> Data:
    """Return the graph of a file, whose name ends in one of :data:`READERS`, and in ``.gz`` where it is packed."""
    readers = readers or READERS
    if not path.stat().st_size:
        raise BadValue("the graph", str(path), "a file with a graph in it; this one is empty")
    try:
        if path.suffix.lower() != PACKED:
            return readers[form_of(path)](path)
        with tempfile.TemporaryDirectory() as folder:
            inner = path.with_suffix("").name
            extract(path, {inner: inner}, Path(folder))
            return readers[form_of(path)](Path(folder) / inner)
    except ArchiveUnusable as error:
        raise BadValue("the graph", str(path), f"a file that unpacks ({error.reason})") from error
    except _BROKEN as error:
        raise BadValue("the graph", str(path), f"a file that reads ({type(error).__name__}: {error})") from error


def graph_of_networkx(graph: nx.Graph, *, label: str = "") -> Data:
    """Return a networkx graph, each edge once, without attributes that are not a number on all nodes, or all edges.

    One attribute may be the ``label``, whatever its values; where it is missing, nobody knows it.
    However it was put together, it comes out the same: edges in order, and nodes too where they are whole numbers.
    """
    if not graph:
        raise BadValue("number of nodes of the graph", 0, "at least 1")
    bare = nx.DiGraph() if graph.is_directed() else nx.Graph()
    are_numbers = all(isinstance(node, int) for node in graph)
    bare.add_nodes_from(sorted(graph) if are_numbers else graph)
    bare.update(nx.DiGraph(graph) if graph.is_directed() else nx.Graph(graph))
    for described in ([of for _, of in bare.nodes(data=True)], [of for *_, of in bare.edges(data=True)]):
        for name in {name for of in described for name in of} - {label}:
            # A number that some of them lack says nothing either: nobody knows what it would be there.
            if name in _TAKEN or not all(name in of and _is_number(of[name]) for of in described):
                for of in described:
                    of.pop(name, None)
    return _in_order(from_networkx(bare, **({"label": label, "allow_unlabelled": True} if label else {})))


def _in_order(graph: Data) -> Data:
    """Return a graph with its edges, and what they have, in the order of their ends."""
    order = torch.from_numpy(np.lexsort(graph.edge_index.numpy()[::-1]))
    graph.edge_index = graph.edge_index[:, order]
    if graph.edge_attr is not None:
        graph.edge_attr = graph.edge_attr[order]
    return graph


def _is_number(value: object) -> bool:
    if isinstance(value, float | np.floating):
        return bool(np.isfinite(value))
    return isinstance(value, int | np.integer | np.bool_) and abs(int(value)) < 2**63


def _read_list(path: Path) -> Data:
    """Read two numbers a line, apart by spaces or one other mark; gaps in ids close, more columns are left out."""
    separator = _find_separator(path)
    try:
        with path.open(encoding="utf-8-sig", errors="replace") as lines:
            ids = np.loadtxt(lines, dtype=np.int64, comments=["#", "%"], delimiter=separator, usecols=(0, 1), ndmin=2)
    except ValueError as error:
        raise _odd_line(path, separator) from error
    numbers, n_nodes = renumber(ids)
    return Data(edge_index=both_ways(torch.from_numpy(numbers.T.copy()), n_nodes), num_nodes=n_nodes)


def _lines_of(path: Path) -> Iterator[tuple[int, str]]:
    """Yield the lines of a list that say something, with their numbers."""
    with path.open(encoding="utf-8-sig", errors="replace") as lines:
        for number, line in enumerate(lines, 1):
            said = re.split("[#%]", line, maxsplit=1)[0].strip()
            if said:
                yield number, said


def _find_separator(path: Path) -> str | None:
    """Return what stands between the numbers of the first line, None for spaces."""
    for _, line in _lines_of(path):
        return next((mark for mark in ",;" if mark in line), None)
    raise BadValue("the graph", str(path), "a file with at least one edge, two numbers a line; this one has none")


def _is_edge(line: str, separator: str | None) -> bool:
    cells = [cell.strip() for cell in line.split(separator)]
    return len(cells) > 1 and all(_WHOLE.fullmatch(cell) and abs(int(cell)) < 2**63 for cell in cells[:2])


def _odd_line(path: Path, separator: str | None) -> BadValue:
    """Say which line of a list is no edge, and what to do."""
    allowed = (
        "two whole numbers below 2^63, apart by spaces, commas or semicolons, the same in every line. "
        "Put # before a line of names; where ids are words, "
        "save a .csv whose first line is source,target"
    )
    for number, line in _lines_of(path):
        if not _is_edge(line, separator):
            return BadValue(f"line {number} of {path.name}", line[:60], allowed)
    return BadValue("the graph", str(path), f"in every line {allowed}")


def _read_table(path: Path) -> Data:
    frame = open_table(path, "edges").frame
    # Network repositories write the line of names as a comment, with spaces: "# source, target"; others, in capitals.
    names = {name: str(name).lstrip("#").strip() for name in frame}
    known = set(names.values())
    for name, bare in names.items():
        if bare.lower() in {"source", "target"} - known:
            names[name] = bare.lower()
    columns = list(names.values())
    if not {"source", "target"} <= set(columns) or len(set(columns)) < len(columns):
        allowed = (
            "source and target, each once, and any others; the first line of the file names them. "
            "Where it names nothing, a list of pairs of numbers is read from a .txt"
        )
        raise BadValue(f"columns of {path.name}", ", ".join(columns), allowed)
    if "graph" in columns or not len(frame):
        allowed = "at least one edge, and no column 'graph': a collection is a list of Data"
        raise BadValue(f"the table of {path.name}", f"{len(frame)} edges with {', '.join(columns)}", allowed)
    renamed = frame.rename(columns=names).drop(columns="split", errors="ignore")
    is_repeated = _find_repeats(renamed)
    is_bare = list(renamed) == list(frame) and not is_repeated.any()
    # Words say nothing to features of a graph, and are no reason to refuse it.
    words = [name for name in renamed if name not in {"source", "target"} and renamed[name].dtype.kind not in "biuf"]
    found: Data = read_tables(path if is_bare else renamed[~is_repeated], ignore=words)
    return found


def _find_repeats(edges: pd.DataFrame) -> NDArray[np.bool_]:
    """Tell for each row whether an earlier one is the same edge, either way."""
    ends = edges[["source", "target"]]
    if ends.isna().any(axis=None):
        return np.zeros(len(edges), dtype=bool)
    ends = ends if ends["source"].dtype == ends["target"].dtype else ends.astype(str)
    codes, _ = pd.factorize(pd.concat([ends["source"], ends["target"]]))
    return np.asarray(pd.DataFrame(np.sort(codes.reshape(2, -1), axis=0).T).duplicated())


def _read_npz(path: Path) -> Data:
    with open_archive("the graph", path) as arrays:
        found = set(arrays.files)
        if "edge_index" in found:
            return _edges_of(arrays["edge_index"], arrays["num_nodes"] if "num_nodes" in found else None, path.name)
        if {"format", "shape"} <= found:
            return graph_of_matrix(sparse.load_npz(path), path.name)
        if {"indptr", "indices", "shape"} <= found:
            parts = (np.ones(len(arrays["indices"])), arrays["indices"], arrays["indptr"])
            return graph_of_matrix(sparse.csr_matrix(parts, shape=tuple(arrays["shape"])), path.name)
        listed = ", ".join(sorted(found))
    raise BadValue(f"arrays of {path.name}", listed, "edge_index (and num_nodes), or a matrix of scipy.sparse.save_npz")


def _edges_of(edges: NDArray[Any], num_nodes: NDArray[Any] | None, file: str) -> Data:
    if edges.ndim == 2 and edges.shape[0] != 2 and edges.shape[1] == 2:
        edges = edges.T
    n_nodes = None
    if num_nodes is not None:
        if num_nodes.size != 1 or num_nodes.dtype.kind not in "iu" or num_nodes.min() < 1:
            raise BadValue(f"num_nodes of {file}", num_nodes.tolist(), "one whole number, at least 1")
        n_nodes = int(num_nodes.item())
    checked, n_nodes = check_arcs(edges, n_nodes, where=f"edge_index of {file}")
    return Data(edge_index=torch.from_numpy(checked.copy()), num_nodes=n_nodes)


def graph_of_matrix(matrix: Any, file: str) -> Data:
    """Return the graph of an adjacency matrix ``[n, n]``, sparse or dense; what it stores are edges."""
    _check_square(matrix.shape, file)
    if sparse.issparse(matrix) and matrix.format in {"csr", "csc", "bsr"}:
        matrix.check_format(full_check=True)
    entries = sparse.coo_array(matrix)
    return _edges_of(np.stack([entries.coords[0], entries.coords[1]]), np.array(matrix.shape[0]), file)


def _check_square(shape: tuple[int, ...], file: str) -> None:
    if len(shape) != 2 or shape[0] != shape[1]:
        allowed = "as many rows as columns: the matrix says which nodes are neighbours"
        raise BadValue(f"shape of the matrix of {file}", shape, allowed)


def _read_mtx(path: Path) -> Data:
    """Read the places of a matrix in coordinate form (Boisvert et al., 1996); its values are left out.

    Scipy's reader is not asked: it ends the process where a number of a file is broken.
    """
    with path.open(encoding="utf-8-sig", errors="replace") as lines:
        banner = lines.readline().lower().split()
        if banner[:3] != ["%%matrixmarket", "matrix", "coordinate"]:
            allowed = "%%MatrixMarket matrix coordinate, and what its values are"
            raise BadValue(f"first line of {path.name}", " ".join(banner)[:60], allowed)
        size = next((line for line in lines if line.strip() and not line.startswith("%")), "")
        if banner[3:4] == ["pattern"] and _is_edge(size, None) and len(size.split()) == 2:
            # Network repositories leave the sizes out of some.
            return _read_list(path)
        if len(size.split()) != 3 or not all(cell.isdecimal() for cell in size.split()):
            allowed = "three whole numbers: rows, columns, entries"
            raise BadValue(f"first line behind the comments of {path.name}", size.strip()[:60], allowed)
        n_rows, n_columns, n_entries = map(int, size.split())
        _check_square((n_rows, n_columns), path.name)
        with warnings.catch_warnings():
            # A matrix may have no entry, of which numpy warns; too few are told below.
            warnings.simplefilter("ignore", UserWarning)
            places = np.loadtxt(lines, np.int64, comments="%", usecols=(0, 1), ndmin=2).reshape(-1, 2)
    if len(places) != n_entries:
        raise BadValue(f"number of entries in {path.name}", len(places), f"{n_entries}, as the file says itself")
    if places.size and places.min() < 1:
        raise BadValue(f"a place in {path.name}", int(places.min()), f"numbers from 1 to {n_rows}")
    found = _edges_of(places.T - 1, np.array(n_rows), path.name)
    if banner[4:5] != ["general"]:
        # Of what is symmetric one half is written.
        found.edge_index = both_ways(found.edge_index, n_rows)
    return found


def _read_gml(path: Path) -> Data:
    return read_gml(path.parent, file=path.name)


def _read_graphml(path: Path) -> Data:
    return graph_of_networkx(nx.read_graphml(path))


def _read_net(path: Path) -> Data:
    """Read Pajek's form, whose sections begin with a star, or what others call a net: a list of pairs."""
    text = path.read_text(encoding="utf-8-sig", errors="replace")
    if not text.lstrip().startswith("*"):
        return _read_list(path)
    try:
        return graph_of_networkx(nx.parse_pajek(text.splitlines()))
    except (StopIteration, NameError) as error:
        # So it says that lines are missing, or that arcs come before the vertices.
        raise BadValue(
            "the graph", str(path), "*Vertices and as many lines as it says, then *Arcs or *Edges"
        ) from error


READERS: dict[str, Callable[[Path], Data]] = {
    **dict.fromkeys((".txt", ".edges", ".edgelist"), _read_list),
    **dict.fromkeys((".csv", ".tsv", ".parquet"), _read_table),
    ".npz": _read_npz,
    ".mtx": _read_mtx,
    ".net": _read_net,
    ".gml": _read_gml,
    **dict.fromkeys((".graphml", ".xml"), _read_graphml),
}


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
