"""The graph-agnostic baseline: what the features alone can do."""

from __future__ import annotations

from torch import nn

from gnz_track.models.stack import Stack

__all__ = ["MLP"]


class MLP(Stack):
    """Linear layers with ReLU and dropout between them, blind to edges; ``forward(data) -> [n_nodes, out]``.

    Options of :mod:`gnz_track.models.stack`: ``n_layers=2``, ``dropout=0.5``, ``norm='none'``, ``jumping='none'``.
    """

    defaults = Stack.defaults.but(dropout=0.5)
    sees_edges = False

    def make_layer(self, in_channels: int, out_channels: int) -> nn.Module:
        """Return one linear map."""
        return nn.Linear(in_channels, out_channels)
