"""Graph isomorphism network (Xu et al., ICLR 2019); graph level only."""

from __future__ import annotations

from torch import Tensor, nn
from torch_geometric.data import Data
from torch_geometric.nn import GINConv, global_add_pool

__all__ = ["GIN"]


class GIN(nn.Module):
    """Isomorphism layers, sum pooling and a linear head; ``forward(data) -> [n_graphs, out_channels]``."""

    def __init__(self, in_channels: int, hidden_channels: int, out_channels: int, *, layers: int = 3) -> None:
        super().__init__()
        widths = [in_channels] + [hidden_channels] * (layers - 1)
        self.layers = nn.ModuleList(GINConv(_perceptron(width, hidden_channels), train_eps=True) for width in widths)
        self.head = nn.Linear(hidden_channels, out_channels)

    def forward(self, data: Data) -> Tensor:
        """Score the graphs of a batch."""
        h = data.x
        for layer in self.layers:
            h = layer(h, data.edge_index)
        return self.head(global_add_pool(h, data.batch))


def _perceptron(in_channels: int, out_channels: int) -> nn.Sequential:
    return nn.Sequential(
        nn.Linear(in_channels, out_channels),
        nn.BatchNorm1d(out_channels),
        nn.ReLU(),
        nn.Linear(out_channels, out_channels),
        nn.ReLU(),
    )
