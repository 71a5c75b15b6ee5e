"""Descriptors of examples, against the same by networkx on graphs drawn by Hypothesis."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from pathlib import Path

import networkx as nx
import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch_geometric.data import Data

from gnz_track.datasets.frozen import FrozenDataset, freeze
from gnz_track.predictions import describe_edges, describe_examples, describe_graphs, describe_links, describe_nodes
from gnz_track.types import Category, DatasetRow, TaskType

ROW = DatasetRow(
    name="drawn",
    category=Category.custom,
    task_types=(TaskType.node_cls,),
    loader="",
    source="made up in a test",
    licence="none",
    citation="none",
)
Frozen = Callable[[Data | list[Data]], FrozenDataset]


def draw_graph(seed: int, *, is_directed: bool = False) -> Data:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 30))
    # Loops and edges listed several times belong to what is read.
    heads, tails = rng.integers(0, n, (2, int(rng.integers(1, 60))))
    edges = np.stack([heads, tails]) if is_directed else np.hstack([[heads, tails], [tails, heads]])
    labels = rng.integers(-1, 3, n)
    labels[0] = 2
    return Data(edge_index=torch.as_tensor(edges), y=torch.as_tensor(labels), num_nodes=n)


def as_networkx(graph: Data) -> nx.Graph:
    found = nx.Graph()
    found.add_nodes_from(range(graph.num_nodes))
    found.add_edges_from((a, b) for a, b in graph.edge_index.T.tolist() if a != b)
    return found


@pytest.fixture(scope="module")
def frozen(tmp_path_factory: pytest.TempPathFactory) -> Frozen:
    folders = (tmp_path_factory.mktemp("drawn") / str(number) for number in itertools.count())

    def make(graphs: Data | list[Data]) -> FrozenDataset:
        return freeze(graphs, Path(next(folders)), row=ROW)

    return make


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 10**6), is_directed=st.booleans())
def test_nodes(frozen: Frozen, *, seed: int, is_directed: bool) -> None:
    graph = draw_graph(seed, is_directed=is_directed)
    known, labels = as_networkx(graph), graph.y.numpy()
    ids = np.random.default_rng(seed).permutation(graph.num_nodes)
    train = ids[: 1 + len(ids) // 5]
    found = describe_examples(frozen(graph), TaskType.node_cls, ids, train)

    paths = nx.multi_source_dijkstra_path_length(known, set(train.tolist()), weight=None)
    assert found["degree"].tolist() == [known.degree(node) for node in ids]
    assert found["distance to training"].tolist() == [paths.get(node, np.inf) for node in ids]
    assert found["class"].tolist() == labels[ids].tolist()
    for node, share in zip(ids, found["homophily"], strict=True):
        near = [labels[other] for other in known[node] if labels[other] >= 0] if labels[node] >= 0 else []
        expected = np.mean([label == labels[node] for label in near]) if near else np.nan
        np.testing.assert_equal(share, expected)


def test_nodes_of_several_labels_have_no_class_and_no_homophily(frozen: Frozen) -> None:
    graph = draw_graph(1)
    graph.y = torch.zeros(graph.num_nodes, 3)
    assert set(describe_nodes(frozen(graph), np.array([0]), np.array([1]))) == {"degree", "distance to training"}


def test_graphs(frozen: Frozen) -> None:
    graphs = [draw_graph(seed) for seed in range(8)]
    for number, graph in enumerate(graphs):
        graph.y = torch.tensor([number % 2])
    ids = np.array([5, 0, 7])
    found = describe_graphs(frozen(graphs), ids)
    assert found["nodes"].tolist() == [graphs[i].num_nodes for i in ids]
    assert found["edges"].tolist() == [graphs[i].num_edges / 2 for i in ids]
    assert found["mean degree"].tolist() == [graphs[i].num_edges / graphs[i].num_nodes for i in ids]
    assert found["class"].tolist() == [1, 0, 1]


def test_graphs_with_numbers_to_predict_have_no_class(frozen: Frozen) -> None:
    graphs = [draw_graph(seed) for seed in range(3)]
    for number, graph in enumerate(graphs):
        graph.y = torch.tensor([number / 3])
    assert "class" not in describe_graphs(frozen(graphs), np.array([0]))


@pytest.mark.parametrize("columns", [2, 3])
def test_links_know_the_training_links_alone(frozen: Frozen, columns: int) -> None:
    graph = draw_graph(3)
    rng = np.random.default_rng(0)
    ids, train = rng.integers(0, graph.num_nodes, (2, 25, columns))
    known = nx.Graph()
    known.add_nodes_from(range(graph.num_nodes))
    known.add_edges_from((link[0], link[-1]) for link in train.tolist() if link[0] != link[-1])
    found = describe_links(frozen(graph), ids, train)
    degrees = np.array([[known.degree(link[0]), known.degree(link[-1])] for link in ids])
    assert found["smaller degree"].tolist() == degrees.min(axis=1).tolist()
    assert found["larger degree"].tolist() == degrees.max(axis=1).tolist()
    assert found["common neighbours"].tolist() == [len(set(known[link[0]]) & set(known[link[-1]])) for link in ids]


def test_labelled_edges_know_the_whole_graph(frozen: Frozen) -> None:
    graph = draw_graph(4)
    known = as_networkx(graph)
    ids = graph.edge_index.T.numpy()[:6]
    found = describe_edges(frozen(graph), ids)
    assert found["larger degree"].tolist() == [max(known.degree(a), known.degree(b)) for a, b in ids]


def test_examples_of_several_kinds_have_no_descriptors(frozen: Frozen) -> None:
    assert describe_examples(frozen(draw_graph(5)), TaskType.multi_task, np.array([0]), np.array([1])) == {}
