"""Graph attention as the published space has it: heads share the width, and the last layer averages them."""

from __future__ import annotations

import functools

from torch_geometric.nn import GATConv

from gnz_track.errors import BadValue
from gnz_track.models.stack import Stack, StackOptions, check_count
from gnz_track.types import TaskType

__all__ = ["AveragedGAT"]


class AveragedGAT(Stack):
    """Attention layers with ReLU between them, whose last one is the mean over heads; ``forward -> [n_nodes, out]``.

    With ``concat`` a hidden layer is as wide as told, each head having its share; else it is the mean over heads too.
    ``dropout`` is that of the attention as well; the other options are those of :mod:`gnz_track.models.stack`.
    """

    task_types = frozenset(TaskType)

    def __init__(  # noqa: PLR0913  (each is an option that a search tunes)
        self,
        in_channels: int,
        hidden_channels: int,
        out_channels: int,
        *,
        n_layers: int = 2,
        heads: int = 4,
        concat: bool = True,
        dropout: float = 0.0,
        norm: str = "none",
        jumping: str = "none",
        act: str = "relu",
    ) -> None:
        check_count("heads", heads)
        if concat and hidden_channels % heads:
            raise BadValue("hidden_channels of several heads", hidden_channels, f"a multiple of {heads}")
        options = StackOptions(n_layers=n_layers, dropout=dropout, norm=norm, jumping=jumping, act=act)
        super().__init__(
            (in_channels, hidden_channels, out_channels),
            options,
            hidden=_layer(heads, dropout, concat=concat),
            last=_layer(heads, dropout, concat=False),
        )


def _layer(heads: int, dropout: float, *, concat: bool) -> functools.partial[GATConv]:
    made = functools.partial(GATConv, heads=heads, dropout=dropout, concat=concat)
    return functools.partial(_share, made, heads) if concat else made


def _share(make: functools.partial[GATConv], heads: int, in_channels: int, out_channels: int) -> GATConv:
    return make(in_channels, out_channels // heads)
