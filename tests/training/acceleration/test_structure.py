"""Structures of edges: when they hold, and that a part is what would be built from scratch."""

from __future__ import annotations

import copy
import gc
import pickle
import weakref

import pytest
import torch
from torch import Tensor
from torch_geometric.data import Data
from torch_geometric.nn.conv.gcn_conv import gcn_norm

from gnz_track.training.acceleration import Structure, attach, structure_of
from gnz_track.training.acceleration.patterns import Pattern

N_NODES = 7
# With loops (two at node 3), parallel edges, and an isolated node 6.
EDGES = torch.tensor([[0, 1, 1, 2, 3, 3, 5, 5, 4, 0], [1, 0, 2, 1, 3, 3, 4, 4, 5, 0]])


def _dense(pattern: Pattern, values: Tensor) -> Tensor:
    return pattern.matrix(values) @ torch.eye(pattern.n_columns, dtype=values.dtype)


def test_plain_holds_the_edges_target_by_target() -> None:
    plain = Structure(EDGES, N_NODES).plain
    expected = torch.zeros(N_NODES, N_NODES)
    for source, target in EDGES.t().tolist():
        expected[target, source] += 1
    assert torch.equal(_dense(plain, plain.ones(torch.float32)), expected)
    assert torch.equal(EDGES[1][plain.order], plain.rows)
    assert torch.equal(EDGES[0][plain.order], plain.columns)


def test_looped_holds_one_loop_at_every_node() -> None:
    looped = Structure(EDGES, N_NODES).looped
    assert torch.equal(_dense(looped, looped.ones(torch.float32)).diagonal(), torch.ones(N_NODES))


def test_degrees_count_edges_but_are_never_zero() -> None:
    assert Structure(EDGES, N_NODES).degrees.tolist() == [[2.0], [2.0], [1.0], [2.0], [2.0], [1.0], [1.0]]


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_weights_are_those_of_a_graph_convolution(dtype: torch.dtype) -> None:
    structure = Structure(EDGES, N_NODES)
    found = _dense(structure.looped, structure.normalised_weights(dtype))
    (source, target), weights = gcn_norm(EDGES, None, N_NODES, add_self_loops=True, dtype=dtype)
    expected = torch.zeros(N_NODES, N_NODES, dtype=dtype).index_put((target, source), weights, accumulate=True)
    torch.testing.assert_close(found, expected)


def test_a_structure_hangs_on_one_tensor_only() -> None:
    edges = attach(EDGES.clone(), N_NODES)
    assert structure_of(edges, N_NODES) is structure_of(edges, N_NODES) is not None
    assert structure_of(edges, N_NODES + 1) is None
    assert structure_of(edges.clone(), N_NODES) is None
    assert structure_of(edges[:, :3], N_NODES) is None
    assert structure_of(EDGES, N_NODES) is None
    assert structure_of(None, N_NODES) is None


@pytest.mark.parametrize("is_used_before", [True, False])
@pytest.mark.parametrize("by_view", [True, False])
def test_a_structure_ends_when_its_edges_are_written(*, is_used_before: bool, by_view: bool) -> None:
    edges = attach(EDGES.clone(), N_NODES)
    if is_used_before:
        assert structure_of(edges, N_NODES).looped.n_entries == 14  # type: ignore[union-attr]
    (edges[1] if by_view else edges).add_(0)
    assert structure_of(edges, N_NODES) is None


def test_a_structure_given_is_the_structure_found() -> None:
    own = Structure(EDGES, N_NODES)
    assert structure_of(attach(EDGES.clone(), N_NODES, structure=own), N_NODES) is own


def test_structures_are_freed_with_their_edges() -> None:
    edges = attach(EDGES.clone(), N_NODES)
    structure = structure_of(edges, N_NODES)
    assert structure is not None
    assert [structure.blocks(kind, 3).transposed[0].numel() for kind in ("plain", "looped")] == [22, 22]
    part = structure.part(0, 3, edges[:, :4])
    assert part.looped.transposed[0].numel() == 4
    watched = [weakref.ref(structure), weakref.ref(structure.looped), weakref.ref(part)]
    gc.disable()
    try:
        del structure, edges, part
        assert [item() for item in watched] == [None, None, None], "a ring of references keeps them in memory"
    finally:
        gc.enable()


@pytest.mark.parametrize("copy_of", [copy.deepcopy, lambda data: pickle.loads(pickle.dumps(data))])
def test_graphs_with_a_structure_can_be_copied(copy_of: object) -> None:
    data = Data(edge_index=attach(EDGES.clone(), N_NODES), num_nodes=N_NODES)
    assert structure_of(data.edge_index, N_NODES).blocks("looped", 2).n_entries == 28  # type: ignore[union-attr]
    other = copy_of(data)  # type: ignore[operator]
    assert torch.equal(other.edge_index, EDGES)
    other.edge_index[0, 0] = 5
    assert structure_of(other.edge_index, N_NODES) is None
    assert structure_of(data.edge_index, N_NODES) is not None
