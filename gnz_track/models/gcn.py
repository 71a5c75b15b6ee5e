"""Graph convolutional network (Kipf and Welling, ICLR 2017)."""

from __future__ import annotations

from torch import nn
from torch_geometric.nn import GCNConv

from gnz_track.models.options import choice
from gnz_track.models.stack import ACTIVATIONS, Stack

__all__ = ["GCN"]


class GCN(Stack):
    """Convolutions with an activation between them; ``forward(data) -> [n_nodes, out]``.

    Options of :mod:`gnz_track.models.stack`: ``n_layers=2``, ``dropout=0.0``, ``norm='none'``, ``jumping='none'``,
    ``act='relu'``.
    """

    defaults = Stack.defaults.but(act=choice("relu", ACTIVATIONS))

    def make_layer(self, in_channels: int, out_channels: int) -> nn.Module:
        """Return one convolution."""
        return GCNConv(in_channels, out_channels)
