"""Graph attention network (Velickovic et al., ICLR 2018)."""

from __future__ import annotations

from torch import Tensor, nn
from torch.nn import functional
from torch_geometric.data import Data
from torch_geometric.nn import GATConv

__all__ = ["GAT"]


class GAT(nn.Module):
    """Two attention layers, ELU between them, dropout on inputs and attention; ``forward -> [n_nodes, out]``."""

    def __init__(
        self, in_channels: int, hidden_channels: int, out_channels: int, *, heads: int = 8, dropout: float = 0.6
    ) -> None:
        super().__init__()
        self.dropout = nn.Dropout(dropout)
        self.first = GATConv(in_channels, hidden_channels, heads=heads, dropout=dropout)
        self.second = GATConv(heads * hidden_channels, out_channels, heads=1, concat=False, dropout=dropout)

    def forward(self, data: Data) -> Tensor:
        """Encode the nodes of a graph."""
        h = functional.elu(self.first(self.dropout(data.x), data.edge_index))
        return self.second(self.dropout(h), data.edge_index)
