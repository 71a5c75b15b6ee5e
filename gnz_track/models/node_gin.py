"""Isomorphism layers (Xu et al., ICLR 2019) that encode nodes: no pooling, for every kind of problem."""

from __future__ import annotations

import functools

from torch import nn
from torch_geometric.nn import GINConv

from gnz_track.models.stack import Stack, StackOptions
from gnz_track.types import TaskType

__all__ = ["NodeGIN"]


class NodeGIN(Stack):
    """Sums over neighbours and perceptrons of two layers, ReLU between; ``forward(data) -> [n_nodes, out]``.

    ``eps`` is what the node itself weighs more, fitted with ``train_eps``; the other options are those of
    :mod:`gnz_track.models.stack`.
    """

    task_types = frozenset(TaskType)

    def __init__(  # noqa: PLR0913  (each is an option that a search tunes)
        self,
        in_channels: int,
        hidden_channels: int,
        out_channels: int,
        *,
        n_layers: int = 2,
        dropout: float = 0.0,
        norm: str = "none",
        jumping: str = "none",
        eps: float = 0.0,
        train_eps: bool = False,
    ) -> None:
        options = StackOptions(n_layers=n_layers, dropout=dropout, norm=norm, jumping=jumping)
        layer = functools.partial(_layer, eps=eps, train_eps=train_eps)
        super().__init__((in_channels, hidden_channels, out_channels), options, hidden=layer, last=layer)


def _layer(in_channels: int, out_channels: int, *, eps: float, train_eps: bool) -> GINConv:
    perceptron = nn.Sequential(nn.Linear(in_channels, out_channels), nn.ReLU(), nn.Linear(out_channels, out_channels))
    return GINConv(perceptron, eps=eps, train_eps=train_eps)
