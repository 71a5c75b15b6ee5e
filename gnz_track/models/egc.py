"""Efficient graph convolution (Tailor et al., ICLR 2022): every node combines shared bases by weights of its own."""

from __future__ import annotations

import functools

from torch_geometric.nn import EGConv

from gnz_track.models.stack import Stack, StackOptions, check_choice, check_count
from gnz_track.types import TaskType

__all__ = ["EGC"]

_AGGREGATORS = {name: [name] for name in ("sum", "mean", "symnorm", "min", "max", "var", "std")}


class EGC(Stack):
    """Layers of ``num_bases`` bases and one head, ReLU between them; ``forward(data) -> [n_nodes, out]``.

    ``aggregators`` names how neighbours are joined: sum, mean, symnorm, min, max, var or std. The other options are
    those of :mod:`gnz_track.models.stack`.
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
        aggregators: str = "symnorm",
        num_bases: int = 4,
    ) -> None:
        check_choice("aggregators", aggregators, _AGGREGATORS)
        check_count("num_bases", num_bases)
        options = StackOptions(n_layers=n_layers, dropout=dropout, norm=norm, jumping=jumping)
        layer = functools.partial(EGConv, aggregators=_AGGREGATORS[aggregators], num_heads=1, num_bases=num_bases)
        super().__init__((in_channels, hidden_channels, out_channels), options, hidden=layer, last=layer)
