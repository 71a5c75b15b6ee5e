"""Graphs that come with their parts, one after another or as a list: what a generator with published parts returns."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import torch
from torch import Tensor
from torch_geometric.data import Data

__all__ = ["PartedGraphs", "parts_of_sizes"]


@dataclass(frozen=True, eq=False)
class PartedGraphs:
    """Graphs and the part of each: ``split`` ``[n_graphs]`` of 0 (train), 1 (validation), 2 (test).

    With several columns, ``[n_graphs, n_columns]``, each column is a split of its own, as one fold of several is.
    ``graphs`` may be an iterator, so that they need not all be in memory.
    """

    graphs: Iterable[Data]
    split: Tensor


def parts_of_sizes(n_train: int, n_val: int, n_test: int) -> Tensor:
    """Return the split ``[n_train + n_val + n_test]`` of graphs that come part by part.

    >>> parts_of_sizes(2, 1, 1).tolist()
    [0, 0, 1, 2]

    Parameters
    ----------
    n_train, n_val, n_test
    """
    return torch.arange(3).repeat_interleave(torch.tensor([n_train, n_val, n_test]))
