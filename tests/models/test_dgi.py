"""Deep Graph Infomax: codes, shuffled codes, summary, and the loss between them."""

from __future__ import annotations

import torch
from torch import nn
from torch_geometric.data import Data
from torch_geometric.nn import DeepGraphInfomax, GCNConv

from gnz_track.models.catalogue import MODELS
from gnz_track.models.embeddings.dgi import DGI, DGIWrapper
from gnz_track.models.mlp import MLP


def _graph() -> Data:
    generator = torch.Generator().manual_seed(0)
    return Data(x=torch.randn(9, 4, generator=generator), edge_index=torch.randint(9, (2, 30), generator=generator))


def test_codes_are_those_of_the_encoder_and_of_shuffled_features() -> None:
    torch.manual_seed(0)
    encoder = MLP(4, 8, 8).eval()
    codes, shuffled, summary = DGIWrapper(encoder, 8)(_graph())
    assert torch.equal(codes, encoder(_graph()))
    # An encoder without edges shuffles its codes with its features.
    assert not torch.equal(shuffled, codes)
    rows = [sorted(map(str, part.tolist())) for part in (codes, shuffled)]
    assert rows[0] == rows[1]
    torch.testing.assert_close(summary, codes.mean(dim=0).sigmoid())


def test_the_loss_is_low_where_the_two_are_told_apart() -> None:
    model = DGI(4, 2)
    with torch.no_grad():
        model.wrapper.infomax.weight.copy_(torch.eye(2))
    up, down, summary = torch.full((5, 2), 9.0), torch.full((5, 2), -9.0), torch.ones(2)
    assert model.loss(up, down, summary) < 1e-3
    assert model.loss(down, up, summary) > 10


def test_parameters_start_where_those_of_pyg_do() -> None:
    class Encoder(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.conv, self.activation = GCNConv(4, 8), nn.PReLU(8)

    torch.manual_seed(3)
    expected = DeepGraphInfomax(8, Encoder(), summary=lambda z, *_: z, corruption=lambda x, _: x)
    torch.manual_seed(3)
    found = DGI(4, 8)
    shapes = sorted((tuple(p.shape), p.sum().item()) for p in found.parameters())
    assert shapes == sorted((tuple(p.shape), p.sum().item()) for p in expected.parameters())


def test_it_is_never_a_row_of_a_report() -> None:
    targets = [row.target.rpartition(":")[2] for row in MODELS.rows()]
    assert "DGILinear" in targets, "with a map that is trained it is one"
    assert DGI.__name__ not in targets
