"""3-WL-GNN, the provably powerful graph network (Maron et al., NeurIPS 2019)."""

from __future__ import annotations

import itertools

import torch
from torch import Tensor, nn

from gnz_track.models.deep.dense import DenseNetwork, count_channels
from gnz_track.models.sizes import Sizes
from gnz_track.models.stack import check_count
from gnz_track.types import TaskType

__all__ = ["ThreeWLGNN"]


class ThreeWLGNN(DenseNetwork):
    """Every block multiplies two perceptrons of the tensor as matrices, and sees what entered it beside the product.

    The perceptrons have ``depth`` layers, entry by entry. Read out by maxima, as published.
    """

    def __init__(  # noqa: PLR0913  (each option is one that a search may tune)
        self,
        in_channels: int,
        hidden_channels: int,
        out_channels: int,
        *,
        task_type: TaskType,
        sizes: Sizes,
        n_layers: int = 3,
        depth: int = 2,
        edge_features: bool = False,
    ) -> None:
        del in_channels, out_channels
        check_count("n_layers", n_layers)
        check_count("depth", depth)
        entering = [count_channels(sizes, edge_features=edge_features)] + [hidden_channels] * (n_layers - 1)
        blocks: list[nn.Module] = [_Block(channels, hidden_channels, depth) for channels in entering]
        super().__init__(task_type, sizes, blocks, width=hidden_channels, edge_features=edge_features)

    def pool(self, entries: Tensor) -> Tensor:
        """Return the largest number of each row of ``[..., n]``."""
        return entries.amax(dim=-1)


class _Block(nn.Module):
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
