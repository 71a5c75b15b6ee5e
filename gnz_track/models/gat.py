"""Graph attention network (Velickovic et al., ICLR 2018)."""

from __future__ import annotations

import functools

from torch import Tensor
from torch.nn import functional
from torch_geometric.nn import GATConv

from gnz_track.models.stack import Stack, StackOptions

__all__ = ["GAT"]


class GAT(Stack):
    """Attention layers, two unless told, ELU between them, dropout on all inputs; ``forward -> [n_nodes, out]``.

    The options are those of :mod:`gnz_track.models.stack`; ``dropout`` is that of the features and the attention too.
    """

    drops_input = True

    def __init__(  # noqa: PLR0913  (each option is one that a search may tune)
        self,
        in_channels: int,
        hidden_channels: int,
        out_channels: int,
        *,
        n_layers: int = 2,
        heads: int = 8,
        dropout: float = 0.6,
        norm: str = "none",
        jumping: str = "none",
    ) -> None:
        options = StackOptions(n_layers=n_layers, heads=heads, dropout=dropout, norm=norm, jumping=jumping)
        layer = functools.partial(GATConv, dropout=dropout)
        super().__init__(
            (in_channels, hidden_channels, out_channels),
            options,
            hidden=functools.partial(layer, heads=heads),
            last=functools.partial(layer, heads=1, concat=False),
        )

    def activate(self, h: Tensor) -> Tensor:
        """Bend the codes of a hidden layer."""
        return functional.elu(h)
