"""Labels of nodes by their distances to two others (Zhang and Chen, NeurIPS 2018), in many graphs at once."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["label_by_distances"]

Whole = NDArray[np.int64]


def label_by_distances(edges: Whole, first: Whole, second: Whole, n_nodes: int) -> Whole:
    """Return the label ``[n_nodes]`` of each node of disjoint graphs, each with a first and a second node.

    With distances ``a`` to the first and ``b`` to the second node, each without the other one in the way, and
    ``d = a + b``: ``1 + min(a, b) + d // 2 (d // 2 + d % 2 - 1)``. The two nodes have label 1, those that cannot reach
    both have 0.

    Parameters
    ----------
    edges
        edges of all graphs, both ways ``[2, n_edges]``
    first, second
        the two nodes of each graph ``[n_graphs]``
    n_nodes
        how many nodes all graphs have together
    """
    to_first = _distances(edges, first, second, n_nodes)
    to_second = _distances(edges, second, first, n_nodes)
    total = to_first + to_second
    half = total // 2
    labels = 1 + np.minimum(to_first, to_second) + half * (half + total % 2 - 1)
    labels[(to_first < 0) | (to_second < 0)] = 0
    labels[first] = labels[second] = 1
    return labels


def _distances(edges: Whole, sources: Whole, without: Whole, n_nodes: int) -> Whole:
    """Return steps from the source of each node's graph ``[n_nodes]``, -1 where there is no way around ``without``."""
    found = np.full(n_nodes, -1, dtype=np.int64)
    found[sources] = 0
    is_left_out = np.zeros(n_nodes, dtype=bool)
    is_left_out[without] = True
    start, end = edges[:, ~is_left_out[edges].any(axis=0)]
    front, steps = sources, 0
    while front.size:
        steps += 1
        is_front = np.zeros(n_nodes, dtype=bool)
        is_front[front] = True
        reached = end[is_front[start]]
        front = np.unique(reached[found[reached] < 0])
        found[front] = steps
    return found
