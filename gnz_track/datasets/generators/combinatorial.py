"""Instances of combinatorial problems as graphs: routes, assignments, cuts, flows. Seeds give the instance."""

from __future__ import annotations

import torch
from torch import Generator, Tensor
from torch_geometric.data import Data

from gnz_track.datasets.generators.communities import nearest_edges

__all__ = ["random_bipartite_matching", "random_maxcut", "random_maxflow", "random_vrp"]

_LARGEST_CAPACITY = 10


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
    return Data(x=x, pos=pos, edge_index=nearest_edges(pos, k))


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
    side = _improved(weights, torch.randint(2, (n_nodes,), generator=generator))
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


def _improved(weights: Tensor, side: Tensor) -> Tensor:
    """Move the node that gains most to the other side until none gains; every move raises the cut, so it ends."""
    side = side.clone()
    while True:
        is_same = side[:, None] == side[None]
        gain = torch.where(is_same, weights, -weights).sum(dim=1)
        best = int(gain.argmax())
        if gain[best] <= 1e-12:
            return side
        side[best] = 1 - side[best]
