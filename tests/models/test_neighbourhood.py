"""Scores of links by common neighbours against networkx, and that fitting changes no ranking."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import networkx as nx
import numpy as np
import pytest
import torch
from torch_geometric.data import Data

from gnz_track.errors import BadValue
from gnz_track.models.neighbourhood import AdamicAdar, Jaccard, ResourceAllocation

GRAPH = nx.powerlaw_cluster_graph(60, 4, 0.6, seed=2)
PAIRS = np.array([(a, b) for a in range(30) for b in range(30, 60)])
Model = type[Jaccard] | type[AdamicAdar] | type[ResourceAllocation]


def as_data(graph: nx.Graph) -> Data:
    edges = torch.tensor(list(graph.edges)).T
    return Data(edge_index=torch.cat([edges, edges.flip(0)], dim=1), num_nodes=graph.number_of_nodes())


@pytest.mark.parametrize(
    ("model", "expected"),
    [
        (Jaccard, nx.jaccard_coefficient),
        (AdamicAdar, nx.adamic_adar_index),
        (ResourceAllocation, nx.resource_allocation_index),
    ],
)
def test_scores_are_those_of_networkx(model: Model, expected: Callable[..., Iterable[Any]]) -> None:
    net = model(1, 1, 1)
    logits = net.decode(net.encode(as_data(GRAPH)), torch.from_numpy(PAIRS.T))
    by_hand = [score for *_, score in expected(GRAPH, [tuple(pair) for pair in PAIRS.tolist()])]
    assert logits.detach().numpy() == pytest.approx(np.array(by_hand), rel=1e-5, abs=1e-7)


def test_directions_loops_and_repetitions_do_not_count() -> None:
    odd = Data(edge_index=torch.tensor([[0, 2, 2, 1, 3], [1, 1, 1, 1, 2]]), num_nodes=5)
    net = ResourceAllocation(1, 1, 1)
    codes = net.encode(odd)
    assert codes[:, 0].tolist() == [1, 2, 2, 1, 0]
    assert net.decode(codes, torch.tensor([[0, 0, 4], [2, 3, 4]])).tolist() == [0.5, 0, 0]


def test_fitting_moves_logits_and_keeps_the_order() -> None:
    net = Jaccard(1, 1, 1)
    codes, pairs = net.encode(as_data(GRAPH)), torch.from_numpy(PAIRS.T)
    before = net.decode(codes, pairs)
    optimiser = torch.optim.Adam(net.parameters(), lr=0.5)
    for _ in range(5):
        optimiser.zero_grad()
        wanted = torch.zeros(len(PAIRS))
        torch.nn.functional.binary_cross_entropy_with_logits(net.decode(codes, pairs), wanted).backward()
        optimiser.step()
    after = net.decode(codes, pairs)
    assert not torch.equal(before, after)
    assert torch.equal(before[before.argsort(stable=True)].diff() > 0, after[before.argsort(stable=True)].diff() > 0)


def test_kinds_of_edges_and_pairs_without_a_graph_are_refused() -> None:
    net = Jaccard(1, 1, 1)
    with pytest.raises(BadValue, match="encoded before"):
        net.decode(torch.ones(3, 1), torch.tensor([[0], [1]]))
    with pytest.raises(BadValue, match="all of one kind"):
        net.encode(Data(edge_index=torch.tensor([[0], [1]]), edge_type=torch.tensor([0]), num_nodes=2))
