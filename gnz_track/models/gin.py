"""Graph isomorphism network (Xu et al., ICLR 2019); graph level only."""

from __future__ import annotations

from torch import Tensor, nn
from torch_geometric.data import Data
from torch_geometric.nn import GINConv, global_add_pool

from gnz_track.models.stack import NORMS, StackOptions

__all__ = ["GIN"]


class GIN(nn.Module):
    """Isomorphism layers, sum pooling and a linear head; ``forward(data) -> [n_graphs, out_channels]``.

    The options are those of :mod:`gnz_track.models.stack`, with three layers unless told. All of them are hidden ones,
    and the head is the read-out, so that ``jumping="cat"`` sums every layer over a graph, as published. ``norm`` lies
    within the perceptron of a layer.
    """

    def __init__(
        self,
        in_channels: int,
        hidden_channels: int,
        out_channels: int,
        *,
        n_layers: int = 3,
        dropout: float = 0.0,
        norm: str = "batch",
        jumping: str = "none",
    ) -> None:
        super().__init__()
        self.options = StackOptions(n_layers=n_layers, dropout=dropout, norm=norm, jumping=jumping)
        self.dropout = nn.Dropout(dropout)
        widths = [in_channels] + [hidden_channels] * (n_layers - 1)
        self.layers = nn.ModuleList(
            GINConv(_perceptron(width, hidden_channels, norm), train_eps=True) for width in widths
        )
        self.head = nn.Linear(self.options.joined_width(hidden_channels), out_channels)

    def forward(self, data: Data) -> Tensor:
        """Score the graphs of a batch."""
        h, codes = data.x, []
        for layer in self.layers:
            h = layer(self.dropout(h) if codes else h, data.edge_index)
            codes = [*codes, h] if self.options.is_jumping else [h]
        return self.head(self.dropout(global_add_pool(self.options.join(codes), data.batch)))


def _perceptron(in_channels: int, out_channels: int, norm: str) -> nn.Sequential:
    return nn.Sequential(
        nn.Linear(in_channels, out_channels),
        NORMS[norm](out_channels),
        nn.ReLU(),
        nn.Linear(out_channels, out_channels),
        nn.ReLU(),
    )
