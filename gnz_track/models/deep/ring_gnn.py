"""Ring-GNN (Chen et al., NeurIPS 2019): sums and products of equivariant maps of the dense tensor of a graph."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

from gnz_track.models.deep.dense import DenseNetwork
from gnz_track.models.options import Option

__all__ = ["RingGNN", "equivariant_basis"]

N_BASIS = 15


class RingGNN(DenseNetwork):
    """Every block adds a linear equivariant map and the product of two others; ``mixing`` is what that begins with.

    Read out by sums, as published.
    """

    defaults = DenseNetwork.defaults.but(mixing=Option(0.02))

    def make_block(self, in_channels: int, width: int) -> nn.Module:
        """Return a linear map plus a product of two others."""
        return _RingBlock(in_channels, width, self.options.mixing)

    def pool(self, entries: Tensor) -> Tensor:
        """Return the sum of each row of ``[..., n]``."""
        return entries.sum(dim=-1)


class _RingBlock(nn.Module):
    def __init__(self, in_channels: int, out_channels: int, mixing: float) -> None:
        super().__init__()
        self.maps = nn.ModuleList(_EquivariantMap(in_channels, out_channels) for _ in range(3))
        self.mixing = nn.Parameter(torch.tensor([1.0, mixing]))

    def forward(self, h: Tensor) -> Tensor:
        once, left, right = (each(h) for each in self.maps)
        return (self.mixing[0] * once + self.mixing[1] * (left @ right)).relu()


class _EquivariantMap(nn.Module):
    def __init__(self, in_channels: int, out_channels: int) -> None:
        super().__init__()
        deviation = math.sqrt(2.0 / (in_channels + out_channels))
        self.weight = nn.Parameter(torch.randn(out_channels, N_BASIS * in_channels) * deviation)
        self.bias = nn.Parameter(torch.zeros(out_channels, 1, 1))
        self.bias_of_diagonal = nn.Parameter(torch.zeros(out_channels, 1))

    def forward(self, h: Tensor) -> Tensor:
        n = h.size(1)
        out = (self.weight @ equivariant_basis(h).flatten(2).flatten(0, 1)).view(-1, n, n)
        return out + self.bias + torch.diag_embed(self.bias_of_diagonal.expand(-1, n))


def equivariant_basis(h: Tensor) -> Tensor:
    """Return the linear maps ``[15, channels, n, n]`` of ``[channels, n, n]`` that do not ask which node is which.

    They are a basis of all such maps (Maron et al., ICLR 2019); sums are means here, so that sizes can be compared.
    """
    n = h.size(1)
    diagonal = h.diagonal(dim1=1, dim2=2)
    rows, columns = h.mean(dim=2), h.mean(dim=1)
    trace, total = (part.mean(dim=1, keepdim=True).expand(-1, n) for part in (diagonal, rows))
    vectors = (diagonal, trace, rows, columns, total)
    on_diagonal = [torch.diag_embed(vector) for vector in vectors]
    across = [vector.unsqueeze(1).expand_as(h) for vector in (diagonal, rows, columns)]
    down = [vector.unsqueeze(2).expand_as(h) for vector in (diagonal, rows, columns, trace, total)]
    return torch.stack([*on_diagonal, *across, *down, h, h.transpose(1, 2)])
