"""Hops before a linear map, or after it, are the same codes."""

from __future__ import annotations

import pytest
import torch
from torch_geometric.data import Data
from torch_geometric.nn import SGConv

from gnz_track.models.sgc import SGC


@pytest.mark.parametrize("n_hops", [1, 2, 4])
@pytest.mark.parametrize("has_bias", [True, False])
def test_codes_are_those_of_hops_over_features(n_hops: int, *, has_bias: bool) -> None:
    torch.manual_seed(n_hops)
    edges = torch.randint(0, 12, (2, 40))
    data = Data(x=torch.randn(12, 5, dtype=torch.float64), edge_index=edges[:, edges[0] != edges[1]].unique(dim=1))
    ours = SGC(5, 64, 3, n_hops=n_hops, bias=has_bias).double()
    theirs = SGConv(5, 3, K=n_hops, bias=has_bias).double()
    with torch.no_grad():
        theirs.lin.weight.copy_(ours.map.weight)
        if ours.bias is not None:
            ours.bias.copy_(torch.randn(3))
            theirs.lin.bias.copy_(ours.bias)
    torch.testing.assert_close(ours(data), theirs(data.x, data.edge_index))
    further = SGC(5, 64, 3, n_hops=n_hops + 1, bias=has_bias).double()
    further.load_state_dict(ours.state_dict())
    assert not torch.allclose(ours(data), further(data))
