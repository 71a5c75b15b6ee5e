"""Graph isomorphism network (Xu et al., ICLR 2019); graph level only."""

from __future__ import annotations

from typing import Any

from torch import Tensor, nn
from torch_geometric.data import Data
from torch_geometric.nn import GINConv
from torch_geometric.nn.aggr import SumAggregation

from gnz_track.models.options import Defaults, Model, choice, count, probability
from gnz_track.models.stack import JOINS, NORMS

__all__ = ["GIN"]


class GIN(Model):
    """Isomorphism layers, sum pooling and a linear head; ``forward(data) -> [n_graphs, out_channels]``.

    Options of :mod:`gnz_track.models.stack`: ``n_layers=3``, ``dropout=0.0``, ``norm='batch'``, ``jumping='none'``.
    All layers are hidden ones, and the head is the read-out: ``jumping="cat"`` sums every layer over a graph, as
    published. ``norm`` lies within the perceptron of a layer.
    """

    defaults = Defaults(
        n_layers=count(3), dropout=probability(0.0), norm=choice("batch", NORMS), jumping=choice("none", JOINS)
    )

    def __init__(self, in_channels: int, hidden_channels: int, out_channels: int, **options: Any) -> None:
        super().__init__(options)
        chosen = self.options
        self.dropout, self.pool = nn.Dropout(chosen.dropout), SumAggregation()
        widths = [in_channels] + [hidden_channels] * (chosen.n_layers - 1)
        self.layers = nn.ModuleList(
            GINConv(_perceptron(width, hidden_channels, chosen.norm), train_eps=True) for width in widths
        )
        self.head = nn.Linear(JOINS[chosen.jumping].width(hidden_channels, chosen.n_layers), out_channels)

    def forward(self, data: Data) -> Tensor:
        """Score the graphs of a batch."""
        join = JOINS[self.options.jumping]
        h, codes = data.x, []
        for layer in self.layers:
            h = layer(self.dropout(h) if codes else h, data.edge_index)
            codes = join.keep(codes, h)
        return self.head(self.dropout(self.pool(join.join(codes), data.batch)))


def _perceptron(in_channels: int, out_channels: int, norm: str) -> nn.Sequential:
    return nn.Sequential(
        nn.Linear(in_channels, out_channels),
        NORMS[norm](out_channels),
        nn.ReLU(),
        nn.Linear(out_channels, out_channels),
        nn.ReLU(),
    )
