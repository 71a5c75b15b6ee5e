"""The parts of a graph around pairs of nodes, many at once."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from gnz_track.models.enclosing.distances import label_by_distances

__all__ = ["MOST_NEIGHBOURS", "Subgraphs", "enclose", "thin"]

Whole = NDArray[np.int64]
# Neighbours that a node brings in at most: around hubs a part would be most of the graph.
MOST_NEIGHBOURS = 100


@dataclass(frozen=True, eq=False)
class Subgraphs:
    """Nodes of disjoint graphs, by their number in the whole graph ``[n]``, with label ``[n]`` and pair ``[n]``.

    ``edges [2, n_edges]`` are places among these nodes.
    """

    nodes: Whole
    labels: Whole
    pair: Whole
    edges: Whole

    @property
    def size(self) -> int:
        """The count of numbers held, nearly."""
        return 3 * self.nodes.size + self.edges.size


def thin(links: sparse.csr_matrix, most: int, seed: int) -> sparse.csr_matrix:
    """Return links where each row keeps some random entries.

    Parameters
    ----------
    links
        matrix of zeros and ones ``[n, n]``
    most
        how many entries a row keeps at most
    seed
        decides which ones
    """
    degrees = np.diff(links.indptr)
    rows = np.repeat(np.arange(links.shape[0]), degrees)
    order = np.lexsort((np.random.default_rng(seed).random(rows.size), rows))
    rank = np.arange(rows.size) - np.repeat(links.indptr[:-1], degrees)
    kept = np.sort(order[rank < most])
    return sparse.csr_matrix((np.ones(kept.size), (rows[kept], links.indices[kept])), shape=links.shape)


def enclose(links: sparse.csr_matrix, pairs: Whole, *, n_hops: int) -> Subgraphs:
    """Return the part of a graph around each pair of nodes.

    An edge within a part is there where either of its nodes kept it; that between the two nodes of the pair never is.

    Parameters
    ----------
    links
        thinned matrix of zeros and ones ``[n, n]``
    pairs
        pairs of nodes ``[2, n_pairs]``
    n_hops
        how many hops from either node a part reaches
    """
    n, n_pairs = links.shape[0], pairs.shape[1]
    rows = np.tile(np.arange(n_pairs), 2)
    reached = sparse.csr_matrix((np.ones(2 * n_pairs), (rows, pairs.ravel())), shape=(n_pairs, n))
    for _ in range(n_hops):
        reached = reached + reached @ links
    reached.sort_indices()
    nodes, sizes = reached.indices.astype(np.int64), np.diff(reached.indptr)
    pair = np.repeat(np.arange(n_pairs), sizes)
    # Ascending, because rows and the columns of each are.
    codes = pair * n + nodes
    first, second = (np.searchsorted(codes, np.arange(n_pairs) * n + end) for end in pairs)
    edges = _edges_within(links, nodes, pair, codes)
    is_target = (edges == np.stack([first, second])[:, pair[edges[0]]]).all(axis=0)
    is_target |= (edges == np.stack([second, first])[:, pair[edges[0]]]).all(axis=0)
    edges = edges[:, ~is_target]
    return Subgraphs(nodes, label_by_distances(edges, first, second, nodes.size), pair, edges)


def _edges_within(links: sparse.csr_matrix, nodes: Whole, pair: Whole, codes: Whole) -> Whole:
    degrees = np.diff(links.indptr)[nodes]
    start = np.repeat(np.arange(nodes.size), degrees)
    within = np.arange(start.size) - np.repeat(np.cumsum(degrees) - degrees, degrees)
    wanted = pair[start] * links.shape[0] + links.indices[links.indptr[nodes[start]] + within]
    end = np.minimum(np.searchsorted(codes, wanted), codes.size - 1)
    is_inside = codes[end] == wanted
    start, end = start[is_inside], end[is_inside]
    both = np.unique(np.concatenate([start * nodes.size + end, end * nodes.size + start]))
    return np.stack([both // nodes.size, both % nodes.size])
