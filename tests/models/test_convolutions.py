"""Stacks of the published space against PyG's own models with the same numbers in them."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import nn
from torch_geometric.data import Data
from torch_geometric.nn import EGConv, PNAConv, models
from torch_geometric.nn.models.basic_gnn import BasicGNN

from gnz_track.errors import BadValue
from gnz_track.models.averaged_gat import AveragedGAT
from gnz_track.models.egc import EGC
from gnz_track.models.gcn import GCN
from gnz_track.models.graph_sage import GraphSAGE
from gnz_track.models.node_gin import NodeGIN
from gnz_track.models.pna import AGGREGATORS, PNA, SCALERS, PrincipalConv


class TheirEGC(BasicGNN):
    supports_edge_weight = supports_edge_attr = False

    def init_conv(self, in_channels: int, out_channels: int, **kwargs: Any) -> nn.Module:
        return EGConv(in_channels, out_channels, num_heads=1, **kwargs)


def graph() -> Data:
    torch.manual_seed(0)
    edges = torch.randint(0, 14, (2, 50))
    # Node 14 is linked with nothing, and 15 is heard by one.
    edges = torch.cat([edges[:, edges[0] != edges[1]].unique(dim=1), torch.tensor([[15], [0]])], dim=1)
    return Data(x=torch.randn(16, 5, dtype=torch.float64), edge_index=edges)


def gradients(outputs: torch.Tensor, wanted: list[nn.Parameter]) -> list[torch.Tensor]:
    weights = torch.linspace(-1, 2, outputs.numel(), dtype=outputs.dtype).view_as(outputs)
    found = torch.autograd.grad((outputs * weights).sum(), wanted, allow_unused=True)
    return [torch.zeros_like(item) if got is None else got for got, item in zip(found, wanted, strict=True)]


def check_same(ours: nn.Module, theirs: nn.Module) -> None:
    """Put the numbers of one into the other, in their order, and compare codes and gradients."""
    ours, theirs, data = ours.double().eval(), theirs.double().eval(), graph()
    given, taken = list(ours.parameters()), list(theirs.parameters())
    assert [item.shape for item in given] == [item.shape for item in taken]
    with torch.no_grad():
        for mine, other in zip(given, taken, strict=True):
            other.copy_(mine.normal_())
    found, expected = ours(data), theirs(data.x, data.edge_index)
    torch.testing.assert_close(found, expected)
    torch.testing.assert_close(gradients(found, given), gradients(expected, taken))


@pytest.mark.parametrize("n_layers", [1, 2, 3])
@pytest.mark.parametrize("act", ["relu", "tanh", "elu"])
def test_convolutions_bend_as_told(n_layers: int, act: str) -> None:
    check_same(GCN(5, 8, 3, n_layers=n_layers, act=act), models.GCN(5, 8, n_layers, 3, act=act))


@pytest.mark.parametrize("aggr", ["mean", "max"])
@pytest.mark.parametrize("jumping", ["none", "last"])
@pytest.mark.parametrize("n_layers", [1, 2])
def test_aggregation_and_the_last_layer_are_those_told(aggr: str, jumping: str, n_layers: int) -> None:
    ours = GraphSAGE(5, 8, 3, n_layers=n_layers, aggr=aggr, jumping=jumping, act="tanh")
    jk = None if jumping == "none" else jumping
    check_same(ours, models.GraphSAGE(5, 8, n_layers, 3, aggr=aggr, jk=jk, act="tanh"))


@pytest.mark.parametrize("heads", [1, 4])
@pytest.mark.parametrize("concat", [True, False])
@pytest.mark.parametrize("n_layers", [1, 3])
def test_heads_share_the_width(heads: int, n_layers: int, *, concat: bool) -> None:
    ours = AveragedGAT(5, 8, 3, n_layers=n_layers, heads=heads, concat=concat)
    check_same(ours, models.GAT(5, 8, n_layers, 3, heads=heads, concat=concat))


@pytest.mark.parametrize("train_eps", [True, False])
def test_isomorphism_layers_encode_nodes(*, train_eps: bool) -> None:
    ours = NodeGIN(5, 8, 3, n_layers=2, train_eps=train_eps, eps=0.3)
    check_same(ours, models.GIN(5, 8, 2, 3, train_eps=train_eps, eps=0.3))


@pytest.mark.parametrize("aggregators", ["sum", "mean", "symnorm", "min", "max", "var", "std"])
def test_bases_are_joined_as_told(aggregators: str) -> None:
    ours = EGC(5, 8, 3, aggregators=aggregators, num_bases=2)
    check_same(ours, TheirEGC(5, 8, 2, 3, aggregators=[aggregators], num_bases=2))


class TheirPNA(nn.Module):
    """One layer, with averages in double precision, where theirs are in single."""

    def __init__(self, aggregator: str, scaler: str) -> None:
        super().__init__()
        counts = torch.bincount(graph().edge_index[1], minlength=16)
        self.layer = PNAConv(5, 3, [aggregator], [scaler], torch.bincount(counts)).double()
        self.layer.aggr_module.avg_deg_lin.fill_(counts.double().mean())
        self.layer.aggr_module.avg_deg_log.fill_(counts.double().log1p().mean())

    def forward(self, x: torch.Tensor, edge_index: torch.Tensor) -> torch.Tensor:
        return self.layer(x, edge_index)


@pytest.mark.parametrize("aggregator", AGGREGATORS)
@pytest.mark.parametrize("scaler", SCALERS)
def test_principal_layer_is_the_published_one_without_its_messages(aggregator: str, scaler: str) -> None:
    ours = PNA(5, 8, 3, n_layers=1, aggregators=aggregator, scalers=scaler)
    assert isinstance(ours.first, PrincipalConv)
    check_same(ours, TheirPNA(aggregator, scaler))


def test_what_a_layer_does_not_know_is_refused() -> None:
    with pytest.raises(BadValue, match="aggregators"):
        EGC(5, 8, 3, aggregators="median")
    with pytest.raises(BadValue, match="scalers"):
        PNA(5, 8, 3, scalers="cubic")
    with pytest.raises(BadValue, match="towers"):
        PNA(5, 8, 3, towers=2)
    with pytest.raises(BadValue, match="a multiple of 3"):
        AveragedGAT(5, 8, 3, heads=3)
    with pytest.raises(BadValue, match="act"):
        GCN(5, 8, 3, act="step")
    with pytest.raises(BadValue, match="aggr"):
        GraphSAGE(5, 8, 3, aggr="lstm")
