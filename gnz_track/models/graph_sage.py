"""GraphSAGE with mean or max aggregation (Hamilton, Ying and Leskovec, NeurIPS 2017)."""

from __future__ import annotations

import functools

from torch_geometric.nn import SAGEConv

from gnz_track.models.stack import Stack, StackOptions, check_choice

__all__ = ["GraphSAGE"]

_AGGREGATIONS = {"mean": "mean", "max": "max"}


class GraphSAGE(Stack):
    """Aggregations, two and by the mean unless told, ReLU and dropout between; ``forward(data) -> [n_nodes, out]``.

    The options are those of :mod:`gnz_track.models.stack`.
    """

    def __init__(  # noqa: PLR0913  (each option is one that a search may tune)
        self,
        in_channels: int,
        hidden_channels: int,
        out_channels: int,
        *,
        n_layers: int = 2,
        dropout: float = 0.5,
        norm: str = "none",
        jumping: str = "none",
        act: str = "relu",
        aggr: str = "mean",
    ) -> None:
        check_choice("aggr", aggr, _AGGREGATIONS)
        options = StackOptions(n_layers=n_layers, dropout=dropout, norm=norm, jumping=jumping, act=act)
        layer = functools.partial(SAGEConv, aggr=_AGGREGATIONS[aggr])
        super().__init__((in_channels, hidden_channels, out_channels), options, hidden=layer, last=layer)
