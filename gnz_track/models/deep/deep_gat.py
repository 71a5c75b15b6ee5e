"""Deep graph attention (Velickovic et al., ICLR 2018)."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch.nn import functional
from torch_geometric.data import Data
from torch_geometric.nn import GATConv

from gnz_track.models.deep.network import (
    EDGE_CODES,
    EDGE_FEAT,
    ISOTROPIC,
    Convolution,
    DeepNetwork,
    Frame,
    Layer,
    OnEdges,
    edge_options,
    softmax_to,
    sum_to,
)
from gnz_track.models.options import count

__all__ = ["DeepGAT"]


class DeepGAT(DeepNetwork):
    """Attention over neighbours without loops and without bias; layers are ``heads * hidden_channels`` wide.

    The last layer has one head of that width.
    """

    defaults = DeepNetwork.defaults.but(heads=count(8), **edge_options(EDGE_FEAT))

    def make_layer(self, frame: Frame) -> Convolution:
        """Return a layer whose attention knows of edges what ``edge_repr`` says."""
        return self._attend(frame, self.options.heads)

    def make_last(self, frame: Frame) -> Convolution:
        """Return the last layer, of one head."""
        return self._attend(frame, 1)

    def _attend(self, frame: Frame, heads: int) -> Convolution:
        convolution = _CONVOLUTIONS[self.options.edge_repr](frame.width, heads)
        return Layer(convolution, frame, bend=functional.elu)


class _NeighbourSum(Convolution):
    """The sum over neighbours, all heads alike."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        del heads
        self.linear = nn.Linear(width, width, bias=False)

    def forward(self, h: Tensor, e: Tensor | None, data: Data) -> tuple[Tensor, Tensor | None]:
        source, target = data.edge_index
        return sum_to(self.linear(h).index_select(0, source), target, h.size(0)), e


def _attention(width: int, heads: int) -> Convolution:
    return OnEdges(GATConv(width, width // heads, heads=heads, add_self_loops=False, bias=False))


class _EdgeAttention(Convolution):
    """Attention by the codes of an edge and of both its ends, head by head; the same three make its next code."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.of_nodes, self.of_edges = (nn.Linear(width, width, bias=False) for _ in range(2))
        each = width // heads
        self.score = nn.ModuleList(nn.Linear(3 * each, 1, bias=False) for _ in range(heads))
        self.renew = nn.ModuleList(nn.Linear(3 * each, each) for _ in range(heads))

    def forward(self, h: Tensor, e: Tensor | None, data: Data) -> tuple[Tensor, Tensor | None]:
        source, target = data.edge_index
        n_nodes, nodes = h.size(0), self._by_head(self.of_nodes(h))
        edges, sources = self._by_head(self.of_edges(e)), nodes.index_select(0, source)
        all_three = torch.cat([edges, sources, nodes.index_select(0, target)], dim=2)
        scores = torch.cat([score(all_three[:, head]) for head, score in enumerate(self.score)], dim=1)
        weights = softmax_to(functional.leaky_relu(scores, 0.2), target, n_nodes)
        renewed = torch.cat([renew(all_three[:, head]) for head, renew in enumerate(self.renew)], dim=1)
        return sum_to((weights.unsqueeze(2) * sources).flatten(1), target, n_nodes), renewed

    def _by_head(self, codes: Tensor) -> Tensor:
        """Return codes ``[n, width]`` as ``[n, heads, width / heads]``."""
        return codes.view(codes.size(0), self.heads, codes.size(1) // self.heads)


_CONVOLUTIONS: dict[str, Callable[[int, int], Convolution]] = {
    ISOTROPIC: _NeighbourSum,
    EDGE_FEAT: _attention,
    EDGE_CODES: _EdgeAttention,
}
