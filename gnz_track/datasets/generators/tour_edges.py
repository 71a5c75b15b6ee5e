"""Points of the unit square, each with links to its nearest; the question is which of them the round trip uses.

The design is that of Dwivedi et al., Benchmarking Graph Neural Networks, 2023.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch_geometric.data import Data

from gnz_track.datasets.generators.draws import GraphDraw, draw_parts
from gnz_track.datasets.generators.known_tours import known_tour
from gnz_track.datasets.generators.quick_tours import find_quick_tour
from gnz_track.datasets.generators.shortest_tours import find_shortest_tour
from gnz_track.datasets.parted import PartedGraphs
from gnz_track.errors import BadValue

__all__ = ["tour_edges"]

Array = np.ndarray[Any, Any]

# Up to so many points a shortest trip takes seconds.
LARGEST_EXACT = 200


def tour_edges(
    *,
    nodes: tuple[int, int],
    k: int,
    solver: str,
    sizes: tuple[int, int, int],
    seed: int,
    cache: Path | None = None,
) -> PartedGraphs:
    """Draw points, each with links to its nearest; ``edge_label`` 1 is a step of the round trip.

    x ``[n, 2]`` are the points, edge_attr ``[m, 1]`` the lengths; all links are labelled, ``edge_label_index`` is
    ``edge_index``. Links of a node stand together, the shortest first. A step between two points that are near to each
    other both ways is positive in both directions; a step along no link is lost.

    Parameters
    ----------
    nodes
        Fewest and most points.
    k
        Links of a point.
    solver
        "exact" or "fast_tsp".
    sizes
        Graphs of each part.
    seed
    cache
        Folder where trips are kept.
    """
    if solver not in _SOLVERS:
        raise BadValue("solver", solver, " or ".join(_SOLVERS))
    if solver == "exact" and nodes[1] > LARGEST_EXACT:
        allowed = f"at most {LARGEST_EXACT} for shortest trips; solver='fast_tsp' finds short ones through more"
        raise BadValue("the number of points", nodes[1], allowed)
    find = partial(known_tour, find=_SOLVERS[solver], solver=solver, folder=cache)
    return draw_parts("tour_edges", partial(_step_graph, nodes, k, find), sizes=sizes, seed=seed)


_SOLVERS = {"exact": find_shortest_tour, "fast_tsp": find_quick_tour}


def _step_graph(nodes: tuple[int, int], k: int, find: Callable[[Array], Array], draw: GraphDraw) -> list[Data]:
    n = int(draw.rng.integers(nodes[0], nodes[1] + 1))
    # As they are stored, so that the trip is that of the stored points.
    points = draw.rng.random((n, 2), dtype=np.float32).astype(np.float64)
    tour = find(points)
    length = np.sqrt(np.square(points[:, None] - points[None]).sum(axis=2))
    # Rounded, so that links stand in the same order on every machine.
    nearest = (length + np.diag(np.full(n, np.inf))).round(12).argsort(axis=1, kind="stable")[:, : min(k, n - 1)]
    edges = np.stack([np.arange(n).repeat(nearest.shape[1]), nearest.ravel()])
    following = np.empty(n, dtype=np.int64)
    following[tour] = np.roll(tour, -1)
    is_step = (following[edges[0]] == edges[1]) | (following[edges[1]] == edges[0])
    links = torch.from_numpy(edges)
    graph = Data(
        x=torch.from_numpy(points.astype(np.float32)),
        edge_index=links,
        edge_attr=torch.from_numpy(length[edges[0], edges[1]].astype(np.float32)).unsqueeze(1),
        edge_label_index=links,
        edge_label=torch.from_numpy(is_step.astype(np.int64)),
    )
    return [graph]
