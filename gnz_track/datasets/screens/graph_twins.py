"""Test graphs that are the same as a training graph, features of nodes and edges included."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

import networkx as nx
import numpy as np
import torch
from torch import Tensor

from gnz_track.datasets.frozen import FrozenDataset
from gnz_track.datasets.splits import Parts

__all__ = ["Twins", "find_twins", "hash_graphs"]

ROUNDS = 3
# Graphs up to this size, and with no more nodes alike than this, are compared exactly; others could take for ever.
LARGEST, MOST_ALIKE = 100, 12


@dataclass(frozen=True)
class Twins:
    """Test graphs in all, those with an isomorphic training graph, and of these those whose copies have other labels.

    ``n_undecided`` have training graphs of the same hash that are too large or too regular to be compared exactly.
    """

    n_test: int
    n_twins: int
    n_contradicted: int
    n_undecided: int


def find_twins(dataset: FrozenDataset, parts: Parts, labels: Tensor) -> Twins:
    """Count test graphs that are isomorphic to a training graph.

    Parameters
    ----------
    dataset, parts
    labels
        ``[n_graphs]``.
    """
    colours, edge_colours, hashes = hash_graphs(dataset)
    by_hash: dict[int, list[int]] = defaultdict(list)
    for graph in parts.train.tolist():
        by_hash[int(hashes[graph])].append(graph)
    draw = _Drawer(dataset, colours, edge_colours)
    n_twins = n_contradicted = n_undecided = 0
    for graph in parts.test.tolist():
        candidates = by_hash.get(int(hashes[graph]), [])
        if not candidates:
            continue
        if not draw.is_comparable(graph):
            n_undecided += 1
            continue
        own, equals = labels[graph], [other for other in candidates if draw.are_isomorphic(graph, other)]
        n_twins += bool(equals)
        n_contradicted += bool(equals) and not any(bool(labels[other] == own) for other in equals)
    return Twins(parts.test.numel(), n_twins, n_contradicted, n_undecided)


def hash_graphs(dataset: FrozenDataset) -> tuple[Tensor, Tensor, Tensor]:
    """Return colours of nodes after refinement ``[n_nodes]``, colours of edges ``[n_edges]``, hashes ``[n_graphs]``.

    Weisfeiler and Leman, 1968, on the union of all graphs, starting from the features; multisets are sums of mixed
    numbers modulo 2**64, so that graphs of one kind have one hash and others nearly never.
    """
    source, target = dataset.global_edge_index.long()
    x = dataset.tensors.get("x")
    colours = torch.zeros(dataset.n_nodes, dtype=torch.int64) if x is None else _number_rows(x)
    edges = torch.zeros(source.numel(), dtype=torch.int64)
    if dataset.card.fields.get("edge_attr") is not None and dataset.card.fields["edge_attr"].along == "edge":
        edges = _number_rows(dataset.tensors["edge_attr"])
    for _ in range(ROUNDS):
        messages = _mix(_mix(colours[source]) + edges)
        colours = _mix(colours) + torch.zeros_like(colours).index_add_(0, target, messages)
    graph = torch.arange(len(dataset)).repeat_interleave(dataset.node_ptr.diff())
    return colours, edges, torch.zeros(len(dataset), dtype=torch.int64).index_add_(0, graph, _mix(colours))


def _number_rows(features: Tensor) -> Tensor:
    """Return one number for each row, the same for equal rows."""
    return (
        torch.unique(features, dim=0, return_inverse=True)[1] if features.numel() else torch.zeros(len(features)).long()
    )


def _mix(numbers: Tensor) -> Tensor:
    """Spread numbers over 64 bits (splitmix64; Steele, Lea, Flood, 2014)."""
    mixed = numbers.numpy().astype(np.uint64) + np.uint64(0x9E3779B97F4A7C15)
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return torch.from_numpy((mixed ^ (mixed >> np.uint64(31))).astype(np.int64))


class _Drawer:
    """Graphs as networkx has them, with colours that an isomorphism must keep."""

    def __init__(self, dataset: FrozenDataset, colours: Tensor, edge_colours: Tensor) -> None:
        self._dataset, self._colours, self._edge_colours = dataset, colours, edge_colours
        self._drawn: dict[int, nx.MultiDiGraph] = {}

    def is_comparable(self, number: int) -> bool:
        colours = self._colours[slice(*self._dataset.node_ptr[number : number + 2].tolist())]
        if colours.numel() == 0:
            return True
        return colours.numel() <= LARGEST and int(torch.unique(colours, return_counts=True)[1].max()) <= MOST_ALIKE

    def are_isomorphic(self, one: int, other: int) -> bool:
        match = nx.algorithms.isomorphism.categorical_node_match("colour", None)
        edge_match = nx.algorithms.isomorphism.categorical_multiedge_match("colour", None)
        return nx.is_isomorphic(self._draw(one), self._draw(other), node_match=match, edge_match=edge_match)

    def _draw(self, number: int) -> nx.MultiDiGraph:
        if number not in self._drawn:
            nodes = slice(*self._dataset.node_ptr[number : number + 2].tolist())
            edges = slice(*self._dataset.edge_ptr[number : number + 2].tolist())
            graph = nx.MultiDiGraph()
            graph.add_nodes_from((i, {"colour": c}) for i, c in enumerate(self._colours[nodes].tolist()))
            ends, colours = (
                self._dataset.tensors["edge_index"][:, edges].t().tolist(),
                self._edge_colours[edges].tolist(),
            )
            graph.add_edges_from((a, b, {"colour": c}) for (a, b), c in zip(ends, colours, strict=True))
            self._drawn[number] = graph
        return self._drawn[number]
