"""Many small graphs, kept one after another, and batches cut from them.

A batch of graphs is their disjoint union. Here the union of a whole epoch is made in one go, in the shuffled order,
and its batches are consecutive slices: views, with the structure of their edges sliced along.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

import torch
from torch import Tensor
from torch_geometric.data import Batch, Data

from gnz_track.training.acceleration import Structure, attach

__all__ = ["GraphCollection", "Pairs", "expand"]

# PyG makes a new class at every call of Batch(); a copy of one batch does not.
_EMPTY = Batch()

# What counts nodes within each graph.
_COUNTING = frozenset({"edge_index", "edge_label_index"})

# Graphs of an epoch are joined in portions of about this many nodes, to bound memory.
PORTION = 200_000


@dataclass(frozen=True, eq=False)
class Pairs:
    """Labelled edges of graphs one after another: ``index [2, n]``, ``fields [n, ...]``, ``ptr [n_graphs + 1]``.

    The index counts within each graph, or through all of them once they are joined.
    """

    index: Tensor
    ptr: Tensor
    fields: Mapping[str, Tensor] = field(default_factory=dict)

    def join(self, graphs: Tensor, node_starts: Tensor) -> Pairs:
        """Return those of some graphs ``[n]`` that follow one another, each from its first node ``[n + 1]`` on."""
        found, starts = expand(self.ptr, graphs)
        index = self.index.index_select(1, found)
        index += node_starts[:-1].repeat_interleave(starts.diff(), output_size=found.numel())
        return Pairs(index, starts, {name: value.index_select(0, found) for name, value in self.fields.items()})


@dataclass(frozen=True, eq=False)
class GraphCollection:
    """Graphs one after another.

    ``node`` fields are ``[n_nodes, ...]``, ``edge`` fields ``[n_edges, ...]``, ``edge_index [2, n_edges]`` counts
    within each graph; ``node_ptr`` and ``edge_ptr [n_graphs + 1]`` say where each graph begins. Labelled edges, where
    there are any, are ``pairs``.
    """

    edge_index: Tensor
    node_ptr: Tensor
    edge_ptr: Tensor
    node: Mapping[str, Tensor] = field(default_factory=dict)
    edge: Mapping[str, Tensor] = field(default_factory=dict)
    pairs: Pairs | None = None

    def __len__(self) -> int:
        return self.node_ptr.numel() - 1

    def join(self, graphs: Tensor) -> JoinedGraphs:
        """Return the disjoint union of some graphs ``[n]``, in that order."""
        nodes, node_starts = expand(self.node_ptr, graphs)
        edges, edge_starts = expand(self.edge_ptr, graphs)
        edge_index = self.edge_index.index_select(1, edges)
        edge_index += node_starts[:-1].repeat_interleave(edge_starts.diff(), output_size=edges.numel())
        return JoinedGraphs(
            edge_index=edge_index,
            node_ptr=node_starts,
            edge_ptr=edge_starts,
            node={name: value.index_select(0, nodes) for name, value in self.node.items()},
            edge={name: value.index_select(0, edges) for name, value in self.edge.items()},
            pairs=None if self.pairs is None else self.pairs.join(graphs, node_starts),
        )

    def batches(self, graphs: Tensor, size: int) -> Iterator[tuple[Data, Tensor]]:
        """Yield ``(batch, its graphs [<= size])`` over some graphs ``[n]`` in their order."""
        per_graph = max(1.0, float(self.node_ptr[-1]) / max(1, len(self)))
        portion = max(1, int(PORTION / (per_graph * size))) * size
        for chunk in graphs.split(portion):
            joined = self.join(chunk)
            for start in range(0, chunk.numel(), size):
                end = min(start + size, chunk.numel())
                yield joined.batch(start, end), chunk[start:end]


class JoinedGraphs:
    """A disjoint union; ``edge_index`` counts through all of it."""

    def __init__(
        self,
        *,
        edge_index: Tensor,
        node_ptr: Tensor,
        edge_ptr: Tensor,
        node: Mapping[str, Tensor],
        edge: Mapping[str, Tensor],
        pairs: Pairs | None = None,
    ) -> None:
        self.edge_index, self.node, self.edge, self.pairs = edge_index, node, edge, pairs
        self._node_ptr, self._node_starts = node_ptr, node_ptr.tolist()
        self._edge_ptr, self._edge_starts = edge_ptr, edge_ptr.tolist()
        self._graph = torch.repeat_interleave(node_ptr.diff(), output_size=self._node_starts[-1])
        self._structure = Structure(edge_index, self._node_starts[-1], is_trusted=True)

    def batch(self, start: int, end: int) -> Data:
        """Return graphs ``start`` to ``end`` of the union as a PyG batch."""
        first, end_node = self._node_starts[start], self._node_starts[end]
        nodes, edges = slice(first, end_node), slice(self._edge_starts[start], self._edge_starts[end])
        is_all = start == 0 and end == len(self._node_starts) - 1
        edge_index = self.edge_index if is_all else self.edge_index[:, edges] - first
        structure = self._structure if is_all else self._structure.part(first, end_node, edge_index)
        batch = copy.copy(_EMPTY)
        batch.batch, batch.ptr = self._graph[nodes] - start, self._node_ptr[start : end + 1] - first
        for name, value in self.node.items():
            batch[name] = value[nodes]
        for name, value in self.edge.items():
            batch[name] = value[edges]
        if self.pairs is not None:
            labelled = slice(int(self.pairs.ptr[start]), int(self.pairs.ptr[end]))
            batch.edge_label_index = self.pairs.index[:, labelled] - first
            for name, value in self.pairs.fields.items():
                batch[name] = value[labelled]
        batch.edge_index = attach(edge_index, end_node - first, structure=structure)
        self._tell_seams(batch, start, end)
        return batch

    def _tell_seams(self, batch: Data, start: int, end: int) -> None:
        """Let a batch know where its graphs begin, as PyG does, so that it can be taken apart again."""
        seams = dict.fromkeys(self.node, self._node_ptr) | dict.fromkeys((*self.edge, "edge_index"), self._edge_ptr)
        if self.pairs is not None:
            seams |= dict.fromkeys((*self.pairs.fields, "edge_label_index"), self.pairs.ptr)
        parts = {id(ptr): ptr[start : end + 1] - ptr[start] for ptr in seams.values()}
        first = self._node_ptr[start:end] - self._node_ptr[start]
        same = torch.zeros_like(first)
        batch._slice_dict = {name: parts[id(ptr)] for name, ptr in seams.items()}  # noqa: SLF001  (as Batch itself does)
        batch._inc_dict = {name: first if name in _COUNTING else same for name in seams}  # noqa: SLF001
        batch._num_graphs = end - start  # noqa: SLF001


def expand(pointers: Tensor, graphs: Tensor) -> tuple[Tensor, Tensor]:
    """Return the positions of the items of some graphs, and where each graph begins among them ``[n + 1]``."""
    counts = pointers.diff().index_select(0, graphs)
    starts = torch.zeros(graphs.numel() + 1, dtype=torch.int64)
    torch.cumsum(counts, 0, out=starts[1:])
    shift = pointers.index_select(0, graphs) - starts[:-1]
    total = int(starts[-1])
    return torch.arange(total) + shift.repeat_interleave(counts, output_size=total), starts
