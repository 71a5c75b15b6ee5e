"""Generated graphs for node classification, and a small network that a package ships.

Communities of random sizes: find the pattern that was put among them, or the community of every node.

Abbe: Community detection and stochastic block models, 2018; the two designs are those of Dwivedi et al., Benchmarking
Graph Neural Networks, 2023.

Synthetic graphs for link prediction: neighbours in the plane, random graphs, lattices. Seeds give the instance.

The instances are those of the published benchmark: every generator draws the same numbers in the same order.
"""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import networkx as nx
import numpy as np
import torch
from torch import Generator, Tensor
from torch_geometric.data import Data

from gnz_track.datasets.collation import PartedGraphs
from gnz_track.datasets.generators.draws import GraphDraw, draw_parts
from gnz_track.datasets.readers.raw_files import both_ways

__all__ = [
    "grid_mines",
    "ising_lattice",
    "lattice_edges",
    "les_miserables",
    "nearest_edges",
    "planted_partition",
    "random_coloring",
    "random_tsp",
    "sbm_cluster",
    "sbm_pattern",
]


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


def random_tsp(*, n_nodes: int, k: int, seed: int) -> Data:
    """Draw uniform points of the unit square: x = pos ``[n_nodes, 2]``.

    Parameters
    ----------
    n_nodes
    k
        Each point is joined to this many nearest, both ways.
    seed
    """
    pos = torch.rand((n_nodes, 2), generator=Generator().manual_seed(seed))
    return Data(x=pos, pos=pos, edge_index=nearest_edges(pos, k))


def random_coloring(*, n_nodes: int, p: float, seed: int) -> Data:
    """Draw an Erdos-Renyi graph; x is a column of ones ``[n_nodes, 1]``.

    Parameters
    ----------
    n_nodes
    p
        Probability that a pair is joined.
    seed
    """
    pairs = torch.combinations(torch.arange(n_nodes)).t()
    chosen = torch.rand(pairs.size(1), generator=Generator().manual_seed(seed)) < p
    return Data(x=torch.ones(n_nodes, 1), edge_index=both_ways(pairs[:, chosen], n_nodes))


def ising_lattice(*, side: int, temperature: float, seed: int) -> Data:
    """Draw a square lattice with free borders, eight neighbours a site; x are independent spins of +1 and -1.

    A spin is +1 with probability tanh(1 / temperature) / 2 + 1 / 2.

    Parameters
    ----------
    side
        x is ``[side ** 2, 1]``.
    temperature, seed
    """
    up = math.tanh(1 / temperature) / 2 + 0.5
    spins = (torch.rand((side * side, 1), generator=Generator().manual_seed(seed)) < up).float() * 2 - 1
    return Data(x=spins, edge_index=lattice_edges(side))


def lattice_edges(side: int) -> Tensor:
    """Return the edges ``[2, m]`` of a square lattice, both ways, joining each site to its eight neighbours."""
    row, column = torch.arange(side).repeat_interleave(side), torch.arange(side).repeat(side)
    shifts = torch.cartesian_prod(torch.arange(-1, 2), torch.arange(-1, 2))
    rows, columns = row[:, None] + shifts[:, 0], column[:, None] + shifts[:, 1]
    is_inside = (rows >= 0) & (rows < side) & (columns >= 0) & (columns < side)
    source = torch.arange(side * side)[:, None].expand_as(rows)
    target = rows * side + columns
    keep = is_inside & (source != target)
    return torch.stack([source[keep], target[keep]])


def nearest_edges(pos: Tensor, k: int) -> Tensor:
    """Return the edges ``[2, m]``, both ways, of points ``[n, 2]`` joined to their ``k`` nearest."""
    nearest = torch.cdist(pos, pos).topk(k + 1, largest=False).indices[:, 1:].reshape(-1)
    return both_ways(torch.stack([torch.arange(len(pos)).repeat_interleave(k), nearest]), len(pos))


_NEIGHBOURS = 8
_N_SPLITS = 10


def grid_mines(*, side: int, p_mine: float, p_unknown: float, seed: int) -> Data:
    """Draw a board of Minesweeper: y ``[n]`` tells mines; ten features a cell.

    The first nine columns are the one-hot count of mines around the cell, all zero where the last column says that the
    count is unknown. Masks ``[n, 10]`` divide the cells 50/25/25. The design follows the minesweeper graph of Platonov
    et al., ICLR 2023; the instance is our own.

    Parameters
    ----------
    side
        The board has ``side ** 2`` cells.
    p_mine, p_unknown, seed
    """
    generator = Generator().manual_seed(seed)
    n = side * side
    edges = lattice_edges(side)
    is_mine = torch.rand(n, generator=generator) < p_mine
    is_unknown = torch.rand(n, generator=generator) < p_unknown
    around = torch.zeros(n, dtype=torch.int64).index_add(0, edges[0], is_mine[edges[1]].long())
    counts = torch.nn.functional.one_hot(around, _NEIGHBOURS + 1) * ~is_unknown[:, None]
    x = torch.cat([counts, is_unknown[:, None]], dim=1).float()
    return Data(x=x, y=is_mine.long(), edge_index=edges, **_masks(n, (0.5, 0.75), generator))


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
    return Data(x=x, y=y, edge_index=edges, **_masks(n, (0.2, 0.4), generator))


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


def _masks(n: int, cuts: tuple[float, float], generator: Generator) -> dict[str, Tensor]:
    """Return masks ``[n, 10]``; the cuts are where training and validation end, as fractions of ``n``."""
    ranks = torch.stack([torch.randperm(n, generator=generator) for _ in range(_N_SPLITS)], dim=1)
    first, second = (round(cut * n) for cut in cuts)
    return {"train_mask": ranks < first, "val_mask": (ranks >= first) & (ranks < second), "test_mask": ranks >= second}
