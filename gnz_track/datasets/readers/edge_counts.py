"""Pairs of nodes as raw files list them, often more than once, and the undirected edges that they mean."""

from __future__ import annotations

from collections.abc import Iterable

import torch
from torch import Tensor

__all__ = ["count_edges"]


def count_edges(listed: Iterable[tuple[int, int]]) -> tuple[Tensor, Tensor]:
    """Return distinct edges ``[2, m]``, each in both directions, and how often it was listed in either ``[m]``.

    Loops are left out. Edges are ordered by source, then by target.

    >>> [found.tolist() for found in count_edges([(2, 0), (0, 2), (1, 1)])]
    [[[0, 2], [2, 0]], [2, 2]]
    """
    pairs = torch.tensor(list(listed), dtype=torch.int64).reshape(-1, 2)
    pairs = pairs[pairs[:, 0] != pairs[:, 1]]
    distinct, counts = torch.unique(torch.cat([pairs, pairs.flip(1)]), dim=0, return_counts=True)
    return distinct.t().contiguous(), counts
