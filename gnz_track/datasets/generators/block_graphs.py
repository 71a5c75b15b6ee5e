"""Communities of random sizes: find the pattern that was put among them, or the community of every node.

Abbe: Community detection and stochastic block models, 2018; the two designs are those of Dwivedi et al., Benchmarking
Graph Neural Networks, 2023.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import torch
from torch_geometric.data import Data

from gnz_track.datasets.generators.draws import GraphDraw, draw_parts
from gnz_track.datasets.parted import PartedGraphs

__all__ = ["sbm_cluster", "sbm_pattern"]

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
