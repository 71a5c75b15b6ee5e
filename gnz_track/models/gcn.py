"""Graph convolutional network (Kipf and Welling, ICLR 2017)."""

from __future__ import annotations

from torch import nn
from torch_geometric.nn import GCNConv

from gnz_track.models.options import choice
from gnz_track.models.stack import ACTIVATIONS, Stack

__all__ = ["GCN"]


class GCN(Stack):
    """Convolutions with a ReLU between them unless told, two and no dropout; ``forward(data) -> [n_nodes, out]``.

    The options are those of :mod:`gnz_track.models.stack`.
    """

    defaults = Stack.defaults.but(act=choice("relu", ACTIVATIONS))

    def make_layer(self, in_channels: int, out_channels: int) -> nn.Module:
        """Return one convolution."""
        return GCNConv(in_channels, out_channels)
