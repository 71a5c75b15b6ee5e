"""Instances of problems on graphs: tours, routes, colourings, assignments, cuts, flows; mines and spins on a lattice.

Seeds give the instance. Those of the published benchmark draw the same numbers in the same order.
"""

from __future__ import annotations

import math

import torch
from torch import Generator, Tensor
from torch_geometric.data import Data

from gnz_track.datasets.generators.draws import draw_masks
from gnz_track.datasets.readers.raw_files import both_ways

__all__ = [
    "grid_mines",
    "ising_lattice",
    "random_bipartite_matching",
    "random_coloring",
    "random_maxcut",
    "random_maxflow",
    "random_tsp",
    "random_vrp",
]

_LARGEST_CAPACITY = 10
_NEIGHBOURS = 8


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
    return Data(x=pos, pos=pos, edge_index=_nearest_edges(pos, k))


def random_vrp(*, n_customers: int, n_depots: int, k: int, seed: int) -> Data:
    """Draw an instance of vehicle routing: depots, then customers, in the unit square.

    x ``[n, 4]`` is place, demand (uniform, 0 for depots) and whether the node is a depot; the first ``n_depots`` are.

    Parameters
    ----------
    n_customers, n_depots
    k
        Each node is joined to this many nearest, both ways.
    seed
    """
    generator = Generator().manual_seed(seed)
    n_nodes = n_depots + n_customers
    pos = torch.rand((n_nodes, 2), generator=generator)
    demand = torch.rand((n_nodes, 1), generator=generator)
    is_depot = (torch.arange(n_nodes) < n_depots).float()[:, None]
    x = torch.cat([pos, demand * (1 - is_depot), is_depot], dim=1)
    return Data(x=x, pos=pos, edge_index=_nearest_edges(pos, k))


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


def random_bipartite_matching(*, size: int, p: float, seed: int) -> Data:
    """Draw two sides of nodes to be matched; x ``[n, 2]`` tells the side.

    edge_attr ``[m, 1]`` is a uniform weight, the same in both directions.

    Parameters
    ----------
    size
        Nodes of a side.
    p
        Probability that a pair is joined.
    seed
    """
    generator = Generator().manual_seed(seed)
    left, right = (torch.rand((size, size), generator=generator) < p).nonzero(as_tuple=True)
    weight = torch.rand((left.numel(), 1), generator=generator)
    pairs = torch.stack([left, right + size])
    x = torch.eye(2).repeat_interleave(size, dim=0)
    return Data(x=x, edge_index=torch.cat([pairs, pairs.flip(0)], dim=1), edge_attr=weight.repeat(2, 1))


def random_maxcut(*, n_nodes: int, p: float, seed: int) -> Data:
    """Draw an instance of maximum cut: Erdos-Renyi graph with uniform edge_attr ``[m, 1]``; x ``[n, 1]`` ones.

    y ``[n]`` is the side of each node in a cut that no single node improves by changing sides; ``cut_value [1]`` its
    weight.

    Parameters
    ----------
    n_nodes
    p
        Probability that a pair is joined.
    seed
    """
    generator = Generator().manual_seed(seed)
    pairs = torch.combinations(torch.arange(n_nodes)).t()
    pairs = pairs[:, torch.rand(pairs.size(1), generator=generator) < p]
    weight = torch.rand(pairs.size(1), generator=generator)
    weights = torch.zeros(n_nodes, n_nodes, dtype=torch.float64)
    weights[pairs[0], pairs[1]] = weight.double()
    weights += weights.t().clone()
    side = _improve_cut(weights, torch.randint(2, (n_nodes,), generator=generator))
    value = weights[side[:, None] != side[None]].sum() / 2
    return Data(
        x=torch.ones(n_nodes, 1),
        y=side,
        edge_index=torch.cat([pairs, pairs.flip(0)], dim=1),
        edge_attr=weight[:, None].repeat(2, 1),
        cut_value=value.float()[None],
    )


def random_maxflow(*, n_nodes: int, p: float, seed: int) -> Data:
    """Draw an instance of maximum flow: edge_attr ``[m, 1]`` is a capacity from 1 to 10.

    x ``[n, 2]`` marks the source, node 0, and the sink, the last node.

    Parameters
    ----------
    n_nodes
    p
        Probability that an ordered pair is joined.
    seed
    """
    generator = Generator().manual_seed(seed)
    is_joined = torch.rand((n_nodes, n_nodes), generator=generator) < p
    edges = is_joined.fill_diagonal_(fill_value=False).nonzero().t().contiguous()
    capacity = 1 + (_LARGEST_CAPACITY - 1) * torch.rand((edges.size(1), 1), generator=generator)
    x = torch.zeros(n_nodes, 2)
    x[0, 0] = x[-1, 1] = 1
    return Data(x=x, edge_index=edges, edge_attr=capacity)


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
    edges = _lattice_edges(side)
    is_mine = torch.rand(n, generator=generator) < p_mine
    is_unknown = torch.rand(n, generator=generator) < p_unknown
    around = torch.zeros(n, dtype=torch.int64).index_add(0, edges[0], is_mine[edges[1]].long())
    counts = torch.nn.functional.one_hot(around, _NEIGHBOURS + 1) * ~is_unknown[:, None]
    x = torch.cat([counts, is_unknown[:, None]], dim=1).float()
    return Data(x=x, y=is_mine.long(), edge_index=edges, **draw_masks(n, (0.5, 0.75), generator))


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
    return Data(x=spins, edge_index=_lattice_edges(side))


def _improve_cut(weights: Tensor, side: Tensor) -> Tensor:
    """Move the node that gains most to the other side until none gains; every move raises the cut, so it ends."""
    side = side.clone()
    while True:
        is_same = side[:, None] == side[None]
        gain = torch.where(is_same, weights, -weights).sum(dim=1)
        best = int(gain.argmax())
        if gain[best] <= 1e-12:
            return side
        side[best] = 1 - side[best]


def _nearest_edges(pos: Tensor, k: int) -> Tensor:
    """Return the edges ``[2, m]``, both ways, of points ``[n, 2]`` joined to their ``k`` nearest."""
    nearest = torch.cdist(pos, pos).topk(k + 1, largest=False).indices[:, 1:].reshape(-1)
    return both_ways(torch.stack([torch.arange(len(pos)).repeat_interleave(k), nearest]), len(pos))


def _lattice_edges(side: int) -> Tensor:
    """Return the edges ``[2, m]`` of a square lattice, both ways, joining each site to its eight neighbours."""
    row, column = torch.arange(side).repeat_interleave(side), torch.arange(side).repeat(side)
    shifts = torch.cartesian_prod(torch.arange(-1, 2), torch.arange(-1, 2))
    rows, columns = row[:, None] + shifts[:, 0], column[:, None] + shifts[:, 1]
    is_inside = (rows >= 0) & (rows < side) & (columns >= 0) & (columns < side)
    source = torch.arange(side * side)[:, None].expand_as(rows)
    target = rows * side + columns
    keep = is_inside & (source != target)
    return torch.stack([source[keep], target[keep]])
