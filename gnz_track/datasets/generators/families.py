"""Random graphs of many shapes, with numbers to predict that depend on their whole structure.

``graph_families`` draws six families and asks for the spectral gap. ``graph_theory`` draws ten shapes, from random ones
to ladders and lobsters, and asks for six textbook properties at once, three of nodes and three of graphs (Corso,
Cavalleri, Beaini, Lio, Velickovic: Principal neighbourhood aggregation for graph nets, 2020).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import networkx as nx
import numpy as np
import torch
from networkx import Graph
from scipy.sparse.csgraph import shortest_path
from torch_geometric.data import Data

from gnz_track.datasets.collation import PartedGraphs
from gnz_track.datasets.generators.draws import GraphDraw, draw_parts

__all__ = ["SHAPES", "draw_shape", "graph_families", "graph_theory", "measure_graph", "randomise"]

Array = np.ndarray[Any, Any]
Make = Callable[[int, np.random.Generator], Graph]
_TRIES = 10_000
# Part -> the least number of nodes, and one past the largest; the graphs of a part take them in turn.
_THEORY_NODES = {"train": (15, 25), "val": (15, 20), "test": (15, 20)}
_THEORY_DIGITS = 6


def graph_families(*, n_graphs: int, smallest: int, largest: int, seed: int) -> list[Data]:
    """Draw connected random graphs of six families in turn; y ``[1]`` is the standardised log of the spectral gap.

    The gap is the second smallest eigenvalue of the Laplacian (Fiedler, Algebraic connectivity of graphs, 1973). x
    ``[n, 2]`` is a constant and the degree divided by the mean degree of the graph.

    Parameters
    ----------
    n_graphs
    smallest, largest
        Numbers of nodes.
    seed
    """
    rng = np.random.default_rng(seed)
    families = list(_FAMILIES.values())
    graphs: list[Graph] = []
    while len(graphs) < n_graphs:
        graph = families[len(graphs) % len(families)](int(rng.integers(smallest, largest + 1)), rng)
        if nx.is_connected(graph):
            graphs.append(graph)
    gaps = np.array([nx.laplacian_spectrum(graph, weight=None)[1] for graph in graphs])
    targets = np.log(gaps)
    targets = (targets - targets.mean()) / targets.std()
    # Rounded, so that the last bits of an eigenvalue solver do not change the bytes.
    return [_family_graph(graph, round(float(target), 5)) for graph, target in zip(graphs, targets, strict=True)]


def graph_theory(*, sizes: tuple[int, int, int], seed: int) -> PartedGraphs:
    """Draw graphs of ten shapes; x ``[n, 2]`` marks a node, the source, and gives every node a number in [0, 1].

    y ``[n, 3]``: distance from the source, eccentricity, Laplacian of the numbers. graph_y ``[1, 3]``: whether the
    graph is connected, its diameter, its spectral radius. Distances to where no path leads do not count, or are 0 from
    the source. Every column is divided by its largest value in the training part. Training graphs have 15 to 24 nodes,
    the others 15 to 19.
    """
    drawn = draw_parts("graph_theory", _measured_graph, sizes=sizes, seed=seed)
    graphs = list(drawn.graphs)
    train = graphs[: sizes[0]]
    largest = {key: torch.cat([graph[key] for graph in train]).amax(dim=0) for key in ("y", "graph_y")}
    for graph in graphs:
        for key, value in largest.items():
            # Rounded, so that the last bits of an eigenvalue solver do not change the bytes.
            graph[key] = (graph[key] / value).round(decimals=_THEORY_DIGITS).float()
    return PartedGraphs(graphs, drawn.split)


def measure_graph(joined: Array, *, source: int, numbers: Array) -> tuple[Array, Array]:
    """Return three properties of nodes ``[n, 3]`` and of the graph ``[3]``.

    Parameters
    ----------
    joined
        Adjacency ``[n, n]``.
    source
        Node from which distances are measured.
    numbers
        ``[n]``, for their Laplacian.
    """
    distance = shortest_path(joined, unweighted=True, directed=False)
    is_connected = bool(np.isfinite(distance).all())
    distance = np.where(np.isfinite(distance), distance, 0)
    far = distance.max(axis=1)
    laplacian = joined.sum(axis=1) * numbers - joined @ numbers
    radius = np.abs(np.linalg.eigvalsh(joined.astype(np.float64))).max()
    of_nodes = np.stack([distance[source], far, laplacian], axis=1)
    return of_nodes, np.array([float(is_connected), far.max(), radius])


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


def _measured_graph(draw: GraphDraw) -> list[Data]:
    smallest, past = _THEORY_NODES[draw.part]
    n, rng = smallest + draw.number % (past - smallest), draw.rng
    joined, numbers, source = draw_shape(n, rng), rng.random(n, dtype=np.float32), int(rng.integers(n))
    of_nodes, of_graph = measure_graph(joined, source=source, numbers=numbers.astype(np.float64))
    x = np.stack([np.arange(n) == source, numbers], axis=1).astype(np.float32)
    graph = Data(
        x=torch.from_numpy(x),
        edge_index=torch.from_numpy(np.stack(joined.nonzero())),
        y=torch.from_numpy(of_nodes),
        graph_y=torch.from_numpy(of_graph).unsqueeze(0),
    )
    return [graph]


def _family_graph(graph: Graph, target: float) -> Data:
    edges = torch.tensor(sorted(graph.to_directed().edges)).t().contiguous()
    degree = torch.bincount(edges[0], minlength=graph.number_of_nodes()).float()
    x = torch.stack([torch.ones_like(degree), degree / degree.mean()], dim=1)
    return Data(x=x, edge_index=edges, y=torch.tensor([target]))


def _draw_seed(rng: np.random.Generator) -> int:
    return int(rng.integers(2**31))


def _geometric(n: int, rng: np.random.Generator) -> Graph:
    """Points of the unit square joined to their three nearest."""
    points = rng.random((n, 2))
    distance = np.linalg.norm(points[:, None] - points[None], axis=2)
    nearest = distance.argsort(axis=1, kind="stable")[:, 1:4]
    return nx.Graph([(node, int(other)) for node in range(n) for other in nearest[node]])


def _tree_and_chords(n: int, rng: np.random.Generator) -> Graph:
    """Each node joined to a random earlier one, then random chords up to about two edges a node."""
    graph = nx.Graph([(node, int(rng.integers(node))) for node in range(1, n)])
    graph.add_edges_from((int(a), int(b)) for a, b in rng.integers(n, size=(n, 2)) if a != b)
    return graph


# All families have about two edges a node, so that the count of edges alone does not tell the target.
_FAMILIES: dict[str, Callable[[int, np.random.Generator], Graph]] = {
    "erdos_renyi": lambda n, rng: nx.gnm_random_graph(n, 2 * n, seed=_draw_seed(rng)),
    "barabasi_albert": lambda n, rng: nx.barabasi_albert_graph(n, 2, seed=_draw_seed(rng)),
    "watts_strogatz": lambda n, rng: nx.watts_strogatz_graph(n, 4, 0.1, seed=_draw_seed(rng)),
    "regular": lambda n, rng: nx.random_regular_graph(4, n, seed=_draw_seed(rng)),
    "geometric": _geometric,
    "tree_and_chords": _tree_and_chords,
}


def _sides(n: int) -> tuple[int, int]:
    """Return two factors of ``n``, as near to each other as there are, the smaller one first."""
    small = next(side for side in range(math.isqrt(n), 0, -1) if n % side == 0)
    return small, n // small


def _erdos_renyi(n: int, rng: np.random.Generator) -> Graph:
    return nx.gnp_random_graph(n, rng.random(), seed=_draw_seed(rng))


def _barabasi_albert(n: int, rng: np.random.Generator) -> Graph:
    return nx.barabasi_albert_graph(n, 1 + int(rng.random() * (n - 1)), seed=_draw_seed(rng))


def _grid(n: int, rng: np.random.Generator) -> Graph:
    del rng
    return nx.grid_2d_graph(*_sides(n))


def _caveman(n: int, rng: np.random.Generator) -> Graph:
    del rng
    return nx.caveman_graph(*_sides(n))


def _power_law_tree(n: int, rng: np.random.Generator) -> Graph:
    return nx.random_powerlaw_tree(n, seed=_draw_seed(rng), tries=_TRIES)


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
