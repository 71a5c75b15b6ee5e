"""Communities that show in the edges: a pattern among them, or the community of every node; and one real network.

Abbe: Community detection and stochastic block models, 2018; the two designs of blocks are those of Dwivedi et al.,
Benchmarking Graph Neural Networks, 2023.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import networkx as nx
import numpy as np
import torch
from torch import Generator
from torch_geometric.data import Data

from gnz_track.datasets.collation import PartedGraphs
from gnz_track.datasets.generators.draws import GraphDraw, draw_masks, draw_parts

__all__ = ["les_miserables", "planted_partition", "sbm_cluster", "sbm_pattern"]

Array = np.ndarray[Any, Any]
# Nodes of a community, and of a pattern: from 5 to 34.
_SMALLEST, _ONE_PAST_LARGEST = 5, 35
_PATTERN_SIGNALS = 3


def sbm_pattern(*, n_patterns: int, sizes: tuple[int, int, int], seed: int) -> PartedGraphs:
    """Draw patterns among five communities; y ``[n]`` tells the nodes of the pattern.

    x ``[n, 1]`` is a signal of 0, 1 or 2 at random, fixed for the nodes of a pattern, as the edges among them are.
    Nodes of one community are joined with p 0.5, of two with 0.35, those of the pattern to the others with 0.5.

    Parameters
    ----------
    n_patterns
        Graph ``g`` of a part has pattern ``g`` modulo this number.
    sizes
        Graphs of each part.
    seed
    """
    rng = np.random.default_rng(seed)
    patterns = [_draw_pattern(rng) for _ in range(n_patterns)]
    return draw_parts("sbm_pattern", partial(_pattern_graph, patterns), sizes=sizes, seed=seed)


def sbm_cluster(*, sizes: tuple[int, int, int], seed: int) -> PartedGraphs:
    """Draw six communities; y ``[n]`` is the community of a node, and x ``[n, 1]`` names it at one node of each.

    x is the number of the community counted from 1 at those six nodes, and 0 elsewhere. Nodes of one community are
    joined with p 0.55, of two with 0.25.
    """
    return draw_parts("sbm_cluster", _cluster_graph, sizes=sizes, seed=seed)


def planted_partition(
    *, n_classes: int, class_size: int, p_within: float, p_between: float, n_features: int, seed: int
) -> Data:
    """Draw communities of one size; x are class means buried in unit noise; masks divide 20/20/60.

    Condon and Karp: Algorithms for graph partitioning on the planted partition model, 2001.

    Parameters
    ----------
    n_classes, class_size, n_features, seed
    p_within, p_between
        Probabilities that a pair within a class, or of two, is joined.
    """
    generator = Generator().manual_seed(seed)
    n = n_classes * class_size
    # In no order: where nodes stood sorted by class, their numbers would tell the test labels.
    y = torch.arange(n_classes).repeat_interleave(class_size)[torch.randperm(n, generator=generator)]
    pairs = torch.combinations(torch.arange(n)).t()
    p = torch.where(y[pairs[0]] == y[pairs[1]], p_within, p_between)
    pairs = pairs[:, torch.rand(pairs.size(1), generator=generator) < p]
    means = 0.5 * torch.randn(n_classes, n_features, generator=generator)
    x = means[y] + torch.randn(n, n_features, generator=generator)
    edges = torch.cat([pairs, pairs.flip(0)], dim=1)
    return Data(x=x, y=y, edge_index=edges, **draw_masks(n, (0.2, 0.4), generator))


def les_miserables() -> Data:
    """Return the meetings of 77 characters in Les Miserables; edge_weight ``[m]`` counts common chapters, no features.

    Knuth: The Stanford GraphBase, 1993; the copy that networkx ships.
    """
    graph = nx.les_miserables_graph()
    number = {name: place for place, name in enumerate(sorted(graph))}
    links = sorted((*sorted((number[a], number[b])), weight) for a, b, weight in graph.edges.data("weight"))
    pairs = torch.tensor([link[:2] for link in links]).t()
    weight = torch.tensor([float(link[2]) for link in links])
    edges = torch.cat([pairs, pairs.flip(0)], dim=1)
    return Data(edge_index=edges, edge_weight=weight.repeat(2), num_nodes=len(number))


def _draw_pattern(rng: np.random.Generator) -> tuple[Array, Array]:
    """Draw the signal ``[n]`` of a pattern, and which of its nodes are joined ``[n, n]``."""
    n = int(rng.integers(_SMALLEST, _ONE_PAST_LARGEST))
    return rng.integers(_PATTERN_SIGNALS, size=n), _join_pairs(np.full((n, n), 0.5, dtype=np.float32), rng)


def _pattern_graph(patterns: list[tuple[Array, Array]], draw: GraphDraw) -> list[Data]:
    (signal, links), rng = patterns[draw.number % len(patterns)], draw.rng
    community = np.arange(5).repeat(rng.integers(_SMALLEST, _ONE_PAST_LARGEST, size=5))
    # In no order; the pattern is a community of its own, joined to the others as nodes of one are.
    community = rng.permutation(np.concatenate([community, np.full(len(signal), 5)]))
    is_same = community[:, None] == community
    within = (community == 5).nonzero()[0]
    p = np.where(is_same, np.float32(0.5), np.float32(0.35))
    p[within], p[:, within] = 0.5, 0.5
    joined = _join_pairs(p, rng)
    # Which node of the pattern lies where is drawn too.
    within = rng.permutation(within)
    joined[np.ix_(within, within)] = links
    x = rng.integers(_PATTERN_SIGNALS, size=len(community))
    x[within] = signal
    return [_community_graph(x, joined, community == 5)]


def _cluster_graph(draw: GraphDraw) -> list[Data]:
    rng = draw.rng
    community = rng.permutation(np.arange(6).repeat(rng.integers(_SMALLEST, _ONE_PAST_LARGEST, size=6)))
    p = np.where(community[:, None] == community, np.float32(0.55), np.float32(0.25))
    # Any node of a community is as good as any other, so that the first one in the random order can carry its name.
    x = np.zeros(len(community), dtype=np.int64)
    x[np.unique(community, return_index=True)[1]] = np.arange(1, 7)
    return [_community_graph(x, _join_pairs(p, rng), community)]


def _join_pairs(p: Array, rng: np.random.Generator) -> Array:
    """Join every pair of different nodes with its probability ``[n, n]``, independently of all others."""
    above = np.triu(rng.random(p.shape, dtype=np.float32) < p, k=1)
    joined: Array = above | above.T
    return joined


def _community_graph(x: Array, joined: Array, y: Array) -> Data:
    return Data(
        x=torch.from_numpy(x).unsqueeze(1),
        edge_index=torch.from_numpy(np.stack(joined.nonzero())),
        y=torch.from_numpy(y.astype(np.int64)),
    )
