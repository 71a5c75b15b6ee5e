"""Gated graph convolution with codes of edges (Bresson and Laurent, 2017; Dwivedi et al., 2023)."""

from __future__ import annotations

from collections.abc import Callable

from torch import Tensor, nn
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
    sum_to,
)

__all__ = ["GatedGCN"]

# Added to the sum of gates that messages are divided by.
EPSILON = 1e-6


class GatedGCN(DeepNetwork):
    """Every message is weighted, number by number, by gates that its edge computes and that sum to 1 at a node."""

    defaults = DeepNetwork.defaults.but(**edge_options(EDGE_CODES))

    def make_layer(self, frame: Frame) -> Convolution:
        """Return a layer whose gates know of edges what ``edge_repr`` says."""
        return Layer(_CONVOLUTIONS[self.options.edge_repr](frame.width), frame)


class _Ungated(Convolution):
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

    def _score(self, h: Tensor, e: Tensor | None, data: Data) -> Tensor:
        """Return what the gates of every edge are the sigmoid of ``[n_edges, width]``."""
        del e
        source, target = data.edge_index
        return self.gate_of_source(h).index_select(0, source) + self.gate_of_target(h).index_select(0, target)

    def forward(self, h: Tensor, e: Tensor | None, data: Data) -> tuple[Tensor, Tensor | None]:
        source, target = data.edge_index
        scores = self._score(h, e, data)
        gates = scores.sigmoid()
        messages = self.of_neighbours(h).index_select(0, source) * gates
        total = sum_to(messages, target, h.size(0)) / (sum_to(gates, target, h.size(0)) + EPSILON)
        return self.of_itself(h) + total, scores


class _GatedByCodes(_GatedByEnds):
    """Gates from the code of the edge too, which becomes what the gates were made from."""

    def __init__(self, width: int) -> None:
        super().__init__(width)
        self.gate_of_edge = nn.Linear(width, width)

    def _score(self, h: Tensor, e: Tensor | None, data: Data) -> Tensor:
        """Return what the gates of every edge are the sigmoid of ``[n_edges, width]``."""
        return self.gate_of_edge(e) + super()._score(h, e, data)


_CONVOLUTIONS: dict[str, Callable[[int], Convolution]] = {
    ISOTROPIC: _Ungated,
    EDGE_FEAT: _GatedByEnds,
    EDGE_CODES: _GatedByCodes,
}
