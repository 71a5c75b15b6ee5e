"""Efficient graph convolution (Tailor et al., ICLR 2022): every node combines shared bases by weights of its own."""

from __future__ import annotations

from torch import nn
from torch_geometric.nn import EGConv

from gnz_track.models.options import choice, count
from gnz_track.models.stack import Stack
from gnz_track.types import TaskType

__all__ = ["EGC"]

_AGGREGATORS = {name: [name] for name in ("sum", "mean", "symnorm", "min", "max", "var", "std")}


class EGC(Stack):
    """Layers of ``num_bases`` bases and one head, ReLU between them; ``forward(data) -> [n_nodes, out]``.

    ``aggregators`` names how neighbours are joined: sum, mean, symnorm, min, max, var or std. The other options are
    those of :mod:`gnz_track.models.stack`.
    """

    task_types = frozenset(TaskType)
    defaults = Stack.defaults.but(aggregators=choice("symnorm", _AGGREGATORS), num_bases=count(4))

    def make_layer(self, in_channels: int, out_channels: int) -> nn.Module:
        """Return one convolution."""
        aggregators, n_bases = _AGGREGATORS[self.options.aggregators], self.options.num_bases
        return EGConv(in_channels, out_channels, aggregators=aggregators, num_heads=1, num_bases=n_bases)
