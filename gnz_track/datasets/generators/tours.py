"""Round trips through random points: which of the short edges belong to the tour."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch_geometric.data import Data

__all__ = ["find_tour", "knn_tour"]

Array = np.ndarray[Any, Any]

# Gains below this are noise of the last bits, which may differ from machine to machine.
_LEAST_GAIN = 1e-9


def knn_tour(*, n_graphs: int, n_nodes: int, k: int, seed: int) -> list[Data]:
    """Draw uniform points of the unit square; ``edge_label`` 1 is an edge of a tour.

    x ``[n, 2]`` are the points, ``edge_attr`` and ``edge_label_attr`` ``[., 1]`` lengths, in units of the mean spacing.
    Every pair of neighbours is labelled once. The design is that of Joshi, Laurent, Bresson, An efficient graph
    convolutional network technique for the travelling salesman problem, 2019; tours are 2-optimal, not optimal.

    Parameters
    ----------
    n_graphs, n_nodes
    k
        Each point is joined to this many nearest.
    seed
    """
    rng = np.random.default_rng(seed)
    return [_tour_graph(rng.random((n_nodes, 2)), k) for _ in range(n_graphs)]


def find_tour(length: Array) -> Array:
    """Return a tour ``[n]`` of nodes ``0..n-1`` with lengths ``[n, n]``: always to the nearest, then 2-opt.

    2-opt (Croes, Operations Research 6, 1958) reverses the stretch that saves most until none saves anything.
    """
    n = len(length)
    order, is_left = [0], np.arange(n) > 0
    while is_left.any():
        order.append(int(np.where(is_left, length[order[-1]], np.inf).argmin()))
        is_left[order[-1]] = False
    tour = np.array(order)
    while True:
        following = np.roll(tour, -1)
        now = length[tour, following]
        then = length[np.ix_(tour, tour)] + length[np.ix_(following, following)]
        gain = np.triu(now[:, None] + now[None, :] - then, k=1).round(12)
        first, last = np.unravel_index(gain.argmax(), gain.shape)
        if gain[first, last] < _LEAST_GAIN:
            return tour
        tour[first + 1 : last + 1] = tour[first + 1 : last + 1][::-1].copy()


def _tour_graph(points: Array, k: int) -> Data:
    n = len(points)
    length = np.sqrt(((points[:, None] - points[None]) ** 2).sum(axis=2)) * np.sqrt(n)
    nearest = (length + np.diag(np.full(n, np.inf))).round(12).argsort(axis=1, kind="stable")[:, :k]
    pairs = np.stack([np.arange(n).repeat(k), nearest.ravel()])
    pairs = np.unique(np.sort(pairs, axis=0), axis=1)
    tour = find_tour(length)
    steps = np.sort(np.stack([tour, np.roll(tour, -1)]), axis=0)
    is_step = np.isin(pairs[0] * n + pairs[1], steps[0] * n + steps[1])
    both = np.concatenate([pairs, pairs[::-1]], axis=1)
    return Data(
        x=torch.from_numpy(points.astype(np.float32)),
        edge_index=torch.from_numpy(both),
        edge_attr=_as_column(length[both[0], both[1]]),
        edge_label_index=torch.from_numpy(pairs),
        edge_label=torch.from_numpy(is_step.astype(np.int64)),
        edge_label_attr=_as_column(length[pairs[0], pairs[1]]),
    )


def _as_column(values: Array) -> torch.Tensor:
    return torch.from_numpy(values.astype(np.float32)).unsqueeze(1)
