"""General, powerful, scalable graph transformer (Rampasek et al., NeurIPS 2022): the modern reference."""

from __future__ import annotations

from torch import Tensor, nn
from torch_geometric.data import Data
from torch_geometric.nn import GINConv, GINEConv, GPSConv

from gnz_track.models.deep.network import Convolution, DeepNetwork, Frame
from gnz_track.models.options import Option, count, fixed

__all__ = ["GPS"]


class GPS(DeepNetwork):
    """In every layer a convolution along edges and attention between all nodes of a graph, and a perceptron after both.

    Layers are ``heads * hidden_channels`` wide. The codes of edges, where there are any, are the same in all layers.
    """

    defaults = DeepNetwork.defaults.but(
        heads=count(4), edge_features=Option(default=False), norm=fixed("batch"), residual=fixed(value=True)
    )

    def has_edge_codes(self) -> bool:
        """Tell whether layers are given a code of every edge: where it has features."""
        return bool(self.options.edge_features)

    def make_layer(self, frame: Frame) -> Convolution:
        """Return a layer of both."""
        return _LocalAndGlobal(frame, self.options.heads)


class _LocalAndGlobal(Convolution):
    def __init__(self, frame: Frame, heads: int) -> None:
        super().__init__()
        perceptron = nn.Sequential(nn.Linear(frame.width, frame.width), nn.ReLU(), nn.Linear(frame.width, frame.width))
        local = GINEConv(perceptron) if frame.edge_codes else GINConv(perceptron)
        self.layer = GPSConv(frame.width, local, heads=heads, dropout=frame.dropout)

    def forward(self, h: Tensor, e: Tensor | None, data: Data) -> tuple[Tensor, Tensor | None]:
        codes = {} if e is None else {"edge_attr": e}
        return self.layer(h, data.edge_index, batch=data.batch, **codes), e
