"""The frame of all deep networks: embed, convolve ``n_layers`` times, read out.

How features, positions and edge features enter a network.

What a layer knows of an edge: the switch ``edge_repr``, and the model that it makes.

Sums, means and maxima over the edges that enter each node.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional
from torch_geometric.data import Data

from gnz_track.errors import BadValue
from gnz_track.models.deep.readouts import POOLS, make_readout
from gnz_track.models.sizes import Sizes
from gnz_track.models.stack import check_choice, check_count, check_probability
from gnz_track.types import TaskType

__all__ = [
    "EDGE_CODES",
    "EDGE_KINDS",
    "DeepNetwork",
    "EdgeInput",
    "Frame",
    "Layer",
    "NodeInput",
    "OnEdges",
    "choose_convolution",
    "count_incoming",
    "largest_to",
    "make_edge_frame",
    "mean_to",
    "normalise_both",
    "softmax_to",
    "sum_to",
]


class NodeInput(nn.Module):
    """Codes ``[n_nodes, width]``: a table per column of categories or a linear map, plus one of the encoding.

    Where all nodes are of one and the same category, an encoding takes the place of the features: they say nothing.
    """

    def __init__(self, sizes: Sizes, width: int) -> None:
        super().__init__()
        self.is_categorical = bool(sizes.vocabulary)
        says_nothing = self.is_categorical and set(sizes.vocabulary) == {1}
        self.features = None if says_nothing and sizes.n_encoding else _features(sizes, width)
        self.encoding = nn.Linear(sizes.n_encoding, width) if sizes.n_encoding else None

    def forward(self, data: Data) -> Tensor:
        """Embed the nodes of a graph."""
        parts = []
        if self.features is not None:
            parts.append(self.features(data.x))
        if self.encoding is not None:
            parts.append(self.encoding(data.encoding))
        return parts[0] if len(parts) == 1 else parts[0] + parts[1]


class EdgeInput(nn.Module):
    """Codes ``[n_edges, width]`` of the message edges: of their features, or one and the same code for all."""

    def __init__(self, sizes: Sizes, width: int, *, has_features: bool) -> None:
        super().__init__()
        self.has_features = has_features
        if has_features and not sizes.edge_channels:
            raise BadValue(
                "edge_features", value=True, allowed="False: the message edges of this task have no features"
            )
        self.features: nn.Module = nn.Linear(1, width)
        if has_features:
            is_categorical = bool(sizes.edge_vocabulary)
            self.features = (
                _Tables(sizes.edge_vocabulary, width) if is_categorical else nn.Linear(sizes.edge_channels, width)
            )

    def forward(self, data: Data) -> Tensor:
        """Embed the message edges of a graph."""
        if self.has_features:
            return self.features(data.edge_attr.reshape(data.edge_index.size(1), -1))  # type: ignore[no-any-return]
        weight: Tensor = self.features.weight  # type: ignore[assignment]
        return self.features(weight.new_ones(data.edge_index.size(1), 1))  # type: ignore[no-any-return]


class _Tables(nn.Module):
    """The sum of one embedding per column of categories ``[n, n_columns]``."""

    def __init__(self, vocabulary: tuple[int, ...], width: int) -> None:
        super().__init__()
        self.tables = nn.ModuleList(nn.Embedding(size, width) for size in vocabulary)

    def forward(self, codes: Tensor) -> Tensor:
        codes = codes.reshape(codes.size(0), -1)
        embedded = [table(codes[:, place]) for place, table in enumerate(self.tables)]
        return embedded[0] if len(embedded) == 1 else torch.stack(embedded).sum(dim=0)


def _features(sizes: Sizes, width: int) -> nn.Module:
    return _Tables(sizes.vocabulary, width) if sizes.vocabulary else nn.Linear(sizes.in_channels, width)


@dataclass(frozen=True, kw_only=True)
class Frame:
    """What all layers of a network share, checked.

    ``edge_codes`` says whether layers are given a code of every edge, ``edge_features`` that it begins with the
    features of the edge.
    """

    task_type: TaskType
    sizes: Sizes
    width: int
    n_layers: int
    dropout: float = 0.0
    readout: str = "mean"
    edge_codes: bool = False
    edge_features: bool = False

    def __post_init__(self) -> None:
        check_count("n_layers", self.n_layers)
        check_probability("dropout", self.dropout)
        check_choice("readout", self.readout, POOLS)
        if self.width < 4:
            raise BadValue("the width of a deep network", self.width, "4 and more: its read-out ends in a quarter")
        if self.edge_features and not self.edge_codes:
            raise BadValue("edge_features", value=True, allowed="False, or edge_repr='edge_repr', which keeps them")


class OnEdges(nn.Module):
    """A convolution of nodes alone, such as PyG's, that leaves the codes of edges as they are."""

    def __init__(self, convolution: nn.Module) -> None:
        super().__init__()
        self.convolution = convolution

    def forward(self, h: Tensor, e: Tensor | None, data: Data) -> tuple[Tensor, Tensor | None]:
        """Convolve the codes of nodes ``[n_nodes, width]``."""
        return self.convolution(h, data.edge_index), e


class Layer(nn.Module):
    """One convolution, then normalise, bend, add what entered, and drop; for the codes of edges too where there are.

    ``convolution(h, e, data)`` returns the new codes of both. ``bends_nodes`` is False where it has bent those of nodes
    already.
    """

    def __init__(
        self,
        convolution: nn.Module,
        frame: Frame,
        *,
        bend: Callable[[Tensor], Tensor] = torch.relu,
        bends_nodes: bool = True,
    ) -> None:
        super().__init__()
        self.convolution, self.dropout = convolution, frame.dropout
        self.bend, self.bends_nodes = bend, bends_nodes
        self.norm = nn.BatchNorm1d(frame.width)
        self.edge_norm = nn.BatchNorm1d(frame.width) if frame.edge_codes else None

    def forward(self, h: Tensor, e: Tensor | None, data: Data) -> tuple[Tensor, Tensor | None]:
        """Renew the codes of nodes ``[n_nodes, width]`` and of edges ``[n_edges, width]``."""
        new_h, new_e = self.convolution(h, e, data)
        if self.edge_norm is not None and e is not None:
            e = self._drop(e + self.bend(self.edge_norm(new_e)))
        new_h = self.norm(new_h)
        return self._drop(h + (self.bend(new_h) if self.bends_nodes else new_h)), e

    def _drop(self, h: Tensor) -> Tensor:
        return functional.dropout(h, self.dropout, self.training) if self.dropout else h


class DeepNetwork(nn.Module):
    """Layers between an embedding and a read-out; serves every task type.

    ``forward(data)`` returns what the task type asks for; where links are predicted, ``encode`` and ``decode`` do.
    ``make_layer(place)`` makes the layers, counted from 0.
    """

    def __init__(self, frame: Frame, make_layer: Callable[[int], nn.Module]) -> None:
        super().__init__()
        self.width = self.code_width(frame)
        self.nodes = NodeInput(frame.sizes, frame.width)
        has_features = frame.edge_features
        self.edges = EdgeInput(frame.sizes, frame.width, has_features=has_features) if frame.edge_codes else None
        self.layers = nn.ModuleList(make_layer(place) for place in range(frame.n_layers))
        self.readout = self.make_readout(frame)

    def code_width(self, frame: Frame) -> int:
        """Return how wide the codes are that :meth:`encode` returns."""
        return frame.width

    def make_readout(self, frame: Frame) -> nn.Module:
        """Return the read-out of these codes."""
        return make_readout(frame.task_type, frame.sizes, frame.width, pool=frame.readout)

    def join(self, codes: list[Tensor]) -> Tensor:
        """Return the codes of nodes from those of the embedding and of every layer: the last."""
        return codes[-1]

    def encode(self, data: Data) -> Tensor:
        """Return the codes of nodes ``[n_nodes, width]``."""
        h = self.nodes(data)
        e = self.edges(data) if self.edges is not None else None
        codes = [h]
        for layer in self.layers:
            h, e = layer(h, e, data)
            codes.append(h)
        return self.join(codes)

    def decode(self, codes: Tensor, pairs: Tensor) -> Tensor:
        """Return one logit per pair ``[n_pairs]`` of pairs ``[2, n_pairs]``."""
        logits: Tensor = self.readout.decode(codes, pairs)  # type: ignore[operator]
        return logits.squeeze(1)

    def forward(self, data: Data) -> Any:
        """Return what the task type asks for."""
        return self.readout(self.encode(data), data)


ISOTROPIC, EDGE_FEAT, EDGE_CODES = "isotropic", "edge_feat", "edge_repr"
EDGE_KINDS = (ISOTROPIC, EDGE_FEAT, EDGE_CODES)


def make_edge_frame(edge_repr: str, **settings: Any) -> Frame:
    """Return the frame of a network whose layers know of edges what a word says."""
    check_choice("edge_repr", edge_repr, dict.fromkeys(EDGE_KINDS))
    return Frame(edge_codes=edge_repr == EDGE_CODES, **settings)


def choose_convolution(edge_repr: str, *convolutions: Callable[..., nn.Module]) -> Callable[..., nn.Module]:
    """Return the convolution of a kind, given those of :data:`EDGE_KINDS` in order."""
    table: Mapping[str, Callable[..., nn.Module]] = dict(zip(EDGE_KINDS, convolutions, strict=True))
    return table[edge_repr]


def sum_to(values: Tensor, targets: Tensor, n_nodes: int) -> Tensor:
    """Return the sum ``[n_nodes, width]`` of values ``[n_edges, width]`` at their targets ``[n_edges]``."""
    return values.new_zeros((n_nodes, *values.shape[1:])).index_add_(0, targets, values)


def count_incoming(targets: Tensor, n_nodes: int, like: Tensor) -> Tensor:
    """Return how many edges end at each node ``[n_nodes, 1]``, in the numbers of another tensor."""
    return torch.bincount(targets, minlength=n_nodes).to(like.dtype).unsqueeze(1)


def mean_to(values: Tensor, targets: Tensor, n_nodes: int) -> Tensor:
    """Return the mean ``[n_nodes, width]``; a node that no edge enters gets zeros."""
    return sum_to(values, targets, n_nodes) / count_incoming(targets, n_nodes, values).clamp_(min=1)


def largest_to(values: Tensor, targets: Tensor, n_nodes: int) -> Tensor:
    """Return the largest number ``[n_nodes, width]``; a node that no edge enters gets zeros."""
    index = targets.unsqueeze(1).expand_as(values)
    start = values.new_zeros((n_nodes, values.size(1)))
    return start.scatter_reduce(0, index, values, reduce="amax", include_self=False)


def softmax_to(scores: Tensor, targets: Tensor, n_nodes: int) -> Tensor:
    """Return scores ``[n_edges, heads]`` as weights that sum to 1 over the edges that enter a node."""
    largest = largest_to(scores.detach(), targets, n_nodes)
    weights = (scores - largest.index_select(0, targets)).exp()
    return weights / sum_to(weights, targets, n_nodes).index_select(0, targets)


def normalise_both(edge_index: Tensor, n_nodes: int, like: Tensor) -> Tensor:
    """Return ``1 / sqrt(out-degree of the source * in-degree of the target)`` of each edge ``[n_edges, 1]``.

    On undirected graphs this is the symmetric normalisation of Kipf and Welling (2017), without loops.
    """
    source, target = edge_index
    leaving = count_incoming(source, n_nodes, like).index_select(0, source)
    entering = count_incoming(target, n_nodes, like).index_select(0, target)
    return (leaving * entering).rsqrt_()
