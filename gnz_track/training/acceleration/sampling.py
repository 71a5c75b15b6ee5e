"""Neighbours drawn for mini-batches: sub-graphs around some nodes of a graph that is too large to be taken whole.

What is drawn depends on the key of a batch, the hop and the node alone: threads, and what was drawn before, change
nothing. Without the compiled kernels NumPy draws the same.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from gnz_track.training.acceleration.compiled import address_of
from gnz_track.training.acceleration.library import kernels
from gnz_track.training.acceleration.patterns import Pattern
from gnz_track.training.acceleration.structure import Structure, attach

__all__ = ["NeighbourSampler", "Sampled", "attach_rows", "key_of_batch"]

Array = np.ndarray[Any, Any]
_STEP = np.uint64(0x9E3779B97F4A7C15)
_FACTORS = (np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB))
_LOW, _HALF = np.uint64(0xFFFFFFFF), np.uint64(32)
# What indices of 32 bits can tell apart.
MOST_EDGES = 2**31 - 1


class Sampled(NamedTuple):
    """A sub-graph: its ``nodes [n]`` of the graph, seeds first, its edges by target, and their places in the graph.

    ``entries [n_edges]`` are places in the rows of the graph; ``edge_index [2, n_edges]`` counts within the sub-graph,
    and has its rows attached.
    """

    nodes: Tensor
    edge_index: Tensor
    entries: Tensor

    def keep(self, is_kept: Tensor) -> Sampled:
        """Return the same nodes with some of the edges ``[n_edges]``."""
        source, target = self.edge_index[:, is_kept]
        n_nodes, edge_index = self.nodes.numel(), torch.stack([source, target])
        pattern = Pattern.from_sorted(target, source, n_nodes, n_nodes)
        structure = RowStructure(edge_index, pattern.pointers, pattern.columns)
        return Sampled(self.nodes, attach(edge_index, n_nodes, structure=structure), self.entries[is_kept])


class RowStructure(Structure):
    """Structure of edges whose rows are known, so that nothing is sorted."""

    def __init__(self, edge_index: Tensor, pointers: Tensor, columns: Tensor) -> None:
        """Take the rows of some edges.

        Parameters
        ----------
        edge_index
            The edges ``[2, n_edges]``, which nobody writes into.
        pointers, columns
            Where each row begins ``[n_nodes + 1]``, and the sources of its edges as given ``[n_edges]``, both int32.
        """
        n_nodes = pointers.numel() - 1
        super().__init__(edge_index, n_nodes, is_trusted=True)
        sort = partial(torch.argsort, self.edge_index[1], stable=True)
        self._patterns["plain"] = Pattern(pointers, columns, n_nodes, order=sort)

    def _make_looped(self) -> Pattern:
        edge_index, n_nodes = self.edge_index, self.n_nodes
        # What is sorted here is asked for by few; a function that held this structure would make a ring.
        return Pattern(*_add_loops(self.plain), n_nodes, order=lambda: Structure(edge_index, n_nodes).looped.order)


def attach_rows(edge_index: Tensor, n_nodes: int) -> Tensor:
    """Return edges with their rows attached, for which a few bytes an edge are held and nothing wider is made.

    Parameters
    ----------
    edge_index
        Edges ``[2, n_edges]`` of a graph, mapped from a file or not. They are not copied, and nobody writes into them.
    n_nodes
        Nodes of the graph.
    """
    source, target = edge_index
    alias, compiled = edge_index.detach(), kernels()
    if compiled is None or edge_index.dtype is not torch.int64 or not edge_index.is_contiguous():
        pattern = Pattern.from_entries(target, source, n_nodes, n_nodes)
        pointers, columns = pattern.pointers, pattern.columns
    else:
        pointers = torch.zeros(n_nodes + 1, dtype=torch.int32)
        columns = torch.empty(source.numel(), dtype=torch.int32)
        places = map(address_of, (source, target))
        compiled.sort_edges(*places, source.numel(), n_nodes, address_of(pointers), address_of(columns))
    return attach(alias, n_nodes, structure=RowStructure(edge_index, pointers, columns))


def _add_loops(pattern: Pattern) -> tuple[Tensor, Tensor]:
    """Return the rows of a square pattern without loops, with a loop at the end of each."""
    compiled = kernels()
    if compiled is not None:
        pointers = torch.empty(pattern.n_rows + 1, dtype=torch.int32)
        columns = torch.empty(pattern.n_entries + pattern.n_rows, dtype=torch.int32)
        compiled.add_loops(pattern.edges, address_of(pointers), address_of(columns))
        return pointers, columns[: int(pointers[-1])]
    every = torch.arange(pattern.n_rows, dtype=torch.int32)
    is_edge = pattern.columns != pattern.rows
    rows, columns = torch.cat([pattern.rows[is_edge], every]), torch.cat([pattern.columns[is_edge], every])
    looped = Pattern.from_entries(rows, columns, pattern.n_rows, pattern.n_rows)
    return looped.pointers, looped.columns


class NeighbourSampler:
    """Draws sub-graphs of one graph; it has room for one at a time, so that each thread has one of its own."""

    def __init__(self, pattern: Pattern, fan_outs: Sequence[int]) -> None:
        """Take the rows of a graph, and how many neighbours are drawn.

        Parameters
        ----------
        pattern
            The graph: targets are rows, sources are columns.
        fan_outs
            Neighbours that are drawn of each node at most, hop by hop, without replacement.
        """
        self.pattern, self.fan_outs = pattern, tuple(fan_outs)
        self._places = torch.full((pattern.n_rows,), -1, dtype=torch.int32)

    def sample(self, seeds: Tensor, key: int) -> Sampled:
        """Return the sub-graph around distinct nodes ``[n]``, drawn by a key of 64 bits."""
        drawn = self._sample_in_numpy(seeds, key) if kernels() is None else self._sample_compiled(seeds, key)
        nodes, pointers, columns, entries = drawn
        rows = torch.repeat_interleave(pointers.diff().long(), output_size=columns.numel())
        edge_index = torch.stack([columns.long(), rows])
        structure = RowStructure(edge_index, pointers, columns)
        return Sampled(nodes, attach(edge_index, nodes.numel(), structure=structure), entries)

    def _most(self, n_seeds: int) -> int:
        """Return how many edges a sub-graph can have."""
        reached = itertools.accumulate(self.fan_outs, lambda n, fan_out: n * fan_out, initial=n_seeds)
        return min(sum(list(reached)[1:]), self.pattern.n_entries)

    def _sample_compiled(self, seeds: Tensor, key: int) -> tuple[Tensor, ...]:
        n_seeds, most = seeds.numel(), self._most(seeds.numel())
        n_most = min(n_seeds + most, self.pattern.n_rows)
        nodes, pointers = torch.empty(n_most, dtype=torch.int64), torch.empty(n_most + 1, dtype=torch.int32)
        nodes[:n_seeds] = seeds
        columns, entries = torch.empty(2, most, dtype=torch.int32)
        fan_outs = torch.tensor(self.fan_outs)
        written = map(address_of, (self._places, nodes, pointers, columns, entries))
        n = kernels().sample_neighbours(
            self.pattern.edges, len(self.fan_outs), address_of(fan_outs), n_seeds, key, *written
        )
        n_edges = int(pointers[n])
        return nodes[:n], pointers[: n + 1], columns[:n_edges], entries[:n_edges]

    def _sample_in_numpy(self, seeds: Tensor, key: int) -> tuple[Tensor, ...]:
        places, sources = self._places.numpy(), self.pattern.columns.numpy()
        starts = self.pattern.pointers.numpy().astype(np.int64)
        nodes, frontier = seeds.numpy(), seeds.numpy()
        places[nodes] = np.arange(nodes.size)
        counts: list[Array] = []
        drawn: list[Array] = []
        for hop, fan_out in enumerate(self.fan_outs):
            found = _draw_entries(starts, frontier, fan_out, (hop, key))
            counts.append(np.minimum(np.diff(starts)[frontier], fan_out))
            drawn.append(found)
            reached = sources[found]
            new, first = np.unique(reached[places[reached] < 0], return_index=True)
            frontier = new[np.argsort(first)].astype(np.int64)
            places[frontier] = np.arange(nodes.size, nodes.size + frontier.size)
            nodes = np.concatenate([nodes, frontier])
        entries = np.concatenate(drawn)
        pointers = np.zeros(nodes.size + 1, dtype=np.int32)
        kept = np.concatenate(counts)
        pointers[1 : kept.size + 1] = np.cumsum(kept)
        pointers[kept.size + 1 :] = entries.size
        columns = places[sources[entries]]
        places[nodes] = -1
        return tuple(map(torch.from_numpy, (nodes, pointers, columns, entries.astype(np.int32))))


def _draw_entries(starts: Array, nodes: Array, fan_out: int, name: tuple[int, int]) -> Array:
    """Return the entries that are drawn of some nodes, node after node, ascending within each."""
    begin, degrees = starts[nodes], np.diff(starts)[nodes]
    kept = np.minimum(degrees, fan_out)
    places = np.tile(np.arange(fan_out), (nodes.size, 1))
    is_drawn = degrees > fan_out
    places[is_drawn] = _choose(nodes[is_drawn], degrees[is_drawn], fan_out, name)
    return (begin[:, None] + places)[np.arange(fan_out) < kept[:, None]]


def _choose(nodes: Array, degrees: Array, n: int, name: tuple[int, int]) -> Array:
    """Return ``n`` of the entries of each node ``[n_nodes, n]``, ascending: Floyd's method, as in the kernels."""
    hop, key = name
    named = np.uint64(hop << 32) | nodes.astype(np.uint64)
    streams = _scramble(np.array([key % 2**64], dtype=np.uint64) + _scramble(named))
    chosen = np.empty((nodes.size, n), dtype=np.int64)
    for i in range(n):
        last = degrees - n + i
        step = np.array([i], dtype=np.uint64) * _STEP
        found = _below(_scramble(streams + step), (last + 1).astype(np.uint64))
        is_known = (chosen[:, :i] == found[:, None]).any(axis=1)
        chosen[:, i] = np.where(is_known, last, found)
    return np.sort(chosen, axis=1)


def _scramble(state: Array) -> Array:
    state = state + _STEP
    for shift, factor in zip((30, 27), _FACTORS, strict=True):
        state = (state ^ (state >> np.uint64(shift))) * factor
    return state ^ (state >> np.uint64(31))


def _below(bits: Array, n: Array) -> Array:
    """Return 64 random bits as numbers from 0 to n - 1."""
    return (((bits >> _HALF) * n + ((bits & _LOW) * n >> _HALF)) >> _HALF).astype(np.int64)


def key_of_batch(epoch: int, batch: int) -> int:
    """Return the key of a batch from that of its epoch, in the range of int64."""
    streams = np.array([epoch % 2**64], dtype=np.uint64) + _scramble(np.array([batch], dtype=np.uint64))
    return int(_scramble(streams).astype(np.int64)[0])
