"""Six properties of graphs, against a library of graph theory; shapes are what they are called."""

from __future__ import annotations

from collections.abc import Callable

import networkx as nx
import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch_geometric.data import Data
from torch_geometric.utils import to_networkx

from gnz_track.datasets.frozen import FrozenDataset
from gnz_track.datasets.generators.families import SHAPES, draw_shape, graph_theory, measure_graph, randomise

SIZES = (60, 20, 20)


@pytest.fixture(scope="module")
def graphs() -> list[Data]:
    return list(graph_theory(sizes=SIZES, seed=1).graphs)


def _properties(graph: nx.Graph, source: int, numbers: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return what ``measure_graph`` should, component by component."""
    n = len(graph)
    distance = nx.single_source_shortest_path_length(graph, source)
    far = {}
    for component in nx.connected_components(graph):
        far |= nx.eccentricity(graph.subgraph(component))
    laplacian = nx.laplacian_matrix(graph, nodelist=range(n)).toarray() @ numbers
    radius = max(abs(nx.adjacency_spectrum(graph)))
    of_nodes = [[distance.get(node, 0), far[node], laplacian[node]] for node in range(n)]
    return np.array(of_nodes), np.array([nx.is_connected(graph), max(far.values()), radius], dtype=float)


@settings(deadline=None, max_examples=60)
@given(n=st.integers(2, 16), p=st.floats(0.05, 0.9), seed=st.integers(0, 1_000))
def test_properties_are_those_of_networkx(n: int, p: float, seed: int) -> None:
    graph = nx.gnp_random_graph(n, p, seed=seed)
    numbers, source = np.random.default_rng(seed).random(n), seed % n
    found = measure_graph(nx.to_numpy_array(graph) > 0, source=source, numbers=numbers)
    for one, other in zip(found, _properties(graph, source, numbers), strict=True):
        np.testing.assert_allclose(one, other, atol=1e-9)


def test_targets_are_in_units_of_the_largest_of_training(graphs: list[Data]) -> None:
    wanted = []
    for graph in graphs:
        assert torch.equal(graph.x[:, 0].sort().values, torch.eye(graph.num_nodes)[-1])
        source = int(graph.x[:, 0].argmax())
        wanted.append(_properties(to_networkx(graph, to_undirected=True), source, graph.x[:, 1].double().numpy()))
    largest = [np.max([found[place].reshape(-1, 3).max(axis=0) for found in wanted[:60]], axis=0) for place in (0, 1)]
    for graph, (of_nodes, of_graph) in zip(graphs, wanted, strict=True):
        np.testing.assert_allclose(graph.y, of_nodes / largest[0], atol=2e-6)
        np.testing.assert_allclose(graph.graph_y[0], of_graph / largest[1], atol=2e-6)
    train = graphs[:60]
    assert torch.cat([graph.y for graph in train]).amax(dim=0).tolist() == [1, 1, 1]
    assert torch.cat([graph.graph_y for graph in train]).amax(dim=0).tolist() == [1, 1, 1]


def test_parts_have_their_numbers_of_nodes_and_no_node_is_alone(graphs: list[Data]) -> None:
    sizes = [graph.num_nodes for graph in graphs]
    assert sizes[:60] == list(range(15, 25)) * 6
    assert sizes[60:] == list(range(15, 20)) * 8
    assert not any(graph.has_isolated_nodes() or graph.has_self_loops() for graph in graphs)
    assert all(graph.is_undirected() for graph in graphs)


def test_both_kinds_of_targets_are_frozen(graphs: list[Data], frozen_from: Callable[..., FrozenDataset]) -> None:
    dataset = frozen_from(graphs, split=torch.tensor([0] * 60 + [1] * 20 + [2] * 20))
    assert dataset.tensors["y"].shape == (dataset.n_nodes, 3)
    assert dataset.tensors["graph_y"].shape == (100, 3)
    assert (dataset.card.sizes["n_targets"], dataset.n_graph_targets, dataset.n_classes) == (3, 3, 0)
    for frozen, graph in zip(dataset, graphs, strict=True):
        assert torch.equal(frozen.graph_y, graph.graph_y)
        assert torch.equal(frozen.y, graph.y)
    assert frozen_from([Data(x=torch.ones(2, 1))]).n_graph_targets == 0


def _leaves_cut(graph: nx.Graph) -> nx.Graph:
    return graph.subgraph([node for node, degree in graph.degree if degree > 1])


@pytest.mark.parametrize("n", [15, 16, 17, 24])
def test_shapes_are_what_they_are_called(n: int) -> None:
    rng = np.random.default_rng(n)
    made = {name: [make(n, rng) for _ in range(5)] for name, (_, make) in SHAPES.items()}
    assert all(len(graph) == n for graphs in made.values() for graph in graphs)
    sides = {15: (3, 5), 16: (4, 4), 17: (1, 17), 24: (4, 6)}[n]
    same = {
        "path": nx.path_graph(n),
        "star": nx.star_graph(n - 1),
        "grid": nx.grid_2d_graph(*sides),
        "caveman": nx.disjoint_union_all([nx.complete_graph(sides[1])] * sides[0]),
    }
    for name, graph in same.items():
        assert all(nx.is_isomorphic(graph, other) for other in made[name])
    rails = made["ladder"][0].subgraph(range(n - n % 2))
    assert nx.is_isomorphic(rails, nx.ladder_graph(n // 2))
    for name in ("power_law_tree", "caterpillar", "lobster"):
        assert all(nx.is_tree(graph) for graph in made[name])
    for graph in made["caterpillar"]:
        assert max((degree for _, degree in _leaves_cut(graph).degree), default=0) <= 2
    for graph in made["lobster"]:
        assert max((degree for _, degree in _leaves_cut(_leaves_cut(graph)).degree), default=0) <= 2
    # Each node after the first m brings m edges.
    counts = {graph.number_of_edges() for graph in made["barabasi_albert"]}
    assert counts <= {m * (n - m) for m in range(1, n)}


def test_shares_are_the_published_ones() -> None:
    assert [share for share, _ in SHAPES.values()] == [0.2, 0.2, 0.05, 0.05, 0.15, 0.05, 0.05, 0.05, 0.1, 0.1]
    assert sum(share for share, _ in SHAPES.values()) == pytest.approx(1)


def test_edges_are_moved_as_often_as_designed() -> None:
    """The mean of two uniform numbers is below t in 2 t^2 of all cases up to a half, and in 1 - 2 (1 - t)^2 beyond."""
    rng = np.random.default_rng(0)
    for p, kept, added in ((0.3, 0.9, 0.1 * 0.3 / 0.7), (0.8, 0.9 + 0.1 * 0.75, 0.1)):
        joined = np.triu(rng.random((600, 600)) < p, k=1)
        pairs = np.triu(np.ones_like(joined), k=1)
        found = randomise(joined | joined.T, rng)
        assert (found == found.T).all()
        assert not found.diagonal().any()
        assert found[joined].mean() == pytest.approx(1 - 2 * (1 - kept) ** 2, abs=0.003)
        assert found[pairs & ~joined].mean() == pytest.approx(2 * added**2, abs=0.003)


def test_a_shape_is_drawn_in_no_order() -> None:
    rng = np.random.default_rng(0)
    degrees = np.mean([draw_shape(20, rng).sum(axis=1) for _ in range(2_000)], axis=0)
    assert degrees.std() / degrees.mean() < 0.05
