"""The graph-agnostic baseline: what the features alone can do."""

from __future__ import annotations

from torch import Tensor, nn
from torch_geometric.data import Data

__all__ = ["MLP"]


class MLP(nn.Module):
    """Two linear layers, ReLU and dropout between them, blind to edges; ``forward -> [n_nodes, out_channels]``."""

    def __init__(self, in_channels: int, hidden_channels: int, out_channels: int, *, dropout: float = 0.5) -> None:
        super().__init__()
        self.dropout = nn.Dropout(dropout)
        self.first = nn.Linear(in_channels, hidden_channels)
        self.second = nn.Linear(hidden_channels, out_channels)

    def forward(self, data: Data) -> Tensor:
        """Encode the nodes of a graph, each by itself."""
        return self.second(self.dropout(self.first(data.x).relu()))
