"""Sets of features: published vectors, names, versions, invariance."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gnz_track.errors import UnknownName
from gnz_track.selection.features.feature_sets import FEATURE_SETS, GraphParts, features_of
from gnz_track.selection.features.graph import Contents, Network, make_network

LENGTHS = {"regular": 318, "graphlets": 756, "compact": 58, "tiny": 13, "regular_graphlets": 1074, "task": 29}


@pytest.fixture(scope="module")
def published(mirror: Path) -> dict[str, Any]:
    """Return published vectors, which may not be copied: they are read where they lie."""
    file = mirror.parent / "golden" / "glemos_metafeatures.json"
    if not file.is_file():
        pytest.skip(f"no published feature vectors: {file} is not a file")
    return dict(json.loads(file.read_text("utf-8")))


def read_airports(mirror: Path) -> Network:
    """Return the airports of Brazil, their ids numbered in order."""
    pairs = np.loadtxt(mirror / "Airports" / "brazil" / "raw" / "brazil-airports.edgelist", dtype=np.int64)
    ids, places = np.unique(pairs, return_inverse=True)
    return make_network(places.reshape(pairs.shape).T, len(ids))


@pytest.mark.mirror
@pytest.mark.parametrize("name", ["regular", "tiny", "compact", "graphlets"])
def test_airports_of_brazil_are_as_published(name: str, mirror: Path, published: dict[str, Any]) -> None:
    expected = np.array(published["graphs"]["Airports-Brazil"][name], dtype=np.float64)
    assert FEATURE_SETS.get(name).compute(GraphParts(read_airports(mirror))) == pytest.approx(
        expected, rel=1e-5, abs=1e-12
    )


@pytest.mark.mirror
@pytest.mark.parametrize(
    ("file", "graph", "n_loops"),
    [
        ("WebKB/cornell/raw/out1_graph_edges.txt", "WebKB-Cornell", 3),
        ("WikipediaNetwork/chameleon/geom_gcn/raw/out1_graph_edges.txt", "WikipediaNetwork-Chameleon", 50),
    ],
)
def test_graphs_with_loops_are_as_published(file: str, graph: str, n_loops: int, mirror: Path) -> None:
    scores = mirror / "glemos" / "glemos_node_class.npz"
    for needed in (scores, mirror / file):
        if not needed.is_file():
            pytest.skip(f"no published feature vectors: {needed} is not a file")
    network = make_network(np.loadtxt(mirror / file, dtype=np.int64, skiprows=1).T)
    assert network.n_loops == n_loops
    with np.load(scores) as published:
        row = published["graph_names"].tolist().index(graph)
        for name in ("regular", "tiny"):
            expected = published[f"M_{name}"][row]
            assert FEATURE_SETS.get(name).compute(GraphParts(network)) == pytest.approx(expected, rel=1e-5, abs=1e-6)


WITH_LOOPS = ("density", "density_A2", "n_edges", "n_nodes_non_isolated", "global_clustering")


@settings(deadline=None, max_examples=30)
@given(
    st.lists(st.tuples(st.integers(0, 8), st.integers(0, 8)).filter(lambda pair: pair[0] != pair[1]), max_size=20),
    st.sets(st.integers(0, 8), min_size=1),
)
def test_a_loop_is_a_neighbour_and_an_edge_of_what_is_published_and_nothing_else(
    pairs: list[tuple[int, int]], loops: set[int]
) -> None:
    bare = np.array(pairs, dtype=np.int64).reshape(-1, 2).T
    more = np.concatenate([bare, np.tile(sorted(loops), (2, 1))], axis=1)
    m = len({tuple(sorted(pair)) for pair in pairs})
    for name in FEATURE_SETS:
        before, after = features_of(bare, 9, name=name), features_of(more, 9, name=name)
        for feature, value in before.items():
            if not (feature in WITH_LOOPS or feature.startswith("wedges.") or "degree" in feature) or name == "task":
                assert after[feature] == pytest.approx(value, rel=1e-9, abs=1e-12), (name, feature)
        if "density" in after:
            assert after["density"] == pytest.approx((2 * m + len(loops)) / (9 * 8))
        if "n_edges" in after:
            assert after["n_edges"] == m + len(loops)
        if name == "task":
            assert after["graph_density"] <= 1


def test_loops_everywhere_bring_the_density_beyond_one() -> None:
    whole = np.argwhere(np.ones((4, 4))).T
    assert features_of(whole, name="tiny")["density"] == pytest.approx(16 / 12)
    assert features_of(whole, name="task")["graph_density"] == 1


@pytest.mark.mirror
def test_the_karate_club_is_as_published(published: dict[str, Any]) -> None:
    network = make_network(np.array(nx.karate_club_graph().edges).T)
    expected = published["graphs"]["KarateClub"]
    assert FEATURE_SETS.get("regular").compute(GraphParts(network)) == pytest.approx(
        expected["regular"], rel=1e-5, abs=1e-12
    )
    assert FEATURE_SETS.get("tiny").compute(GraphParts(network)) == pytest.approx(expected["tiny"], rel=1e-5, abs=1e-12)
    # The published counter lost an edge of this graph: what does not count graphlets is right, and counts are exact.
    compact = FEATURE_SETS.get("compact").compute(GraphParts(network))
    assert compact[:6] == pytest.approx(expected["compact"][:6], rel=1e-5)
    assert compact[13:16] == pytest.approx(expected["compact"][13:16], rel=1e-5)
    assert compact == pytest.approx(published["karate_true"]["compact"], rel=1e-9)
    assert list(FEATURE_SETS.get("regular").names) == published["names"]["regular"]


@pytest.mark.parametrize("name", list(FEATURE_SETS))
def test_a_set_has_one_value_per_name(name: str) -> None:
    features = FEATURE_SETS.get(name)
    assert len(features.names) == len(set(features.names)) == LENGTHS[name]
    assert features.label == f"{name}@1"
    for network in (make_network(np.zeros((2, 0)), 3), make_network([[0], [0]]), make_network([[0], [1]])):
        found = features.compute(GraphParts(network))
        assert found.shape == (LENGTHS[name],)
        assert np.isfinite(found).all()


@pytest.mark.parametrize("name", list(FEATURE_SETS))
def test_renumbering_changes_nothing(name: str) -> None:
    pairs = np.array(nx.powerlaw_cluster_graph(60, 3, 0.5, seed=2).edges).T
    order = np.random.default_rng(1).permutation(60)
    again = make_network(np.concatenate([order[pairs], order[pairs[::-1]]], axis=1), 60)
    expected = FEATURE_SETS.get(name).compute(GraphParts(make_network(pairs, 60)))
    assert FEATURE_SETS.get(name).compute(GraphParts(again)) == pytest.approx(expected, rel=1e-6, abs=1e-12)


def test_a_graph_by_names() -> None:
    found = features_of(np.array(nx.karate_club_graph().edges).T, name="compact")
    assert found["n_triangles"] == 45
    assert found["global_clustering"] == pytest.approx(nx.transitivity(nx.karate_club_graph()))
    with pytest.raises(UnknownName, match="did you mean 'compact'"):
        features_of([[0], [1]], name="compct")


def test_assortativity_is_that_of_networkx_and_zero_for_huge_degrees() -> None:
    graph = nx.karate_club_graph()
    expected = nx.degree_assortativity_coefficient(graph)
    assert GraphParts(make_network(np.array(graph.edges).T)).assortativity == pytest.approx(expected)
    hub = np.stack([np.zeros(1000, dtype=int), np.arange(1, 1001)])
    pair = np.array([[1], [2]])
    assert GraphParts(make_network(np.concatenate([hub, pair], axis=1))).assortativity == 0


def test_labels_and_attributes_of_a_problem() -> None:
    graph = nx.planted_partition_graph(2, 40, 0.3, 0.02, seed=3)
    y = np.repeat([0.0, 1.0], 40)
    x = np.stack([y, 1 - y], axis=1).astype(np.float32)
    network = make_network(np.array(graph.edges).T, 80)
    ends = y[network.original[network.edges]]
    contents = Contents(attributes=x, labels=y)
    found = dict(
        zip(
            FEATURE_SETS.get("task").names, FEATURE_SETS.get("task").compute(GraphParts(network, contents)), strict=True
        )
    )
    share = np.mean(ends[0] == ends[1])
    assert found["labels.homophily"] == pytest.approx(share)
    ends_of_one = np.mean(ends)
    expected = ends_of_one**2 + (1 - ends_of_one) ** 2
    assert found["labels.adjusted_homophily"] == pytest.approx((share - expected) / (1 - expected))
    assert found["labels.explained_by_attributes"] == pytest.approx(1)
    assert found["n_classes.log"] == pytest.approx(np.log(2))
    assert found["labels.evenness"] == pytest.approx(1)
    assert found["attributes.likeness_of_neighbours"] > 0.5
    half = Contents(attributes=x, labels=np.where(np.arange(80) % 2, y, np.nan))
    again = dict(
        zip(FEATURE_SETS.get("task").names, FEATURE_SETS.get("task").compute(GraphParts(network, half)), strict=True)
    )
    assert again["labels.known_share"] == 0.5


def test_a_collection_counts_its_graphs() -> None:
    network = make_network([[0, 1, 3, 4, 5], [1, 2, 4, 5, 6]], 8)
    contents = Contents(labels=np.array([1.5, 2.5]), are_classes=False, node_ptr=np.array([0, 3, 8]))
    found = dict(
        zip(
            FEATURE_SETS.get("task").names, FEATURE_SETS.get("task").compute(GraphParts(network, contents)), strict=True
        )
    )
    assert found["n_graphs.log"] == pytest.approx(np.log(2))
    assert found["graph_size.log"] == pytest.approx(np.log(5))
    assert found["graph_density"] == pytest.approx(10 / (3 * 2 + 5 * 4))
    assert found["labels.homophily"] == 0
