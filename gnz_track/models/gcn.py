"""Graph convolutional network (Kipf and Welling, ICLR 2017)."""

from __future__ import annotations

from torch import Tensor, nn
from torch_geometric.data import Data
from torch_geometric.nn import GCNConv

__all__ = ["GCN"]


class GCN(nn.Module):
    """Two convolutions with a ReLU between them, no dropout; ``forward(data) -> [n_nodes, out_channels]``."""

    def __init__(self, in_channels: int, hidden_channels: int, out_channels: int) -> None:
        super().__init__()
        self.first = GCNConv(in_channels, hidden_channels)
        self.second = GCNConv(hidden_channels, out_channels)

    def forward(self, data: Data) -> Tensor:
        """Encode the nodes of a graph."""
        h = self.first(data.x, data.edge_index).relu()
        return self.second(h, data.edge_index)
