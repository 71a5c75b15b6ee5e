"""Deep GraphSAGE with max pooling (Hamilton et al., NeurIPS 2017)."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional
from torch_geometric.data import Data

from gnz_track.models.deep.network import DeepNetwork, Layer, choose_convolution, largest_to, make_edge_frame
from gnz_track.models.sizes import Sizes
from gnz_track.types import TaskType

__all__ = ["DeepGraphSAGE"]


class DeepGraphSAGE(DeepNetwork):
    """The largest of what neighbours send, beside a node's own code, through a linear map; rows have length 1.

    The ReLU comes before the norm of a layer, and none after it, as published.
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
        dropout: float = 0.0,
        readout: str = "mean",
        edge_repr: str = "isotropic",
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
        make = choose_convolution(edge_repr, _MaxPool, _GatedMaxPool, _EdgeMaxPool)
        super().__init__(frame, lambda _: Layer(make(hidden_channels), frame, bends_nodes=False))


class _MaxPool(nn.Module):
    """The largest ``relu(V h_j)``."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.pool, self.join = nn.Linear(width, width), nn.Linear(2 * width, width)

    def send(self, h: Tensor, e: Tensor | None, data: Data) -> tuple[Tensor, Tensor | None]:
        """Return what every edge carries ``[n_edges, width]``, and the new code of edges."""
        return self.pool(h).relu().index_select(0, data.edge_index[0]), e

    def forward(self, h: Tensor, e: Tensor | None, data: Data) -> tuple[Tensor, Tensor | None]:
        messages, e = self.send(h, e, data)
        largest = largest_to(messages, data.edge_index[1], h.size(0))
        return functional.normalize(self.join(torch.cat([h, largest], dim=1)), dim=1).relu(), e


class _GatedMaxPool(_MaxPool):
    """The largest ``relu(sigmoid(B h_i + B h_j) * A h_j)``."""

    def __init__(self, width: int) -> None:
        super().__init__(width)
        self.gate = nn.Linear(width, width)

    def score(self, h: Tensor, e: Tensor | None, data: Data) -> Tensor:
        """Return what the gates of every edge are the sigmoid of ``[n_edges, width]``."""
        del e
        source, target = data.edge_index
        gate = self.gate(h)
        return gate.index_select(0, source) + gate.index_select(0, target)

    def send(self, h: Tensor, e: Tensor | None, data: Data) -> tuple[Tensor, Tensor | None]:
        """Return what every edge carries ``[n_edges, width]``, and what its gate was made from."""
        scores = self.score(h, e, data)
        return (scores.sigmoid() * self.pool(h).index_select(0, data.edge_index[0])).relu(), scores


class _EdgeMaxPool(_GatedMaxPool):
    """Gates from the code of the edge too."""

    def __init__(self, width: int) -> None:
        super().__init__(width)
        self.gate_of_edge = nn.Linear(width, width)

    def score(self, h: Tensor, e: Tensor | None, data: Data) -> Tensor:
        """Return what the gates of every edge are the sigmoid of ``[n_edges, width]``."""
        return self.gate_of_edge(e) + super().score(h, e, data)
