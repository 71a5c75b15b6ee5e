"""Random edges as the published package of mode perturbations draws them: the same edges from the same generator.

They are no G(n, p) and no permutation of edges: directed pairs with repetition, whose reverse is missing, and targets
renamed by one permutation. What would loop for ever there ends here after a fixed number of tries.
"""

from __future__ import annotations

import torch
from torch import Generator, Tensor

__all__ = ["connected_edges_as_published", "random_edges_as_published", "shuffled_edges_as_published"]

TRIES = 10_000


def random_edges_as_published(edges: Tensor, n_nodes: int, generator: Generator) -> Tensor:
    """Return as many ordered pairs as there were edges, repetitions allowed, self-loops redrawn.

    Parameters
    ----------
    edges, n_nodes, generator
    """
    if n_nodes < 2:
        return edges.new_zeros(2, 0)
    source, target = (torch.randint(0, n_nodes, (edges.size(1),), generator=generator) for _ in range(2))
    return _without_loops(source, target, n_nodes, generator)


def shuffled_edges_as_published(edges: Tensor, n_nodes: int, generator: Generator) -> Tensor:
    """Return edges whose targets are renamed by one permutation of the nodes; self-loops get another target.

    Parameters
    ----------
    edges, n_nodes, generator
    """
    if n_nodes < 2:
        return edges.new_zeros(2, 0)
    names = torch.randperm(n_nodes, generator=generator)
    return _without_loops(edges[0], names[edges[1]], n_nodes, generator)


def connected_edges_as_published(edges: Tensor, n_nodes: int, generator: Generator) -> Tensor:
    """Return a recursive tree and random pairs low to high, as many together as there were edges, as far as they go.

    A pair of the tree, which is kept high to low, may be drawn again.

    Parameters
    ----------
    edges, n_nodes, generator
    """

    def draw(high: int) -> int:
        return int(torch.randint(0, high, (1,), generator=generator))

    found = [(node, draw(node)) for node in range(1, n_nodes)]
    present = set(found)
    n_wanted = min(edges.size(1), len(found) + n_nodes * (n_nodes - 1) // 2)
    for _ in range(TRIES * max(n_wanted, 1)):
        if len(present) >= n_wanted:
            break
        one, two = draw(n_nodes), draw(n_nodes)
        if one != two:
            present.add((min(one, two), max(one, two)))
    return torch.tensor(sorted(present), dtype=torch.long).reshape(-1, 2).t().contiguous()


def _without_loops(source: Tensor, target: Tensor, n_nodes: int, generator: Generator) -> Tensor:
    loops = source == target
    ends = source[loops]
    drawn = torch.randint(0, n_nodes, (ends.numel(),), generator=generator) if ends.numel() else ends
    for _ in range(TRIES):
        again = drawn == ends
        if not bool(again.any()):
            break
        drawn[again] = torch.randint(0, n_nodes, (int(again.sum()),), generator=generator)
    target = target.clone()
    target[loops] = drawn
    return torch.stack([source, target])
