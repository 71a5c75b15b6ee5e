"""The graph-agnostic baseline: what the features alone can do."""

from __future__ import annotations

from torch import nn

from gnz_track.models.stack import Stack, StackOptions

__all__ = ["MLP"]


class MLP(Stack):
    """Linear layers, two unless told, ReLU and dropout between them, blind to edges; ``forward -> [n_nodes, out]``.

    The options are those of :mod:`gnz_track.models.stack`.
    """

    sees_edges = False

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
        super().__init__((in_channels, hidden_channels, out_channels), options, hidden=nn.Linear, last=nn.Linear)
