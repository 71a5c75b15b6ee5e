"""One number per node: degree, core number, PageRank, wedges."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from gnz_track.selection.features.networks import Network, Whole

__all__ = ["core_numbers", "loop_degrees", "page_ranks", "wedge_counts"]

Real = NDArray[np.float64]
DAMPING, MOST_STEPS, TOLERANCE = 0.7, 100, 1e-6


def loop_degrees(network: Network) -> Whole:
    """Return neighbours of each node ``[n]``, where a self-loop counts as one."""
    return network.degrees + network.has_loop


def wedge_counts(network: Network) -> Real:
    """Return pairs of neighbours of each node ``[n]``: ``d (d - 1) / 2``, a self-loop counting as a neighbour."""
    degrees = loop_degrees(network).astype(np.float64)
    return degrees * (degrees - 1) / 2


def core_numbers(network: Network) -> Whole:
    """Return the largest k of each node ``[n]`` such that it lies in a subgraph where all have k neighbours.

    Batagelj and Zaversnik (2003): nodes are taken off in order of what is left of their degree, in O(n + m).
    """
    degrees = network.degrees.tolist()
    indptr, indices = network.indptr.tolist(), network.indices.tolist()
    # Nodes stand in ascending order of degree already.
    queue, place = list(range(network.n_nodes)), list(range(network.n_nodes))
    most = degrees[-1] if degrees else 0
    first = np.searchsorted(network.degrees, np.arange(most + 2)).tolist()
    for position in range(network.n_nodes):
        node = queue[position]
        own = degrees[node]
        for other in indices[indptr[node] : indptr[node + 1]]:
            left = degrees[other]
            if left > own:
                # Swap with the first node of its degree, whose degree class then starts one later.
                start, here = first[left], place[other]
                moved = queue[start]
                queue[start], queue[here] = other, moved
                place[other], place[moved] = start, here
                first[left] = start + 1
                degrees[other] = left - 1
    return np.array(degrees, dtype=np.int64)


def page_ranks(network: Network) -> Real:
    """Return the PageRank of each node ``[n]``: damping 0.7, uniform teleport, isolated nodes spread evenly.

    Power iteration until the sum of changes is below ``n * 1e-6``, at most 100 steps (Page et al., 1999).
    """
    n, degrees = network.n_nodes, network.degrees
    share = np.divide(1.0, degrees, out=np.zeros(n), where=degrees > 0)
    matrix, is_isolated = network.to_sparse(), degrees == 0
    ranks = np.full(n, 1 / n)
    for _ in range(MOST_STEPS):
        spread = matrix @ (ranks * share) + ranks[is_isolated].sum() / n
        following = DAMPING * spread + (1 - DAMPING) / n
        change = np.abs(following - ranks).sum()
        ranks = following
        if change < n * TOLERANCE:
            break
    return np.asarray(ranks)
