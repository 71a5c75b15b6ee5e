"""Batches of small graphs: what PyG would join, with the structure that would be built from scratch."""

from __future__ import annotations

import copy
import gc
import itertools
import weakref
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor
from torch_geometric.data import Batch, Data
from torch_geometric.nn import GATConv, GCNConv, GINConv, SAGEConv, TransformerConv

from gnz_track.training.acceleration import Structure, accelerate, structure_of
from gnz_track.training.acceleration.patterns import Pattern
from gnz_track.training.graphs import PORTION, GraphCollection

WIDTH = 3


def _graph(n_nodes: int, n_edges: int, seed: int) -> Data:
    generator = torch.Generator().manual_seed(seed)
    return Data(
        x=torch.randn(n_nodes, WIDTH, generator=generator),
        kind=torch.randint(9, (n_nodes,), generator=generator),
        edge_index=torch.randint(n_nodes, (2, n_edges), generator=generator),
        edge_attr=torch.randn(n_edges, 2, generator=generator),
        length=torch.rand(n_edges, generator=generator),
    )


def _collect(graphs: list[Data]) -> GraphCollection:
    def starts(counts: list[int]) -> Tensor:
        return torch.tensor([0, *itertools.accumulate(counts)])

    def joined(name: str, dim: int = 0) -> Tensor:
        return torch.cat([graph[name] for graph in graphs], dim=dim)

    return GraphCollection(
        edge_index=joined("edge_index", 1),
        node_ptr=starts([graph.num_nodes for graph in graphs]),
        edge_ptr=starts([graph.num_edges for graph in graphs]),
        node={name: joined(name) for name in ("x", "kind")},
        edge={name: joined(name) for name in ("edge_attr", "length")},
    )


def _assert_same_pattern(found: Pattern, expected: Pattern) -> None:
    assert (found.n_rows, found.n_columns) == (expected.n_rows, expected.n_columns)
    for name in ("pointers", "columns", "rows", "order"):
        assert torch.equal(getattr(found, name), getattr(expected, name)), name
    assert all(map(torch.equal, found.transposed, expected.transposed))


def _assert_same_batch(found: Any, expected: Any) -> None:
    assert isinstance(found, Batch)
    assert set(found.keys()) == set(expected.keys())
    for name in found.keys():  # noqa: SIM118  (a batch iterates over pairs)
        assert torch.equal(found[name], expected[name]), name
    assert (found.num_graphs, found.num_nodes, found.num_edges) == (
        expected.num_graphs,
        expected.num_nodes,
        expected.num_edges,
    )


def _assert_same_parts(found: Any, expected: list[Data]) -> None:
    assert len(found) == len(expected)
    for mine, theirs in zip((*found.to_data_list(), found[0]), (*expected, expected[0]), strict=True):
        assert type(mine) is Data
        assert {name: value.tolist() for name, value in mine} == {name: value.tolist() for name, value in theirs}
    assert [part.num_nodes for part in found[1:]] == [part.num_nodes for part in expected[1:]]


def _assert_same_structure(batch: Data) -> None:
    found = structure_of(batch.edge_index, batch.num_nodes)
    assert found is not None
    expected = Structure(batch.edge_index.clone(), batch.num_nodes)
    for kind in ("plain", "looped"):
        _assert_same_pattern(found.blocks(kind, 1), expected.blocks(kind, 1))
        _assert_same_pattern(found.blocks(kind, 2), expected.blocks(kind, 2))
    assert torch.equal(found.degrees, expected.degrees)
    for dtype in (torch.float32, torch.float64):
        assert torch.equal(found.normalised_weights(dtype), expected.normalised_weights(dtype))


GRAPHS = st.lists(st.tuples(st.integers(1, 5), st.integers(0, 8), st.integers(0, 99)), min_size=1, max_size=7)


@settings(deadline=None, max_examples=60)
@given(shapes=GRAPHS, size=st.integers(1, 4), data=st.data())
def test_batches_are_those_of_pyg(shapes: list[tuple[int, int, int]], size: int, data: st.DataObject) -> None:
    graphs = [_graph(*shape) for shape in shapes]
    order = torch.tensor(data.draw(st.lists(st.sampled_from(range(len(graphs))), min_size=1, max_size=9)))
    n_seen = 0
    for batch, members in _collect(graphs).batches(order, size):
        assert torch.equal(members, order[n_seen : n_seen + members.numel()])
        parts = [graphs[member] for member in members.tolist()]
        _assert_same_batch(batch, Batch.from_data_list(parts))
        _assert_same_parts(batch, parts)
        _assert_same_structure(batch)
        n_seen += members.numel()
    assert n_seen == order.numel()


def test_every_batch_but_the_last_is_full() -> None:
    collection = _collect([_graph(2, 3, seed) for seed in range(10)])
    assert [len(members) for _, members in collection.batches(torch.arange(10), 4)] == [4, 4, 2]
    assert len(collection) == 10


@pytest.mark.parametrize("size", [1, 2, 3])
def test_large_graphs_are_joined_in_portions(size: int) -> None:
    # Two of these fill a portion, so that three graphs are at least two portions.
    graphs = [_graph(PORTION // 2 - seed, 50, seed) for seed in range(3)]
    order = torch.tensor([2, 0, 1])
    found = list(_collect(graphs).batches(order, size))
    assert [members.tolist() for _, members in found] == [part.tolist() for part in order.split(size)]
    for batch, members in found:
        _assert_same_batch(batch, Batch.from_data_list([graphs[member] for member in members.tolist()]))
    pointers = {batch.x.untyped_storage().data_ptr() for batch, _ in found}
    assert len(pointers) == {1: 2, 2: 2, 3: 1}[size], "the portions are not as large as they were meant to be"


LAYERS = {
    "GCN": lambda: GCNConv(WIDTH, 4),
    "SAGE": lambda: SAGEConv(WIDTH, 4),
    "GIN": lambda: GINConv(torch.nn.Linear(WIDTH, 4)),
    "GAT": lambda: GATConv(WIDTH, 4, heads=2, dropout=0.5),
    "transformer": lambda: TransformerConv(WIDTH, 4, heads=2, dropout=0.5),
}


@pytest.mark.parametrize("make", LAYERS.values(), ids=LAYERS)
def test_layers_have_the_numbers_of_pyg_on_batches(make: Any) -> None:
    graphs = [_graph(2 + seed % 4, 3 * (seed % 5), seed) for seed in range(9)]
    torch.manual_seed(0)
    own = make()
    fast = accelerate(copy.deepcopy(own))
    for batch, members in _collect(graphs).batches(torch.arange(9).flip(0), 4):
        whole = Batch.from_data_list([graphs[member] for member in members.tolist()])
        results = []
        for layer, data in ((own, whole), (fast, batch)):
            torch.manual_seed(1)
            out = layer(data.x, data.edge_index)
            results.append((out, *torch.autograd.grad(out.square().sum(), list(layer.parameters()))))
        torch.testing.assert_close(results[1], results[0], rtol=1e-4, atol=1e-5)


def test_no_graphs_are_no_batches() -> None:
    assert list(_collect([_graph(2, 3, 0)]).batches(torch.arange(0), 4)) == []


def test_writing_a_batch_leaves_the_collection_as_it_was() -> None:
    collection = _collect([_graph(3, 5, seed) for seed in range(4)])
    for size in (2, 4):
        before = [batch.x.clone() for batch, _ in collection.batches(torch.arange(4), size)]
        for batch, _ in collection.batches(torch.arange(4), size):
            batch.x.add_(1)
            batch.edge_index.zero_()
            batch.extra = 3
        after = [batch for batch, _ in collection.batches(torch.arange(4), size)]
        assert all(torch.equal(batch.x, x) for batch, x in zip(after, before, strict=True))
        assert not any("extra" in batch for batch in after)


def test_batches_are_freed_at_once() -> None:
    collection = _collect([_graph(3, 5, seed) for seed in range(4)])
    gc.disable()
    try:
        for size in (2, 4):
            batch, _ = next(iter(collection.batches(torch.arange(4), size)))
            structure = structure_of(batch.edge_index, batch.num_nodes)
            assert structure is not None
            assert structure.blocks("looped", 2).transposed[0].numel() > 0
            watched = weakref.ref(structure)
            del batch, structure
            assert watched() is None, "a ring of references keeps a whole epoch in memory"
    finally:
        gc.enable()
