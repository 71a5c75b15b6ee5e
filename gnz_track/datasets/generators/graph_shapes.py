"""Ten shapes of graphs, from random ones to ladders and lobsters, in the mixture of a published generator.

Corso, Cavalleri, Beaini, Lio, Velickovic: Principal neighbourhood aggregation for graph nets, 2020.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import networkx as nx
import numpy as np
from networkx import Graph

__all__ = ["SHAPES", "draw_seed", "draw_shape", "randomise"]

Array = np.ndarray[Any, Any]
Make = Callable[[int, np.random.Generator], Graph]

_TRIES = 10_000


def draw_shape(n_nodes: int, rng: np.random.Generator) -> Array:
    """Draw a graph of a shape drawn by its share, its nodes in no order, some edges moved: ``[n, n]`` of booleans.

    No node is alone: a graph in which one is gives way to another one of its shape.
    """
    names = list(SHAPES)
    make = SHAPES[names[rng.choice(len(names), p=[share for share, _ in SHAPES.values()])]][1]
    while True:
        order = rng.permutation(n_nodes)
        joined = nx.to_numpy_array(make(n_nodes, rng), weight=None) > 0
        joined = randomise(joined[np.ix_(order, order)], rng)
        if joined.any(axis=1).all():
            return joined


def randomise(joined: Array, rng: np.random.Generator) -> Array:
    """Take some edges of ``[n, n]`` away and add about as many others.

    A pair is joined where a number of triangular distribution on [0, 1], the mean of two uniform ones, is below its
    threshold: 0.9 for edges and a tenth of the ratio of edges to other pairs for these, or as much more and 0.1 where
    edges are the more.
    """
    n = len(joined)
    n_edges = int(joined.sum()) // 2
    n_others = n * (n - 1) // 2 - n_edges
    keep, add = 0.9, 0.1
    if n_edges <= n_others:
        add *= n_edges / max(n_others, 1)
    else:
        keep += 0.1 * (n_edges - n_others) / n_edges
    noise = rng.random((n, n))
    above = np.triu((noise + noise.T) / 2 < np.where(joined, keep, add), k=1)
    found: Array = above | above.T
    return found


def draw_seed(rng: np.random.Generator) -> int:
    """Draw a seed for a generator of networkx."""
    return int(rng.integers(2**31))


def _sides(n: int) -> tuple[int, int]:
    """Return two factors of ``n``, as near to each other as there are, the smaller one first."""
    small = next(side for side in range(math.isqrt(n), 0, -1) if n % side == 0)
    return small, n // small


def _erdos_renyi(n: int, rng: np.random.Generator) -> Graph:
    return nx.gnp_random_graph(n, rng.random(), seed=draw_seed(rng))


def _barabasi_albert(n: int, rng: np.random.Generator) -> Graph:
    return nx.barabasi_albert_graph(n, 1 + int(rng.random() * (n - 1)), seed=draw_seed(rng))


def _grid(n: int, rng: np.random.Generator) -> Graph:
    del rng
    return nx.grid_2d_graph(*_sides(n))


def _caveman(n: int, rng: np.random.Generator) -> Graph:
    del rng
    return nx.caveman_graph(*_sides(n))


def _power_law_tree(n: int, rng: np.random.Generator) -> Graph:
    return nx.random_powerlaw_tree(n, seed=draw_seed(rng), tries=_TRIES)


def _ladder(n: int, rng: np.random.Generator) -> Graph:
    """Make two rails; an odd node hangs on the first one."""
    del rng
    graph = nx.ladder_graph(n // 2)
    graph.add_edges_from([(0, n - 1)] * (n % 2))
    return graph


def _caterpillar(n: int, rng: np.random.Generator) -> Graph:
    """Make a path, and hang all other nodes on it."""
    spine = int(rng.integers(1, n))
    graph = nx.path_graph(spine)
    graph.add_edges_from((node, int(rng.integers(spine))) for node in range(spine, n))
    return graph


def _lobster(n: int, rng: np.random.Generator) -> Graph:
    """Make a path, hang some nodes on it, and all others on these."""
    spine = int(rng.integers(1, n))
    legs = int(rng.integers(spine + 1, n + 1))
    graph = nx.path_graph(spine)
    graph.add_edges_from((node, int(rng.integers(spine))) for node in range(spine, legs))
    graph.add_edges_from((node, int(rng.integers(spine, legs))) for node in range(legs, n))
    return graph


# Shape -> its share, and how it is made.
SHAPES: dict[str, tuple[float, Make]] = {
    "erdos_renyi": (0.20, _erdos_renyi),
    "barabasi_albert": (0.20, _barabasi_albert),
    "grid": (0.05, _grid),
    "caveman": (0.05, _caveman),
    "power_law_tree": (0.15, _power_law_tree),
    "ladder": (0.05, _ladder),
    "path": (0.05, lambda n, _: nx.path_graph(n)),
    "star": (0.05, lambda n, _: nx.star_graph(n - 1)),
    "caterpillar": (0.10, _caterpillar),
    "lobster": (0.10, _lobster),
}
