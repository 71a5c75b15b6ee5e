"""Graph attention as the published space has it: heads share the width, and the last layer averages them."""

from __future__ import annotations

from torch import nn
from torch_geometric.nn import GATConv

from gnz_track.errors import BadValue
from gnz_track.models.options import Option, choice, count
from gnz_track.models.stack import ACTIVATIONS, Stack
from gnz_track.types import TaskType

__all__ = ["AveragedGAT"]


class AveragedGAT(Stack):
    """Attention layers with ReLU between them, whose last one is the mean over heads; ``forward -> [n_nodes, out]``.

    With ``concat`` a hidden layer is as wide as told, each head having its share; else it is the mean over heads too.
    ``dropout`` is that of the attention as well; the other options are those of :mod:`gnz_track.models.stack`.
    """

    task_types = frozenset(TaskType)
    defaults = Stack.defaults.but(heads=count(4), concat=Option(default=True), act=choice("relu", ACTIVATIONS))

    def hidden_width(self, hidden_channels: int) -> int:
        """Return how wide what leaves a hidden layer is: as told, all heads together."""
        heads = self.options.heads
        if self.options.concat and hidden_channels % heads:
            raise BadValue("hidden_channels of several heads", hidden_channels, f"a multiple of {heads}")
        return hidden_channels

    def make_layer(self, in_channels: int, out_channels: int) -> nn.Module:
        """Return a hidden layer."""
        heads, is_shared = self.options.heads, self.options.concat
        each = out_channels // heads if is_shared else out_channels
        return GATConv(in_channels, each, heads=heads, dropout=self.options.dropout, concat=is_shared)

    def make_last(self, in_channels: int, out_channels: int) -> nn.Module:
        """Return the layer that gives the codes."""
        heads, dropout = self.options.heads, self.options.dropout
        return GATConv(in_channels, out_channels, heads=heads, dropout=dropout, concat=False)
