"""Graphs of circles: one of six nodes among trees or not, and circles that differ in the lengths of their skip links.

The design of the six-cycles is our own. It follows what Dwivedi et al., Benchmarking Graph Neural Networks, 2023, tell
of theirs, whose generator nobody has published: 37 to 65 nodes, fewer edges than nodes, nothing to see at a node. To
message passing, all nodes of a circle with skip links look alike.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import torch
from torch_geometric.data import Data

from gnz_track.datasets.collation import PartedGraphs
from gnz_track.datasets.generators.draws import GraphDraw, draw_parts
from gnz_track.datasets.splits.nodes_and_graphs import fold_columns
from gnz_track.errors import BadValue

__all__ = ["count_cycles", "six_cycles", "skip_link_circles"]

Array = np.ndarray[Any, Any]
_LENGTH = 6
_CYCLE_NODES = (37, 66)
_N_TREES = (4, 11)
_OTHERS = (3, 4, 5, 7, 8, 9)
_MOST_OTHERS = 3


def six_cycles(*, mode: str, sizes: tuple[int, int, int], seed: int) -> PartedGraphs:
    """Draw graphs of circles and trees in pairs, one of each class; y ``[1]`` is 1 where there is a circle of six.

    x ``[n, 1]`` is 0 everywhere. Graphs of a pair have as many nodes and are in random order.

    Parameters
    ----------
    mode
        "matched": the graphs of a pair differ in two circles only, six and ``k`` nodes against two others of ``6 + k``
        together, so that degrees are the same and colour refinement cannot tell them apart. "loose": their circles and
        trees are drawn apart, and one has a circle of six besides, so that degrees say something of the class.
    sizes
        Graphs of each part.
    seed
    """
    if mode not in _MODES:
        raise BadValue("mode", mode, " or ".join(_MODES))
    return draw_parts(f"six_cycles {mode}", partial(_pair, mode), sizes=sizes, seed=seed)


def count_cycles(edges: Array, *, n_nodes: int, length: int) -> int:
    """Count the circles of a length in any graph, by walking along all of them.

    Parameters
    ----------
    edges
        ``[2, m]``, both ways.
    n_nodes, length
    """
    beside: list[list[int]] = [[] for _ in range(n_nodes)]
    for source, target in edges.T.tolist():
        beside[source].append(target)

    def walk(first: int, here: int, visited: frozenset[int]) -> int:
        if len(visited) == length:
            return first in beside[here]
        # A circle is walked from its lowest node only.
        ahead = [node for node in beside[here] if node > first and node not in visited]
        return sum(walk(first, node, visited | {node}) for node in ahead)

    walks = sum(walk(node, node, frozenset([node])) for node in range(n_nodes))
    # Each circle was walked both ways round.
    return walks // 2


def _pair(mode: str, draw: GraphDraw) -> list[Data]:
    """Return a graph of each class, with as many nodes, the one or the other first."""
    rng = draw.rng
    n = int(rng.integers(*_CYCLE_NODES))
    drawn = _MODES[mode](n, rng)
    return [_cycle_graph(n, drawn[place], rng) for place in rng.permutation(2)]


def _matched(n: int, rng: np.random.Generator) -> list[Array]:
    """Return the pairs ``[2, m]`` of a graph without and of one with a circle of six; the trees are the same."""
    k, others = int(rng.choice(_OTHERS)), _other_circles(rng)
    splits = [one for one in range(3, _LENGTH + k - 2) if _LENGTH not in {one, _LENGTH + k - one}]
    one = int(rng.choice(splits))
    trees = _trees(_LENGTH + k + sum(others), n, rng)
    both = ([one, _LENGTH + k - one, *others], [_LENGTH, k, *others])
    return [np.concatenate([_circles(circles), trees], axis=1) for circles in both]


def _loose(n: int, rng: np.random.Generator) -> list[Array]:
    """Return the pairs ``[2, m]`` of a graph without and of one with a circle of six, all drawn apart."""
    both = (_other_circles(rng), [_LENGTH, *_other_circles(rng)])
    return [np.concatenate([_circles(circles), _trees(sum(circles), n, rng)], axis=1) for circles in both]


_MODES: dict[str, Callable[[int, np.random.Generator], list[Array]]] = {"matched": _matched, "loose": _loose}


def _other_circles(rng: np.random.Generator) -> list[int]:
    found: list[int] = rng.choice(_OTHERS, size=rng.integers(_MOST_OTHERS)).tolist()
    return found


def _circles(sizes: list[int]) -> Array:
    """Return the pairs ``[2, m]`` of circles of some sizes, one after another from node 0 on."""
    starts = np.cumsum([0, *sizes])
    rings = [np.stack([np.arange(n), np.arange(1, n + 1) % n]) + start for n, start in zip(sizes, starts, strict=False)]
    return np.concatenate([np.empty((2, 0), dtype=np.int64), *rings], axis=1)


def _trees(first: int, n: int, rng: np.random.Generator) -> Array:
    """Return the pairs ``[2, m]`` of several trees on the nodes from ``first`` to ``n - 1``, paths and others."""
    n_trees = min(int(rng.integers(*_N_TREES)), n - first)
    roots = np.sort(np.append(rng.choice(np.arange(first + 1, n), size=n_trees - 1, replace=False), first))
    nodes = np.setdiff1d(np.arange(first, n), roots)
    place = np.searchsorted(roots, nodes) - 1
    # A node hangs on the one before it, or on any before it of its tree.
    is_path = rng.random(n_trees) < 0.5
    above = np.where(is_path[place], nodes - 1, rng.integers(roots[place], nodes))
    return np.stack([above, nodes])


def _cycle_graph(n: int, pairs: Array, rng: np.random.Generator) -> Data:
    renamed = rng.permutation(n)[pairs]
    both = np.concatenate([renamed, renamed[::-1]], axis=1)
    edges = both[:, np.lexsort(both[::-1])]
    # Counted in the graph as it is, and not believed of how it was made.
    has_six = count_cycles(edges, n_nodes=n, length=_LENGTH) > 0
    x = torch.zeros(n, 1, dtype=torch.int64)
    return Data(x=x, edge_index=torch.from_numpy(edges), y=torch.tensor([int(has_six)]))


def skip_link_circles(*, n_nodes: int, skips: tuple[int, ...], n_copies: int, n_folds: int, seed: int) -> PartedGraphs:
    """Draw circles with skips of several lengths, their nodes in no order; y ``[1]`` tells the length.

    x ``[n, 1]`` is 0 everywhere. Murphy, Srinivasan, Rao, Ribeiro: Relational Pooling for Graph Representations, ICML
    2019.

    Parameters
    ----------
    n_nodes, skips
    n_copies
        Graphs of each length.
    n_folds
        Columns of parts: a graph is in the test part of one, in the validation part of the column before, and in the
        training part of all others; all parts have all classes alike.
    seed
    """
    rng = np.random.default_rng(seed)
    fold = rng.permuted(np.tile(np.arange(n_copies) % n_folds, (len(skips), 1)), axis=1).ravel()
    order = rng.permutation(len(skips) * n_copies)
    graphs = [_circle(n_nodes, skips[place // n_copies], place // n_copies, rng) for place in order]
    return PartedGraphs(graphs, fold_columns(torch.from_numpy(fold[order]), n_folds))


def _circle(n_nodes: int, skip: int, kind: int, rng: np.random.Generator) -> Data:
    """Join every node of a circle with the next one and with the one ``skip`` steps ahead."""
    name = rng.permutation(n_nodes)
    first = np.tile(np.arange(n_nodes), 2)
    second = (first + np.array([1, skip]).repeat(n_nodes)) % n_nodes
    pairs = np.stack([name[first], name[second]])
    both = np.concatenate([pairs, pairs[::-1]], axis=1)
    edges = torch.from_numpy(both[:, np.lexsort(both[::-1])])
    return Data(x=torch.zeros(n_nodes, 1, dtype=torch.int64), edge_index=edges, y=torch.tensor([kind]))
