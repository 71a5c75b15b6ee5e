"""Deep networks that take all neighbours alike, and the baseline that sees none.

DeepMLP; DeepGCN, in the two forms that the benchmark compares (Kipf and Welling, ICLR 2017); DeepGIN (Xu et al., ICLR
2019); DeepGraphSAGE with max pooling (Hamilton et al., NeurIPS 2017), which can be told to gate its edges.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch.nn import functional
from torch_geometric.data import Data
from torch_geometric.nn import GINConv

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
    largest_to,
    mean_to,
    normalise_both,
    sum_to,
)
from gnz_track.models.deep.readouts import EdgeReadout, GraphReadout, MLPReadout, NodeReadout, make_readout
from gnz_track.models.options import fixed
from gnz_track.types import TaskType

__all__ = ["DeepGCN", "DeepGIN", "DeepGraphSAGE", "DeepMLP", "DeepMeanGCN"]


class DeepMLP(DeepNetwork):
    """The graph-agnostic baseline: linear layers with a ReLU; no norm, and what enters a layer is not added."""

    defaults = DeepNetwork.defaults.but(norm=fixed("none"), residual=fixed(value=False))

    def make_layer(self, frame: Frame) -> Convolution:
        """Return a linear layer."""
        return _LinearLayer(frame)


class _LinearLayer(Convolution):
    def __init__(self, frame: Frame) -> None:
        super().__init__()
        self.linear, self.dropout = nn.Linear(frame.width, frame.width), nn.Dropout(frame.dropout)

    def forward(self, h: Tensor, e: Tensor | None, data: Data) -> tuple[Tensor, Tensor | None]:
        del data
        return self.dropout(self.linear(h).relu()), e


class DeepGCN(DeepNetwork):
    """Sums under symmetric normalisation. A node has no loop: it sees itself by what is added after a layer."""

    def make_layer(self, frame: Frame) -> Convolution:
        """Return a layer of normalised sums."""
        return Layer(_NormalisedSum(frame.width), frame)


class DeepMeanGCN(DeepNetwork):
    """The mean over neighbours, then a linear map: the plainest of all convolutions."""

    def make_layer(self, frame: Frame) -> Convolution:
        """Return a layer of means."""
        return Layer(_MeanConvolution(frame.width), frame)


class _NormalisedSum(Convolution):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.linear = nn.Linear(width, width, bias=False)
        self.bias = nn.Parameter(self.linear.weight.new_zeros(width))

    def forward(self, h: Tensor, e: Tensor | None, data: Data) -> tuple[Tensor, Tensor | None]:
        source, target = data.edge_index
        weights = normalise_both(data.edge_index, h.size(0), h)
        messages = self.linear(h).index_select(0, source) * weights
        return sum_to(messages, target, h.size(0)) + self.bias, e


class _MeanConvolution(Convolution):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.linear = nn.Linear(width, width)

    def forward(self, h: Tensor, e: Tensor | None, data: Data) -> tuple[Tensor, Tensor | None]:
        source, target = data.edge_index
        return self.linear(mean_to(h.index_select(0, source), target, h.size(0))), e


class DeepGIN(DeepNetwork):
    """A perceptron of the sum over neighbours; the answer is the sum of the answers of all layers and the embedding."""

    defaults = DeepNetwork.defaults.but(readout="sum")

    def make_layer(self, frame: Frame) -> Convolution:
        """Return a layer whose convolution is a perceptron of the sum over neighbours."""
        width = frame.width
        perceptron = nn.Sequential(nn.Linear(width, width), nn.BatchNorm1d(width), nn.ReLU(), nn.Linear(width, width))
        return Layer(OnEdges(GINConv(perceptron, train_eps=True)), frame)

    def code_width(self, frame: Frame) -> int:
        """Return how wide the codes of the embedding and of all layers are, side by side."""
        return frame.width * (frame.n_layers + 1)

    def make_readout(self, frame: Frame) -> nn.Module:
        """Return one read-out for each of these codes: linear, but for pairs of nodes."""
        n_codes, out_channels = frame.n_layers + 1, frame.sizes.out_channels
        if frame.task_type.unit in ("link", "edge"):
            out_channels = 1 if frame.task_type is TaskType.link_pred else out_channels
            return EdgeReadout(
                _SummedHeads([MLPReadout(2 * frame.width, out_channels) for _ in range(n_codes)], n_ends=2)
            )
        if frame.task_type is TaskType.multi_task:
            return make_readout(frame.task_type, frame.sizes, self.width, pool=frame.readout)
        head = _SummedHeads([nn.Linear(frame.width, out_channels) for _ in range(n_codes)])
        return NodeReadout(head) if frame.task_type.unit == "node" else GraphReadout(head, frame.readout)

    def join(self, codes: list[Tensor]) -> Tensor:
        """Return all codes side by side."""
        return torch.cat(codes, dim=1)


class _SummedHeads(nn.Module):
    """One head for each code among those side by side; of pairs, the codes of both ends follow one another."""

    def __init__(self, heads: list[nn.Module], *, n_ends: int = 1) -> None:
        super().__init__()
        self.heads, self.n_ends = nn.ModuleList(heads), n_ends

    def forward(self, codes: Tensor) -> Tensor:
        width = codes.size(1) // (self.n_ends * len(self.heads))
        by_code = codes.view(codes.size(0), self.n_ends, len(self.heads), width)
        answers = [head(by_code[:, :, place].flatten(1)) for place, head in enumerate(self.heads)]
        return torch.stack(answers).sum(dim=0)


class DeepGraphSAGE(DeepNetwork):
    """The largest of what neighbours send, beside a node's own code, through a linear map; rows have length 1.

    The ReLU comes before the norm of a layer, and none after it, as published.
    """

    defaults = DeepNetwork.defaults.but(**edge_options(ISOTROPIC))

    def make_layer(self, frame: Frame) -> Convolution:
        """Return a layer whose gates know of edges what ``edge_repr`` says."""
        return Layer(_MAX_POOLS[self.options.edge_repr](frame.width), frame, bends_nodes=False)


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


_MAX_POOLS: dict[str, Callable[[int], Convolution]] = {
    ISOTROPIC: _MaxPool,
    EDGE_FEAT: _GatedMaxPool,
    EDGE_CODES: _EdgeMaxPool,
}
