"""Sampled neighbourhoods against breadth-first search by networkx."""

from __future__ import annotations

import networkx as nx
import pytest
import torch

from gnz_track.errors import BadValue
from gnz_track.quality.audit import sample_neighbourhoods


def draw(n: int, m: int) -> tuple[torch.Tensor, torch.Tensor, nx.Graph]:
    graph = nx.gnm_random_graph(n, m, seed=1)
    edges = torch.tensor(list(graph.edges)).t()
    # Features that name the node.
    return torch.arange(n).float().unsqueeze(1), torch.cat([edges, edges.flip(0)], dim=1), graph


@pytest.mark.parametrize("n_hops", [1, 2])
def test_they_are_what_lies_within_some_hops(n_hops: int) -> None:
    x, edges, graph = draw(60, 70)
    found = sample_neighbourhoods(x, edges, n_centres=60, n_hops=n_hops, most_nodes=60)
    assert sorted(int(part.x[0]) for part in found) == list(range(60)), "each node once"
    for part in found:
        names = part.x[:, 0].long().tolist()
        expected = nx.ego_graph(graph, names[0], radius=n_hops)
        assert sorted(names) == sorted(expected.nodes)
        ends = {(names[a], names[b]) for a, b in part.edge_index.t().tolist()}
        assert ends == {pair for a, b in expected.edges for pair in ((a, b), (b, a))}


def test_large_ones_are_cut_and_draws_are_repeated() -> None:
    x, edges, graph = draw(80, 600)
    found = sample_neighbourhoods(x, edges, n_centres=10, most_nodes=20)
    assert [part.num_nodes for part in found] == [20] * 10
    for part in found:
        names = part.x[:, 0].long().tolist()
        within = nx.ego_graph(graph, names[0], radius=2)
        assert set(names) <= set(within.nodes)
    again = sample_neighbourhoods(x, edges, n_centres=10, most_nodes=20)
    other = sample_neighbourhoods(x, edges, n_centres=10, most_nodes=20, seed=1)
    assert all(torch.equal(a.x, b.x) for a, b in zip(found, again, strict=True))
    assert not all(torch.equal(a.x, b.x) for a, b in zip(found, other, strict=True))


def test_a_direction_is_no_hindrance_and_no_edge_no_error() -> None:
    x, edges, _ = draw(30, 40)
    one_way = edges[:, : edges.size(1) // 2]
    both = sample_neighbourhoods(x, edges, n_centres=30, most_nodes=30)
    assert [part.num_nodes for part in both] == [part.num_nodes for part in _centred_alike(x, one_way, both)]
    alone = sample_neighbourhoods(x, torch.zeros(2, 0, dtype=torch.long), n_centres=3)
    assert [(part.num_nodes, part.num_edges) for part in alone] == [(1, 0)] * 3


def _centred_alike(x: torch.Tensor, edges: torch.Tensor, like: list) -> list:
    found = {int(part.x[0]): part for part in sample_neighbourhoods(x, edges, n_centres=30, most_nodes=30)}
    return [found[int(part.x[0])] for part in like]


def test_sizes_that_are_none() -> None:
    with pytest.raises(BadValue, match="n_hops"):
        sample_neighbourhoods(torch.ones(3, 1), torch.zeros(2, 0, dtype=torch.long), n_hops=0)
