"""The graph-agnostic baseline of the deep networks."""

from __future__ import annotations

from torch import Tensor, nn
from torch_geometric.data import Data

from gnz_track.models.deep.network import Convolution, DeepNetwork, Frame

__all__ = ["DeepMLP"]


class DeepMLP(DeepNetwork):
    """Linear layers with a ReLU, on every node alone: no norm, and what enters a layer is not added."""

    def make_layer(self, frame: Frame) -> Convolution:
        """Return a linear layer."""
        return _LinearLayer(frame)


class _LinearLayer(Convolution):
    def __init__(self, frame: Frame) -> None:
        super().__init__()
        self.linear, self.dropout = nn.Linear(frame.width, frame.width), nn.Dropout(frame.dropout)

    def forward(self, h: Tensor, e: Tensor | None, data: Data) -> tuple[Tensor, Tensor | None]:
        del data
        return self.dropout(self.linear(h).relu()), e
