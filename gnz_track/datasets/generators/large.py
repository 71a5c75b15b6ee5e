"""A graph of any size, drawn block by block: communities that show in the edges and, faintly, in the features."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import torch
from torch import Generator, Tensor

from gnz_track.datasets.streaming import BlockedGraph
from gnz_track.seeds import derive

__all__ = ["large_communities"]

# Rows of features, and pairs of nodes, that are drawn at a time.
ROWS, PAIRS = 1 << 16, 1 << 20
N_TRAIN, N_VAL = 0.1, 0.05
# Spread of the means of classes, in that of the noise around them.
SIGNAL = 0.1


def large_communities(
    *, n_nodes: int, n_edges: int, n_classes: int, n_features: int, p_within: float, seed: int
) -> BlockedGraph:
    """Draw communities of about one size, each in blocks from a generator of its own; masks divide 10/5/85.

    x are class means buried in noise. ``n_edges`` counts both directions of a pair; a pair may come twice, and none is
    a loop. Memory holds a block and a few numbers of each node.

    Parameters
    ----------
    n_nodes, n_edges, n_classes, n_features, seed
    p_within
        Share of pairs that are drawn within a class; the others are drawn among all nodes.
    """
    blocks = partial(_draw_blocks, n_nodes, n_edges, n_classes, n_features, p_within, seed)
    masks = {f"{part}_mask": (torch.bool, (n_nodes,)) for part in ("train", "val", "test")}
    shapes = {
        "x": (torch.float32, (n_nodes, n_features)),
        "y": (torch.int64, (n_nodes,)),
        "edge_index": (torch.int64, (2, n_edges)),
        **masks,
    }
    return BlockedGraph(shapes=shapes, blocks=blocks)


def _draw_blocks(
    n_nodes: int, n_edges: int, n_classes: int, n_features: int, p_within: float, seed: int
) -> Iterator[tuple[str, int, Tensor]]:
    generator = _generator(seed, "nodes")
    y = torch.randint(n_classes, (n_nodes,), generator=generator)
    yield "y", 0, y
    ranks = torch.randperm(n_nodes, generator=generator)
    first, second = round(N_TRAIN * n_nodes), round((N_TRAIN + N_VAL) * n_nodes)
    yield "train_mask", 0, ranks < first
    yield "val_mask", 0, (ranks >= first) & (ranks < second)
    yield "test_mask", 0, ranks >= second
    means = SIGNAL * torch.randn(n_classes, n_features, generator=generator)
    for begin in range(0, n_nodes, ROWS):
        own = y[begin : begin + ROWS]
        noise = torch.randn(own.numel(), n_features, generator=_generator(seed, "x", begin))
        yield "x", begin * n_features, noise.add_(means[own])
    half = n_edges // 2
    for begin, (head, tail) in _draw_pairs(y, half, n_classes, p_within, seed):
        places = (begin, half + begin, n_edges + begin, n_edges + half + begin)
        yield from (("edge_index", place, ends) for place, ends in zip(places, (head, tail, tail, head), strict=True))


def _draw_pairs(
    y: Tensor, n_pairs: int, n_classes: int, p_within: float, seed: int
) -> Iterator[tuple[int, tuple[Tensor, Tensor]]]:
    """Yield the place of the first pair of each block, and both ends of its pairs ``[n]``."""
    n_nodes, members = y.numel(), y.argsort(stable=True)
    counts = torch.bincount(y, minlength=n_classes)
    starts = counts.cumsum(0) - counts
    for begin in range(0, n_pairs, PAIRS):
        generator = _generator(seed, "pairs", begin)
        n = min(PAIRS, n_pairs - begin)
        head = torch.randint(n_nodes, (n,), generator=generator)
        anywhere = torch.randint(n_nodes, (n,), generator=generator)
        share = torch.rand(n, generator=generator, dtype=torch.float64)
        own = y[head]
        beside = members[starts[own] + (share * counts[own]).long()]
        is_within = torch.rand(n, generator=generator) < p_within
        tail = torch.where(is_within, beside, anywhere)
        yield begin, (head, torch.where(tail == head, (head + 1) % n_nodes, tail))


def _generator(seed: int, *names: object) -> Generator:
    return Generator().manual_seed(derive(seed, "large_communities", *names))
