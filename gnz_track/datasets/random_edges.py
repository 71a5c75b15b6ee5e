"""Random edges in place of those of a graph: with its density, with its degrees, or connected.

A graph whose edges all have a reverse is undirected: pairs are drawn, and each comes in both directions. Of a directed
graph, ordered pairs are drawn. Self-loops and repetitions are neither counted nor made.
"""

from __future__ import annotations

import torch
from torch import Generator, Tensor

from gnz_track.datasets.negatives import decode_pairs, encode_pairs
from gnz_track.errors import BadValue

__all__ = ["MOST_EDGES", "complete_edges", "connected_edges", "random_edges", "swapped_edges"]

# Of a complete graph: 320 MB, and hours of training.
MOST_EDGES = 20_000_000
# Drawing without repetition: how often those that are missing are drawn again.
TRIES = 64
# Swaps that are tried, for each edge. R. Milo et al., On the uniform generation of random graphs (2003), take 100.
SWAPS = 10


def complete_edges(edges: Tensor, n_nodes: int, _: Generator) -> Tensor:
    """Return all ordered pairs of different nodes ``[2, n (n - 1)]``."""
    if n_nodes * (n_nodes - 1) > MOST_EDGES:
        raise BadValue("the number of nodes for a complete graph", n_nodes, f"at most {MOST_EDGES:,} edges")
    codes = torch.arange(n_nodes * max(n_nodes - 1, 0), device=edges.device)
    return decode_pairs(codes, n_nodes, is_directed=True)


def random_edges(edges: Tensor, n_nodes: int, generator: Generator) -> Tensor:
    """Return the edges of G(n, p), p being the share of pairs that are edges of the given graph.

    P. Erdos, A. Renyi, On random graphs I (1959); in the form of E. N. Gilbert, Random graphs (1959).
    """
    is_directed, pairs = _pairs_of(edges, n_nodes)
    n_possible = _n_pairs(n_nodes, is_directed=is_directed)
    if n_possible == 0:
        return edges.new_zeros(2, 0)
    share = torch.tensor(min(pairs.size(1) / n_possible, 1.0), dtype=torch.float64)
    n_drawn = int(torch.binomial(torch.tensor(float(n_possible), dtype=torch.float64), share, generator=generator))
    codes = _draw_codes(n_possible, n_drawn, generator, known=torch.zeros(0, dtype=torch.long))
    return _as_edges(codes, n_nodes, is_directed=is_directed)


def swapped_edges(edges: Tensor, n_nodes: int, generator: Generator) -> Tensor:
    """Return edges that have swapped their ends, two and two, again and again: every node keeps its degree.

    A swap that would make a self-loop or an edge twice is left out.
    """
    is_directed, pairs = _pairs_of(edges, n_nodes)
    n_pairs = pairs.size(1)
    if n_pairs < 2:
        return _both_ways(pairs, is_directed=is_directed)
    n_tries = SWAPS * n_pairs
    chosen = torch.randint(n_pairs, (2, n_tries), generator=generator).tolist()
    turned = (torch.rand(n_tries, generator=generator) < 0.5).tolist()
    first, second = pairs.tolist()
    present = set(zip(first, second, strict=True))
    for a, b, is_turned in zip(*chosen, turned, strict=True):
        if is_turned and not is_directed:
            # An undirected edge has no first end.
            one, two = (first[a], first[b]), (second[a], second[b])
        else:
            one, two = (first[a], second[b]), (first[b], second[a])
        if not is_directed:
            one, two = (min(one), max(one)), (min(two), max(two))
        if one[0] == one[1] or two[0] == two[1] or one == two or one in present or two in present:
            continue
        present -= {(first[a], second[a]), (first[b], second[b])}
        present |= {one, two}
        (first[a], second[a]), (first[b], second[b]) = one, two
    return _both_ways(torch.tensor([first, second]), is_directed=is_directed)


def connected_edges(edges: Tensor, n_nodes: int, generator: Generator) -> Tensor:
    """Return a random tree over all nodes and random pairs besides, together as many pairs as the given graph has.

    Each node, in random order, is joined to one that came before it. A graph with fewer pairs than a tree has becomes
    a tree. The result is undirected.
    """
    _, pairs = _pairs_of(torch.cat([edges, edges.flip(0)], dim=1), n_nodes)
    if n_nodes < 2:
        return edges.new_zeros(2, 0)
    order = torch.randperm(n_nodes, generator=generator)
    ranks = torch.arange(1, n_nodes)
    before = (torch.rand(n_nodes - 1, generator=generator, dtype=torch.float64) * ranks).long()
    tree = torch.stack([order[before], order[1:]])
    known = encode_pairs(torch.stack([tree.amin(dim=0), tree.amax(dim=0)]), n_nodes, is_directed=False)
    n_wanted = min(max(pairs.size(1), n_nodes - 1), n_nodes * (n_nodes - 1) // 2)
    codes = _draw_codes(n_nodes * (n_nodes - 1) // 2, n_wanted, generator, known=known)
    return _as_edges(codes, n_nodes, is_directed=False)


def _n_pairs(n_nodes: int, *, is_directed: bool) -> int:
    return n_nodes * (n_nodes - 1) if is_directed else n_nodes * (n_nodes - 1) // 2


def _pairs_of(edges: Tensor, n_nodes: int) -> tuple[bool, Tensor]:
    """Return whether a graph is directed, and its pairs ``[2, m]`` once each, without self-loops."""
    codes = torch.unique((edges[0] * n_nodes + edges[1])[edges[0] != edges[1]])
    first, second = codes // max(n_nodes, 1), codes % max(n_nodes, 1)
    is_directed = not torch.equal(codes, torch.sort(second * n_nodes + first).values)
    pairs = torch.stack([first, second])
    return is_directed, pairs if is_directed else pairs[:, first < second]


def _draw_codes(n_possible: int, n_wanted: int, generator: Generator, *, known: Tensor) -> Tensor:
    """Return ``known`` codes and others of 0 .. n_possible - 1 ``[n_wanted]``, none twice, all equally likely."""
    if n_wanted > n_possible // 4:
        order = torch.randperm(n_possible, generator=generator)
        fresh = order[~torch.isin(order, known)] if known.numel() else order
        return torch.cat([known, fresh[: n_wanted - known.numel()]])
    codes = known
    for _ in range(TRIES):
        missing = n_wanted - codes.numel()
        if missing <= 0:
            break
        drawn = torch.unique(torch.randint(n_possible, (missing,), generator=generator))
        codes = torch.cat([codes, drawn[~torch.isin(drawn, codes)]])
    return codes


def _as_edges(codes: Tensor, n_nodes: int, *, is_directed: bool) -> Tensor:
    return _both_ways(decode_pairs(codes, n_nodes, is_directed=is_directed), is_directed=is_directed)


def _both_ways(pairs: Tensor, *, is_directed: bool) -> Tensor:
    """Return edges in the order of their first and second node, the reverse of each among them if undirected."""
    edges = pairs if is_directed else torch.cat([pairs, pairs.flip(0)], dim=1)
    n = int(edges.max()) + 1 if edges.numel() else 1
    return edges[:, (edges[0] * n + edges[1]).argsort()]
