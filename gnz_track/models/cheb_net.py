"""Chebyshev convolutions (Defferrard, Bresson and Vandergheynst, NeurIPS 2016)."""

from __future__ import annotations

import functools

from torch_geometric.nn import ChebConv

from gnz_track.errors import BadValue
from gnz_track.models.stack import Stack, StackOptions
from gnz_track.types import TaskType

__all__ = ["ChebNet"]

# Name -> what the layer calls it.
_NORMALISATIONS = {"none": None, "sym": "sym", "rw": "rw"}


class ChebNet(Stack):
    """Polynomials of the Laplacian of ``order`` terms, ReLU between layers; ``forward(data) -> [n_nodes, out]``.

    ``normalisation`` of the Laplacian is ``sym``, ``rw`` (random walk) or ``none``; the other options are those of
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
        order: int = 2,
        normalisation: str = "sym",
    ) -> None:
        if not isinstance(order, int) or order < 1:
            raise BadValue("order", order, "a whole number from 1 upwards")
        if normalisation not in _NORMALISATIONS:
            raise BadValue("normalisation", normalisation, ", ".join(_NORMALISATIONS))
        options = StackOptions(n_layers=n_layers, dropout=dropout, norm=norm, jumping=jumping)
        layer = functools.partial(ChebConv, K=order, normalization=_NORMALISATIONS[normalisation])
        super().__init__((in_channels, hidden_channels, out_channels), options, hidden=layer, last=layer)
