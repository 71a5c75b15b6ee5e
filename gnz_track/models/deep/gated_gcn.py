"""Gated graph convolution with codes of edges (Bresson and Laurent, 2017; Dwivedi et al., 2023)."""

from __future__ import annotations

from torch import Tensor, nn
from torch_geometric.data import Data

from gnz_track.models.deep.network import DeepNetwork, Layer, choose_convolution, make_edge_frame, sum_to
from gnz_track.models.sizes import Sizes
from gnz_track.types import TaskType

__all__ = ["GatedConvolution", "GatedGCN"]

# Added to the sum of gates that messages are divided by.
EPSILON = 1e-6


class GatedGCN(DeepNetwork):
    """Every message is weighted, number by number, by gates that its edge computes and that sum to 1 at a node."""

    def __init__(  # noqa: PLR0913  (each option is one that a search may tune)
        self,
        in_channels: int,
        hidden_channels: int,
        out_channels: int,
        *,
        task_type: TaskType,
        sizes: Sizes,
        n_layers: int = 4,
        dropout: float = 0.0,
        readout: str = "mean",
        edge_repr: str = "edge_repr",
        edge_features: bool = False,
    ) -> None:
        del in_channels, out_channels
        frame = make_edge_frame(
            edge_repr,
            task_type=task_type,
            sizes=sizes,
            width=hidden_channels,
            n_layers=n_layers,
            dropout=dropout,
            readout=readout,
            edge_features=edge_features,
        )
        make = choose_convolution(edge_repr, _Ungated, _GatedByEnds, GatedConvolution)
        super().__init__(frame, lambda _: Layer(make(hidden_channels), frame))


class _Ungated(nn.Module):
    """The sum of all messages."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.of_itself, self.of_neighbours = nn.Linear(width, width), nn.Linear(width, width)

    def forward(self, h: Tensor, e: Tensor | None, data: Data) -> tuple[Tensor, Tensor | None]:
        source, target = data.edge_index
        messages = self.of_neighbours(h).index_select(0, source)
        return self.of_itself(h) + sum_to(messages, target, h.size(0)), e


class _GatedByEnds(_Ungated):
    """Gates from the codes of both ends of an edge."""

    def __init__(self, width: int) -> None:
        super().__init__(width)
        self.gate_of_source, self.gate_of_target = nn.Linear(width, width), nn.Linear(width, width)

    def score(self, h: Tensor, e: Tensor | None, data: Data) -> Tensor:
        """Return what the gates of every edge are the sigmoid of ``[n_edges, width]``."""
        del e
        source, target = data.edge_index
        return self.gate_of_source(h).index_select(0, source) + self.gate_of_target(h).index_select(0, target)

    def forward(self, h: Tensor, e: Tensor | None, data: Data) -> tuple[Tensor, Tensor | None]:
        source, target = data.edge_index
        scores = self.score(h, e, data)
        gates = scores.sigmoid()
        messages = self.of_neighbours(h).index_select(0, source) * gates
        total = sum_to(messages, target, h.size(0)) / (sum_to(gates, target, h.size(0)) + EPSILON)
        return self.of_itself(h) + total, scores


class GatedConvolution(_GatedByEnds):
    """Gates from the code of the edge too, which becomes what the gates were made from."""

    def __init__(self, width: int) -> None:
        super().__init__(width)
        self.gate_of_edge = nn.Linear(width, width)

    def score(self, h: Tensor, e: Tensor | None, data: Data) -> Tensor:
        """Return what the gates of every edge are the sigmoid of ``[n_edges, width]``."""
        return self.gate_of_edge(e) + super().score(h, e, data)
