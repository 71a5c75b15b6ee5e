"""Edges of a graph as a sparse matrix of zeros and ones."""

from __future__ import annotations

import numpy as np
from scipy import sparse
from torch_geometric.data import Data

__all__ = ["undirected_links"]


def undirected_links(data: Data) -> sparse.csr_matrix:
    """Return who is linked with whom ``[n_nodes, n_nodes]``: directions, repetitions and self-loops do not count."""
    n = int(data.num_nodes)
    ends = data.edge_index.cpu().numpy()
    both = np.concatenate([ends, ends[::-1]], axis=1)[:, np.tile(ends[0] != ends[1], 2)]
    links = sparse.csr_matrix((np.ones(both.shape[1]), both), shape=(n, n))
    links.data[:] = 1.0
    return links
