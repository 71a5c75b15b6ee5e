"""Parts of a graph around pairs against networkx, and that a pair's own link is not seen."""

from __future__ import annotations

from typing import Any

import networkx as nx
import numpy as np
import pytest
import torch
from torch_geometric.data import Data
from torch_geometric.utils import from_networkx

from gnz_track.errors import BadValue
from gnz_track.models import seal
from gnz_track.models.embeddings.fitted import undirected_links
from gnz_track.models.seal import SEAL, enclose, thin

GRAPH = nx.powerlaw_cluster_graph(50, 3, 0.4, seed=3)
GRAPH.add_node(50)
PAIRS = np.array([[0, 1, 7, 50, 20, 3], [1, 40, 30, 4, 50, 0]])


def as_data(graph: nx.Graph) -> Data:
    torch.manual_seed(0)
    n = graph.number_of_nodes()
    return Data(edge_index=from_networkx(graph).edge_index, num_nodes=n, x=torch.randn(n, 3))


def label(part: nx.Graph, a: int, b: int) -> dict[int, int]:
    """Label the nodes of one part by the published rule, one at a time."""
    ways = [
        nx.single_source_shortest_path_length(part.subgraph(set(part) - {other}), end)
        for end, other in ((a, b), (b, a))
    ]
    found = {}
    for node in set(part) - {a, b}:
        steps = [way[node] for way in ways if node in way]
        d = sum(steps)
        found[node] = 1 + min(steps) + (d // 2) * (d // 2 + d % 2 - 1) if len(steps) == 2 else 0
    return found | {a: 1, b: 1}


@pytest.mark.parametrize("n_hops", [1, 2])
def test_parts_and_labels_are_those_of_networkx(n_hops: int) -> None:
    found = enclose(undirected_links(as_data(GRAPH)), PAIRS, n_hops=n_hops)
    for number, (a, b) in enumerate(PAIRS.T.tolist()):
        near = {node for end in (a, b) for node in nx.ego_graph(GRAPH, end, radius=n_hops)}
        part = nx.Graph(GRAPH.subgraph(near))
        part.remove_edges_from([(a, b)])
        places = np.flatnonzero(found.pair == number)
        labels = dict(zip(found.nodes[places].tolist(), found.labels[places].tolist(), strict=True))
        assert labels == label(part, a, b)
        ends = found.nodes[found.edges[:, np.isin(found.edges[0], places)]].T.tolist()
        assert sorted(map(tuple, ends)) == sorted([*part.edges, *((d, c) for c, d in part.edges)])


def test_a_hub_brings_in_no_more_than_it_may() -> None:
    star = undirected_links(as_data(nx.star_graph(60)))
    links = thin(star, 10, 4)
    assert np.diff(links.indptr).tolist() == [10] + [1] * 60
    assert (links != thin(star, 10, 4)).nnz == 0
    assert (links != thin(star, 10, 5)).nnz > 0
    assert enclose(links, np.array([[0], [60]]), n_hops=1).nodes.size <= 12


def settled(**options: Any) -> SEAL:
    torch.manual_seed(1)
    model = SEAL(3, 1, 1, **options)
    model.encode(as_data(GRAPH))
    return model.eval()


@pytest.mark.parametrize("gnn_conv", ["GCN", "SAGE", "GAT"])
def test_logits_do_not_depend_on_the_link_itself_nor_on_company(gnn_conv: str) -> None:
    model, pairs = settled(gnn_conv=gnn_conv), torch.from_numpy(PAIRS)
    together = model.decode(model.encode(as_data(GRAPH)), pairs)
    assert together.std() > 0
    assert GRAPH.has_edge(0, 3)
    for place, (a, b) in enumerate(PAIRS.T.tolist()):
        changed = GRAPH.copy()
        changed.remove_edges_from([(a, b)])
        alone = model.decode(model.encode(as_data(changed)), pairs[:, place : place + 1])
        torch.testing.assert_close(alone[0], together[place], rtol=1e-4, atol=1e-6)


def test_pieces_give_the_logits_and_gradients_of_all_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    found = []
    for chunk in (2, 256):
        monkeypatch.setattr(seal, "CHUNK", chunk)
        model = settled()
        codes = model.encode(as_data(GRAPH)).requires_grad_()
        logits = model.decode(codes, torch.from_numpy(PAIRS))
        found.append([logits, *torch.autograd.grad(logits.cos().sum(), [codes, *model.parameters()])])
    for first, second in zip(*found, strict=True):
        torch.testing.assert_close(first, second, rtol=1e-4, atol=1e-6)


def test_what_is_kept_is_what_would_be_cut_out_again() -> None:
    model, pairs = settled(), torch.from_numpy(PAIRS)
    codes = model.encode(as_data(GRAPH))
    with torch.no_grad():
        first = model.decode(codes, pairs)
        assert torch.equal(first, model.decode(codes, pairs))
    assert len(model._kept) == 1  # noqa: SLF001
    # Another graph, of which nothing is known yet.
    model.encode(as_data(nx.path_graph(51)))
    assert not model._kept  # noqa: SLF001


def test_k_is_a_share_of_parts_or_a_number() -> None:
    few, many = (settled(k=share).network.k for share in (0.1, 0.99))
    assert 10 <= few < many
    assert settled(k=17).network.k == 17
    assert settled(k=2).network.k == 10


def test_what_makes_no_sense_is_refused() -> None:
    with pytest.raises(BadValue, match="k is 0"):
        SEAL(3, 1, 1, k=0)
    with pytest.raises(BadValue, match="gnn_conv"):
        SEAL(3, 1, 1, gnn_conv="GIN")
    with pytest.raises(BadValue, match="encoded before"):
        SEAL(3, 1, 1).decode(torch.ones(4, 3), torch.tensor([[0], [1]]))
    with pytest.raises(BadValue, match="all of one kind"):
        SEAL(3, 1, 1).encode(Data(edge_index=torch.tensor([[0], [1]]), edge_type=torch.tensor([0]), num_nodes=2))
