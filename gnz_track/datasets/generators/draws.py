"""Graphs drawn one by one, each from a generator of its own, and masks of their nodes.

Smaller sets are the first graphs of larger ones.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import chain, count, islice

import numpy as np
import torch
from torch import Generator, Tensor
from torch_geometric.data import Data

from gnz_track.datasets.collation import PartedGraphs, parts_of_sizes
from gnz_track.seeds import derive

__all__ = ["GraphDraw", "draw_masks", "draw_parts"]

_N_SPLITS = 10


@dataclass(frozen=True)
class GraphDraw:
    """The place of a draw: its part, its number there, and the generator that is its own."""

    part: str
    number: int
    rng: np.random.Generator


def draw_parts(
    name: str, make: Callable[[GraphDraw], list[Data]], *, sizes: tuple[int, int, int], seed: int
) -> PartedGraphs:
    """Return the first graphs of each part.

    A graph depends on the seed, the name, its part and its number there, and not on how many there are.

    Parameters
    ----------
    name, seed
    make
        Returns the graphs of one draw.
    sizes
        Graphs of each part.
    """
    return PartedGraphs(_drawn(name, make, sizes, seed), parts_of_sizes(*sizes))


def _drawn(
    name: str, make: Callable[[GraphDraw], list[Data]], sizes: tuple[int, int, int], seed: int
) -> Iterator[Data]:
    for part, n_graphs in zip(("train", "val", "test"), sizes, strict=True):
        rngs = ((number, np.random.default_rng(derive(seed, name, part, number))) for number in count())
        draws = (make(GraphDraw(part, number, rng)) for number, rng in rngs)
        yield from islice(chain.from_iterable(draws), n_graphs)


def draw_masks(n: int, cuts: tuple[float, float], generator: Generator) -> dict[str, Tensor]:
    """Return masks ``[n, 10]``.

    Parameters
    ----------
    n, generator
    cuts
        Where training and validation end, as fractions of ``n``.
    """
    ranks = torch.stack([torch.randperm(n, generator=generator) for _ in range(_N_SPLITS)], dim=1)
    first, second = (round(cut * n) for cut in cuts)
    return {"train_mask": ranks < first, "val_mask": (ranks >= first) & (ranks < second), "test_mask": ranks >= second}
