"""Communities and patterns: sizes, probabilities and labels are those of the design."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from scipy.stats import chisquare
from torch_geometric.data import Data

from gnz_track.datasets.generators.communities import sbm_cluster, sbm_pattern

# Four standard errors: one in sixteen thousand would fail by chance, and the draw is always the same.
ERRORS = 4


def _close(hits: int, tries: int, p: float) -> bool:
    return abs(hits - p * tries) < ERRORS * (p * (1 - p) * tries) ** 0.5


def _counts(graph: Data, first: torch.Tensor, second: torch.Tensor) -> tuple[int, int]:
    """Return edges and pairs between two sets of nodes, or within one."""
    source, target = graph.edge_index
    joined = int((first[source] & second[target]).sum())
    if torch.equal(first, second):
        n = int(first.sum())
        return joined // 2, n * (n - 1) // 2
    return joined, int(first.sum()) * int(second.sum())


@pytest.fixture(scope="module")
def patterns() -> list[Data]:
    return list(sbm_pattern(n_patterns=20, sizes=(200, 20, 20), seed=3).graphs)


@pytest.fixture(scope="module")
def clusters() -> list[Data]:
    return list(sbm_cluster(sizes=(200, 20, 20), seed=3).graphs)


def _pattern_of(graph: Data) -> tuple[int, int, list[int], list[int]]:
    """Return what is fixed of a pattern and does not depend on the order of nodes: size, edges, signals, degrees."""
    inside = (graph.y == 1).nonzero().flatten()
    within = graph.subgraph(inside)
    degrees = torch.bincount(within.edge_index[0], minlength=inside.numel())
    signals = graph.x[inside, 0].bincount(minlength=3)
    return inside.numel(), within.num_edges // 2, signals.tolist(), degrees.sort().values.tolist()


def test_edges_of_patterns_are_as_likely_as_designed(patterns: list[Data]) -> None:
    across = [_counts(graph, graph.y == 1, graph.y == 0) for graph in patterns]
    assert _close(*map(sum, zip(*across, strict=True)), 0.5)  # type: ignore[arg-type]
    # Communities are not told; their sizes say what to expect of all pairs of the background together.
    hits, pairs = map(sum, zip(*(_counts(graph, graph.y == 0, graph.y == 0) for graph in patterns), strict=True))
    mean, mean_square = 19.5, np.mean(np.arange(5, 35) ** 2)
    within, between = 5 * (mean_square - mean) / 2, 10 * mean**2
    assert hits / pairs == pytest.approx((0.5 * within + 0.35 * between) / (within + between), abs=0.003)
    # Edges inside of a pattern are drawn once for all of its graphs.
    once = [_counts(graph, graph.y == 1, graph.y == 1) for graph in patterns[:20]]
    assert _close(*map(sum, zip(*once, strict=True)), 0.5)  # type: ignore[arg-type]


def test_a_pattern_is_the_same_in_all_of_its_graphs(patterns: list[Data]) -> None:
    known = [_pattern_of(graph) for graph in patterns[:20]]
    assert len({str(pattern) for pattern in known}) == 20
    for number, graph in enumerate(patterns[:200]):
        assert _pattern_of(graph) == known[number % 20]
    for number, graph in enumerate(patterns[200:]):
        assert _pattern_of(graph) == known[number % 20]


def test_sizes_signals_and_shares_of_patterns(patterns: list[Data]) -> None:
    sizes = np.array([int((graph.y == 1).sum()) for graph in patterns])
    assert sizes.min() >= 5
    assert sizes.max() <= 34
    others = np.array([int((graph.y == 0).sum()) for graph in patterns])
    # Five uniform sizes of mean 19.5 and variance 899 / 12.
    assert others.mean() == pytest.approx(97.5, abs=ERRORS * (5 * 899 / 12 / len(others)) ** 0.5)
    assert others.var() == pytest.approx(5 * 899 / 12, rel=0.4)
    signals = torch.cat([graph.x[graph.y == 0, 0] for graph in patterns]).bincount()
    assert all(_close(int(count), int(signals.sum()), 1 / 3) for count in signals)


def test_sizes_of_many_patterns_are_uniform() -> None:
    graphs = sbm_pattern(n_patterns=400, sizes=(400, 0, 0), seed=1).graphs
    sizes = [int((graph.y == 1).sum()) for graph in graphs]
    assert chisquare(np.bincount(sizes, minlength=35)[5:]).pvalue > 0.01


def test_communities_are_as_dense_as_designed(clusters: list[Data]) -> None:
    within, between = np.zeros(2), np.zeros(2)
    for graph in clusters:
        source, target = graph.edge_index
        is_same = graph.y[source] == graph.y[target]
        sizes = graph.y.bincount(minlength=6)
        pairs = int((sizes * (sizes - 1)).sum())
        within += np.array([int(is_same.sum()), pairs]) / 2
        between += np.array([int((~is_same).sum()), int(sizes.sum()) ** 2 - int((sizes**2).sum())]) / 2
    assert _close(int(within[0]), int(within[1]), 0.55)
    assert _close(int(between[0]), int(between[1]), 0.25)


def test_one_node_of_each_community_is_named(clusters: list[Data]) -> None:
    sizes = []
    for graph in clusters:
        named = graph.x[:, 0] > 0
        assert graph.x[named, 0].sort().values.tolist() == [1, 2, 3, 4, 5, 6]
        assert torch.equal(graph.x[named, 0] - 1, graph.y[named])
        sizes += graph.y.bincount(minlength=6).tolist()
    assert chisquare(np.bincount(sizes, minlength=35)[5:]).pvalue > 0.01
    labels = torch.cat([graph.y for graph in clusters]).bincount().double()
    assert float((labels / labels.sum() - 1 / 6).abs().max()) < 0.01


def test_nodes_are_in_no_order(patterns: list[Data], clusters: list[Data]) -> None:
    for graphs in (patterns, clusters):
        places = [np.corrcoef(np.arange(graph.num_nodes), graph.y)[0, 1] for graph in graphs]
        assert abs(np.mean(places)) < ERRORS * np.std(places) / len(places) ** 0.5
        assert np.std(places) == pytest.approx(116**-0.5, rel=0.3)


def test_graphs_are_undirected_without_loops(patterns: list[Data], clusters: list[Data]) -> None:
    for graph in (*patterns[:10], *clusters[:10]):
        assert graph.is_undirected()
        assert not graph.has_self_loops()


def test_fewer_graphs_are_the_first_of_more(clusters: list[Data]) -> None:
    few = list(sbm_cluster(sizes=(3, 2, 1), seed=3).graphs)
    for graph, same in zip(few, [*clusters[:3], *clusters[200:202], clusters[220]], strict=True):
        assert torch.equal(graph.edge_index, same.edge_index)
        assert torch.equal(graph.y, same.y)
    other = next(iter(sbm_cluster(sizes=(1, 0, 0), seed=4).graphs))
    assert not torch.equal(few[0].y, other.y)
