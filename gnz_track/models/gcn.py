"""Graph convolutional network (Kipf and Welling, ICLR 2017)."""

from __future__ import annotations

from torch_geometric.nn import GCNConv

from gnz_track.models.stack import Stack, StackOptions

__all__ = ["GCN"]


class GCN(Stack):
    """Convolutions with a ReLU between them unless told, two and no dropout; ``forward(data) -> [n_nodes, out]``.

    The options are those of :mod:`gnz_track.models.stack`.
    """

    def __init__(  # noqa: PLR0913  (each option is one that a search may tune)
        self,
        in_channels: int,
        hidden_channels: int,
        out_channels: int,
        *,
        n_layers: int = 2,
        dropout: float = 0.0,
        norm: str = "none",
        jumping: str = "none",
        act: str = "relu",
    ) -> None:
        options = StackOptions(n_layers=n_layers, dropout=dropout, norm=norm, jumping=jumping, act=act)
        super().__init__((in_channels, hidden_channels, out_channels), options, hidden=GCNConv, last=GCNConv)
