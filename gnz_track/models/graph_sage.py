"""GraphSAGE with mean or max aggregation (Hamilton, Ying and Leskovec, NeurIPS 2017)."""

from __future__ import annotations

from torch import nn
from torch_geometric.nn import SAGEConv

from gnz_track.models.options import choice
from gnz_track.models.stack import ACTIVATIONS, Stack

__all__ = ["GraphSAGE"]

_AGGREGATIONS = {"mean": "mean", "max": "max"}


class GraphSAGE(Stack):
    """Aggregations with an activation and dropout between them; ``forward(data) -> [n_nodes, out]``.

    Options of :mod:`gnz_track.models.stack`: ``n_layers=2``, ``dropout=0.5``, ``norm='none'``, ``jumping='none'``,
    ``act='relu'``. And ``aggr='mean'``, or ``max``: how neighbours are aggregated.
    """

    defaults = Stack.defaults.but(dropout=0.5, act=choice("relu", ACTIVATIONS), aggr=choice("mean", _AGGREGATIONS))

    def make_layer(self, in_channels: int, out_channels: int) -> nn.Module:
        """Return one aggregation."""
        return SAGEConv(in_channels, out_channels, aggr=_AGGREGATIONS[self.options.aggr])
