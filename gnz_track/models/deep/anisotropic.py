"""Deep networks that weigh each neighbour by what its edge computes.

DeepGAT by attention (Velickovic et al., ICLR 2018), GatedGCN by gates and codes of edges (Bresson and Laurent, 2017;
Dwivedi et al., 2023), MoNet by Gaussian kernels (Monti et al., CVPR 2017).
"""

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
    count_incoming,
    edge_options,
    softmax_to,
    sum_to,
)
from gnz_track.models.options import count

__all__ = ["DeepGAT", "GatedGCN", "MoNet"]
# Added to the sum of gates that messages are divided by.
EPSILON = 1e-6


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
        convolution = _ATTENTIONS[self.options.edge_repr](frame.width, heads)
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


_ATTENTIONS: dict[str, Callable[[int, int], Convolution]] = {
    ISOTROPIC: _NeighbourSum,
    EDGE_FEAT: _attention,
    EDGE_CODES: _EdgeAttention,
}


class GatedGCN(DeepNetwork):
    """Every message is weighted, number by number, by gates that its edge computes and that sum to 1 at a node."""

    defaults = DeepNetwork.defaults.but(**edge_options(EDGE_CODES))

    def make_layer(self, frame: Frame) -> Convolution:
        """Return a layer whose gates know of edges what ``edge_repr`` says."""
        return Layer(_GATES[self.options.edge_repr](frame.width), frame)


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


_GATES: dict[str, Callable[[int], Convolution]] = {
    ISOTROPIC: _Ungated,
    EDGE_FEAT: _GatedByEnds,
    EDGE_CODES: _GatedByCodes,
}


class MoNet(DeepNetwork):
    """Gaussian kernels on coordinates of an edge that are made of the degrees of its two ends."""

    defaults = DeepNetwork.defaults.but(kernels=count(3))

    def make_layer(self, frame: Frame) -> Convolution:
        """Return a layer of kernels."""
        return _BiasedLayer(_GaussianKernels(frame.width, self.options.kernels), frame)


class _BiasedLayer(Layer):
    """The bias of a layer comes after the sum with what entered it, as published."""

    def __init__(self, convolution: nn.Module, frame: Frame) -> None:
        super().__init__(convolution, frame)
        self.bias = nn.Parameter(torch.zeros(frame.width))

    def forward(self, h: Tensor, e: Tensor | None, data: Data) -> tuple[Tensor, Tensor | None]:
        h, e = super().forward(h, e, data)
        return h + self.bias, e


class _GaussianKernels(Convolution):
    """``sum_k sum_j exp(-((u_ij - mean_k) / width_k)^2 / 2) W_k h_j`` with coordinates ``u`` of every edge."""

    def __init__(self, width: int, kernels: int) -> None:
        super().__init__()
        self.coordinates = nn.Linear(2, 2)
        self.maps = nn.Linear(width, kernels * width, bias=False)
        self.means = nn.Parameter(torch.randn(kernels, 2) * 0.1)
        self.inverse_widths = nn.Parameter(torch.ones(kernels, 2))

    def weigh(self, edge_index: Tensor, n_nodes: int) -> Tensor:
        """Return the weight of every edge under each kernel ``[n_edges, kernels]``."""
        source, target = edge_index
        inverse_root = (count_incoming(target, n_nodes, self.means) + 1).rsqrt()
        ends = [inverse_root.index_select(0, end) for end in (source, target)]
        coordinates = self.coordinates(torch.cat(ends, dim=1)).tanh().unsqueeze(1)
        return (-0.5 * ((coordinates - self.means) * self.inverse_widths).square().sum(dim=2)).exp()

    def forward(self, h: Tensor, e: Tensor | None, data: Data) -> tuple[Tensor, Tensor | None]:
        source, target = data.edge_index
        weights = self.weigh(data.edge_index, h.size(0)).unsqueeze(2)
        sent = self.maps(h).view(h.size(0), weights.size(1), h.size(1)).index_select(0, source)
        return sum_to((weights * sent).sum(dim=1), target, h.size(0)), e
