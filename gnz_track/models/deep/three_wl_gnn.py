"""3-WL-GNN, the provably powerful graph network (Maron et al., NeurIPS 2019)."""

from __future__ import annotations

import itertools

import torch
from torch import Tensor, nn

from gnz_track.models.deep.dense import DenseNetwork
from gnz_track.models.options import count

__all__ = ["ThreeWLGNN"]


class ThreeWLGNN(DenseNetwork):
    """Every block multiplies two perceptrons of the tensor as matrices, and sees what entered it beside the product.

    The perceptrons have ``depth`` layers, entry by entry. Read out by maxima, as published.
    """

    defaults = DenseNetwork.defaults.but(n_layers=3, depth=count(2))

    def make_block(self, in_channels: int, width: int) -> nn.Module:
        """Return a product of two perceptrons."""
        return _ProductBlock(in_channels, width, self.options.depth)

    def pool(self, entries: Tensor) -> Tensor:
        """Return the largest number of each row of ``[..., n]``."""
        return entries.amax(dim=-1)


class _ProductBlock(nn.Module):
    def __init__(self, in_channels: int, width: int, depth: int) -> None:
        super().__init__()
        self.left, self.right = (_perceptron(in_channels, width, depth) for _ in range(2))
        self.join = nn.Conv2d(in_channels + width, width, 1)

    def forward(self, h: Tensor) -> Tensor:
        return self.join(torch.cat([h, self.left(h) @ self.right(h)]))  # type: ignore[no-any-return]


def _perceptron(in_channels: int, width: int, depth: int) -> nn.Sequential:
    widths = [in_channels, *[width] * depth]
    layers = [(nn.Conv2d(first, last, 1), nn.ReLU()) for first, last in itertools.pairwise(widths)]
    return nn.Sequential(*itertools.chain.from_iterable(layers))
