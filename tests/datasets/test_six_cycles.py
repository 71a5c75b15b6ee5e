"""Circles of six: counted another way, and hidden from colour refinement where they are to be."""

from __future__ import annotations

from collections import Counter

import networkx as nx
import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch_geometric.data import Data
from torch_geometric.utils import to_networkx

from gnz_track.datasets.generators.cycles import count_cycles, six_cycles
from gnz_track.errors import BadValue

MODES = ("matched", "loose")


@pytest.fixture(scope="module", params=MODES)
def drawn(request: pytest.FixtureRequest) -> tuple[str, list[Data]]:
    return request.param, list(six_cycles(mode=request.param, sizes=(200, 60, 40), seed=2).graphs)


def _edges(graph: nx.Graph) -> np.ndarray:
    return np.array([*graph.edges, *((b, a) for a, b in graph.edges)], dtype=np.int64).reshape(-1, 2).T


@settings(deadline=None, max_examples=60)
@given(n=st.integers(3, 9), p=st.floats(0.1, 0.7), seed=st.integers(0, 1_000), length=st.integers(3, 7))
def test_circles_are_counted_as_networkx_does(n: int, p: float, seed: int, length: int) -> None:
    graph = nx.gnp_random_graph(n, p, seed=seed)
    wanted = sum(len(cycle) == length for cycle in nx.simple_cycles(graph))
    assert count_cycles(_edges(graph), n_nodes=n, length=length) == wanted


def test_circles_of_known_graphs() -> None:
    cube = nx.convert_node_labels_to_integers(nx.hypercube_graph(3))
    assert [count_cycles(_edges(cube), n_nodes=8, length=length) for length in (4, 5, 6, 8)] == [6, 0, 16, 6]
    assert count_cycles(_edges(nx.complete_graph(6)), n_nodes=6, length=6) == 60


def test_one_circle_of_six_is_the_label(drawn: tuple[str, list[Data]]) -> None:
    for graph in drawn[1]:
        sizes = [len(cycle) for cycle in nx.simple_cycles(to_networkx(graph, to_undirected=True))]
        assert Counter(sizes)[6] == int(graph.y)
        # Circles are whole components, so that nothing hangs on them.
        assert sum(sizes) <= graph.num_nodes - 4
        assert 37 <= graph.num_nodes <= 65
        assert graph.num_edges // 2 < graph.num_nodes
        assert graph.is_undirected()
        assert not graph.x.any()


def test_classes_are_equal_in_number_and_in_nodes(drawn: tuple[str, list[Data]]) -> None:
    graphs = drawn[1]
    labels = torch.cat([graph.y for graph in graphs]).view(-1, 2)
    assert (labels.sum(dim=1) == 1).all()
    assert 0.3 < labels[:, 0].double().mean() < 0.7
    for one, other in zip(graphs[::2], graphs[1::2], strict=True):
        assert one.num_nodes == other.num_nodes


def _colours(graph: Data) -> Counter[object]:
    """Return the multiset of colours after as many rounds of refinement as there are nodes at most."""
    colours: list[object] = [0] * graph.num_nodes
    beside: list[list[int]] = [[] for _ in range(graph.num_nodes)]
    for source, target in graph.edge_index.t().tolist():
        beside[source].append(target)
    for _ in range(12):
        told = [
            (colours[node], tuple(sorted(hash(colours[other]) for other in beside[node])))
            for node in range(len(colours))
        ]
        colours = [hash(one) for one in told]
    return Counter(colours)


def test_pairs_that_match_look_alike_to_colour_refinement() -> None:
    graphs = list(six_cycles(mode="matched", sizes=(100, 0, 0), seed=5).graphs)
    for one, other in zip(graphs[::2], graphs[1::2], strict=True):
        degrees = [
            torch.bincount(graph.edge_index[0], minlength=graph.num_nodes).bincount().tolist() for graph in (one, other)
        ]
        assert degrees[0] == degrees[1]
        assert _colours(one) == _colours(other)
        networks = [to_networkx(graph, to_undirected=True) for graph in (one, other)]
        assert nx.number_connected_components(networks[0]) == nx.number_connected_components(networks[1])


def test_loose_pairs_tell_some_of_the_class_by_their_colours() -> None:
    """Refinement sees how many nodes lie on circles, and guesses the class most frequent with that number."""
    graphs = list(six_cycles(mode="loose", sizes=(2_000, 0, 0), seed=5).graphs)
    seen: dict[int, Counter[int]] = {}
    for graph in graphs:
        core = nx.k_core(to_networkx(graph, to_undirected=True), 2)
        seen.setdefault(len(core), Counter())[int(graph.y)] += 1
    accuracy = sum(max(counts.values()) for counts in seen.values()) / len(graphs)
    assert 0.7 < accuracy < 0.9


def test_fewer_graphs_are_the_first_of_more() -> None:
    few, more = (list(six_cycles(mode="loose", sizes=(n, n, 0), seed=0).graphs) for n in (3, 6))
    for graph, same in zip(few, [*more[:3], *more[6:9]], strict=True):
        assert torch.equal(graph.edge_index, same.edge_index)
    with pytest.raises(BadValue, match="tight"):
        six_cycles(mode="tight", sizes=(1, 1, 1), seed=0)
