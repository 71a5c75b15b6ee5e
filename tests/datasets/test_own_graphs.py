"""Graphs of one's own: what tables and networks say is what the graph says, and every mistake has its line."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import networkx as nx
import pandas as pd
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch_geometric.data import Data
from torch_geometric.utils import to_networkx

from gnz_track.datasets.collation import collate
from gnz_track.datasets.own.graphs import from_networkx, read_network, read_tables
from gnz_track.datasets.own.tasks import own_row, task_from_dataset
from gnz_track.datasets.preparation import prepare
from gnz_track.errors import BadValue, GnzError, UnknownName

EDGES = "source,target,weight\na,b,0.5\nb,c,1.5\nc,a,2\nc,d,1\n"
NODES = "id,age,height,club,split\na,1,0.5,red,train\nb,2,1.5,blue,val\n\nc,3,2.5,red,test\nd,4,3.5,blue,\n"


@pytest.fixture
def write(tmp_path: Path) -> Callable[[str, str], Path]:
    def write(name: str, text: str) -> Path:
        (tmp_path / name).write_text(text, encoding="utf-8")
        return tmp_path / name

    return write


Writer = Callable[[str, str], Path]


def _edges(data: Data) -> set[tuple[int, int]]:
    return set(map(tuple, data.edge_index.t().tolist()))


def test_tables_make_a_graph(write: Writer) -> None:
    data = read_tables(write("edges.csv", EDGES), write("nodes.csv", NODES), label="club")
    assert torch.equal(data.x, torch.tensor([[1, 0.5], [2, 1.5], [3, 2.5], [4, 3.5]]))
    assert data.y.tolist() == [1, 0, 1, 0]
    assert data.train_mask.tolist() == [True, False, False, False]
    assert data.test_mask.tolist() == [False, False, True, False]
    once = [(0, 1), (1, 2), (2, 0), (2, 3)]
    assert data.edge_index.t().tolist() == [list(pair) for pair in [*once, *((b, a) for a, b in once)]]
    assert data.edge_attr.squeeze(1).tolist() == [0.5, 1.5, 2, 1] * 2
    directed = read_tables(write("edges.csv", EDGES), write("nodes.csv", NODES), label="club", is_directed=True)
    assert directed.edge_index.t().tolist() == [list(pair) for pair in once]
    collate([data])


def test_an_edge_list_alone_is_enough(write: Writer) -> None:
    data = read_tables(write("edges.tsv", "source\ttarget\n10\t9\n9\t10\n9\t100\n100\t100\n"))
    # Numbers are ordered as numbers, an edge named twice is one, a loop is one.
    assert (data.num_nodes, _edges(data)) == (3, {(0, 1), (1, 0), (0, 2), (2, 0), (2, 2)})
    assert data.num_edges == 5
    assert set(data.keys()) == {"edge_index", "num_nodes"}


def test_frames_and_parquet_are_read_as_text_is(write: Writer, tmp_path: Path) -> None:
    paths = {"edges": write("edges.csv", EDGES), "nodes": write("nodes.csv", NODES)}
    expected = read_tables(**paths, label="club")
    frames = {role: pd.read_csv(path) for role, path in paths.items()}
    for role, frame in frames.items():
        frame.to_parquet(tmp_path / f"{role}.parquet")
    parquet = {role: tmp_path / f"{role}.parquet" for role in frames}
    for found in (read_tables(**frames, label="club"), read_tables(**parquet, label="club")):
        assert found.keys() == expected.keys()
        assert all(torch.equal(found[key], expected[key]) for key in expected.keys() if key != "num_nodes")  # noqa: SIM118


GRAPHS = "id,label,split\ng1,0,train\ng2,1,test\ng3,0,val\n"
GRAPH_NODES = "id,graph,x\n1,g1,1\n2,g1,2\n1,g2,3\n2,g2,4\n3,g2,5\n1,g3,6\n"
GRAPH_EDGES = "graph,source,target\ng1,1,2\ng2,2,3\ng2,1,3\n"


def test_many_graphs_and_their_published_parts(write: Writer) -> None:
    tables = [write(n, t) for n, t in (("e.csv", GRAPH_EDGES), ("n.csv", GRAPH_NODES), ("g.csv", GRAPHS))]
    train, val, test = read_tables(*tables)
    assert [len(part) for part in (train, val, test)] == [1, 1, 1]
    assert (train[0].x.flatten().tolist(), val[0].x.flatten().tolist()) == ([1, 2], [6])
    assert [graph.y.tolist() for graph in (train[0], val[0], test[0])] == [[0], [0], [1]]
    assert _edges(test[0]) == {(1, 2), (2, 1), (0, 2), (2, 0)}
    assert val[0].edge_index.shape == (2, 0)
    # Ids that do not repeat need no graph beside the edge; without a split, a list.
    nodes = GRAPH_NODES.replace("1,g2", "7,g2").replace("2,g2", "8,g2").replace("3,g2", "9,g2").replace("1,g3", "0,g3")
    tables[0] = write("e2.csv", "source,target\n1,2\n8,9\n7,9\n")
    tables[1] = write("n2.csv", nodes)
    tables[2] = write("g2.csv", "id,label\ng1,0\ng2,1\ng3,0\n")
    listed = read_tables(*tables)
    assert [graph.num_nodes for graph in listed] == [2, 3, 1]
    assert _edges(listed[1]) == _edges(test[0])
    collate(listed)


def test_labelled_edges_are_an_edge_task(write: Writer) -> None:
    edges = write("e.csv", "source,target,weight,label,split\na,b,1,ham,train\nb,c,2,spam,val\nc,a,3,ham,test\n")
    data = read_tables(edges)
    assert data.edge_label_index.t().tolist() == [[0, 1], [1, 2], [2, 0]]
    assert data.edge_label.tolist() == [0, 1, 0]
    assert data.edge_label_attr.flatten().tolist() == [1, 2, 3]
    assert data.edge_index.size(1) == 6
    assert data.val_edge_mask.tolist() == [False, True, False]


def test_labels_of_several_columns_and_missing_ones(write: Writer) -> None:
    edges = write("e.csv", "source,target\n1,2\n2,3\n")
    nodes = write("n.csv", "id,a,b\n1,0,1\n2,1,0\n3,1,\n")
    with pytest.raises(BadValue, match=r"'b' in line 4 of n.csv is 'empty or NaN'; allowed: a label in every line"):
        read_tables(edges, nodes, label=("a", "b"))
    data = read_tables(edges, nodes, label="b", ignore=["a"], allow_unlabelled=True)
    assert (data.y.tolist(), data.y.dtype) == ([1, 0, -1], torch.int64)
    assert "x" not in data
    assert read_tables(edges, nodes, label="a", ignore="b").y.tolist() == [0, 1, 1]
    real = read_tables(edges, write("r.csv", "id,label\n1,0.5\n2,-1.5\n3,\n"), allow_unlabelled=True)
    assert real.y[:2].tolist() == [0.5, -1.5]
    assert real.y[2].isnan()


# What is wrong: edges, nodes, options -> the message.
WRONG: dict[str, tuple[str, str, dict[str, Any], str]] = {
    "unknown node": (
        "source,target\na,b\na,z\n",
        NODES,
        {},
        "'target' in line 3 of edges.csv is 'z'; allowed: an id of the",
    ),
    "two unknown": ("source,target\na,y\na,z\n", NODES, {}, r"line 2 of edges.csv \(1 more\) is 'y'"),
    "no end": (
        "source,target\na,b\na,\n",
        NODES,
        {},
        "'target' in line 3 of edges.csv is 'empty or NaN'; allowed: an id in",
    ),
    "no column": ("from,target\na,b\n", NODES, {}, "unknown column of edges.csv 'source'; known: from, target"),
    "near column": ("Source,target\na,b\n", NODES, {}, "unknown column of edges.csv 'source'; did you mean 'Source'"),
    "repeated id": (
        EDGES,
        "id,age\na,1\nb,1\nc,2\nd,2\nb,3\n",
        {},
        "line 6 of nodes.csv is 'b'; .* stands in line 3 too",
    ),
    "text": (
        EDGES,
        "id,city\na,Rome\nb,Oslo\nc,Bonn\nd,Kyiv\n",
        {},
        r"'city' in line 2 of nodes.csv \(3 more\) is 'Rome'",
    ),
    "remedy": (
        EDGES,
        "id,city\na,1\nb,x\nc,2\nd,2\n",
        {},
        r"line 3 .*label='city'.*ignore=\('city',\), or encode it: pandas.get_dummies",
    ),
    "empty feature": (
        EDGES,
        "id,age\na,1\nb,\nc,2\nd,2\n",
        {},
        "'age' in line 3 of nodes.csv is 'empty or NaN'; allowed: finite",
    ),
    "infinite": (EDGES, "id,age\na,1\nb,inf\nc,2\nd,2\n", {}, "'age' in line 3 of nodes.csv is inf"),
    "after a blank": (EDGES, "id,age\na,1\n\nb,x\nc,2\nd,2\n", {}, "'age' in line 4 of nodes.csv is 'x'"),
    "label": (EDGES, NODES, {"label": "clubs"}, "unknown column of labels 'clubs'; did you mean 'club'"),
    "option": (EDGES, NODES, {"labels": "club"}, "unknown option 'labels'; did you mean 'label'"),
    "split": (
        EDGES,
        NODES.replace("val", "vall"),
        {"label": "club"},
        "'split' in line 3 of nodes.csv is 'vall'; allowed: train",
    ),
    "no label": (
        EDGES,
        NODES.replace(",red,test", ",,test"),
        {"label": "club"},
        "'club' in line 5 of nodes.csv is 'empty or NaN'",
    ),
    "negative class": (EDGES, "id,label\na,1\nb,-2\nc,0\nd,1\n", {}, "'label' in line 3 of nodes.csv is -2"),
    "edge twice": (
        "source,target,w\na,b,1\nb,a,2\n",
        NODES,
        {"label": "club"},
        "line 3 of edges.csv is 'b'; .*line 2 has it",
    ),
    "ragged": ("source,target\na,b,c,d\na\n1,2,3\n", NODES, {}, "the table of edges is .*allowed: a table that reads"),
}


@pytest.mark.parametrize("what", WRONG)
def test_mistakes_are_named_with_their_line(what: str, write: Writer) -> None:
    edges, nodes, options, message = WRONG[what]
    if "club" not in options.values():
        options = {"ignore": ("club",), **options}
    with pytest.raises((BadValue, UnknownName), match=message):
        read_tables(write("edges.csv", edges), write("nodes.csv", nodes), **options)


def test_mistakes_of_many_graphs(write: Writer) -> None:
    def read(edges: str = GRAPH_EDGES, nodes: str = GRAPH_NODES, graphs: str = GRAPHS) -> Any:
        return read_tables(write("e.csv", edges), write("n.csv", nodes), write("g.csv", graphs))

    with pytest.raises(BadValue, match=r"'graph' in line 7 of n.csv is 'g3'; allowed: an id of g.csv"):
        read(graphs="id,label\ng1,0\ng2,1\n")
    with pytest.raises(BadValue, match=r"'id' in line 4 of g.csv is 'g1'; .*stands in line 2 too"):
        read(graphs=GRAPHS.replace("g3", "g1"))
    with pytest.raises(BadValue, match=r"'split' in line 3 of g.csv is 'empty or NaN'"):
        read(graphs=GRAPHS.replace("test", ""))
    with pytest.raises(BadValue, match=r"'source' in line 2 of e.csv is 1; allowed: an id of the table of nodes"):
        read(edges=GRAPH_EDGES.replace("g1,1", "g9,1"))
    with pytest.raises(BadValue, match=r"'id' in line 4 of n.csv .*stands in line 2 too"):
        read(edges="source,target\n1,2\n")
    crossing = "id,graph\n1,g1\n2,g2\n3,g3\n"
    with pytest.raises(BadValue, match=r"'target' in line 2 of e.csv is 2; allowed: a node of the same graph"):
        read(edges="source,target\n1,2\n", nodes=crossing)
    with pytest.raises(BadValue, match=r"a column of one of g.csv and n.csv; rename"):
        read(nodes=GRAPH_NODES.replace("x", "label"))
    with pytest.raises(BadValue, match="the table of nodes is None"):
        read_tables(write("e.csv", GRAPH_EDGES))


@pytest.mark.parametrize("name", ["edges.xlsx", "absent.csv"])
def test_files_that_cannot_be_tables(name: str, write: Writer, tmp_path: Path) -> None:
    write("edges.xlsx", "")
    with pytest.raises(BadValue, match=r"a file that exists and ends in \.csv, \.tsv, \.parquet"):
        read_tables(tmp_path / name)
    with pytest.raises(BadValue, match="a table that reads"):
        read_tables(write("empty.csv", ""))
    with pytest.raises(BadValue, match="saw 4\\)") as caught:
        read_tables(write("long.csv", "source,target\n1,2\n1,2,3,4\n"))
    assert "\n" not in str(caught.value)


# Networks -----------------------------------------------------------------------------------------------------------


def _karate() -> nx.Graph:
    graph = nx.karate_club_graph()
    nx.set_node_attributes(graph, {node: node / 2 for node in graph}, "age")
    return graph


@pytest.mark.parametrize("kind", ["graphml", "gml", "memory"])
def test_a_network_is_read_from_every_form(kind: str, tmp_path: Path) -> None:
    graph, path = _karate(), tmp_path / f"karate.{kind}"
    if kind == "memory":
        data = from_networkx(graph, label="club")
    else:
        {"graphml": nx.write_graphml, "gml": nx.write_gml}[kind](graph, path)
        # What GML calls a label is the name of a node.
        data = read_network(path, label="club", ignore=("label",))
    assert data.x.flatten().tolist() == [node / 2 for node in range(34)]
    expected = [int(graph.nodes[node]["club"] == "Officer") for node in graph]
    assert data.y.tolist() == expected
    found = to_networkx(data, to_undirected=True)
    assert set(found.edges) == set(graph.edges)
    weights = {tuple(edge): weight for edge, weight in zip(data.edge_index.t().tolist(), data.edge_attr, strict=True)}
    assert all(weights[a, b] == weights[b, a] == w for a, b, w in graph.edges(data="weight"))


@settings(deadline=None, max_examples=40)
@given(n=st.integers(1, 12), p=st.floats(0, 1), seed=st.integers(0, 99), is_directed=st.booleans())
def test_networkx_there_and_back(n: int, p: float, seed: int, is_directed: bool) -> None:  # noqa: FBT001
    graph = nx.gnp_random_graph(n, p, seed=seed, directed=is_directed)
    data = from_networkx(graph)
    assert data.num_nodes == n
    assert data.num_edges == graph.number_of_edges() * (1 if is_directed else 2)
    assert nx.utils.graphs_equal(nx.DiGraph(to_networkx(data)), graph.to_directed())


def test_mistakes_in_networks_are_named(tmp_path: Path) -> None:
    graph = _karate()
    with pytest.raises(BadValue, match=r"'club' in node 0 of the nodes .* is 'Mr. Hi'; allowed: numbers"):
        from_networkx(graph)
    del graph.nodes[3]["age"]
    with pytest.raises(BadValue, match="'age' in node 3 of the nodes is 'empty or NaN'"):
        from_networkx(graph, ignore="club")
    with pytest.raises(UnknownName, match="unknown column of labels 'clubb'; did you mean 'club'"):
        from_networkx(graph, label="clubb")
    with pytest.raises(BadValue, match="is_directed"):
        from_networkx(graph, is_directed=True)
    for name, text in (("a.graphml", "<graphml"), ("a.gml", "graph ["), ("a.gml", "nothing")):
        (tmp_path / name).write_text(text)
        with pytest.raises(BadValue, match="a file that reads"):
            read_network(tmp_path / name)
    with pytest.raises(BadValue, match=r"ends in \.graphml, \.xml, \.gml"):
        read_network(tmp_path / "a.net")


# Cards --------------------------------------------------------------------------------------------------------------

CARD = {"source": "our laboratory", "licence": "CC-BY-4.0", "citation": "Doe, 2025", "notes": ""}


def test_a_card_travels_with_its_task(tmp_path: Path) -> None:
    task = task_from_dataset("karate", "node_cls", from_networkx(_karate(), label="club"), card=CARD)
    for one in (task, pickle.loads(pickle.dumps(task))):
        row = own_row(one)
        assert (row.source, row.licence, row.citation, row.url) == ("our laboratory", "CC-BY-4.0", "Doe, 2025", "")
    silent = own_row(task_from_dataset("karate", "node_cls", Data()))
    assert (silent.source, silent.licence) == ("given by the user", "not stated")
    assert len(prepare(task, seed=0, home=tmp_path)) == 1


@pytest.mark.parametrize(
    ("card", "message"),
    [
        ({"license": "MIT"}, "unknown field of a card 'license'; did you mean 'licence'"),
        ({"licence": ""}, "licence of the card is ''; allowed: a text"),
        ({"citation": 2025}, "citation of the card is 2025"),
    ],
)
def test_a_card_is_checked(card: Any, message: str) -> None:
    with pytest.raises(GnzError, match=message):
        task_from_dataset("karate", "node_cls", Data(), card=card)
