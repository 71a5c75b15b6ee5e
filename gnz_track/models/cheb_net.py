"""Chebyshev convolutions (Defferrard, Bresson and Vandergheynst, NeurIPS 2016)."""

from __future__ import annotations

from torch import nn
from torch_geometric.nn import ChebConv

from gnz_track.models.options import choice, count
from gnz_track.models.stack import Stack
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
    defaults = Stack.defaults.but(order=count(2), normalisation=choice("sym", _NORMALISATIONS))

    def make_layer(self, in_channels: int, out_channels: int) -> nn.Module:
        """Return one convolution."""
        normalisation = _NORMALISATIONS[self.options.normalisation]
        return ChebConv(in_channels, out_channels, K=self.options.order, normalization=normalisation)
