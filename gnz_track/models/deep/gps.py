"""General, powerful, scalable graph transformer (Rampasek et al., NeurIPS 2022): the modern reference."""

from __future__ import annotations

from torch import Tensor, nn
from torch_geometric.data import Data
from torch_geometric.nn import GINConv, GINEConv, GPSConv

from gnz_track.models.deep.network import DeepNetwork, Frame
from gnz_track.models.sizes import Sizes
from gnz_track.models.stack import check_count
from gnz_track.types import TaskType

__all__ = ["GPS"]


class GPS(DeepNetwork):
    """In every layer a convolution along edges and attention between all nodes of a graph, and a perceptron after both.

    Layers are ``heads * hidden_channels`` wide. The codes of edges, where there are any, are the same in all layers.
    """

    def __init__(  # noqa: PLR0913  (each option is one that a search may tune)
        self,
        in_channels: int,
        hidden_channels: int,
        out_channels: int,
        *,
        task_type: TaskType,
        sizes: Sizes,
        n_layers: int = 4,
        heads: int = 4,
        dropout: float = 0.0,
        readout: str = "mean",
        edge_features: bool = False,
    ) -> None:
        del in_channels, out_channels
        check_count("heads", heads)
        frame = Frame(
            task_type=task_type,
            sizes=sizes,
            width=heads * hidden_channels,
            n_layers=n_layers,
            dropout=dropout,
            readout=readout,
            edge_codes=edge_features,
            edge_features=edge_features,
        )
        super().__init__(frame, lambda _: _Layer(frame, heads))


class _Layer(nn.Module):
    def __init__(self, frame: Frame, heads: int) -> None:
        super().__init__()
        perceptron = nn.Sequential(nn.Linear(frame.width, frame.width), nn.ReLU(), nn.Linear(frame.width, frame.width))
        local = GINEConv(perceptron) if frame.edge_codes else GINConv(perceptron)
        self.layer = GPSConv(frame.width, local, heads=heads, dropout=frame.dropout)

    def forward(self, h: Tensor, e: Tensor | None, data: Data) -> tuple[Tensor, Tensor | None]:
        codes = {} if e is None else {"edge_attr": e}
        return self.layer(h, data.edge_index, batch=data.batch, **codes), e
