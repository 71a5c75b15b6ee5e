"""Deep graph convolution, in the two forms that the benchmark compares (Kipf and Welling, ICLR 2017)."""

from __future__ import annotations

from torch import Tensor, nn
from torch_geometric.data import Data

from gnz_track.models.deep.network import Convolution, DeepNetwork, Frame, Layer, mean_to, normalise_both, sum_to

__all__ = ["DeepGCN", "DeepMeanGCN"]


class DeepGCN(DeepNetwork):
    """Sums under symmetric normalisation. A node has no loop: it sees itself by what is added after a layer."""

    def make_layer(self, frame: Frame) -> Convolution:
        """Return a layer of normalised sums."""
        return Layer(_NormalisedSum(frame.width), frame)


class DeepMeanGCN(DeepNetwork):
    """The mean over neighbours, then a linear map: the plainest of all convolutions."""

    def make_layer(self, frame: Frame) -> Convolution:
        """Return a layer of means."""
        return Layer(_MeanConvolution(frame.width), frame)


class _NormalisedSum(Convolution):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.linear = nn.Linear(width, width, bias=False)
        self.bias = nn.Parameter(self.linear.weight.new_zeros(width))

    def forward(self, h: Tensor, e: Tensor | None, data: Data) -> tuple[Tensor, Tensor | None]:
        source, target = data.edge_index
        weights = normalise_both(data.edge_index, h.size(0), h)
        messages = self.linear(h).index_select(0, source) * weights
        return sum_to(messages, target, h.size(0)) + self.bias, e


class _MeanConvolution(Convolution):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.linear = nn.Linear(width, width)

    def forward(self, h: Tensor, e: Tensor | None, data: Data) -> tuple[Tensor, Tensor | None]:
        source, target = data.edge_index
        return self.linear(mean_to(h.index_select(0, source), target, h.size(0))), e
