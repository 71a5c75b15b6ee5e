"""Synthetic graphs for link prediction: neighbours in the plane, random graphs, lattices. Seeds give the instance.

The instances are those of the published benchmark: every generator draws the same numbers in the same order.
"""

from __future__ import annotations

import math

import torch
from torch import Generator, Tensor
from torch_geometric.data import Data

from gnz_track.datasets.readers.edge_arrays import both_ways

__all__ = ["ising_lattice", "lattice_edges", "nearest_edges", "random_coloring", "random_tsp"]


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
