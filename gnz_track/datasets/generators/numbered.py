"""Graphs drawn one by one, each from a generator of its own: smaller sets are the first graphs of larger ones."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from torch_geometric.data import Data

from gnz_track.datasets.parted import PartedGraphs, parts_of_sizes
from gnz_track.seeds import derive

__all__ = ["draw_parts"]

_PARTS = ("train", "val", "test")


def draw_parts(
    name: str, draw: Callable[[int, np.random.Generator], Data], *, sizes: tuple[int, int, int], seed: int
) -> PartedGraphs:
    """Return the first graphs of each part, as many as ``sizes`` says; ``draw(number, rng)`` makes one of them.

    What a graph is depends on the seed, the name, its part and its number there, and not on how many there are.
    """
    return PartedGraphs(_drawn(name, draw, sizes, seed), parts_of_sizes(*sizes))


def _drawn(
    name: str, draw: Callable[[int, np.random.Generator], Data], sizes: tuple[int, int, int], seed: int
) -> Iterator[Data]:
    for part, n_graphs in zip(_PARTS, sizes, strict=True):
        for number in range(n_graphs):
            yield draw(number, np.random.default_rng(derive(seed, name, part, number)))
