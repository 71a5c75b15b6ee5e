"""What no split and no training could make of a graph is told before anything is trained."""

from __future__ import annotations

import contextlib
from pathlib import Path

import networkx as nx
import numpy as np
import pytest
import torch
from selection.conftest import Past
from torch_geometric.data import Data

from gnz_track.datasets.preparation import prepare
from gnz_track.datasets.splits.links import split_links
from gnz_track.errors import BadValue, SplitImpossible
from gnz_track.selection.confirmation import task_of
from gnz_track.selection.feasibility import note_on_labels, reason_against
from gnz_track.selection.graph_input import open_graph, view_as, view_whole
from gnz_track.selection.recommendation import recommend
from gnz_track.types import TaskType

KARATE = nx.karate_club_graph()


def test_what_cannot_be_confirmed_is_told(past: Past) -> None:
    assert reason_against(open_graph(KARATE), TaskType.link_pred) == ""
    assert "no labels" in reason_against(open_graph(KARATE), TaskType.node_cls)
    pair = open_graph(nx.path_graph(2))
    assert "1 edge, at least 3" in reason_against(pair, TaskType.link_pred)
    assert reason_against(open_graph(nx.complete_graph(5)), TaskType.link_pred) == (
        "10 edges among 5 nodes leave fewer non-edges than edges, and as many are needed"
    )
    triangle = nx.Graph([(0, 1), (1, 2), (2, 0), (0, 0), (1, 1), (2, 2)])
    assert "3 edges among 3 nodes" in reason_against(open_graph(triangle), TaskType.link_pred)
    # Of a directed graph each direction is a link, and may be absent.
    ring = open_graph(nx.cycle_graph(3, create_using=nx.DiGraph))
    assert reason_against(ring, TaskType.link_pred) == ""
    both = nx.DiGraph([(0, 1), (1, 0), (1, 2)])
    assert reason_against(open_graph(both), TaskType.link_pred) == ""
    notes = recommend(pair, "link_pred", store=past.store, home=past.home).notes
    assert any(note.startswith("nothing can be confirmed on this graph: 1 edge") for note in notes)


@pytest.mark.parametrize(
    ("graph", "is_split"),
    [
        (nx.complete_graph(4), False),
        (nx.cycle_graph(4), False),
        (nx.cycle_graph(5), True),
        (nx.path_graph(4), True),
        (nx.complete_graph(3, create_using=nx.DiGraph), False),
        (nx.cycle_graph(3, create_using=nx.DiGraph), True),
        (nx.DiGraph([(0, 1), (1, 0), (1, 2), (2, 2)]), True),
        (nx.DiGraph([(0, 1), (1, 2), (2, 2)]), False),
    ],
)
def test_links_that_cannot_be_split_are_told_before(graph: nx.Graph, *, is_split: bool, tmp_path: Path) -> None:
    opened = open_graph(graph)
    assert (reason_against(opened, TaskType.link_pred) == "") is is_split
    frozen = prepare(task_of(opened, TaskType.link_pred, name="own"), seed=0, home=tmp_path)
    with contextlib.nullcontext() if is_split else pytest.raises(SplitImpossible):
        split_links(frozen, policy="published", seed=0)


@pytest.mark.parametrize(
    ("task_type", "y", "reason"),
    [
        ("node_cls", torch.arange(40) % 2, ""),
        ("node_cls", torch.arange(40)[:, None] % 2, ""),
        ("node_cls", torch.rand(40), "its labels (y) are torch.float32, and node_cls needs whole numbers"),
        ("node_cls", torch.full((40, 3), 2), "its labels (y) have 3 columns"),
        ("node_cls", torch.arange(120).view(40, 3) % 2, ""),
        ("node_cls", torch.full((40,), -1), "none of its labels (y) is known"),
        ("node_cls", torch.zeros(1).long(), "number of labels (y) is 1, and node_cls needs 40, one for each node"),
        ("graph_cls", torch.zeros(1).long(), "1 graph, at least 3 are needed"),
        ("graph_cls", torch.zeros(40).long(), "number of labels (y) is 40, and graph_cls needs 1, one for each graph"),
        ("graph_reg", torch.rand(1), "1 graph, at least 3 are needed"),
        ("link_pred", torch.rand(7), ""),
    ],
)
def test_labels_that_are_no_problem_are_told(task_type: str, y: torch.Tensor, reason: str) -> None:
    ring = torch.stack([torch.arange(40), (torch.arange(40) + 1) % 40])
    opened = open_graph(Data(edge_index=ring, num_nodes=40, y=y))
    told = reason_against(opened, TaskType(task_type))
    assert told.startswith(reason)
    assert bool(told) is bool(reason)


def test_labels_of_nobody_are_refused(past: Past) -> None:
    path = torch.tensor([[0, 1, 2], [1, 2, 3]])
    for n in (2, 5):
        odd = Data(edge_index=path, num_nodes=4, y=torch.zeros(n).long())
        with pytest.raises(BadValue, match=rf"number of labels \(y\) is {n}; allowed: 4, one for each node"):
            recommend(odd, "node_cls", store=past.store, home=past.home)
        with pytest.raises(BadValue, match="allowed: 1, one for each graph"):
            recommend(odd, "graph_cls", store=past.store, home=past.home)
        assert recommend(odd, "link_pred", store=past.store, home=past.home).n_graphs == 4
    alike = open_graph(Data(edge_index=path, num_nodes=4, y=torch.zeros(4).long()))
    assert "one class" in note_on_labels(alike, TaskType.node_cls)
    assert note_on_labels(alike, TaskType.link_pred) == ""
    two = open_graph(Data(edge_index=path, num_nodes=4, y=torch.tensor([0, 1, -1, -1])))
    assert note_on_labels(two, TaskType.node_cls) == ""


@pytest.mark.parametrize("name", ["club.graphml", "club.gml", "club.xml", "club.graphml.gz"])
def test_an_attribute_of_a_file_may_be_the_label(name: str, tmp_path: Path) -> None:
    write = nx.write_gml if "gml" in name and "graphml" not in name else nx.write_graphml
    file = tmp_path / name
    write(KARATE, file)
    bare, opened = open_graph(file), open_graph(file, label="club")
    assert "--label NAME" in reason_against(bare, TaskType.node_cls) or name.endswith(".gml")
    assert reason_against(opened, TaskType.node_cls) == ""
    labels = opened.parts.contents.labels
    assert labels is not None
    assert sorted(np.unique(labels, return_counts=True)[1].tolist()) == [17, 17]
    (graph,) = opened.graphs
    clubs = [KARATE.nodes[node]["club"] for node in range(34)]
    assert len({(club, int(y)) for club, y in zip(clubs, graph.y, strict=True)}) == 2
    # Numbers on edges stay, and the edges with them.
    assert bare.graphs[0].edge_attr is None or graph.num_edges == bare.graphs[0].num_edges == 156
    with pytest.raises(BadValue, match=r"label of club\S* is 'clob'; allowed: an attribute .*\(club, .*weight\)"):
        open_graph(file, label="clob")


def test_labels_by_name_are_of_files_with_names(tmp_path: Path) -> None:
    (tmp_path / "club.txt").write_text("0 1\n1 2\n")
    for source, told in (
        (tmp_path / "club.txt", r"for a file of this form: .graphml, .xml, .gml have attributes"),
        ("les_miserables", "nothing for les_miserables: only GraphML and GML files"),
        (KARATE, "nothing for a Graph: only"),
    ):
        with pytest.raises(BadValue, match=told):
            open_graph(source, label="club")
    partly = nx.path_graph(3)
    partly.nodes[0]["side"], partly.nodes[2]["side"] = "left", "right"
    nx.write_graphml(partly, tmp_path / "partly.graphml")
    (graph,) = open_graph(tmp_path / "partly.graphml", label="side").graphs
    assert graph.y.tolist() == [0, -1, 1]


@pytest.mark.parametrize(
    ("labels", "reason"),
    [([0, 1], ""), ([False, True], ""), ([0.5, 1.5], "needs whole numbers"), ([torch.tensor(0), torch.tensor(1)], "")],
)
def test_labels_of_graphs_may_be_plain_numbers(labels: list[object], reason: str) -> None:
    path = torch.tensor([[0, 1, 2], [1, 2, 3]])
    graphs = [Data(edge_index=path, num_nodes=4, y=labels[place % 2]) for place in range(20)]
    told = reason_against(open_graph(graphs), TaskType.graph_cls)
    assert reason in told
    assert bool(told) is bool(reason)


def test_what_no_split_can_take_is_told_before_any_training() -> None:
    ring = torch.stack([torch.arange(20), (torch.arange(20) + 1) % 20])
    alone = Data(edge_index=ring, num_nodes=20, y=torch.arange(20))
    assert "cannot be split by policy 'published'" in reason_against(open_graph(alone), TaskType.node_cls)
    assert "it has 3 graphs" in reason_against(open_graph([alone] * 3), TaskType.link_pred)
    assert "it has no edge_label_index" in reason_against(open_graph(alone), TaskType.edge_cls)
    masks = {f"{name}_mask": torch.arange(3) == place for place, name in enumerate(("train", "val", "test"))}
    short = open_graph(Data(edge_index=ring, num_nodes=20, y=torch.arange(20) % 2, **masks))
    assert "train_mask has 3 rows, 20 are needed" in reason_against(short, TaskType.node_cls)


def test_views_of_a_graph_are_made_once() -> None:
    opened = open_graph(KARATE)
    as_links = view_as(opened, TaskType.link_pred)
    assert view_as(opened, TaskType.link_pred).parts is as_links.parts
    assert view_whole(as_links) is view_whole(as_links)
    assert view_whole(as_links).parts.network.n_edges == opened.parts.network.n_edges > as_links.parts.network.n_edges
