"""GraphSAGE with mean aggregation (Hamilton, Ying and Leskovec, NeurIPS 2017)."""

from __future__ import annotations

import functools

from torch_geometric.nn import SAGEConv

from gnz_track.models.stack import Stack, StackOptions

__all__ = ["GraphSAGE"]


class GraphSAGE(Stack):
    """Mean aggregations, two unless told, ReLU and dropout between them; ``forward(data) -> [n_nodes, out]``.

    The options are those of :mod:`gnz_track.models.stack`.
    """

    def __init__(
        self,
        in_channels: int,
        hidden_channels: int,
        out_channels: int,
        *,
        n_layers: int = 2,
        dropout: float = 0.5,
        norm: str = "none",
        jumping: str = "none",
    ) -> None:
        options = StackOptions(n_layers=n_layers, dropout=dropout, norm=norm, jumping=jumping)
        layer = functools.partial(SAGEConv, aggr="mean")
        super().__init__((in_channels, hidden_channels, out_channels), options, hidden=layer, last=layer)
