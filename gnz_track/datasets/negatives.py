"""Random non-edges and false triples, drawn without rejection: a rank among what is absent becomes what it stands for.

With the present codes sorted as e_0 < e_1 < ..., e_j - j absent codes lie before e_j; hence the absent code of rank r
is r + #{j : e_j - j <= r}, one binary search per draw.
"""

from __future__ import annotations

import torch
from torch import Generator, Tensor

from gnz_track.errors import SplitImpossible

__all__ = ["corrupt_tails", "decode_pairs", "draw_non_edges", "encode_pairs"]

_FEW = 1 << 22


def encode_pairs(pairs: Tensor, n_nodes: int, *, is_directed: bool) -> Tensor:
    """Return the numbers of node pairs.

    Parameters
    ----------
    pairs
        ``[2, P]`` without self-loops, undirected ones with the smaller node first.
    n_nodes, is_directed
    """
    first, second = pairs
    if is_directed:
        return first * (n_nodes - 1) + second - (second > first).long()
    return second * (second - 1) // 2 + first


def decode_pairs(codes: Tensor, n_nodes: int, *, is_directed: bool) -> Tensor:
    """Return the node pairs ``[2, P]`` of their numbers; inverse of :func:`encode_pairs`.

    Parameters
    ----------
    codes, n_nodes, is_directed
    """
    if is_directed:
        first, second = codes // max(n_nodes - 1, 1), codes % max(n_nodes - 1, 1)
        return torch.stack([first, second + (second >= first).long()])
    second = ((1 + (1 + 8 * codes.double()).sqrt()) / 2).long()
    second -= (second * (second - 1) // 2 > codes).long()  # the root may be rounded past a whole number
    second += (second * (second + 1) // 2 <= codes).long()
    return torch.stack([codes - second * (second - 1) // 2, second])


def draw_non_edges(edges: Tensor, n: int, *, n_nodes: int, is_directed: bool, generator: Generator) -> Tensor | None:
    """Return ``n`` distinct random pairs ``[2, n]`` that are no edge; None where there are too few.

    Parameters
    ----------
    edges
        ``[2, m]``, each once.
    n, n_nodes, is_directed, generator
    """
    n_pairs = n_nodes * (n_nodes - 1) // (1 if is_directed else 2)
    n_absent = n_pairs - edges.size(1)
    if n_absent < n:
        return None
    present = encode_pairs(edges, n_nodes, is_directed=is_directed).sort().values
    ranks = _draw_distinct(n_absent, n, generator)
    codes = ranks + torch.searchsorted(present - torch.arange(present.numel()), ranks, right=True)
    return decode_pairs(codes, n_nodes, is_directed=is_directed)


def _draw_distinct(limit: int, n: int, generator: Generator) -> Tensor:
    if limit <= max(_FEW, 4 * n):
        return torch.randperm(limit, generator=generator)[:n]
    found = torch.empty(0, dtype=torch.int64)
    while found.numel() < n:  # at most a quarter is taken, so that one round is enough but for rare luck
        found = torch.unique(torch.cat([found, torch.randint(limit, (2 * n,), generator=generator)]))
    return found[torch.randperm(found.numel(), generator=generator)[:n]]


def corrupt_tails(heads: Tensor, relations: Tensor, *, known: Tensor, n_nodes: int, generator: Generator) -> Tensor:
    """Return one random tail ``[n]`` for each head and relation ``[n]`` that makes no true triple.

    Parameters
    ----------
    heads, relations
    known
        Heads, relations and tails of all true triples ``[3, K]``.
    n_nodes, generator
    """
    n_relations = int(known[1].max()) + 1
    codes = torch.unique((known[0] * n_relations + known[1]) * n_nodes + known[2])
    groups, sizes = torch.unique_consecutive(codes // n_nodes, return_counts=True)
    starts = sizes.cumsum(0) - sizes
    places = torch.searchsorted(groups, heads * n_relations + relations)
    n_absent = n_nodes - sizes[places]
    if bool((n_absent < 1).any()):
        raise SplitImpossible("triples", "published", "some head and relation lead to every entity, no tail is false")
    within = torch.arange(codes.numel()) - starts.repeat_interleave(sizes)
    group_numbers = torch.arange(groups.numel()).repeat_interleave(sizes)
    # Groups of codes are n_nodes + 1 apart, so that the search stays within the group of its head and relation.
    sorted_gaps = group_numbers * (n_nodes + 1) + codes % n_nodes - within
    drawn = torch.rand(heads.numel(), generator=generator, dtype=torch.float64)
    ranks = (drawn * n_absent).long().clamp(max=n_absent - 1)
    return ranks + torch.searchsorted(sorted_gaps, places * (n_nodes + 1) + ranks, right=True) - starts[places]
