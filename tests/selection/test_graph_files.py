"""Files of graphs as they come: what can be meant in one way is read, and all else is told in a sentence."""

from __future__ import annotations

import gzip
import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pytest
from scipy import io as matrices
from scipy import sparse

from gnz_track.errors import BadValue
from gnz_track.selection.graph_files import READERS
from gnz_track.selection.graph_input import OpenedGraph, open_graph
from gnz_track.selection.graph_names import FORMS

MARKET = "%%MatrixMarket matrix coordinate pattern general\n"


def open_text(folder: Path, name: str, text: str | bytes) -> OpenedGraph:
    """Return the graph of a file with this text."""
    (folder / name).write_bytes(text.encode() if isinstance(text, str) else text)
    return open_graph(folder / name)


def arrays(**given: Any) -> bytes:
    """Return an archive of arrays."""
    file = io.BytesIO()
    np.savez(file, **given)
    return file.getvalue()


def sparse_of(matrix: Any) -> bytes:
    """Return a sparse matrix as scipy saves it."""
    file = io.BytesIO()
    sparse.save_npz(file, matrix)
    return file.getvalue()


def test_forms_that_are_named_are_those_that_are_read() -> None:
    assert sorted(FORMS) == sorted(READERS)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("spaces.txt", "0 1\n1 2\n"),
        ("weights.txt", "0\t1\t0.5\n1\t2\tred\n"),
        ("windows.edges", b"\xef\xbb\xbf0 1\r\n\r\n1 2\r\n"),
        ("commas.txt", "0, 1\n1, 2,\n"),
        ("semicolons.edgelist", "0;1\n1;2\n"),
        ("notes.TXT", b"% caf\xe9\n5 70 # far\n-70 70\n"),
        ("long_ids.txt", "1234567890123456789 7\n7 3\n"),
        ("pajek.net", b'*Vertices 3\n1 "a" 0.1 0.2\n2 "b"\n3 "c"\n*Edges\n1 2 1.5\n2 3\n'),
        ("pairs.net", b"0 1\n1 2\n"),
        ("packed.txt.gz", gzip.compress(b"0 1\n1 2\n")),
        ("words.csv", "source,target\nalice,bob\nbob,eve\n"),
        ("spreadsheet.csv", b"\xef\xbb\xbfsource,target\r\n0,1\r\n1,2\r\n"),
        ("gephi.csv", "Source,Target,Type,Weight\n0,1,Undirected,2\n1,2,Undirected,1\n"),
        ("both_ways.csv", "source,target,weight\n0,1,2\n1,0,2\n1,2,1\n1,2,1\n"),
        ("parts.csv", "source,target,split\n0,1,3\n1,2,4\n"),
        ("packed.csv.gz", gzip.compress(b"source,target\n0,1\n1,2\n")),
        ("floats.npz", arrays(edge_index=np.array([[0.0, 1.0], [1.0, 2.0]]))),
        ("upright.npz", arrays(edge_index=np.array([[0, 1], [1, 2], [1, 2]]))),
        ("bare.npz", arrays(indptr=np.array([0, 1, 2, 2]), indices=np.array([1, 2]), shape=np.array([3, 3]))),
        ("pattern.mtx", "%%MatrixMarket matrix coordinate pattern symmetric\n% road\n3 3 2\n2 1\n3 2\n"),
        ("general.mtx", "%%MatrixMarket matrix coordinate real general\n3 3 2\n2 1 .5\n2 3 1e-3\n"),
        ("without_sizes.mtx", MARKET + "% road\n2 1\n3 2\n"),
        ("packed.mtx.gz", gzip.compress(b"%%MatrixMarket matrix coordinate pattern symmetric\n3 3 2\n2 1\n3 2\n")),
    ],
)
def test_a_path_of_three_nodes_is_read_however_it_is_written(name: str, text: str | bytes, tmp_path: Path) -> None:
    opened = open_text(tmp_path, name, text)
    network = opened.parts.network
    assert opened.name == name
    assert sorted(network.degrees.tolist()) == [1, 1, 2]
    assert (network.n_edges, network.n_loops) == (2, 0)


@pytest.mark.parametrize("form", ["csr", "csc", "coo", "bsr", "dia"])
def test_every_form_of_scipy_is_the_same_graph(form: str, tmp_path: Path) -> None:
    matrix = sparse.csr_array(nx.to_scipy_sparse_array(nx.karate_club_graph(), weight=None, dtype=float))
    network = open_text(tmp_path, "club.npz", sparse_of(matrix.asformat(form))).parts.network
    assert (network.n_nodes, network.n_edges) == (34, 78)


def test_a_matrix_of_the_market_may_have_no_entry(tmp_path: Path) -> None:
    network = open_text(tmp_path, "empty.mtx", MARKET + "4 4 0\n% none\n").parts.network
    assert (network.n_nodes, network.n_edges) == (4, 0)


def test_a_matrix_of_the_market_says_whether_edges_have_a_direction(tmp_path: Path) -> None:
    for symmetry, is_directed in (("symmetric", False), ("skew-symmetric", False), ("general", True)):
        text = MARKET.replace("general", symmetry) + "3 3 2\n2 1\n3 2\n"
        assert open_text(tmp_path, "half.mtx", text).parts.contents.is_directed is is_directed


def test_a_matrix_of_the_market_is_what_scipy_wrote(tmp_path: Path) -> None:
    graph = nx.gnp_random_graph(30, 0.2, seed=1)
    matrices.mmwrite(tmp_path / "random.mtx", nx.to_scipy_sparse_array(graph, weight=None))
    network = open_graph(tmp_path / "random.mtx").parts.network
    found = {tuple(sorted(edge)) for edge in network.original[network.edges].T.tolist()}
    assert found == {tuple(sorted(edge)) for edge in graph.edges}


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("a.txt", "", "this one is empty"),
        ("a.csv", "", "this one is empty"),
        ("a.npz", "", "this one is empty"),
        ("a.txt", "# nothing\n\n", "at least one edge, two numbers a line; this one has none"),
        ("a.txt", "source target\n0 1\n", r"line 1 of a\.txt is 'source target'.*Put # before a line of names"),
        ("a.txt", "# ids\nalice bob\n", r"line 2 of a\.txt is 'alice bob'.*a \.csv whose first line is source,target"),
        ("a.txt", "0 1\n\n1 2\n2\n", r"line 4 of a\.txt is '2'"),
        ("a.txt", "0 1\n1,2\n", r"line 2 of a\.txt is '1,2'"),
        ("a.txt", "0,1\n1 2\n", r"line 2 of a\.txt is '1 2'"),
        ("a.txt", "0 1\n1 0.5\n", r"line 2 of a\.txt is '1 0\.5'"),
        ("a.txt", "0 1\n1 99999999999999999999\n", r"line 2 of a\.txt is '1 9999"),
        ("a.txt", "0 1".encode("utf-16"), r"line 1 of a\.txt is"),
        ("a.csv", "0,1\n1,2\n", r"columns of a\.csv is '0, 1'; allowed: source and target.*read from a \.txt"),
        ("a.csv", "source;target\n0;1\n", r"columns of a\.csv is 'source;target'"),
        ("a.csv", "source,target\n0,\n", r"'target' in line 2 of a\.csv is 'empty or NaN'; allowed: an id"),
        ("a.csv", "source,target\n", "allowed: at least one edge"),
        ("a.csv", "source,target,graph\n0,1,0\n", "a collection is a list of Data"),
        ("a.mtx", "0 1\n", r"first line of a\.mtx is '0 1'; allowed: %%MatrixMarket matrix coordinate"),
        ("a.mtx", "%%MatrixMarket matrix array real general\n1 1\n1\n", r"first line of a\.mtx is '%%matrixmarket"),
        ("a.mtx", MARKET.replace("pattern", "real") + "2 1\n", "is '2 1'; allowed: three whole numbers: rows, columns"),
        ("a.mtx", MARKET + "2 1\n3 2 1\n3 x\n", r"line 4 of a\.mtx is '3 x'"),
        ("a.mtx", MARKET, "is ''; allowed: three whole numbers"),
        ("a.mtx", MARKET + "3 3 2\n2 1\n3 2\x0e", "could not convert string"),
        ("a.mtx", MARKET + "3 3 1\n0 1\n", r"a place in a\.mtx is 0; allowed: numbers from 1 to 3"),
        ("a.mtx", MARKET + "3 3 1\n1 4\n", r"a node in edge_index of a\.mtx is 3; allowed: numbers from 0 to 2"),
        ("a.mtx", MARKET + "3 3 2\n% none\n", r"number of entries in a\.mtx is 0; allowed: 2"),
        ("a.mtx", MARKET + "0 0 0\n", r"num_nodes of a\.mtx is 0"),
        ("a.mtx", MARKET + "3 4 1\n1 2\n", r"shape of the matrix of a\.mtx is \(3, 4\); allowed: as many rows"),
        ("a.mtx", MARKET + "3 3 9\n1 2\n", r"number of entries in a\.mtx is 1; allowed: 9, as the file says"),
        ("a.mtx", MARKET + "3 3 999999999999\n1 2\n", r"number of entries in a\.mtx is 1; allowed: 999999999999"),
        ("a.mtx", MARKET + "999999999999 999999999999 1\n1 2\n", "at most 100,000,000"),
        ("a.txt.gz", "0 1\n", "a file that unpacks"),
        ("a.net", '*Vertices 3\n1 "a"\n', "as many lines as it says"),
        ("a.txt.gz", gzip.compress(b"0 1\n" * 1000)[:20], "a file that unpacks"),
        ("a.gz", gzip.compress(b"0 1\n"), r"a file that ends in \.txt.*or one of them and \.gz"),
        ("a.zip", "PK", r"a file that ends in \.txt"),
        ("a.gml", "graph " * 9, "a file that reads"),
        ("a.gml", "a [" * 5000, "RecursionError"),
        ("a.graphml", "<graphml>", "ParseError"),
        ("a.xml", "<html></html>", "not successfully read as graphml"),
    ],
)
def test_a_file_without_a_graph_is_told(name: str, text: str | bytes, words: str, tmp_path: Path) -> None:
    with pytest.raises(BadValue, match=words):
        open_text(tmp_path, name, text)


def test_a_file_that_unpacks_to_more_than_is_sane_is_told(tmp_path: Path) -> None:
    # 300 MB of nothing, packed into 300 kB.
    with pytest.raises(BadValue, match=r"a file that unpacks .*more than"):
        open_text(tmp_path, "bomb.txt.gz", gzip.compress(bytes(300_000_000)))


EDGES = np.array([[0, 1], [1, 2]])


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (lambda: b"\x80\x04random bytes", "a whole .npz archive"),
        (lambda: arrays(edge_index=np.arange(4000).reshape(2, -1))[:9000], "a whole .npz archive"),
        (lambda: arrays(edge_index=np.array([[0, None], [1, "a"]], dtype=object)), "Python objects, which are never"),
        (
            lambda: arrays(edge_index=np.array([[0, -1], [1, 2]])),
            r"a node in edge_index of a.npz is -1; allowed: numbers",
        ),
        (
            lambda: arrays(edge_index=np.array([[0, 0.5], [1, 2]])),
            r"a number in edge_index of a.npz is 0.5; allowed: who",
        ),
        (lambda: arrays(edge_index=np.array([[0, np.nan], [1, 2]])), "is nan; allowed: whole numbers"),
        (
            lambda: arrays(edge_index=EDGES, num_nodes=2),
            "a node in edge_index of a.npz is 2; allowed: numbers from 0 to 1",
        ),
        (lambda: arrays(edge_index=EDGES, num_nodes=2.5), "num_nodes of a.npz is 2.5; allowed: one whole number"),
        (lambda: arrays(edge_index=EDGES, num_nodes=10**12), "number of nodes is 1000000000000; allowed: at most 100,"),
        (lambda: arrays(edge_index=np.array([[0], [10**12]])), "number of nodes is 1000000000001.*numpy.unique"),
        (lambda: arrays(edge_index=np.array([[0], [2**64 - 1]], dtype=np.uint64)), "at most 100,000,000"),
        (lambda: arrays(edge_index=np.arange(4)), r"shape of edge_index of a.npz is \(4,\); allowed: \(2, edges\)"),
        (lambda: arrays(edge_index=np.array([["a"], ["b"]])), "type of edge_index of a.npz is '<U1'"),
        (lambda: arrays(indptr=[0, 9, 2], indices=[1, 0], shape=[2, 2]), "indptr must be a non-decreasing sequence"),
        (lambda: arrays(indptr=[0, 1, 2], indices=[1, 7], shape=[2, 2]), "indices must be < 2"),
        (lambda: sparse_of(sparse.coo_array((3, 4))), r"shape of the matrix of a.npz is \(3, 4\)"),
    ],
)
def test_an_archive_without_a_graph_is_told_and_nothing_in_it_is_run(
    given: Callable[[], bytes], words: str, tmp_path: Path
) -> None:
    with pytest.raises(BadValue, match=words) as raised:
        open_text(tmp_path, "a.npz", given())
    assert "allow_pickle" not in str(raised.value)


def test_a_damaged_archive_is_told(tmp_path: Path) -> None:
    whole = bytearray(arrays(edge_index=np.arange(4000).reshape(2, -1)))
    middle = len(whole) // 2
    whole[middle] ^= 255
    with pytest.raises(BadValue, match=r"an \.npz archive of plain arrays of numbers that reads \(BadZipFile"):
        open_text(tmp_path, "a.npz", bytes(whole))


def test_an_archive_that_unpacks_to_far_more_is_refused_unread(tmp_path: Path) -> None:
    np.savez_compressed(tmp_path / "bomb.npz", edge_index=np.zeros((2, 5_000_000), dtype=np.int64))
    assert (tmp_path / "bomb.npz").stat().st_size < 200_000
    with pytest.raises(BadValue, match=r"unpacked size of .* is '80,000,\d+ bytes'; allowed: at most 67,108,864"):
        open_graph(tmp_path / "bomb.npz")


def test_numbers_that_some_edges_lack_are_left_out() -> None:
    graph = nx.path_graph(4)
    graph.edges[0, 1]["weight"] = 0.5
    nx.set_node_attributes(graph, {node: float("nan") if node else 1.0 for node in graph}, "age")
    nx.set_node_attributes(graph, 2, "size")
    opened = open_graph(graph).graphs[0]
    assert opened.edge_attr is None
    assert opened.x.tolist() == [[2.0]] * 4
