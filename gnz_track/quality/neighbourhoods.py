"""Neighbourhoods of sampled nodes as graphs of their own, so that one large graph is measured as many small ones are.

An extension: the published method is for datasets of many graphs.
"""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray
from scipy import sparse
from torch import Tensor
from torch_geometric.data import Data

from gnz_track.errors import BadValue
from gnz_track.seeds import derive

__all__ = ["sample_neighbourhoods"]

Whole = NDArray[np.int64]


def sample_neighbourhoods(
    x: Tensor, edge_index: Tensor, *, n_centres: int = 200, n_hops: int = 2, most_nodes: int = 100, seed: int = 0
) -> list[Data]:
    """Return the graphs that edges induce on all nodes within some steps of each of the sampled nodes.

    Parameters
    ----------
    x
        Features of nodes [n, k].
    edge_index
        Edges [2, m].
    n_centres
        Nodes that are drawn, without repetition; a graph with fewer nodes has as many neighbourhoods.
    n_hops
        Steps from a centre.
    most_nodes
        Nodes beyond which only a random part of the last hop is taken.
    seed
        Seed of the draws.
    """
    if min(n_centres, n_hops, most_nodes) < 1:
        raise BadValue("n_centres, n_hops, most_nodes", (n_centres, n_hops, most_nodes), "whole numbers from 1 upwards")
    n = x.size(0)
    stream = np.random.default_rng(derive(seed, "neighbourhoods", n, edge_index.size(1)))
    rows, columns = edge_index.numpy()
    graph = sparse.coo_array((np.ones(len(rows), dtype=bool), (rows, columns)), shape=(n, n)).tocsr()
    graph = (graph + graph.T).tocsr()
    centres = stream.permutation(n)[:n_centres]
    found = []
    for centre in centres.tolist():
        nodes = _reach(graph, centre, n_hops, most_nodes, stream)
        part = graph[nodes][:, nodes].tocoo()
        edges = torch.from_numpy(np.stack([part.row, part.col]).astype(np.int64))
        found.append(Data(x=x[torch.from_numpy(nodes)], edge_index=edges, num_nodes=len(nodes)))
    return found


def _reach(graph: sparse.csr_array, centre: int, n_hops: int, most_nodes: int, stream: np.random.Generator) -> Whole:
    nodes = np.array([centre])
    last = nodes
    for _ in range(n_hops):
        ends = [graph.indices[graph.indptr[node] : graph.indptr[node + 1]] for node in last.tolist()]
        last = np.setdiff1d(np.concatenate(ends), nodes).astype(np.int64) if ends else nodes[:0]
        if len(nodes) + len(last) > most_nodes:
            last = stream.choice(last, size=most_nodes - len(nodes), replace=False)
            return np.concatenate([nodes, last])
        nodes = np.concatenate([nodes, last])
    return nodes
