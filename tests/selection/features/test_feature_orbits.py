"""Edge orbits against brute force, and laws that hold for every graph."""

from __future__ import annotations

from itertools import combinations

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gnz_track.selection.features import orbits
from gnz_track.selection.features.graph import Network, make_network
from gnz_track.selection.features.orbits import ORBITS, Triangles, count_edge_orbits, count_subgraphs

# Kind of a connected graph of four nodes, by sorted degrees.
FOUR = {
    (1, 1, 2, 2): "P4",
    (1, 1, 1, 3): "claw",
    (2, 2, 2, 2): "C4",
    (1, 2, 2, 3): "paw",
    (2, 2, 3, 3): "diamond",
    (3, 3, 3, 3): "K4",
}
PLACES = {
    ("P4", (1, 2)): "P4-end",
    ("P4", (2, 2)): "P4-centre",
    ("claw", (1, 3)): "claw",
    ("C4", (2, 2)): "C4",
    ("paw", (1, 3)): "paw-tail",
    ("paw", (2, 2)): "paw-base",
    ("paw", (2, 3)): "paw-centre",
    ("diamond", (2, 3)): "diamond-rim",
    ("diamond", (3, 3)): "diamond-chord",
    ("K4", (3, 3)): "K4",
}


def count_by_brute_force(network: Network) -> np.ndarray:
    """Look at every set of three and of four nodes."""
    graph = nx.Graph(list(zip(*network.edges.tolist(), strict=True)))
    place = {edge: number for number, edge in enumerate(zip(*network.edges.tolist(), strict=True))}
    counts = np.zeros((len(ORBITS), network.n_edges), dtype=np.int64)
    for size in (3, 4):
        for nodes in combinations(sorted(graph), size):
            part = graph.subgraph(nodes)
            if not nx.is_connected(part):
                continue
            degrees = dict(part.degree)
            for a, b in part.edges:
                ends = tuple(sorted((degrees[a], degrees[b])))
                if size == 3:
                    orbit = "triangle" if part.number_of_edges() == 3 else "2-star"
                else:
                    orbit = PLACES[FOUR[tuple(sorted(degrees.values()))], ends]
                counts[ORBITS.index(orbit), place[min(a, b), max(a, b)]] += 1
    return counts


@settings(deadline=None, max_examples=60)
@given(
    st.integers(2, 11).flatmap(
        lambda n: st.tuples(
            st.just(n), st.lists(st.tuples(st.integers(0, n - 1), st.integers(0, n - 1)), min_size=1, max_size=40)
        )
    )
)
def test_orbits_are_those_of_brute_force(graph: tuple[int, list[tuple[int, int]]]) -> None:
    n, pairs = graph
    network = make_network(np.array(pairs).T, n)
    assert count_edge_orbits(network).tolist() == count_by_brute_force(network).tolist()


def test_karate_club_is_that_of_brute_force() -> None:
    network = make_network(np.array(nx.karate_club_graph().edges).T)
    found = count_edge_orbits(network)
    assert found.tolist() == count_by_brute_force(network).tolist()
    assert found.sum(axis=1).tolist() == [786, 135, 1362, 681, 3294, 144, 452, 452, 904, 340, 85, 66]
    assert count_subgraphs(found) == {
        "P3": 393,
        "K3": 45,
        "P4": 681,
        "claw": 1098,
        "C4": 36,
        "paw": 452,
        "diamond": 85,
        "K4": 11,
    }


@pytest.mark.parametrize("chunk", [1, 7, 64, 1000])
def test_counts_do_not_depend_on_the_size_of_chunks(chunk: int, monkeypatch: pytest.MonkeyPatch) -> None:
    network = make_network(np.array(nx.powerlaw_cluster_graph(120, 6, 0.8, seed=3).edges).T)
    whole, triangles = count_edge_orbits(network), Triangles(network).of_nodes
    monkeypatch.setattr(orbits, "CHUNK", chunk)
    pieces = count_edge_orbits(network)
    assert (pieces == whole).all()
    assert (Triangles(network).of_nodes == triangles).all()


def test_triangles_of_nodes_are_those_of_networkx() -> None:
    graph = nx.powerlaw_cluster_graph(300, 5, 0.7, seed=1)
    network = make_network(np.array(graph.edges).T, 300)
    expected = nx.triangles(graph)
    assert Triangles(network).of_nodes.tolist() == [expected[node] for node in network.original.tolist()]


def test_a_clique_has_nothing_but_cliques() -> None:
    n = 40
    found = count_edge_orbits(make_network(np.array(np.triu_indices(n, 1))))
    assert set(found[ORBITS.index("K4")].tolist()) == {(n - 2) * (n - 3) // 2}
    assert set(found[ORBITS.index("triangle")].tolist()) == {n - 2}
    others = [number for number, orbit in enumerate(ORBITS) if orbit not in {"K4", "triangle"}]
    assert not found[others].any()


def test_a_bipartite_clique_has_cycles_and_no_triangle() -> None:
    a, b = 6, 9
    network = make_network(np.array(nx.complete_bipartite_graph(a, b).edges).T)
    found = count_edge_orbits(network)
    assert set(found[ORBITS.index("C4")].tolist()) == {(a - 1) * (b - 1)}
    assert not Triangles(network).of_nodes.any()
    assert count_subgraphs(found)["K4"] == 0


def test_a_graph_without_edges_has_no_orbit() -> None:
    network = make_network(np.zeros((2, 0)), 5)
    found = count_edge_orbits(network)
    assert found.shape == (12, 0)
    assert Triangles(network).of_nodes.tolist() == [0] * 5
