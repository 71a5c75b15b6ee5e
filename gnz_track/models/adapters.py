"""Heads that carry one node encoder to every task type.

An encoder is a module with the constructor ``(in_channels, hidden_channels, out_channels)`` and
``forward(data) -> [n_nodes, out_channels]``.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import torch
from torch import Tensor, nn
from torch_geometric.data import Data
from torch_geometric.nn import InnerProductDecoder
from torch_geometric.nn.aggr import MeanAggregation

from gnz_track.types import TaskType

__all__ = [
    "CategoricalInput",
    "EdgeHead",
    "EncodedInput",
    "EncoderFactory",
    "GraphHead",
    "LinkHead",
    "LinkScorer",
    "TripleHead",
    "TwoLevelHead",
    "multi_task_factory",
]


@runtime_checkable
class LinkScorer(Protocol):
    """A model that scores links: what link prediction asks for."""

    def encode(self, data: Data) -> Tensor:
        """Return node codes ``[n_nodes, width]`` from the message edges of a graph."""
        ...

    def decode(self, codes: Tensor, pairs: Tensor) -> Tensor:
        """Return one logit per pair ``[n_pairs]`` from codes and pairs ``[2, n_pairs]``."""
        ...


# Pairs scored at a time: what is gathered for them should stay in the cache.
CHUNK = 1 << 14


class GraphHead(nn.Module):
    """Mean over the nodes of each graph, then a linear map; ``forward -> [n_graphs, out_channels]``."""

    def __init__(self, encoder: nn.Module, hidden_channels: int, out_channels: int) -> None:
        super().__init__()
        self.encoder, self.pool = encoder, MeanAggregation()
        self.head = nn.Linear(hidden_channels, out_channels)

    def forward(self, data: Data) -> Tensor:
        """Score the graphs of a batch."""
        # A copy: what an encoder writes into its input is its own affair, and not what is pooled.
        graphs, size = data.batch.clone(), data.num_graphs
        return self.head(self.pool(self.encoder(data), graphs, dim_size=size))


class TwoLevelHead(nn.Module):
    """A linear map of every node, and one of the mean over the nodes of each graph.

    ``forward -> ([n_nodes, out_channels], [n_graphs, n_graph_targets])``.
    """

    def __init__(self, encoder: nn.Module, hidden_channels: int, out_channels: int, n_graph_targets: int) -> None:
        super().__init__()
        self.encoder, self.pool = encoder, MeanAggregation()
        self.nodes, self.graphs = nn.Linear(hidden_channels, out_channels), nn.Linear(hidden_channels, n_graph_targets)

    def forward(self, data: Data) -> tuple[Tensor, Tensor]:
        """Score the nodes and the graphs of a batch."""
        graphs, size = data.batch.clone(), data.num_graphs
        codes = self.encoder(data)
        return self.nodes(codes), self.graphs(self.pool(codes, graphs, dim_size=size))


class LinkHead(nn.Module):
    """Dot product of the codes of two nodes."""

    def __init__(self, encoder: nn.Module) -> None:
        super().__init__()
        self.encoder, self.product = encoder, InnerProductDecoder()

    def encode(self, data: Data) -> Tensor:
        """Return node codes ``[n_nodes, width]``."""
        return self.encoder(data)

    def decode(self, codes: Tensor, pairs: Tensor) -> Tensor:
        """Return one logit per pair ``[n_pairs]`` of pairs ``[2, n_pairs]``."""
        logits = [self.product(codes, chunk, sigmoid=False) for chunk in pairs.split(CHUNK, dim=1)]
        return torch.cat(logits) if len(logits) > 1 else logits[0]

    def forward(self, data: Data) -> Tensor:
        """Return the logits of ``data.edge_label_index``."""
        pairs = data.edge_label_index.clone()
        return self.decode(self.encode(data), pairs)


class EdgeHead(nn.Module):
    """Two linear maps of the codes of both ends and the features of an edge; ``forward -> [n_labelled, out_channels]``.

    An undirected edge is read as product and distance of the two codes, which know no order; a directed one as the code
    of its source and that of its target.
    """

    def __init__(
        self,
        encoder: nn.Module,
        hidden_channels: int,
        out_channels: int,
        *,
        n_edge_features: int = 0,
        is_directed: bool = False,
    ) -> None:
        super().__init__()
        self.encoder = encoder
        self.has_features, self.is_directed = n_edge_features > 0, is_directed
        self.first = nn.Linear(2 * hidden_channels + n_edge_features, hidden_channels)
        self.second = nn.Linear(hidden_channels, out_channels)

    def forward(self, data: Data) -> Tensor:
        """Score the edges of ``data.edge_label_index``, with ``data.edge_label_attr`` where there is one."""
        pairs = data.edge_label_index.clone()
        features = data.edge_label_attr.clone() if self.has_features else None
        codes = self.encoder(data)
        source, target = (codes.index_select(0, end) for end in pairs)
        parts = [source, target] if self.is_directed else [source * target, (source - target).abs()]
        if features is not None:
            parts.append(features)
        return self.second(self.first(torch.cat(parts, dim=1)).relu())


class TripleHead(nn.Module):
    """DistMult (Yang et al., ICLR 2015): ``sum(code[head] * relation * code[tail])``."""

    def __init__(self, encoder: nn.Module, hidden_channels: int, n_relations: int) -> None:
        super().__init__()
        self.encoder = encoder
        self.relations = nn.Embedding(n_relations, hidden_channels)

    def encode(self, data: Data) -> Tensor:
        """Return node codes ``[n_nodes, hidden_channels]``."""
        return self.encoder(data)

    def decode(self, codes: Tensor, pairs: Tensor, relations: Tensor) -> Tensor:
        """Return one logit per triple ``[n]``.

        Parameters
        ----------
        codes
            codes of nodes ``[n_nodes, hidden_channels]``
        pairs
            heads and tails ``[2, n]``
        relations
            the relation of each triple ``[n]``
        """
        chunks = zip(pairs.split(CHUNK, dim=1), relations.split(CHUNK), strict=True)
        return torch.cat([self._score(codes, *chunk) for chunk in chunks])

    def _score(self, codes: Tensor, pairs: Tensor, relations: Tensor) -> Tensor:
        head, tail = codes.index_select(0, pairs[0]), codes.index_select(0, pairs[1])
        return (head * self.relations(relations) * tail).sum(dim=-1)

    def score_tails(self, codes: Tensor, heads: Tensor, relations: Tensor) -> Tensor:
        """Return the logits of every node as tail ``[n, n_nodes]``.

        Parameters
        ----------
        codes
            codes of nodes ``[n_nodes, hidden_channels]``
        heads, relations
            what a tail is looked for, ``[n]`` each
        """
        return (codes.index_select(0, heads) * self.relations(relations)) @ codes.t()

    def score_heads(self, codes: Tensor, tails: Tensor, relations: Tensor) -> Tensor:
        """Return the logits of every node as head ``[n, n_nodes]``; DistMult is symmetric.

        Parameters
        ----------
        codes
            codes of nodes ``[n_nodes, hidden_channels]``
        tails, relations
            what a head is looked for, ``[n]`` each
        """
        return self.score_tails(codes, tails, relations)

    def forward(self, data: Data) -> Tensor:
        """Return the logits of ``data.edge_label_index`` with ``data.edge_type``."""
        pairs, relations = data.edge_label_index.clone(), data.edge_type.clone()
        return self.decode(self.encode(data), pairs, relations)


class CategoricalInput(nn.Module):
    """Replace integer features ``[n_nodes, n_columns]`` by the sum of one embedding per column."""

    def __init__(self, vocabulary: tuple[int, ...], width: int, inner: nn.Module) -> None:
        super().__init__()
        self.tables = nn.ModuleList(nn.Embedding(size, width) for size in vocabulary)
        self.inner = inner

    def embed(self, data: Data) -> Data:
        """Return the same graph with embedded features; the given one is not changed."""
        codes = data.x.reshape(data.x.size(0), -1)
        embedded = copy.copy(data)
        embedded.x = torch.stack([table(codes[:, i]) for i, table in enumerate(self.tables)]).sum(dim=0)
        return embedded

    def forward(self, data: Data) -> Tensor:
        """Apply the inner model to the embedded graph."""
        return self.inner(self.embed(data))


class EncodedInput(nn.Module):
    """Put positions ``data.encoding [n_nodes, n_encoding]`` beside real features, or add a linear map of them.

    The latter where the features are categories, which are embedded as :class:`CategoricalInput` does it.
    """

    def __init__(self, vocabulary: tuple[int, ...], n_encoding: int, width: int, inner: nn.Module) -> None:
        super().__init__()
        self.categories = CategoricalInput(vocabulary, width, nn.Identity()) if vocabulary else None
        self.positions = nn.Linear(n_encoding, width) if vocabulary else None
        self.inner = inner

    def embed(self, data: Data) -> Data:
        """Return the same graph with other features; the given one is not changed."""
        if self.categories is None or self.positions is None:
            embedded = copy.copy(data)
            embedded.x = torch.cat([data.x, data.encoding], dim=1)
            return embedded
        embedded = self.categories.embed(data)
        embedded.x = embedded.x + self.positions(data.encoding)
        return embedded

    def forward(self, data: Data) -> Tensor:
        """Apply the inner model to the graph."""
        return self.inner(self.embed(data))


def _as_nodes(factory: EncoderFactory, widths: tuple[int, int, int], **options: Any) -> nn.Module:
    return factory.encoder(*widths, **options)


def _as_graphs(factory: EncoderFactory, widths: tuple[int, int, int], **options: Any) -> nn.Module:
    first, hidden, out = widths
    return GraphHead(factory.encoder(first, hidden, hidden, **options), hidden, out)


def _as_links(factory: EncoderFactory, widths: tuple[int, int, int], **options: Any) -> nn.Module:
    first, hidden, _ = widths
    return LinkHead(factory.encoder(first, hidden, factory.code_channels or hidden, **options))


def _as_edges(factory: EncoderFactory, widths: tuple[int, int, int], **options: Any) -> nn.Module:
    first, hidden, out = widths
    encoder = factory.encoder(first, hidden, hidden, **options)
    about_edges = {"n_edge_features": factory.n_edge_features, "is_directed": factory.is_directed}
    return EdgeHead(encoder, hidden, out, **about_edges)


def _as_both(factory: EncoderFactory, widths: tuple[int, int, int], **options: Any) -> nn.Module:
    first, hidden, out = widths
    return TwoLevelHead(factory.encoder(first, hidden, hidden, **options), hidden, out, factory.n_graph_targets)


_HEADS: dict[TaskType, Callable[..., nn.Module]] = {
    TaskType.node_cls: _as_nodes,
    TaskType.graph_cls: _as_graphs,
    TaskType.graph_reg: _as_graphs,
    TaskType.link_pred: _as_links,
    TaskType.edge_cls: _as_edges,
    TaskType.multi_task: _as_both,
    TaskType.node_reg: _as_nodes,
    TaskType.edge_reg: _as_edges,
}


@dataclass(frozen=True)
class EncoderFactory:
    """Builds the model of any task type from one encoder class; the other fields say what a head will meet."""

    encoder: Callable[..., nn.Module]
    n_edge_features: int = 0
    is_directed: bool = False
    n_graph_targets: int = 0
    # Width of the codes of nodes where links are predicted; 0 is that of the layers.
    code_channels: int = 0

    def __call__(
        self,
        in_channels: int,
        hidden_channels: int,
        out_channels: int,
        *,
        task_type: TaskType | str = TaskType.node_cls,
        **options: Any,
    ) -> nn.Module:
        """Return the encoder with the head of a task type; ``options`` go to the encoder's constructor."""
        head = _HEADS[TaskType(task_type)]
        return head(self, (in_channels, hidden_channels, out_channels), **options)


def multi_task_factory(encoder: Callable[..., nn.Module]) -> EncoderFactory:
    """Give one node encoder all task types: ``register_model(Net, task_type=..., factory=multi_task_factory(Net))``."""
    return EncoderFactory(encoder)


# The name under which the published package has it.
_multi_task_factory = multi_task_factory
