"""Deep graph convolution, in the two forms that the benchmark compares (Kipf and Welling, ICLR 2017)."""

from __future__ import annotations

from torch import Tensor, nn
from torch_geometric.data import Data

from gnz_track.models.deep.network import DeepNetwork, Frame, Layer, mean_to, normalise_both, sum_to
from gnz_track.models.sizes import Sizes
from gnz_track.types import TaskType

__all__ = ["DeepGCN", "DeepMeanGCN"]


class DeepGCN(DeepNetwork):
    """Sums under symmetric normalisation. A node has no loop: it sees itself by what is added after a layer."""

    def __init__(  # noqa: PLR0913  (each option is one that a search may tune)
        self,
        in_channels: int,
        hidden_channels: int,
        out_channels: int,
        *,
        task_type: TaskType,
        sizes: Sizes,
        n_layers: int = 4,
        dropout: float = 0.0,
        readout: str = "mean",
    ) -> None:
        del in_channels, out_channels
        frame = Frame(
            task_type=task_type, sizes=sizes, width=hidden_channels, n_layers=n_layers, dropout=dropout, readout=readout
        )
        super().__init__(frame, lambda _: Layer(self.make_convolution(hidden_channels), frame))

    def make_convolution(self, width: int) -> nn.Module:
        """Return the convolution of one layer."""
        return _NormalisedSum(width)


class DeepMeanGCN(DeepGCN):
    """The mean over neighbours, then a linear map: the plainest of all convolutions."""

    def make_convolution(self, width: int) -> nn.Module:
        """Return the convolution of one layer."""
        return _Mean(width)


class _NormalisedSum(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.linear = nn.Linear(width, width, bias=False)
        self.bias = nn.Parameter(self.linear.weight.new_zeros(width))

    def forward(self, h: Tensor, e: Tensor | None, data: Data) -> tuple[Tensor, Tensor | None]:
        source, target = data.edge_index
        weights = normalise_both(data.edge_index, h.size(0), h)
        messages = self.linear(h).index_select(0, source) * weights
        return sum_to(messages, target, h.size(0)) + self.bias, e


class _Mean(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.linear = nn.Linear(width, width)

    def forward(self, h: Tensor, e: Tensor | None, data: Data) -> tuple[Tensor, Tensor | None]:
        source, target = data.edge_index
        return self.linear(mean_to(h.index_select(0, source), target, h.size(0))), e
