"""A graph by file, by name, and as an object."""

from __future__ import annotations

from pathlib import Path

import networkx as nx
import numpy as np
import pandas as pd
import pytest
import torch
from scipy import sparse
from torch_geometric.data import Batch, Data, HeteroData
from torch_geometric.loader import DataLoader

from gnz_track.datasets.catalogue import DATASETS, TASKS
from gnz_track.errors import BadValue, UnknownName
from gnz_track.selection.evidence import digest_of_graphs
from gnz_track.selection.features.feature_sets import FEATURE_SETS
from gnz_track.selection.graph_input import OpenedGraph, open_graph

KARATE = np.array(nx.karate_club_graph().edges).T


def compact(opened: OpenedGraph) -> np.ndarray:
    """Return the features that tell graphs apart."""
    return FEATURE_SETS.get("compact").compute(opened.parts)


def write_file(folder: Path, suffix: str) -> Path:
    """Write the karate club in the form of a suffix."""
    path = folder / f"karate{suffix}"
    if suffix in {".txt", ".edges", ".edgelist"}:
        path.write_text("# a comment\n" + "".join(f"{a} {b}\n" for a, b in KARATE.T), encoding="utf-8")
    elif suffix == ".csv":
        pd.DataFrame({"source": KARATE[0], "target": KARATE[1]}).to_csv(path, index=False)
    elif suffix == ".parquet":
        pd.DataFrame({"source": KARATE[0], "target": KARATE[1]}).to_parquet(path)
    elif suffix == ".npz":
        np.savez(path, edge_index=KARATE, num_nodes=34)
    else:
        bare = nx.Graph(list(KARATE.T.tolist()))
        (nx.write_graphml if suffix == ".graphml" else nx.write_gml)(bare, path)
    return path


@pytest.mark.parametrize("suffix", [".txt", ".edges", ".edgelist", ".csv", ".parquet", ".npz", ".graphml", ".gml"])
def test_every_form_of_file_is_the_same_graph(suffix: str, tmp_path: Path) -> None:
    opened = open_graph(str(write_file(tmp_path, suffix)))
    assert opened.name == f"karate{suffix}"
    assert opened.task is None
    assert compact(opened) == pytest.approx(compact(open_graph(nx.Graph(list(KARATE.T.tolist())))))


def test_a_line_of_names_may_be_a_comment_with_spaces(tmp_path: Path) -> None:
    file = tmp_path / "edges.csv"
    file.write_text("# source, target, kind\n" + "".join(f"{a}, {b}, road\n" for a, b in KARATE.T), encoding="utf-8")
    assert compact(open_graph(file)) == pytest.approx(compact(open_graph(nx.Graph(list(KARATE.T.tolist())))))


def test_a_sparse_matrix_of_scipy_keeps_isolated_nodes(tmp_path: Path) -> None:
    matrix = sparse.csr_matrix((np.ones(2), ([0, 1], [1, 2])), shape=(5, 5))
    sparse.save_npz(tmp_path / "graph.npz", matrix)
    network = open_graph(tmp_path / "graph.npz").parts.network
    assert (network.n_nodes, network.n_edges) == (5, 2)


def test_a_name_of_the_catalogue_brings_its_task_and_its_contents(tmp_path: Path) -> None:
    opened = open_graph("planted_partition", home=tmp_path)
    assert opened.task is not None
    assert opened.task.name == "planted_partition"
    found = dict(zip(FEATURE_SETS.get("task").names, FEATURE_SETS.get("task").compute(opened.parts), strict=True))
    assert found["n_classes.log"] > 0
    assert found["n_attributes.log"] > 0


def test_a_list_of_graphs_is_one_collection() -> None:
    triangle = torch.tensor([[0, 1, 2], [1, 2, 0]])
    graphs = [Data(edge_index=triangle, x=torch.ones(3, 2), y=torch.tensor([label])) for label in (0, 1, -1)]
    parts = open_graph(graphs).parts
    assert (parts.network.n_nodes, parts.network.n_edges) == (9, 9)
    assert parts.contents.node_ptr.tolist() == [0, 3, 6, 9]
    assert parts.contents.labels is not None
    assert np.isnan(parts.contents.labels).tolist() == [False, False, True]


def test_what_is_no_graph_is_told(tmp_path: Path) -> None:
    with pytest.raises(UnknownName, match="did you mean 'cora'"):
        open_graph("coraa", home=tmp_path)
    with pytest.raises(BadValue, match=r"a file that exists, ending in \.txt"):
        open_graph(str(tmp_path / "none.txt"))
    with pytest.raises(BadValue, match="a path, a name, a Task; a Data"):
        open_graph(3)
    broken = tmp_path / "broken.txt"
    broken.write_text("a b\n", encoding="utf-8")
    with pytest.raises(BadValue, match=r"line 1 of broken\.txt is 'a b'; allowed: two whole numbers"):
        open_graph(broken)
    np.savez(tmp_path / "odd.npz", weights=np.ones(3))
    with pytest.raises(BadValue, match=r"arrays of odd.npz is 'weights'"):
        open_graph(tmp_path / "odd.npz")


def test_graphs_of_networkx_are_a_collection_as_others_are() -> None:
    path, whole = nx.path_graph(3), nx.complete_graph(4)
    both = [Data(edge_index=torch.tensor([*graph.edges]).T, num_nodes=len(graph)) for graph in (path, whole)]
    expected = open_graph(both)
    for source in ([path, whole], (path, both[1]), (graph for graph in (path, whole))):
        opened = open_graph(source)
        assert opened.parts.contents.node_ptr.tolist() == [0, 3, 7]
        assert compact(opened) == pytest.approx(compact(expected))


def test_batches_and_datasets_of_pyg_are_collections() -> None:
    graphs = [Data(edge_index=torch.tensor([[0, 1], [1, 2]]), x=torch.ones(3, 1)) for _ in range(4)]
    batch = Batch.from_data_list(graphs)
    for source in (batch, DataLoader(graphs, batch_size=3), [batch.get_example(0), *graphs[1:]]):
        assert open_graph(source).parts.contents.node_ptr.tolist() == [0, 3, 6, 9, 12]


def test_a_matrix_of_scipy_is_a_graph() -> None:
    matrix = nx.to_scipy_sparse_array(nx.karate_club_graph())
    for given in (matrix, matrix.todia(), [sparse.csc_matrix(matrix)]):
        assert compact(open_graph(given)) == pytest.approx(compact(open_graph(nx.karate_club_graph())))
    with pytest.raises(BadValue, match=r"shape of the matrix of the graph is \(3, 4\)"):
        open_graph(sparse.coo_array((3, 4)))


def test_notes_beside_a_graph_and_odd_numbers_in_it_are_no_reason_to_refuse_it() -> None:
    edges = torch.tensor([[0, 1, 2], [1, 2, 0]])
    x = torch.tensor([[1.0, 3e38], [float("inf"), -3e38], [float("nan"), 0.0]])
    opened = open_graph(Data(edge_index=edges, x=x, y=torch.zeros(0), names=["a", "b", "c"], table={"k": None}))
    assert np.isfinite(FEATURE_SETS.get("task").compute(opened.parts)).all()
    # Who asks whether it was run before, or runs it, meets none of them.
    assert {*opened.graphs[0].keys()} == {"edge_index", "x", "y"}
    assert digest_of_graphs(opened.graphs)
    graph = nx.path_graph(3)
    nx.set_node_attributes(graph, np.int64(3), "whole")
    nx.set_node_attributes(graph, 10**400, "beyond")
    attributes = open_graph(graph).parts.contents.attributes
    assert attributes is not None
    assert attributes.tolist() == [[3.0]] * 3


def test_a_task_and_a_row_are_what_their_names_are(tmp_path: Path) -> None:
    by_name = open_graph("planted_partition", home=tmp_path)
    by_task = open_graph(TASKS.get("planted_partition"), home=tmp_path)
    by_row = open_graph(DATASETS.get("planted_partition"), home=tmp_path)
    assert (by_task.name, by_task.task, by_row.task) == (by_name.name, by_name.task, None)
    for opened in (by_task, by_row):
        assert compact(opened) == pytest.approx(compact(by_name))


def test_edges_that_repeat_with_weights_count_once() -> None:
    graph = nx.MultiGraph([("a", "b", {"weight": 1.0}), ("a", "b", {"weight": 2.0}), ("b", "c", {"weight": 3.0})])
    for given in (graph, nx.MultiDiGraph(graph)):
        parts = open_graph(given).parts
        assert (parts.network.n_nodes, parts.network.n_edges) == (3, 2)
        assert parts.contents.n_edge_attributes == 1


def test_attributes_that_tables_give_a_meaning_say_nothing() -> None:
    graph = nx.path_graph(3)
    nx.set_node_attributes(graph, {0: 0, 1: 1, 2: 1}, "graph")
    nx.set_node_attributes(graph, 7, "split")
    nx.set_edge_attributes(graph, 1, "graph")
    assert open_graph(graph).parts.network.n_edges == 2


def test_a_graph_without_edges_has_features() -> None:
    graph = nx.empty_graph(5)
    opened = open_graph(graph)
    for name in FEATURE_SETS:
        assert np.isfinite(FEATURE_SETS.get(name).compute(opened.parts)).all(), name


@pytest.mark.parametrize(
    ("source", "words"),
    [
        (nx.Graph(), "number of nodes of the graph is 0"),
        ([], "the number of graphs is 0"),
        (["edges.txt"], "graph 0 of the list is 'str'"),
        (None, "the graph is 'NoneType'"),
        (Data(x=torch.ones(3, 2)), "edge_index of the graph is None"),
        ([Data(x=torch.ones(3, 2))], "edge_index of graph 0 of the list is None"),
        (Data(edge_index=torch.tensor([[0], [10**12]])), "number of nodes is 1000000000001; allowed: at most"),
        (Data(edge_index=torch.tensor([[0], [1]]), num_nodes=10**12), "number of nodes is 1000000000000"),
        (HeteroData(), "the graph is 'HeteroData'"),
        (Data(edge_index=torch.tensor([[0], [1]]), x=torch.ones(5, 2), num_nodes=2), r"shape of x of graph 0 is"),
        (Data(edge_index=torch.tensor([[0], [-1]]), num_nodes=3), r"edge_index is \[0, -1\]"),
    ],
)
def test_an_object_that_is_no_graph_is_told(source: object, words: str) -> None:
    with pytest.raises(BadValue, match=words):
        open_graph(source)


@pytest.mark.parametrize("kind", [nx.Graph, nx.DiGraph])
def test_graph_is_known_however_it_was_put_together(kind: type[nx.Graph], tmp_path: Path) -> None:
    edges = [(3, 1), (1, 2), (2, 0), (0, 3), (4, 0)]
    found = set()
    for listed in (edges, edges[::-1], [(b, a) for a, b in edges] if kind is nx.Graph else edges[2:] + edges[:2]):
        graph = kind()
        graph.add_nodes_from([4, 0] if listed == edges else [])
        graph.add_edges_from((a, b, {"name": f"{a}{b}"}) for a, b in listed)
        found.add(digest_of_graphs(open_graph(graph).graphs))
    if kind is nx.Graph:
        (tmp_path / "a.txt").write_text("\n".join(f"{a + 7} {b + 7}" for a, b in edges))
        found.add(digest_of_graphs(open_graph(tmp_path / "a.txt").graphs))
    assert len(found) == 1
    assert graph.edges[3, 1] == {"name": "31"} if kind is nx.DiGraph else True


def test_weights_go_with_their_edges() -> None:
    graph = nx.Graph([(2, 1, {"w": 21.0}), (0, 2, {"w": 2.0}), (1, 0, {"w": 10.0})])
    data = open_graph(graph).graphs[0]
    assert data.edge_index.T.tolist() == [[0, 1], [0, 2], [1, 0], [1, 2], [2, 0], [2, 1]]
    assert data.edge_attr[:, 0].tolist() == [10.0, 2.0, 10.0, 21.0, 2.0, 21.0]


def test_file_that_was_meant_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "club.txt").write_text("0 1")
    (tmp_path / "club.pt").write_text("")
    with pytest.raises(UnknownName, match=r"did you mean 'club\.txt'\?"):
        open_graph("club")
    with pytest.raises(BadValue, match=r"from Python, also a Data of PyG: gnz_track\.recommend\(data\)"):
        open_graph("club.pt")
