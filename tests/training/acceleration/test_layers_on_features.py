"""Accelerated layers on sparse features: masks and numbers of PyG on the dense ones."""

from __future__ import annotations

import copy
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch_geometric.nn import GATConv, GCNConv, GINConv, SAGEConv, TransformerConv

from gnz_track.training.acceleration import accelerate, attach, sparsify

N_NODES, OUT = 12, 4
# Three isolated nodes, loops and parallel edges.
EDGES = torch.randint(9, (2, 36), generator=torch.Generator().manual_seed(1))
TOLERANCES = {torch.float32: 1e-5, torch.float64: 1e-12}


@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("make", [GCNConv, SAGEConv, GATConv, TransformerConv])
@pytest.mark.parametrize("dtype", TOLERANCES)
def test_layers_take_sparse_features(make: Any, dtype: torch.dtype, *, training: bool) -> None:
    torch.manual_seed(3)
    dense = (torch.rand(N_NODES, 40) < 0.06).to(dtype) * torch.randn(N_NODES, 40, dtype=dtype)
    features, edges = sparsify(dense.clone()), attach(EDGES.clone(), N_NODES)
    assert type(features) is not Tensor
    own = nn.ModuleList([nn.Dropout(0.5), make(40, OUT).to(dtype)]).train(training)
    fast = accelerate(copy.deepcopy(own))
    results = []
    for (drop, layer), x, edge_index in ((own, dense, EDGES), (fast, features, edges), (fast, features, edges)):
        torch.manual_seed(4)
        out = layer(drop(x), edge_index)
        results.append((out, torch.autograd.grad(out.square().sum(), list(layer.parameters())), torch.get_rng_state()))
    for out, gradients, state in results[1:]:
        torch.testing.assert_close(out, results[0][0], rtol=TOLERANCES[dtype], atol=TOLERANCES[dtype])
        torch.testing.assert_close(gradients, results[0][1], rtol=TOLERANCES[dtype] * 10, atol=TOLERANCES[dtype] * 10)
        assert torch.equal(state, results[0][2])


def test_an_isomorphism_layer_takes_sparse_features() -> None:
    dense = (torch.rand(N_NODES, 40, generator=torch.Generator().manual_seed(1)) < 0.06).float()
    own = GINConv(nn.Linear(40, OUT))
    fast = accelerate(copy.deepcopy(own))
    torch.testing.assert_close(fast(sparsify(dense), attach(EDGES.clone(), N_NODES)), own(dense, EDGES))
