"""Mode perturbations against what they promise, and against edges that the published package drew."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import networkx as nx
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Generator
from torch_geometric.data import Data
from torch_geometric.utils import is_undirected, to_networkx

from gnz_track.datasets.encodings import LARGEST_IDENTITY
from gnz_track.datasets.perturbations import (
    MOST_EDGES,
    ORIGINAL,
    PERTURBATIONS,
    find_perturbation,
    perturb,
    perturb_together,
)
from gnz_track.errors import BadValue, UnknownName

GOLDEN = json.loads((Path(__file__).parents[1] / "golden" / "rings.json").read_text(encoding="utf-8"))["small"]
OF_GRAPHS = [name for name in PERTURBATIONS if PERTURBATIONS.get(name).edges]
OF_FEATURES = [name for name in PERTURBATIONS if PERTURBATIONS.get(name).features]
DRAWN = [name for name, item in GOLDEN.items() if item.get("rg_seed0_edge_index")]


def generator(seed: int = 0) -> Generator:
    return Generator().manual_seed(seed)


def graph_of(found: nx.Graph, *, is_directed: bool = False) -> Data:
    ends = torch.tensor(list(found.edges), dtype=torch.long).reshape(-1, 2).t()
    edges = ends if is_directed else torch.cat([ends, ends.flip(0)], dim=1)
    n = found.number_of_nodes()
    x = torch.arange(3.0 * n).reshape(n, 3)
    return Data(x=x, edge_index=edges, edge_attr=torch.rand(edges.size(1), 2), y=torch.tensor([1]))


def pairs_of(graph: Data) -> list[tuple[int, int]]:
    return [(a, b) for a, b in graph.edge_index.t().tolist() if a < b]


@st.composite
def graphs(draw: Any) -> Data:
    n = draw(st.integers(1, 12))
    pairs = [(a, b) for a in range(n) for b in range(a)]
    chosen = draw(st.lists(st.sampled_from(pairs), unique=True)) if pairs else []
    found = nx.empty_graph(n)
    found.add_edges_from(chosen)
    return graph_of(found)


@settings(max_examples=60, deadline=None)
@given(graph=graphs(), name=st.sampled_from(list(PERTURBATIONS)), seed=st.integers(0, 5))
def test_what_holds_for_all_perturbations(graph: Data, name: str, seed: int) -> None:
    before = {key: value.clone() for key, value in graph.to_dict().items()}
    found = perturb(graph, name, generator(seed))
    again = perturb(graph, name, generator(seed))
    assert all(torch.equal(graph[key], value) for key, value in before.items()), "the given graph is as it was"
    assert torch.equal(found.edge_index, again.edge_index)
    assert torch.equal(found.x, again.x)
    assert found.num_nodes == graph.num_nodes
    assert torch.equal(found.y, graph.y)
    assert (found.edge_index[0] != found.edge_index[1]).all()
    if found.edge_index.numel():
        assert 0 <= int(found.edge_index.min()) <= int(found.edge_index.max()) < graph.num_nodes
    changes = PERTURBATIONS.get(name).changes
    if changes != "graph":
        assert torch.equal(found.edge_index, graph.edge_index)
        assert torch.equal(found.edge_attr, graph.edge_attr)
    else:
        assert "edge_attr" not in found, "attributes of edges that are gone"
    if changes != "features":
        assert torch.equal(found.x, graph.x)


@settings(max_examples=60, deadline=None)
@given(graph=graphs(), seed=st.integers(0, 5))
def test_laws_of_each(graph: Data, seed: int) -> None:
    n, m = int(graph.num_nodes or 0), len(pairs_of(graph))
    made = {name: perturb(graph, name, generator(seed)) for name in PERTURBATIONS}
    assert made["empty-graph"].edge_index.shape == (2, 0)
    assert sorted(map(tuple, made["complete-graph"].edge_index.t().tolist())) == [
        (a, b) for a in range(n) for b in range(n) if a != b
    ]
    for name in ("random-graph", "shuffled-graph", "random-connected-graph"):
        drawn = pairs_of(made[name])
        assert is_undirected(made[name].edge_index, num_nodes=n)
        assert len(drawn) == len(set(drawn)), "no pair twice"
    degrees, then = (torch.bincount(item.edge_index[0], minlength=n) for item in (made["shuffled-graph"], graph))
    assert torch.equal(degrees, then), "swaps keep every degree"
    connected = to_networkx(made["random-connected-graph"], to_undirected=True)
    assert nx.is_connected(connected)
    assert connected.number_of_edges() == (max(m, n - 1) if n > 1 else 0)
    assert Counter(map(tuple, made["shuffled-features"].x.tolist())) == Counter(map(tuple, graph.x.tolist()))
    assert torch.equal(made["empty-features"].x, torch.zeros(n, 1))
    assert torch.equal(made["complete-features"].x, torch.eye(n))
    assert made["random-features"].x.shape == graph.x.shape


def test_random_graph_has_the_density_of_the_graph() -> None:
    graph = graph_of(nx.gnm_random_graph(30, 60, seed=1))
    counts = torch.tensor([float(len(pairs_of(perturb(graph, "random-graph", generator(s))))) for s in range(400)])
    share = 60 / 435
    assert abs(counts.mean() - 60) < 4 * (435 * share * (1 - share) / 400) ** 0.5
    assert counts.std() == pytest.approx((435 * share * (1 - share)) ** 0.5, rel=0.15)


def test_every_pair_is_drawn_equally_often() -> None:
    graph = graph_of(nx.path_graph(6))
    seen: Counter[tuple[int, int]] = Counter()
    n_draws = 3000
    for seed in range(n_draws):
        seen.update(pairs_of(perturb(graph, "random-graph", generator(seed))))
    # Chi-square of 15 pairs, each with probability 1/3; its 0.999 quantile is 37.7.
    expected = n_draws / 3
    assert sum((seen[a, b] - expected) ** 2 / (expected * 2 / 3) for b in range(6) for a in range(b)) < 37.7


def test_swaps_forget_the_graph() -> None:
    graph = graph_of(nx.random_regular_graph(4, 60, seed=2))
    left = set(pairs_of(perturb(graph, "shuffled-graph", generator()))) & set(pairs_of(graph))
    # Of 120 edges, as many stay by chance as two regular graphs share: 120 * 120 / 1770 = 8.
    assert len(left) < 25


def test_directed_graphs_stay_directed() -> None:
    graph = graph_of(nx.gnm_random_graph(20, 60, seed=3, directed=True), is_directed=True)
    for name in ("random-graph", "shuffled-graph"):
        found = perturb(graph, name, generator())
        assert not is_undirected(found.edge_index, num_nodes=20)
    swapped = perturb(graph, "shuffled-graph", generator())
    for row in (0, 1):
        assert torch.equal(
            torch.bincount(swapped.edge_index[row], minlength=20), torch.bincount(graph.edge_index[row], minlength=20)
        )


@pytest.mark.parametrize("name", DRAWN)
@pytest.mark.parametrize(("key", "perturbation"), [("rg", "random-graph"), ("sg", "shuffled-graph")])
def test_compat_draws_the_edges_of_the_published_package(name: str, key: str, perturbation: str) -> None:
    item = GOLDEN[name]
    ends = torch.tensor(item["edges"]).t()
    graph = Data(edge_index=torch.unique(torch.cat([ends, ends.flip(0)], dim=1), dim=1), num_nodes=item["n"])
    found = perturb(graph, perturbation, generator(0), compat="rings")
    assert found.edge_index.tolist() == item[f"{key}_seed0_edge_index"]


@pytest.mark.parametrize("n", [1, 2, 4])
@pytest.mark.parametrize("name", OF_GRAPHS)
def test_what_would_loop_for_ever_ends(name: str, n: int) -> None:
    complete = graph_of(nx.complete_graph(n))
    loops = torch.arange(n).repeat(2, 1)
    complete.edge_index = torch.cat([complete.edge_index, loops], dim=1)
    found = perturb(complete, name, generator())
    assert (found.edge_index[0] != found.edge_index[1]).all()


@pytest.mark.parametrize("name", list(PERTURBATIONS))
def test_graphs_without_anything(name: str) -> None:
    empty = Data(edge_index=torch.zeros(2, 0, dtype=torch.long), num_nodes=0)
    assert perturb(empty, name, generator()).num_edges == 0
    no_edges = perturb(Data(x=torch.ones(3), num_nodes=3), name, generator())
    assert no_edges.num_nodes == 3


def test_labels_of_edges_stay_where_edges_go() -> None:
    graph = graph_of(nx.cycle_graph(5))
    graph.edge_label_index, graph.edge_label = graph.edge_index, torch.ones(10)
    graph.train_edge_mask, graph.edge_weight = torch.ones(10, dtype=torch.bool), torch.ones(10)
    found = perturb(graph, "empty-graph", generator())
    assert {"edge_label_index", "edge_label", "train_edge_mask"} <= set(found.keys())
    assert "edge_weight" not in found


def test_names_that_are_none_and_sizes_that_are_too_large() -> None:
    graph = graph_of(nx.path_graph(3))
    with pytest.raises(UnknownName, match="did you mean 'empty-graph'"):
        perturb(graph, "empty_graph", generator())
    with pytest.raises(BadValue, match="compat is 'ring'"):
        perturb(graph, "empty-graph", generator(), compat="ring")
    assert find_perturbation("empty-graph", compat="rings").name == "empty-graph"
    large = Data(x=torch.zeros(10_000, 1), edge_index=torch.zeros(2, 0, dtype=torch.long))
    with pytest.raises(BadValue, match=f"at most {LARGEST_IDENTITY}"):
        perturb(large, "complete-features", generator())
    with pytest.raises(BadValue, match=f"{MOST_EDGES:,}"):
        perturb(large, "complete-graph", generator())


@pytest.mark.parametrize("name", [name for name in PERTURBATIONS if name != ORIGINAL])
def test_many_graphs_at_once_are_those_one_after_another(name: str) -> None:
    parts = [graph_of(nx.gnm_random_graph(n, 2 * n, seed=n)) for n in (5, 8, 6)]
    node_ptr = torch.tensor([0, 5, 13, 19])
    x = torch.cat([part.x for part in parts])
    edges = torch.cat([part.edge_index + first for part, first in zip(parts, node_ptr, strict=False)], dim=1)
    shuffled = edges[:, torch.randperm(edges.size(1), generator=generator(7))]
    stream = generator(4)
    expected = [perturb(part, name, stream, most_nodes=8) for part in parts]
    new_x, new_edges, edge_ptr = perturb_together(x, edges, node_ptr, name, seed=4)
    assert torch.equal(new_x, torch.cat([part.x for part in expected]))
    assert edge_ptr.diff().tolist() == [part.num_edges for part in expected]
    starts = node_ptr[:-1].repeat_interleave(edge_ptr.diff())
    assert torch.equal(new_edges - starts, torch.cat([part.edge_index for part in expected], dim=1))
    if name in OF_FEATURES:
        assert perturb_together(x, shuffled, node_ptr, name, seed=4)[1] is shuffled, "what hangs on edges still fits"
    elif "@" not in name:
        assert torch.equal(perturb_together(x, shuffled, node_ptr, name, seed=4)[1], new_edges)
