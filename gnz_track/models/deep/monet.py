"""Mixture model network (Monti et al., CVPR 2017)."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch_geometric.data import Data

from gnz_track.models.deep.network import Convolution, DeepNetwork, Frame, Layer, count_incoming, sum_to
from gnz_track.models.options import count

__all__ = ["MoNet"]


class MoNet(DeepNetwork):
    """Gaussian kernels on coordinates of an edge that are made of the degrees of its two ends."""

    defaults = DeepNetwork.defaults.but(kernels=count(3))

    def make_layer(self, frame: Frame) -> Convolution:
        """Return a layer of kernels."""
        return _BiasedLayer(_GaussianKernels(frame.width, self.options.kernels), frame)


class _BiasedLayer(Layer):
    """The bias of a layer comes after the sum with what entered it, as published."""

    def __init__(self, convolution: nn.Module, frame: Frame) -> None:
        super().__init__(convolution, frame)
        self.bias = nn.Parameter(torch.zeros(frame.width))

    def forward(self, h: Tensor, e: Tensor | None, data: Data) -> tuple[Tensor, Tensor | None]:
        h, e = super().forward(h, e, data)
        return h + self.bias, e


class _GaussianKernels(Convolution):
    """``sum_k sum_j exp(-((u_ij - mean_k) / width_k)^2 / 2) W_k h_j`` with coordinates ``u`` of every edge."""

    def __init__(self, width: int, kernels: int) -> None:
        super().__init__()
        self.coordinates = nn.Linear(2, 2)
        self.maps = nn.Linear(width, kernels * width, bias=False)
        self.means = nn.Parameter(torch.randn(kernels, 2) * 0.1)
        self.inverse_widths = nn.Parameter(torch.ones(kernels, 2))

    def weigh(self, edge_index: Tensor, n_nodes: int) -> Tensor:
        """Return the weight of every edge under each kernel ``[n_edges, kernels]``."""
        source, target = edge_index
        inverse_root = (count_incoming(target, n_nodes, self.means) + 1).rsqrt()
        ends = [inverse_root.index_select(0, end) for end in (source, target)]
        coordinates = self.coordinates(torch.cat(ends, dim=1)).tanh().unsqueeze(1)
        return (-0.5 * ((coordinates - self.means) * self.inverse_widths).square().sum(dim=2)).exp()

    def forward(self, h: Tensor, e: Tensor | None, data: Data) -> tuple[Tensor, Tensor | None]:
        source, target = data.edge_index
        weights = self.weigh(data.edge_index, h.size(0)).unsqueeze(2)
        sent = self.maps(h).view(h.size(0), weights.size(1), -1).index_select(0, source)
        return sum_to((weights * sent).sum(dim=1), target, h.size(0)), e
