"""The undirected view of a graph, and the vectors over its nodes, against networkx."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gnz_track.errors import BadValue
from gnz_track.selection.features.graph import core_numbers, loop_degrees, make_network, page_ranks, wedge_counts

PAIRS = st.lists(st.tuples(st.integers(0, 14), st.integers(0, 14)), min_size=1, max_size=60)


@settings(deadline=None)
@given(PAIRS)
def test_core_numbers_are_those_of_networkx(pairs: list[tuple[int, int]]) -> None:
    network = make_network(np.array(pairs).T, 15)
    graph = nx.Graph([pair for pair in pairs if pair[0] != pair[1]])
    graph.add_nodes_from(range(15))
    expected = nx.core_number(graph)
    assert core_numbers(network).tolist() == [expected[node] for node in network.original.tolist()]


@settings(deadline=None)
@given(PAIRS)
def test_every_edge_has_one_number_in_both_directions(pairs: list[tuple[int, int]]) -> None:
    network = make_network(np.array(pairs).T, 15)
    assert (network.rows[network.reverse] == network.indices).all()
    assert (network.edge_of_arc[network.reverse] == network.edge_of_arc).all()
    assert (network.edges[0] < network.edges[1]).all()
    assert (np.sort(np.stack([network.rows, network.indices]), axis=0) == network.edges[:, network.edge_of_arc]).all()
    assert (np.diff(network.degrees) >= 0).all()
    original = {tuple(sorted(pair)) for pair in network.original[network.edges].T.tolist()}
    assert original == {tuple(sorted(pair)) for pair in pairs if pair[0] != pair[1]}


def test_a_loop_counts_as_one_neighbour() -> None:
    network = make_network([[0, 1, 2, 2], [1, 2, 2, 1]], 4)
    order = np.argsort(network.original)
    assert loop_degrees(network)[order].tolist() == [1, 2, 2, 0]
    assert wedge_counts(network)[order].tolist() == [0, 1, 1, 0]
    assert network.n_loops == 1
    assert network.n_edges == 2


def test_page_ranks_are_those_of_networkx_with_damping_of_seven_tenths() -> None:
    graph = nx.barabasi_albert_graph(200, 3, seed=5)
    graph.add_nodes_from([200, 201])
    network = make_network(np.array(graph.edges).T, 202)
    expected = nx.pagerank(graph, alpha=0.7)
    found = page_ranks(network)
    assert found == pytest.approx([expected[node] for node in network.original.tolist()], rel=1e-9)
    assert found.sum() == pytest.approx(1)


def test_a_node_that_is_not_there_is_refused() -> None:
    with pytest.raises(BadValue, match=r"a node in edge_index is 5; allowed: numbers from 0 to 3"):
        make_network([[0], [5]], 4)
    with pytest.raises(BadValue, match=r"a node in edge_index is -1; allowed: numbers from 0 to 3"):
        make_network([[0], [-1]], 4)
    with pytest.raises(BadValue, match="number of nodes is 0"):
        make_network(np.zeros((2, 0)))


@pytest.mark.parametrize(
    ("edges", "words"),
    [
        ([[0, 1], [1, 2], [2, 0]], r"shape of edge_index is \(3, 2\); allowed: \(2, edges\), sources above targets"),
        ([0, 1, 1, 2], r"shape of edge_index is \(4,\)"),
        ([[0.5], [1.0]], "a number in edge_index is 0.5; allowed: whole numbers"),
        ([[0.0], [np.nan]], "a number in edge_index is nan"),
        ([[0], [10**12]], "number of nodes is 1000000000001; allowed: at most 100,000,000"),
        ([["a"], ["b"]], "type of edge_index is '<U1'"),
    ],
)
def test_arcs_that_cannot_be_meant_are_refused_and_not_rounded_or_reordered(edges: list[object], words: str) -> None:
    with pytest.raises(BadValue, match=words):
        make_network(edges)


def test_arcs_may_be_whole_floats_or_none() -> None:
    assert make_network([[0.0, 1.0], [1.0, 2.0]]).degrees.tolist() == [1, 1, 2]
    assert make_network([], 3).degrees.tolist() == [0, 0, 0]
