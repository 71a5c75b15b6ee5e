"""Graphs cut into spaces: the sets of nodes between which distances are compared, packed by size.

A space is a connected component; a graph without any edge is one space. Graphs are taken as undirected and simple:
a pair is an edge where either direction is; self-loops stay.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse import csgraph
from torch import Tensor

from gnz_track.datasets.frozen import FrozenDataset

__all__ = ["Bucket", "GraphSet", "Spaces", "bucket_spaces", "cut_into_components", "gather", "take_whole"]

Numbers = NDArray[np.float64]
Whole = NDArray[np.int64]

# Padding costs the cube of a size, small batches cost calls.
PADDING = 1.12
# Numbers in a batch of matrices: what stays in the processor's cache while it is worked on.
MOST_NUMBERS = 1 << 17


@dataclass(frozen=True, eq=False)
class GraphSet:
    """Many graphs as one block-diagonal graph.

    ``adjacency [n, n]`` is symmetric, ``node_ptr [n_graphs + 1]`` says where each graph begins. ``x [n, k]`` holds
    features; ``has_x [n_graphs]`` where they can be used. ``notes`` say what was made of unusual graphs.
    """

    adjacency: sparse.csr_array
    node_ptr: Whole
    x: Numbers
    has_x: NDArray[np.bool_]
    notes: tuple[str, ...] = ()

    @property
    def n_graphs(self) -> int:
        """Number of graphs."""
        return len(self.node_ptr) - 1

    @property
    def sizes(self) -> Whole:
        """Nodes of each graph."""
        return np.diff(self.node_ptr)


@dataclass(frozen=True, eq=False)
class Spaces:
    """Nodes sorted by space: space ``s`` has the nodes ``nodes[ptr[s]:ptr[s + 1]]`` and belongs to ``graph[s]``."""

    nodes: Whole
    ptr: Whole
    graph: Whole

    @property
    def sizes(self) -> Whole:
        """Nodes of each space."""
        return np.diff(self.ptr)

    @cached_property
    def places(self) -> Whole:
        """The place of each node within its space; 0 for nodes that are in none."""
        found = np.zeros(int(self.nodes.max(initial=-1)) + 1, dtype=np.int64)
        found[self.nodes] = np.arange(len(self.nodes)) - np.repeat(self.ptr[:-1], self.sizes)
        return found


@dataclass(frozen=True, eq=False)
class Bucket:
    """Spaces of nearly one size, each padded to ``m`` nodes; ``sizes [b]``, ``index [b]`` are their numbers.

    ``nodes [b, m]`` repeats the first node in the padding; ``mask [b, m]`` is 1 for nodes, None where all are.
    """

    index: Whole
    sizes: Whole
    nodes: Whole
    mask: Numbers | None

    def blank(self, matrices: Numbers) -> Numbers:
        """Set what belongs to the padding to zero, in place."""
        if self.mask is not None:
            matrices *= self.mask[:, :, None]
            matrices *= self.mask[:, None, :]
        return matrices


def gather(graphs: Sequence[Any], *, uses_weights: bool = False) -> GraphSet:
    """Return graphs (a frozen dataset, a list of ``Data``, a PyG dataset) as one set, and say what was unusual."""
    node_ptr, edges, x, has_x, notes = _collated(graphs)
    n = int(node_ptr[-1])
    weights = _weights_of(graphs, edges.shape[1]) if uses_weights else None
    adjacency = _undirected(edges, weights, n)
    notes += _notes_on_nodes(node_ptr, x, has_x)
    # A sum is finite where all of its terms are; to look for each would take as long as the distances.
    if not np.isfinite(x.sum()):
        so_far = np.concatenate([[0], np.cumsum(~np.isfinite(x).all(axis=1))])
        broken = so_far[node_ptr[1:]] > so_far[node_ptr[:-1]]
        has_x = has_x & ~broken
        x = np.where(np.isfinite(x), x, 0.0)
        notes.append(f"{_count(int(broken.sum()), 'graph has', 'graphs have')} features that are no numbers: undefined")
    notes += _notes_on_edges(graphs, edges, adjacency, uses_weights=uses_weights)
    return GraphSet(adjacency, node_ptr, x, has_x & (np.diff(node_ptr) > 0), tuple(notes))


def cut_into_components(graphs: GraphSet) -> Spaces:
    """Return the components of all graphs; a graph without an edge is one space."""
    n_spaces, space = csgraph.connected_components(graphs.adjacency, directed=False)
    graph_of = np.repeat(np.arange(graphs.n_graphs), graphs.sizes)
    n_edges = graphs.adjacency.indptr[graphs.node_ptr[1:]] - graphs.adjacency.indptr[graphs.node_ptr[:-1]]
    is_edgeless = (n_edges == 0)[graph_of]
    if is_edgeless.any():
        space = np.where(is_edgeless, n_spaces + graph_of, space)
        n_spaces = int(space.max()) + 1
        used = np.unique(space)
        names = np.zeros(n_spaces, dtype=np.int64)
        names[used] = np.arange(len(used))
        n_spaces, space = len(used), names[space]
    nodes = np.argsort(space, kind="stable")
    ptr = np.concatenate([[0], np.cumsum(np.bincount(space, minlength=n_spaces))])
    return Spaces(nodes, ptr, graph_of[nodes[ptr[:-1]]] if len(nodes) else ptr[:0])


def take_whole(graphs: GraphSet, chosen: Whole) -> Spaces:
    """Return a space for each of the chosen graphs, with all of its nodes, however they are connected."""
    starts, sizes = graphs.node_ptr[chosen], graphs.sizes[chosen]
    ptr = np.concatenate([[0], np.cumsum(sizes)])
    nodes = np.arange(ptr[-1]) + np.repeat(starts - ptr[:-1], sizes)
    return Spaces(nodes, ptr, np.asarray(chosen))


def bucket_spaces(spaces: Spaces, *, largest: int) -> Iterator[Bucket]:
    """Yield spaces of 2 to ``largest`` nodes in batches of nearly equal size."""
    sizes = spaces.sizes
    order = np.argsort(sizes, kind="stable")
    order = order[(sizes[order] > 1) & (sizes[order] <= largest)]
    ordered = sizes[order]
    at = 0
    while at < len(order):
        # Sizes ascend: all that a padding of so much reaches, as far as they go into one batch.
        reach = int(np.searchsorted(ordered, max(ordered[at] + 1, int(ordered[at] * PADDING)), side="right"))
        most = max(1, MOST_NUMBERS // int(ordered[min(reach, len(order)) - 1]) ** 2)
        end = min(reach, at + most)
        yield _bucket(spaces, order[at:end], ordered[at:end])
        at = end


def _bucket(spaces: Spaces, index: Whole, sizes: Whole) -> Bucket:
    m = int(sizes[-1])
    place = np.arange(m)
    inside = place < sizes[:, None]
    nodes = spaces.nodes[spaces.ptr[index][:, None] + np.where(inside, place, 0)]
    mask = None if sizes[0] == m else inside.astype(np.float64)
    return Bucket(index, sizes, nodes, mask)


def _collated(graphs: Sequence[Any]) -> tuple[Whole, Whole, Numbers, NDArray[np.bool_], list[str]]:
    """Return pointer to nodes, edges numbered through, features, which graphs have them, and notes."""
    if isinstance(graphs, FrozenDataset):
        node_ptr, edges = graphs.node_ptr.numpy(), graphs.global_edge_index.numpy()
        found = [graphs.tensors.get("x")]
        counts = np.array([graphs.n_nodes])
    else:
        found = [graph.x for graph in graphs]
        counts = np.array(
            [int(graph.num_nodes or 0) if x is None else x.size(0) for x, graph in zip(found, graphs, strict=True)],
            dtype=np.int64,
        )
        node_ptr = np.concatenate([[0], np.cumsum(counts)])
        edges = _numbered_through([graph.edge_index for graph in graphs], node_ptr)
    x, is_there, notes = _features(found, counts)
    has_x = np.full(len(node_ptr) - 1, is_there[0]) if isinstance(graphs, FrozenDataset) else is_there
    return node_ptr, edges, x, has_x, notes


def _numbered_through(edges: list[Tensor | None], node_ptr: Whole) -> Whole:
    there = [torch.zeros(2, 0, dtype=torch.long) if item is None else item for item in edges]
    if not there:
        return np.zeros((2, 0), dtype=np.int64)
    counts = [item.size(1) for item in there]
    joined: Whole = torch.cat(there, dim=1).numpy().astype(np.int64)
    return joined + np.repeat(node_ptr[:-1], counts)


def _features(found: Sequence[Tensor | None], counts: Whole) -> tuple[Numbers, NDArray[np.bool_], list[str]]:
    """Return the features of all nodes as ``[n, k]``, zeros where there are none, and which parts have some."""
    notes = []
    is_there = np.array([x is not None and x.numel() > 0 for x in found], dtype=bool)
    n_without = int((~is_there & (counts > 0)).sum())
    if n_without:
        notes.append(f"{_count(n_without, 'graph has', 'graphs have')} no features: undefined")
    if any(x is not None and x.dim() == 1 for x in found):
        notes.append("features of one dimension are taken as one column")
    if any(x is not None and there and not x.is_floating_point() for x, there in zip(found, is_there, strict=True)):
        notes.append("features that are whole numbers are taken as numbers, not as names")
    flat = [x if x is None or x.dim() == 2 else x.reshape(x.size(0), -1) for x in found]
    widths = {x.size(1) for x, there in zip(flat, is_there, strict=True) if there and x is not None}
    if is_there.all() and len(widths) == 1:
        whole = [x for x in flat if x is not None]
        joined = whole[0] if len(whole) == 1 else torch.cat(whole)
        return joined.numpy().astype(np.float64), is_there, notes
    if len(widths) > 1:
        notes.append(f"features have {min(widths)} to {max(widths)} columns: those that are missing count as zero")
    padded = np.zeros((int(counts.sum()), max(widths, default=0)))
    ends = np.cumsum(counts)
    for x, there, end, n in zip(flat, is_there, ends, counts, strict=True):
        if there and x is not None:
            padded[end - n : end, : x.size(1)] = x.numpy()
    return padded, is_there, notes


def _weights_of(graphs: Sequence[Any], n_edges: int) -> Numbers:
    """Return the length of the attribute of each edge, 1 where it has none."""
    if isinstance(graphs, FrozenDataset):
        found = [graphs.tensors.get("edge_attr")]
        counts = [n_edges]
    else:
        found = [graph.edge_attr for graph in graphs]
        counts = [0 if graph.edge_index is None else graph.edge_index.size(1) for graph in graphs]
    parts = [
        np.ones(n) if item is None else np.linalg.norm(item.double().reshape(n, -1).numpy(), axis=1)
        for item, n in zip(found, counts, strict=True)
    ]
    return np.concatenate([*parts, np.zeros(0)])


def _undirected(edges: Whole, weights: Numbers | None, n: int) -> sparse.csr_array:
    if weights is None:
        ones = np.ones(edges.shape[1])
        both = sparse.coo_array((ones, (edges[0], edges[1])), shape=(n, n)).tocsr()
        both = (both + both.T).tocsr()
        both.data[:] = 1.0
        return both
    low, high = edges.min(axis=0), edges.max(axis=0)
    # Of a pair that is there several times, the last one counts.
    codes, last = np.unique((low * n + high)[::-1], return_index=True)
    kept = weights[::-1][last]
    low, high = codes // n, codes % n
    is_loop = low == high
    rows, columns = np.concatenate([low, high[~is_loop]]), np.concatenate([high, low[~is_loop]])
    return sparse.coo_array((np.concatenate([kept, kept[~is_loop]]), (rows, columns)), shape=(n, n)).tocsr()


def _notes_on_nodes(node_ptr: Whole, x: Numbers, has_x: NDArray[np.bool_]) -> list[str]:
    sizes = np.diff(node_ptr)
    differs = (x != x[np.repeat(node_ptr[:-1], sizes)]).any(axis=1)
    so_far = np.concatenate([[0], np.cumsum(differs)])
    is_flat = (so_far[node_ptr[1:]] == so_far[node_ptr[:-1]]) & (sizes > 1) & has_x
    found = (
        (sizes == 0, "no node: undefined"),
        (sizes == 1, "one node: 0"),
        (is_flat, "the same features on all nodes: at distance 0"),
    )
    counts = [(int(which.sum()), words) for which, words in found]
    return [f"{_count(n, 'graph has', 'graphs have')} {words}" for n, words in counts if n]


def _notes_on_edges(
    graphs: Sequence[Any], edges: Whole, adjacency: sparse.csr_array, *, uses_weights: bool
) -> list[str]:
    notes = []
    is_directed = graphs.is_directed if isinstance(graphs, FrozenDataset) else _lacks_reverse(edges, adjacency)
    if is_directed:
        notes.append("edges have a direction: each is taken in both")
    weighted = (
        "edge_weight" in graphs.tensors
        if isinstance(graphs, FrozenDataset)
        else any("edge_weight" in graph for graph in graphs)
    )
    if weighted:
        notes.append("weights of edges are not used" + (" (only their attributes are)" if uses_weights else ""))
    return notes


def _lacks_reverse(edges: Whole, adjacency: sparse.csr_array) -> bool:
    """Tell whether some edge lacks its reverse: as many entries as in both directions can only be both directions."""
    if edges.shape[1] == adjacency.nnz:
        return False
    n = adjacency.shape[0]
    return len(np.unique(edges[0] * n + edges[1])) != int(adjacency.nnz)


def _count(n: int, one: str, many: str) -> str:
    return f"1 {one}" if n == 1 else f"{n:,} {many}"
