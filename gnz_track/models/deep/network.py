"""The frame of all deep networks: embed, convolve ``n_layers`` times, read out.

First the words of ``edge_repr``, by which a layer knows of an edge; then the way of features into a network; then sums,
means and maxima over the edges that enter each node; then a layer, and the network.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional
from torch_geometric.data import Data

from gnz_track.errors import BadValue
from gnz_track.models.deep.readouts import POOLS, make_readout
from gnz_track.models.options import Defaults, Model, Option, Sizes, choice, count, fixed, probability, switch
from gnz_track.types import TaskType

__all__ = [
    "EDGE_CODES",
    "EDGE_FEAT",
    "ISOTROPIC",
    "Convolution",
    "DeepNetwork",
    "EdgeInput",
    "Frame",
    "Layer",
    "NodeInput",
    "OnEdges",
    "count_incoming",
    "edge_options",
    "largest_to",
    "mean_to",
    "normalise_both",
    "softmax_to",
    "sum_to",
]


# What follows a convolution; each takes the width that it is to normalise.
LAYER_NORMS: dict[str, Callable[[int], nn.Module]] = {"batch": nn.BatchNorm1d, "none": nn.Identity}
ISOTROPIC, EDGE_FEAT, EDGE_CODES = "isotropic", "edge_feat", "edge_repr"


def edge_options(default: str) -> dict[str, Option]:
    """Return the options of a model that is made for every kind, with its usual one."""
    kinds = dict.fromkeys((ISOTROPIC, EDGE_FEAT, EDGE_CODES))
    return {"edge_repr": choice(default, kinds), "edge_features": Option(default=False)}


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
        self.has_features, self.n_columns = has_features, sizes.edge_channels
        if has_features and not sizes.edge_channels:
            raise BadValue(
                "edge_features", value=True, allowed="False: the message edges of this task have no features"
            )
        self.features: nn.Module = nn.Linear(1, width)
        if has_features:
            is_categorical = bool(sizes.edge_vocabulary)
            self.features = (
                _CategoryTables(sizes.edge_vocabulary, width)
                if is_categorical
                else nn.Linear(sizes.edge_channels, width)
            )

    def forward(self, data: Data) -> Tensor:
        """Embed the message edges of a graph."""
        if self.has_features:
            return self.features(data.edge_attr.reshape(data.edge_index.size(1), self.n_columns))  # type: ignore[no-any-return]
        weight: Tensor = self.features.weight  # type: ignore[assignment]
        return self.features(weight.new_ones(data.edge_index.size(1), 1))  # type: ignore[no-any-return]


class _CategoryTables(nn.Module):
    """The sum of one embedding per column of categories ``[n, n_columns]``."""

    def __init__(self, vocabulary: tuple[int, ...], width: int) -> None:
        super().__init__()
        self.tables = nn.ModuleList(nn.Embedding(size, width) for size in vocabulary)

    def forward(self, codes: Tensor) -> Tensor:
        codes = codes.reshape(codes.size(0), len(self.tables))
        embedded = [table(codes[:, place]) for place, table in enumerate(self.tables)]
        return embedded[0] if len(embedded) == 1 else torch.stack(embedded).sum(dim=0)


def _features(sizes: Sizes, width: int) -> nn.Module:
    return _CategoryTables(sizes.vocabulary, width) if sizes.vocabulary else nn.Linear(sizes.in_channels, width)


def sum_to(values: Tensor, targets: Tensor, n_nodes: int) -> Tensor:
    """Return the sum of what enters each node ``[n_nodes, width]``.

    Parameters
    ----------
    values
        what edges carry ``[n_edges, width]``
    targets
        the nodes that edges enter ``[n_edges]``
    n_nodes
        how many nodes there are
    """
    return values.new_zeros((n_nodes, *values.shape[1:])).index_add_(0, targets, values)


def count_incoming(targets: Tensor, n_nodes: int, like: Tensor) -> Tensor:
    """Return how many edges enter each node ``[n_nodes, 1]``.

    Parameters
    ----------
    targets
        the nodes that edges enter ``[n_edges]``
    n_nodes
        how many nodes there are
    like
        a tensor of the wanted dtype
    """
    return torch.bincount(targets, minlength=n_nodes).to(like.dtype).unsqueeze(1)


def mean_to(values: Tensor, targets: Tensor, n_nodes: int) -> Tensor:
    """Return the mean of what enters each node ``[n_nodes, width]``; one that no edge enters gets zeros.

    Parameters
    ----------
    values, targets, n_nodes
        those of :func:`sum_to`
    """
    return sum_to(values, targets, n_nodes) / count_incoming(targets, n_nodes, values).clamp_(min=1)


def largest_to(values: Tensor, targets: Tensor, n_nodes: int) -> Tensor:
    """Return the largest of what enters each node ``[n_nodes, width]``; one that no edge enters gets zeros.

    Parameters
    ----------
    values, targets, n_nodes
        those of :func:`sum_to`
    """
    index = targets.unsqueeze(1).expand_as(values)
    start = values.new_zeros((n_nodes, values.size(1)))
    return start.scatter_reduce(0, index, values, reduce="amax", include_self=False)


def softmax_to(scores: Tensor, targets: Tensor, n_nodes: int) -> Tensor:
    """Return weights ``[n_edges, heads]`` that sum to 1 over the edges that enter a node.

    Parameters
    ----------
    scores
        logarithms of the weights, up to a sum for each node ``[n_edges, heads]``
    targets, n_nodes
        those of :func:`sum_to`
    """
    largest = largest_to(scores.detach(), targets, n_nodes)
    weights = (scores - largest.index_select(0, targets)).exp()
    return weights / sum_to(weights, targets, n_nodes).index_select(0, targets)


def normalise_both(edge_index: Tensor, n_nodes: int, like: Tensor) -> Tensor:
    """Return ``1 / sqrt(out-degree of the source * in-degree of the target)`` of each edge ``[n_edges, 1]``.

    On undirected graphs this is the symmetric normalisation of Kipf and Welling (2017), without loops.

    Parameters
    ----------
    edge_index
        sources and targets ``[2, n_edges]``
    n_nodes
        how many nodes there are
    like
        a tensor of the wanted dtype
    """
    source, target = edge_index
    leaving = count_incoming(source, n_nodes, like).index_select(0, source)
    entering = count_incoming(target, n_nodes, like).index_select(0, target)
    return (leaving * entering).rsqrt_()


@dataclass(frozen=True, kw_only=True)
class Frame:
    """Facts that all layers of a network share, checked.

    ``edge_codes`` says whether layers are given a code of every edge, ``edge_features`` that it begins with the
    features of the edge. ``norm`` and ``residual`` say what a layer does with what its convolution gives.
    """

    task_type: TaskType
    sizes: Sizes
    width: int
    n_layers: int
    dropout: float
    readout: str
    edge_codes: bool
    edge_features: bool
    norm: str
    residual: bool

    def __post_init__(self) -> None:
        if self.width < 4:
            raise BadValue("the width of a deep network", self.width, "4 and more: its read-out ends in a quarter")
        if self.edge_features and not self.edge_codes:
            raise BadValue("edge_features", value=True, allowed="False, or edge_repr='edge_repr', which keeps them")


class Convolution(nn.Module):
    """A map of the codes of nodes and of edges, by which layers differ."""

    @abstractmethod
    def forward(self, h: Tensor, e: Tensor | None, data: Data) -> tuple[Tensor, Tensor | None]:
        """Return the new codes of nodes and of edges.

        Parameters
        ----------
        h
            codes of nodes ``[n_nodes, width]``
        e
            codes of message edges ``[n_edges, width]``, None where there are none
        data
            the graph, whose ``edge_index [2, n_edges]`` messages go along
        """


class OnEdges(Convolution):
    """A convolution of nodes alone, such as PyG's, that leaves the codes of edges as they are."""

    def __init__(self, convolution: nn.Module) -> None:
        super().__init__()
        self.convolution = convolution

    def forward(self, h: Tensor, e: Tensor | None, data: Data) -> tuple[Tensor, Tensor | None]:
        """Convolve the codes of nodes.

        Parameters
        ----------
        h, e, data
            those of :class:`Convolution`
        """
        return self.convolution(h, data.edge_index), e


class Layer(Convolution):
    """One convolution, then normalise, bend, add what entered, and drop; for the codes of edges too where there are.

    A frame may have neither ``norm`` nor ``residual``. ``convolution(h, e, data)`` returns the new codes of both.
    ``bends_nodes`` is False where it has bent those of nodes already.
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
        self.bend, self.bends_nodes, self.residual = bend, bends_nodes, frame.residual
        self.norm = LAYER_NORMS[frame.norm](frame.width)
        self.edge_norm = LAYER_NORMS[frame.norm](frame.width) if frame.edge_codes else None

    def forward(self, h: Tensor, e: Tensor | None, data: Data) -> tuple[Tensor, Tensor | None]:
        """Renew the codes of nodes and of edges.

        Parameters
        ----------
        h, e, data
            those of :class:`Convolution`
        """
        new_h, new_e = self.convolution(h, e, data)
        if self.edge_norm is not None and e is not None:
            new_e = self.bend(self.edge_norm(new_e))
            e = self._drop(e + new_e if self.residual else new_e)
        new_h = self.norm(new_h)
        new_h = self.bend(new_h) if self.bends_nodes else new_h
        return self._drop(h + new_h if self.residual else new_h), e

    def _drop(self, h: Tensor) -> Tensor:
        return functional.dropout(h, self.dropout, self.training) if self.dropout else h


class DeepNetwork(Model):
    """Layers between an embedding and a read-out; serves every task type.

    ``forward(data)`` returns what the task type asks for; where links are predicted, ``encode`` and ``decode`` do.
    A member of the family says what ``make_layer`` makes, and which of the options it has otherwise. Layers are
    ``heads * hidden_channels`` wide.
    """

    defaults = Defaults(
        n_layers=count(4),
        heads=fixed(1),
        dropout=probability(0.0),
        readout=choice("mean", POOLS),
        edge_repr=fixed(ISOTROPIC),
        edge_features=fixed(value=False),
        norm=choice("batch", LAYER_NORMS),
        residual=switch(default=True),
    )

    def __init__(
        self,
        in_channels: int,
        hidden_channels: int,
        out_channels: int,
        *,
        task_type: TaskType,
        sizes: Sizes,
        **options: Any,
    ) -> None:
        del in_channels, out_channels
        super().__init__(options)
        chosen = self.options
        frame = Frame(
            task_type=task_type,
            sizes=sizes,
            width=chosen.heads * hidden_channels,
            n_layers=chosen.n_layers,
            dropout=chosen.dropout,
            readout=chosen.readout,
            edge_codes=self.has_edge_codes(),
            edge_features=chosen.edge_features,
            norm=chosen.norm,
            residual=chosen.residual,
        )
        self.width = self.code_width(frame)
        self.nodes = NodeInput(sizes, frame.width)
        has_features = frame.edge_features
        self.edges = EdgeInput(sizes, frame.width, has_features=has_features) if frame.edge_codes else None
        self.layers = nn.ModuleList(
            [*(self.make_layer(frame) for _ in range(frame.n_layers - 1)), self.make_last(frame)]
        )
        self.readout = self.make_readout(frame)

    def has_edge_codes(self) -> bool:
        """Tell whether layers are given a code of every edge."""
        return bool(self.options.edge_repr == EDGE_CODES)

    @abstractmethod
    def make_layer(self, frame: Frame) -> Convolution:
        """Return one layer."""

    def make_last(self, frame: Frame) -> Convolution:
        """Return the last layer: one as the others, unless a class says otherwise."""
        return self.make_layer(frame)

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
