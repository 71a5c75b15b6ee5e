"""Deep GraphSAGE with max pooling (Hamilton et al., NeurIPS 2017)."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch.nn import functional
from torch_geometric.data import Data

from gnz_track.models.deep.network import (
    EDGE_CODES,
    EDGE_FEAT,
    ISOTROPIC,
    Convolution,
    DeepNetwork,
    Frame,
    Layer,
    edge_options,
    largest_to,
)

__all__ = ["DeepGraphSAGE"]


class DeepGraphSAGE(DeepNetwork):
    """The largest of what neighbours send, beside a node's own code, through a linear map; rows have length 1.

    The ReLU comes before the norm of a layer, and none after it, as published.
    """

    defaults = DeepNetwork.defaults.but(**edge_options(ISOTROPIC))

    def make_layer(self, frame: Frame) -> Convolution:
        """Return a layer whose gates know of edges what ``edge_repr`` says."""
        return Layer(_CONVOLUTIONS[self.options.edge_repr](frame.width), frame, bends_nodes=False)


class _MaxPool(Convolution):
    """The largest ``relu(V h_j)``."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.pool, self.join = nn.Linear(width, width), nn.Linear(2 * width, width)

    def _send(self, h: Tensor, e: Tensor | None, data: Data) -> tuple[Tensor, Tensor | None]:
        """Return what every edge carries ``[n_edges, width]``, and the new code of edges."""
        return self.pool(h).relu().index_select(0, data.edge_index[0]), e

    def forward(self, h: Tensor, e: Tensor | None, data: Data) -> tuple[Tensor, Tensor | None]:
        messages, e = self._send(h, e, data)
        largest = largest_to(messages, data.edge_index[1], h.size(0))
        return functional.normalize(self.join(torch.cat([h, largest], dim=1)), dim=1).relu(), e


class _GatedMaxPool(_MaxPool):
    """The largest ``relu(sigmoid(B h_i + B h_j) * A h_j)``."""

    def __init__(self, width: int) -> None:
        super().__init__(width)
        self.gate = nn.Linear(width, width)

    def _score(self, h: Tensor, e: Tensor | None, data: Data) -> Tensor:
        """Return what the gates of every edge are the sigmoid of ``[n_edges, width]``."""
        del e
        source, target = data.edge_index
        gate = self.gate(h)
        return gate.index_select(0, source) + gate.index_select(0, target)

    def _send(self, h: Tensor, e: Tensor | None, data: Data) -> tuple[Tensor, Tensor | None]:
        """Return what every edge carries ``[n_edges, width]``, and what its gate was made from."""
        scores = self._score(h, e, data)
        return (scores.sigmoid() * self.pool(h).index_select(0, data.edge_index[0])).relu(), scores


class _EdgeMaxPool(_GatedMaxPool):
    """Gates from the code of the edge too."""

    def __init__(self, width: int) -> None:
        super().__init__(width)
        self.gate_of_edge = nn.Linear(width, width)

    def _score(self, h: Tensor, e: Tensor | None, data: Data) -> Tensor:
        """Return what the gates of every edge are the sigmoid of ``[n_edges, width]``."""
        return self.gate_of_edge(e) + super()._score(h, e, data)


_CONVOLUTIONS: dict[str, Callable[[int], Convolution]] = {
    ISOTROPIC: _MaxPool,
    EDGE_FEAT: _GatedMaxPool,
    EDGE_CODES: _EdgeMaxPool,
}
