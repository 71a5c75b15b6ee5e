"""GraphSAGE with mean aggregation (Hamilton, Ying and Leskovec, NeurIPS 2017)."""

from __future__ import annotations

from torch import Tensor, nn
from torch_geometric.data import Data
from torch_geometric.nn import SAGEConv

__all__ = ["GraphSAGE"]


class GraphSAGE(nn.Module):
    """Two mean aggregations, ReLU and dropout between them; ``forward(data) -> [n_nodes, out_channels]``."""

    def __init__(self, in_channels: int, hidden_channels: int, out_channels: int, *, dropout: float = 0.5) -> None:
        super().__init__()
        self.dropout = nn.Dropout(dropout)
        self.first = SAGEConv(in_channels, hidden_channels, aggr="mean")
        self.second = SAGEConv(hidden_channels, out_channels, aggr="mean")

    def forward(self, data: Data) -> Tensor:
        """Encode the nodes of a graph."""
        h = self.first(data.x, data.edge_index).relu()
        return self.second(self.dropout(h), data.edge_index)
