"""Codes without labels: against dense algebra, exact chances of walks, and PyG's infomax."""

from __future__ import annotations

import itertools
from collections import Counter
from typing import Any

import networkx as nx
import numpy as np
import pytest
import torch
from threadpoolctl import threadpool_limits
from torch import Generator, Tensor
from torch_geometric.data import Data
from torch_geometric.nn import DeepGraphInfomax, GCNConv
from torch_geometric.utils import from_networkx

from gnz_track.errors import BadValue
from gnz_track.models.embeddings import dgi as infomax
from gnz_track.models.embeddings.dgi import ENCODERS, SUMMARIES, DGILinear, Infomax
from gnz_track.models.embeddings.factorisations import GraRep, SpectralEmbedding
from gnz_track.models.embeddings.fitted import undirected_links
from gnz_track.models.embeddings.node2vec import Node2Vec, Walker, pairs_of
from gnz_track.models.options import Sizes

GRAPH = nx.powerlaw_cluster_graph(40, 3, 0.5, seed=1)


def as_data(graph: nx.Graph) -> Data:
    n = graph.number_of_nodes()
    return Data(edge_index=from_networkx(graph).edge_index, num_nodes=n, x=torch.eye(n))


def as_bare(graph: nx.Graph) -> Data:
    return Data(edge_index=from_networkx(graph).edge_index, num_nodes=graph.number_of_nodes())


def sizes_for(graph: nx.Graph) -> Sizes:
    n = graph.number_of_nodes()
    return Sizes(in_channels=n, hidden_channels=8, out_channels=2, n_nodes=n)


def span(vectors: Any) -> Any:
    basis = np.linalg.qr(np.asarray(vectors, dtype=np.float64))[0]
    return basis @ basis.T


def test_spectral_codes_span_the_leading_eigenvectors() -> None:
    options = {"num_components": 5, "tolerance": 0.0, "is_scaled": False}
    codes = SpectralEmbedding(1, 1, 2, sizes=sizes_for(GRAPH), **options).codes(as_data(GRAPH))
    looped = nx.to_numpy_array(GRAPH) + np.eye(40)
    half = looped.sum(axis=1) ** -0.5
    values, vectors = np.linalg.eigh(half[:, None] * looped * half)
    chosen = np.argsort(-np.abs(values))[:5]
    np.testing.assert_allclose(span(codes), span(vectors[:, chosen]), atol=1e-5)
    np.testing.assert_allclose(codes.square().sum(dim=0), np.ones(5), rtol=1e-5)


@pytest.mark.parametrize("power", [1, 2, 3])
def test_singular_vectors_are_those_of_the_power(power: int) -> None:
    model = GraRep(1, 1, 2, sizes=sizes_for(GRAPH), num_components=4, power=power, is_scaled=False)
    vectors, values, _ = np.linalg.svd(np.linalg.matrix_power(nx.to_numpy_array(GRAPH), power))
    assert values[3] - values[4] > 1e-3
    np.testing.assert_allclose(span(model.codes(as_data(GRAPH))), span(vectors[:, :4]), atol=1e-4)


def test_a_small_graph_leaves_columns_empty_and_the_rest_is_scaled() -> None:
    ring = nx.cycle_graph(5)
    model = SpectralEmbedding(1, 1, 2, sizes=sizes_for(ring), num_components=16, tolerance=0.0)
    codes = model.codes(as_data(ring))
    assert codes.shape == (5, 16)
    assert not codes[:, 4:].any()
    assert float(codes[:, :4].square().mean()) == pytest.approx(1.0)
    assert model(as_data(ring)).shape == (5, 2)


@pytest.mark.parametrize(("p", "q"), [(1.0, 1.0), (4.0, 0.5), (0.25, 2.0)])
def test_steps_have_the_published_chances(p: float, q: float) -> None:
    walker = Walker(undirected_links(as_data(GRAPH)), p, q)
    last, now = max(GRAPH.edges, key=lambda pair: GRAPH.degree[pair[0]] + GRAPH.degree[pair[1]])
    n = 40_000
    before, at = torch.full((n,), last), torch.full((n,), now)
    found = Counter(walker._step(at, before, Generator().manual_seed(5)).tolist())  # noqa: SLF001
    weights = {
        node: 1 / p if node == last else 1.0 if GRAPH.has_edge(node, last) else 1 / q for node in GRAPH.neighbors(now)
    }
    assert set(found) == set(weights)
    for node, weight in weights.items():
        chance = weight / sum(weights.values())
        assert abs(found[node] / n - chance) < 5 * (chance * (1 - chance) / n) ** 0.5


def test_walks_go_along_links() -> None:
    walker = Walker(undirected_links(as_data(GRAPH)), 2.0, 4.0)
    walks = walker.walk(torch.arange(40), 12, Generator().manual_seed(0))
    assert walks.shape == (40, 12)
    assert torch.equal(walks[:, 0], torch.arange(40))
    assert all(GRAPH.has_edge(a, b) for walk in walks.tolist() for a, b in itertools.pairwise(walk))


def test_pairs_are_those_within_reach() -> None:
    walks = torch.arange(12).view(2, 6)
    every = pairs_of(walks, 1, Generator().manual_seed(0)).T.tolist()
    ends = [(a, a + 1) for walk in walks.tolist() for a in walk[:-1]]
    assert sorted(map(tuple, every)) == sorted(ends + [(b, a) for a, b in ends])
    found = pairs_of(walks, 3, Generator().manual_seed(1))
    assert bool(((found[0] // 6 == found[1] // 6) & (found[0] != found[1])).all())
    assert int((found[0] - found[1]).abs().max()) <= 3
    # A centre that reaches some distance reaches every smaller one on the same side.
    reached = {tuple(pair) for pair in found.T.tolist()}
    assert all((a, a + (b - a) // abs(b - a)) in reached for a, b in reached)


def two_cliques() -> nx.Graph:
    graph = nx.disjoint_union(nx.complete_graph(8), nx.complete_graph(8))
    graph.add_edge(0, 8)
    graph.add_node(16)
    return graph


def test_nodes_that_walks_visit_together_have_codes_alike() -> None:
    torch.manual_seed(0)
    graph = two_cliques()
    codes = Node2Vec(1, 8, 2, sizes=sizes_for(graph), walk_length=10, context_size=3).codes(as_data(graph))
    alike = torch.nn.functional.cosine_similarity(codes[:16, None], codes[None, :16], dim=2)
    is_first = torch.arange(16) < 8
    is_same = is_first[:, None] == is_first[None]
    assert alike[is_same].mean() > alike[~is_same].mean() + 0.2


class Encoder(torch.nn.Module):
    def __init__(self, convolution: torch.nn.Module, act: torch.nn.Module) -> None:
        super().__init__()
        self.convolution, self.act = convolution, act

    def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
        return self.act(self.convolution(x, edge_index))


@pytest.mark.parametrize("encoder_act", ENCODERS)
@pytest.mark.parametrize("summary", SUMMARIES)
def test_infomax_loses_what_pyg_loses(encoder_act: str, summary: str) -> None:
    data = as_data(GRAPH)
    order = torch.randperm(40, generator=Generator().manual_seed(3))
    adjacency = infomax._adjacency(data.edge_index, 40)  # noqa: SLF001
    net = infomax._InfomaxNet(Infomax(6, encoder_act, summary), 40, adjacency, Generator().manual_seed(1))  # noqa: SLF001
    convolution = GCNConv(40, 6)
    theirs = DeepGraphInfomax(
        6,
        Encoder(convolution, net.act),
        summary=lambda codes, *_: SUMMARIES[summary](codes).sigmoid(),
        corruption=lambda x, edges: (x[order], edges),
    )
    with torch.no_grad():
        convolution.lin.weight.copy_(net.weight)
        convolution.bias.copy_(net.bias.normal_())
        theirs.weight.copy_(net.judge)
    expected = theirs.loss(*theirs(data.x, data.edge_index))
    torch.testing.assert_close(net.loss(data.x, order), expected)


def test_codes_depend_on_the_seed_of_the_constructor_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(infomax, "EPOCHS", 3)
    data, found = as_data(GRAPH), []
    for seed in (0, 0, 1):
        for make in (lambda: DGILinear(40, 4, 2), lambda: Node2Vec(40, 4, 2, sizes=sizes_for(GRAPH), walk_length=5)):
            torch.manual_seed(seed)
            model = make()
            torch.rand(len(found))
            before = torch.get_rng_state()
            with torch.no_grad():
                found.append(model.codes(data))
            assert torch.equal(before, torch.get_rng_state())
    assert torch.equal(found[0], found[2])
    assert torch.equal(found[1], found[3])
    assert not torch.equal(found[0], found[4])
    assert not torch.equal(found[1], found[5])


def test_features_that_are_learnt_elsewhere_move_here(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(infomax, "EPOCHS", 3)
    data, how = as_data(GRAPH), Infomax(4, "tanh", "mean")
    fixed, learnt = (
        infomax.fit_infomax(how, data.x.clone().requires_grad_(asks), data.edge_index, Generator().manual_seed(0))
        for asks in (False, True)
    )
    assert not torch.equal(fixed, learnt)
    assert not learnt.requires_grad


def test_threads_of_the_process_do_not_matter() -> None:
    graph = nx.barabasi_albert_graph(5000, 5, seed=1)
    data, found = as_bare(graph), []
    for limit in (1, 2):
        torch.manual_seed(0)
        model = SpectralEmbedding(1, 1, 2, sizes=sizes_for(graph), num_components=16, tolerance=0.1)
        with threadpool_limits(limits=limit):
            found.append(model.codes(data))
    assert torch.equal(*found)


def test_another_graph_and_many_graphs_are_refused() -> None:
    model = GraRep(1, 1, 2, sizes=sizes_for(GRAPH), num_components=2)
    model(as_data(GRAPH))
    with pytest.raises(BadValue, match="embedded before"):
        model(as_data(nx.path_graph(40)))
    with pytest.raises(BadValue, match="many graphs"):
        Node2Vec(1, 4, 2, sizes=Sizes(in_channels=1, hidden_channels=4, out_channels=2))
    for name in ("p", "walk_length", "context_size"):
        with pytest.raises(BadValue, match=name):
            Node2Vec(1, 4, 2, sizes=sizes_for(GRAPH), **{name: 0})
