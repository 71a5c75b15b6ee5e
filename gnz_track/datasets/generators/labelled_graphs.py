"""Generated graphs for node classification, and a small network that a package ships."""

from __future__ import annotations

import networkx as nx
import torch
from torch import Generator, Tensor
from torch_geometric.data import Data

from gnz_track.datasets.generators.geometric_graphs import lattice_edges

__all__ = ["grid_mines", "les_miserables", "planted_partition"]

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
