"""SEAL (Zhang and Chen, NeurIPS 2018): whether two nodes are linked, by the part of the graph around them."""

from __future__ import annotations

import hashlib
import math
from typing import Any

import numpy as np
import torch
from scipy import sparse
from torch import Tensor
from torch.nn import functional
from torch.utils.checkpoint import checkpoint
from torch_geometric.data import Data

from gnz_track.errors import BadValue
from gnz_track.models.adjacency import undirected_links
from gnz_track.models.enclosing.sorted_pooling import CONVOLUTIONS, SortedPooling
from gnz_track.models.enclosing.subgraphs import MOST_NEIGHBOURS, Subgraphs, enclose, thin
from gnz_track.models.options import Defaults, Model, Option, choice, count
from gnz_track.types import TaskType

__all__ = ["SEAL"]

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
        gnn_hidden_channels=Option(32),
        mlp_hidden_channels=Option(128),
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
