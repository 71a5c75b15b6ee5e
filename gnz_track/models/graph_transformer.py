"""Graph transformer with attention over neighbours (Shi et al., IJCAI 2021)."""

from __future__ import annotations

from torch import Tensor, nn
from torch_geometric.data import Data
from torch_geometric.nn import TransformerConv

__all__ = ["GraphTransformer"]


class GraphTransformer(nn.Module):
    """Two transformer convolutions, ReLU and dropout between them; ``forward -> [n_nodes, out_channels]``."""

    def __init__(
        self, in_channels: int, hidden_channels: int, out_channels: int, *, heads: int = 4, dropout: float = 0.1
    ) -> None:
        super().__init__()
        self.dropout = nn.Dropout(dropout)
        self.first = TransformerConv(in_channels, hidden_channels, heads=heads, dropout=dropout)
        self.second = TransformerConv(heads * hidden_channels, out_channels, heads=1, concat=False, dropout=dropout)

    def forward(self, data: Data) -> Tensor:
        """Encode the nodes of a graph."""
        h = self.first(data.x, data.edge_index).relu()
        return self.second(self.dropout(h), data.edge_index)
