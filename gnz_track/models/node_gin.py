"""Isomorphism layers (Xu et al., ICLR 2019) that encode nodes: no pooling, for every kind of problem."""

from __future__ import annotations

from torch import nn
from torch_geometric.nn import GINConv

from gnz_track.models.options import Option
from gnz_track.models.stack import Stack
from gnz_track.types import TaskType

__all__ = ["NodeGIN"]


class NodeGIN(Stack):
    """Sums over neighbours and perceptrons of two layers, ReLU between; ``forward(data) -> [n_nodes, out]``.

    ``eps`` is what the node itself weighs more, fitted with ``train_eps``; the other options are those of
    :mod:`gnz_track.models.stack`.
    """

    task_types = frozenset(TaskType)
    defaults = Stack.defaults.but(eps=Option(0.0), train_eps=Option(default=False))

    def make_layer(self, in_channels: int, out_channels: int) -> nn.Module:
        """Return one isomorphism layer."""
        maps = nn.Linear(in_channels, out_channels), nn.ReLU(), nn.Linear(out_channels, out_channels)
        return GINConv(nn.Sequential(*maps), eps=self.options.eps, train_eps=self.options.train_eps)
