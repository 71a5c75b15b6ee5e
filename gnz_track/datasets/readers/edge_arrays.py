"""Edges as arrays: distinct, both ways, numbered without gaps."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

__all__ = ["both_ways", "distinct", "rank", "renumber"]

T = TypeVar("T", int, str)


def distinct(edges: Tensor, n_nodes: int) -> Tensor:
    """Return the edges ``[2, m]`` without repetition, ordered by source, then by target; self-loops stay."""
    codes = torch.unique(edges[0] * n_nodes + edges[1])
    return torch.stack([codes // n_nodes, codes % n_nodes])


def both_ways(edges: Tensor, n_nodes: int) -> Tensor:
    """Return the distinct edges ``[2, m]`` of an undirected graph, each in both directions, self-loops once."""
    return distinct(torch.cat([edges, edges.flip(0)], dim=1), n_nodes)


def rank(values: Iterable[T]) -> dict[T, int]:
    """Return distinct values in ascending order with their numbers, from 0 on.

    >>> rank("nana")
    {'a': 0, 'n': 1}
    """
    return {value: number for number, value in enumerate(sorted(set(values)))}


def renumber(ids: NDArray[np.int64]) -> tuple[NDArray[np.int64], int]:
    """Return ids numbered from 0 in ascending order, and how many of them there are.

    >>> renumber(np.array([[7, 3], [3, 9]]))[0].tolist()
    [[1, 0], [0, 2]]
    """
    known, numbers = np.unique(ids, return_inverse=True)
    return numbers.reshape(ids.shape), len(known)
