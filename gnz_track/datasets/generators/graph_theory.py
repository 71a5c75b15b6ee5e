"""Six textbook properties of small graphs, three of nodes and three of graphs, to be predicted at once.

Corso, Cavalleri, Beaini, Lio, Velickovic: Principal neighbourhood aggregation for graph nets, 2020.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from scipy.sparse.csgraph import shortest_path
from torch_geometric.data import Data

from gnz_track.datasets.generators.draws import GraphDraw, draw_parts
from gnz_track.datasets.generators.graph_shapes import draw_shape
from gnz_track.datasets.parted import PartedGraphs

__all__ = ["graph_theory", "measure_graph"]

Array = np.ndarray[Any, Any]

# Part -> the least number of nodes, and one past the largest; the graphs of a part take them in turn.
_NODES = {"train": (15, 25), "val": (15, 20), "test": (15, 20)}
_DIGITS = 6


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
            graph[key] = (graph[key] / value).round(decimals=_DIGITS).float()
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


def _measured_graph(draw: GraphDraw) -> list[Data]:
    smallest, past = _NODES[draw.part]
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
