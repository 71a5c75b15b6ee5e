"""SEAL (Zhang and Chen, NeurIPS 2018): whether two nodes are linked, by the part of the graph around them.

The parts around many pairs are cut out at once (:func:`enclose`), their nodes labelled by the distances to the two
(:func:`label_by_distances`), and a network of whole graphs, whose nodes are put in order, reads them
(:class:`SortedPooling`; Zhang et al., AAAI 2018).
"""

from __future__ import annotations

import functools
import hashlib
import itertools
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from scipy import sparse
from torch import Tensor, nn
from torch.nn import functional
from torch.utils.checkpoint import checkpoint
from torch_geometric.data import Data
from torch_geometric.nn import GATConv, GCNConv, SAGEConv, SortAggregation

from gnz_track.errors import BadValue
from gnz_track.models.embeddings.fitted import undirected_links
from gnz_track.models.options import Defaults, Model, Option, choice, count
from gnz_track.types import TaskType

__all__ = [
    "CONVOLUTIONS",
    "MOST_NEIGHBOURS",
    "SEAL",
    "SMALLEST_K",
    "SortedPooling",
    "Subgraphs",
    "enclose",
    "label_by_distances",
    "thin",
]


Whole = NDArray[np.int64]


def label_by_distances(edges: Whole, first: Whole, second: Whole, n_nodes: int) -> Whole:
    """Return the label ``[n_nodes]`` of each node of disjoint graphs, each with a first and a second node.

    With distances ``a`` to the first and ``b`` to the second node, each without the other one in the way, and
    ``d = a + b``: ``1 + min(a, b) + d // 2 (d // 2 + d % 2 - 1)``. The two nodes have label 1, those that cannot reach
    both have 0.

    Parameters
    ----------
    edges
        edges of all graphs, both ways ``[2, n_edges]``
    first, second
        the two nodes of each graph ``[n_graphs]``
    n_nodes
        how many nodes all graphs have together
    """
    to_first = _distances(edges, first, second, n_nodes)
    to_second = _distances(edges, second, first, n_nodes)
    total = to_first + to_second
    half = total // 2
    labels = 1 + np.minimum(to_first, to_second) + half * (half + total % 2 - 1)
    labels[(to_first < 0) | (to_second < 0)] = 0
    labels[first] = labels[second] = 1
    return labels


def _distances(edges: Whole, sources: Whole, without: Whole, n_nodes: int) -> Whole:
    """Return steps from the source of each node's graph ``[n_nodes]``, -1 where there is no way around ``without``."""
    found = np.full(n_nodes, -1, dtype=np.int64)
    found[sources] = 0
    is_left_out = np.zeros(n_nodes, dtype=bool)
    is_left_out[without] = True
    start, end = edges[:, ~is_left_out[edges].any(axis=0)]
    front, steps = sources, 0
    while front.size:
        steps += 1
        is_front = np.zeros(n_nodes, dtype=bool)
        is_front[front] = True
        reached = end[is_front[start]]
        front = np.unique(reached[found[reached] < 0])
        found[front] = steps
    return found


CONVOLUTIONS: Mapping[str, Callable[[int, int], nn.Module]] = {
    "GCN": GCNConv,
    "SAGE": SAGEConv,
    "GAT": functools.partial(GATConv, heads=1),
}
_FIRST, _SECOND, _KERNEL, _DROPOUT = 16, 32, 5, 0.5
# What the convolution over nodes needs, and the least that is published.
SMALLEST_K = 10


class SortedPooling(nn.Module):
    """Convolutions, the ``k`` nodes that are last in order, a convolution along these, and a perceptron.

    ``k`` is told by :meth:`settle`, and the perceptron has no shape before.
    """

    def __init__(self, in_channels: int, conv: str, *, n_hidden: int, hidden: int, mlp_hidden: int) -> None:
        super().__init__()
        widths = [in_channels, *[hidden] * n_hidden, 1]
        make = CONVOLUTIONS[conv]
        self.layers = nn.ModuleList(make(a, b) for a, b in itertools.pairwise(widths))
        self.k, self.width = 0, hidden * n_hidden + 1
        self.of_nodes = nn.Conv1d(1, _FIRST, self.width, stride=self.width)
        self.along_nodes = nn.Conv1d(_FIRST, _SECOND, _KERNEL)
        self.pool = nn.MaxPool1d(2)
        self.first, self.second = nn.LazyLinear(mlp_hidden), nn.Linear(mlp_hidden, 1)
        self.dropout = nn.Dropout(_DROPOUT)

    def settle(self, k: int) -> None:
        """Say how many nodes of a graph are read; where the perceptron has no shape yet, it gets one."""
        self.k = max(SMALLEST_K, k)
        if isinstance(self.first.weight, nn.parameter.UninitializedParameter):
            self.first(torch.zeros(1, (self.k // 2 - _KERNEL + 1) * _SECOND, device=self.second.weight.device))

    def forward(self, x: Tensor, edge_index: Tensor, graph: Tensor, n_graphs: int) -> Tensor:
        """Return one logit per graph ``[n_graphs]``.

        Parameters
        ----------
        x
            features of the nodes of all graphs ``[n, in]``
        edge_index
            edges of all graphs ``[2, n_edges]``
        graph
            the graph of each node ``[n]``
        n_graphs
            how many graphs there are
        """
        codes = [x]
        for layer in self.layers:
            codes.append(layer(codes[-1], edge_index).tanh())
        chosen = SortAggregation(self.k)(torch.cat(codes[1:], dim=1), graph, dim_size=n_graphs)
        h = self.pool(self.of_nodes(chosen.unsqueeze(1)).relu())
        h = self.along_nodes(h).relu().flatten(1)
        logits: Tensor = self.second(self.dropout(self.first(h).relu()))
        return logits.squeeze(1)


# Neighbours that a node brings in at most: around hubs a part would be most of the graph.
MOST_NEIGHBOURS = 100


@dataclass(frozen=True, eq=False)
class Subgraphs:
    """Nodes of disjoint graphs, by their number in the whole graph ``[n]``, with label ``[n]`` and pair ``[n]``.

    ``edges [2, n_edges]`` are places among these nodes.
    """

    nodes: Whole
    labels: Whole
    pair: Whole
    edges: Whole

    @property
    def size(self) -> int:
        """The count of numbers held, nearly."""
        return 3 * self.nodes.size + self.edges.size


def thin(links: sparse.csr_matrix, most: int, seed: int) -> sparse.csr_matrix:
    """Return links where each row keeps some random entries.

    Parameters
    ----------
    links
        matrix of zeros and ones ``[n, n]``
    most
        how many entries a row keeps at most
    seed
        decides which ones
    """
    degrees = np.diff(links.indptr)
    rows = np.repeat(np.arange(links.shape[0]), degrees)
    order = np.lexsort((np.random.default_rng(seed).random(rows.size), rows))
    rank = np.arange(rows.size) - np.repeat(links.indptr[:-1], degrees)
    kept = np.sort(order[rank < most])
    return sparse.csr_matrix((np.ones(kept.size), (rows[kept], links.indices[kept])), shape=links.shape)


def enclose(links: sparse.csr_matrix, pairs: Whole, *, n_hops: int) -> Subgraphs:
    """Return the part of a graph around each pair of nodes.

    An edge within a part is there where either of its nodes kept it; that between the two nodes of the pair never is.

    Parameters
    ----------
    links
        thinned matrix of zeros and ones ``[n, n]``
    pairs
        pairs of nodes ``[2, n_pairs]``
    n_hops
        how many hops from either node a part reaches
    """
    n, n_pairs = links.shape[0], pairs.shape[1]
    rows = np.tile(np.arange(n_pairs), 2)
    reached = sparse.csr_matrix((np.ones(2 * n_pairs), (rows, pairs.ravel())), shape=(n_pairs, n))
    for _ in range(n_hops):
        reached = reached + reached @ links
    reached.sort_indices()
    nodes, sizes = reached.indices.astype(np.int64), np.diff(reached.indptr)
    pair = np.repeat(np.arange(n_pairs), sizes)
    # Ascending, because rows and the columns of each are.
    codes = pair * n + nodes
    first, second = (np.searchsorted(codes, np.arange(n_pairs) * n + end) for end in pairs)
    edges = _edges_within(links, nodes, pair, codes)
    is_target = (edges == np.stack([first, second])[:, pair[edges[0]]]).all(axis=0)
    is_target |= (edges == np.stack([second, first])[:, pair[edges[0]]]).all(axis=0)
    edges = edges[:, ~is_target]
    return Subgraphs(nodes, label_by_distances(edges, first, second, nodes.size), pair, edges)


def _edges_within(links: sparse.csr_matrix, nodes: Whole, pair: Whole, codes: Whole) -> Whole:
    degrees = np.diff(links.indptr)[nodes]
    start = np.repeat(np.arange(nodes.size), degrees)
    within = np.arange(start.size) - np.repeat(np.cumsum(degrees) - degrees, degrees)
    wanted = pair[start] * links.shape[0] + links.indices[links.indptr[nodes[start]] + within]
    end = np.minimum(np.searchsorted(codes, wanted), codes.size - 1)
    is_inside = codes[end] == wanted
    start, end = start[is_inside], end[is_inside]
    both = np.unique(np.concatenate([start * nodes.size + end, end * nodes.size + start]))
    return np.stack([both // nodes.size, both % nodes.size])


# Pairs that are looked at together, those by which ``k`` is found, labels told apart, numbers kept of what was cut out.
CHUNK, SAMPLE, N_LABELS, MOST_KEPT = 256, 2000, 32, 1 << 24


class SEAL(Model):
    """A link model: nodes within ``num_hops`` of a pair, labelled by distances, and a network of that graph.

    ``gnn_conv`` is GCN, SAGE or GAT, ``gnn_hidden_channels`` its width, ``mlp_hidden_channels`` that of the perceptron.
    ``k`` nodes are read of each graph; below 1 it is the share of graphs that shall have no more, found on links and
    as many random pairs of the training graph. A hub brings in a hundred random neighbours at most, so that memory does
    not depend on degrees.
    """

    task_types = (TaskType.link_pred,)
    defaults = Defaults(
        num_hops=count(1),
        k=Option(0.6, lambda value: value > 0, "a share of graphs below 1, or a number of nodes"),
        gnn_conv=choice("GCN", CONVOLUTIONS),
        gnn_hidden_channels=count(32),
        mlp_hidden_channels=count(128),
    )

    def __init__(self, in_channels: int, hidden_channels: int, out_channels: int, **options: Any) -> None:
        del hidden_channels, out_channels
        super().__init__(options)
        chosen = self.options
        self.network = SortedPooling(
            in_channels + N_LABELS,
            chosen.gnn_conv,
            n_hidden=chosen.num_hops,
            hidden=chosen.gnn_hidden_channels,
            mlp_hidden=chosen.mlp_hidden_channels,
        )
        self._seed = int(torch.randint(2**62, (), device="cpu"))
        self._edges: Tensor | None = None
        self._links: sparse.csr_matrix | None = None
        self._kept: dict[bytes, Subgraphs] = {}
        self._n_kept = 0

    def encode(self, data: Data) -> Tensor:
        """Take the message edges of a graph; return its features ``[n_nodes, in_channels]``."""
        if "edge_type" in data:
            raise BadValue("the graph", "one with kinds of edges", "a graph whose edges are all of one kind")
        if self._edges is not data.edge_index:
            self._edges, self._kept, self._n_kept = data.edge_index, {}, 0
            self._links = thin(undirected_links(data), MOST_NEIGHBOURS, self._seed)
            if not self.network.k:
                self.network.settle(self._count_read(data))
        features: Tensor = data.x
        return features

    def _count_read(self, data: Data) -> int:
        """Return how many nodes of each graph are read."""
        if self.options.k >= 1:
            return int(self.options.k)
        random = np.random.default_rng(self._seed)
        edges = data.edge_index.cpu().numpy()
        chosen = edges[:, random.permutation(edges.shape[1])[:SAMPLE]]
        drawn = random.integers(int(data.num_nodes), size=chosen.shape)
        pairs = np.concatenate([chosen, drawn], axis=1)
        pairs = pairs[:, pairs[0] != pairs[1]]
        chunks = (pairs[:, start : start + CHUNK] for start in range(0, pairs.shape[1], CHUNK))
        sizes = [np.bincount(self._cut(chunk).pair, minlength=chunk.shape[1]) for chunk in chunks]
        ordered = np.sort(np.concatenate(sizes)) if sizes else np.zeros(1, dtype=np.int64)
        return int(ordered[math.ceil(self.options.k * ordered.size) - 1])

    def decode(self, codes: Tensor, pairs: Tensor) -> Tensor:
        """Return one logit per pair ``[n_pairs]`` of pairs ``[2, n_pairs]``, holding what one chunk of them needs."""
        chunks = pairs.split(CHUNK, dim=1)
        if len(chunks) == 1 or not torch.is_grad_enabled():
            return torch.cat([self._score(codes, chunk, is_kept=not self.training) for chunk in chunks])
        scored = [checkpoint(self._score, codes, chunk, use_reentrant=False) for chunk in chunks]
        return torch.cat(scored)

    def _score(self, codes: Tensor, pairs: Tensor, *, is_kept: bool = False) -> Tensor:
        parts = self._look_up(pairs.cpu().numpy()) if is_kept else self._cut(pairs.cpu().numpy())
        nodes, labels, pair, edges = (
            torch.from_numpy(found).to(codes.device) for found in (parts.nodes, parts.labels, parts.pair, parts.edges)
        )
        one_hot = functional.one_hot(labels.clamp(max=N_LABELS - 1), N_LABELS).to(codes.dtype)
        x = torch.cat([codes.index_select(0, nodes), one_hot], dim=1)
        logits: Tensor = self.network(x, edges, pair, pairs.size(1))
        return logits

    def _cut(self, pairs: np.ndarray) -> Subgraphs:
        if self._links is None:
            raise BadValue("what pairs are scored on", None, "a graph that was encoded before")
        return enclose(self._links, pairs, n_hops=self.options.num_hops)

    def _look_up(self, pairs: np.ndarray) -> Subgraphs:
        """Cut out what is around pairs, once: held-out ones are asked for after every epoch."""
        key = hashlib.md5(pairs.tobytes(), usedforsecurity=False).digest()
        if key in self._kept:
            return self._kept[key]
        found = self._cut(pairs)
        if self._n_kept + found.size <= MOST_KEPT:
            self._kept[key], self._n_kept = found, self._n_kept + found.size
        return found
