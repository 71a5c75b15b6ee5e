"""Travelling salesman problems of TSPLIB, and the short edges that an optimal tour uses."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch_geometric.data import Data

__all__ = ["read_tour_edges"]

Array = np.ndarray[Any, Any]


def read_tour_edges(folder: Path, *, problem: str, tour: str, k: int) -> Data:
    """Read neighbours of every city; ``edge_label`` 1 is an edge of the optimal tour.

    x ``[n, 3]``: the place in [0, 1], and the mean length of the edges to the ``k`` nearest. ``edge_attr [m, 3]`` and
    ``edge_label_attr [n, 3]``: the length, and the ranks of the two ends among each other's neighbours, the lower
    first. Lengths are in units of their mean, ranks in units of ``k``.

    Parameters
    ----------
    folder
    problem, tour
        Names of files.
    k
        Each city is joined to this many nearest.
    """
    places = _parse_places((folder / problem).read_text(encoding="utf-8"))
    order = (
        np.array(_words_of_section((folder / tour).read_text(encoding="utf-8"), "TOUR_SECTION")).astype(np.int64) - 1
    )
    if sorted(order[order >= 0]) != list(range(len(places))):
        message = f"the tour in {tour} does not visit each of {len(places)} cities once"
        raise ValueError(message)
    pairs, lengths, ranks = _neighbours(places, k)
    order = order[order >= 0]
    steps = np.sort(np.stack([order, np.roll(order, -1)]), axis=0)
    n = len(places)
    label = np.isin(pairs[0] * n + pairs[1], steps[0] * n + steps[1])
    near = np.bincount(pairs.ravel(), weights=np.tile(lengths, 2)) / np.bincount(pairs.ravel())
    span = np.ptp(places, axis=0).max()
    x = np.column_stack([(places - places.min(axis=0)) / span, near.round(9)])
    attr = torch.from_numpy(np.column_stack([lengths, ranks]).astype(np.float32))
    edges = torch.from_numpy(pairs.astype(np.int64))
    return Data(
        x=torch.from_numpy(x.astype(np.float32)),
        edge_index=torch.cat([edges, edges.flip(0)], dim=1),
        edge_attr=attr.repeat(2, 1),
        edge_label_index=edges,
        edge_label=torch.from_numpy(label.astype(np.int64)),
        edge_label_attr=attr,
    )


def _words_of_section(text: str, name: str) -> list[str]:
    """Return the words from the title of a section to the end of the file, or to ``EOF``."""
    before, title, after = text.partition(name)
    if not title:
        message = f"there is no {name}, only {before[:60]!r}"
        raise ValueError(message)
    return after.partition("EOF")[0].split()


def _parse_places(text: str) -> Array:
    words = np.array(_words_of_section(text, "NODE_COORD_SECTION")).astype(np.float64).reshape(-1, 3)
    if words[:, 0].tolist() != list(range(1, len(words) + 1)):
        message = "the cities are not numbered 1, 2, 3, ... in their order"
        raise ValueError(message)
    return words[:, 1:]


def _neighbours(places: Array, k: int) -> tuple[Array, Array, Array]:
    """Return pairs ``[2, m]``, their lengths ``[m]`` in units of the mean, and both ranks ``[m, 2]`` in units of k."""
    n = len(places)
    length = np.sqrt(((places[:, None] - places[None]) ** 2).sum(axis=2))
    # Rounded, so that equal lengths are equal on every machine, and fall to the lower number.
    nearest = (length + np.diag(np.full(n, np.inf))).round(9).argsort(axis=1, kind="stable")
    rank = np.empty((n, n))
    np.put_along_axis(rank, nearest, np.arange(n)[None].repeat(n, axis=0), axis=1)
    is_near = (rank < k) | (rank < k).T
    first, second = np.triu(is_near, k=1).nonzero()
    both = np.sort(np.stack([rank[first, second], rank[second, first]], axis=1), axis=1)
    chosen = length[first, second]
    return np.stack([first, second]), (chosen / chosen.mean()).round(9), both / k
