"""Graph transformer with attention over neighbours (Shi et al., IJCAI 2021)."""

from __future__ import annotations

import functools

from torch_geometric.nn import TransformerConv

from gnz_track.models.stack import Stack, StackOptions

__all__ = ["GraphTransformer"]


class GraphTransformer(Stack):
    """Transformer convolutions, two unless told, ReLU and dropout between them; ``forward -> [n_nodes, out]``.

    The options are those of :mod:`gnz_track.models.stack`; ``dropout`` is that of the attention too.
    """

    def __init__(  # noqa: PLR0913  (each option is one that a search may tune)
        self,
        in_channels: int,
        hidden_channels: int,
        out_channels: int,
        *,
        n_layers: int = 2,
        heads: int = 4,
        dropout: float = 0.1,
        norm: str = "none",
        jumping: str = "none",
    ) -> None:
        options = StackOptions(n_layers=n_layers, heads=heads, dropout=dropout, norm=norm, jumping=jumping)
        layer = functools.partial(TransformerConv, dropout=dropout)
        super().__init__(
            (in_channels, hidden_channels, out_channels),
            options,
            hidden=functools.partial(layer, heads=heads),
            last=functools.partial(layer, heads=1, concat=False),
        )
