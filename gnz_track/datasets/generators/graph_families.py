"""Random graphs of several families, with a number to predict that depends on their whole structure."""

from __future__ import annotations

from collections.abc import Callable

import networkx as nx
import numpy as np
import torch
from networkx import Graph
from torch_geometric.data import Data

from gnz_track.datasets.generators.graph_shapes import draw_seed

__all__ = ["graph_families"]


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
    "erdos_renyi": lambda n, rng: nx.gnm_random_graph(n, 2 * n, seed=draw_seed(rng)),
    "barabasi_albert": lambda n, rng: nx.barabasi_albert_graph(n, 2, seed=draw_seed(rng)),
    "watts_strogatz": lambda n, rng: nx.watts_strogatz_graph(n, 4, 0.1, seed=draw_seed(rng)),
    "regular": lambda n, rng: nx.random_regular_graph(4, n, seed=draw_seed(rng)),
    "geometric": _geometric,
    "tree_and_chords": _tree_and_chords,
}


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


def _family_graph(graph: Graph, target: float) -> Data:
    edges = torch.tensor(sorted(graph.to_directed().edges)).t().contiguous()
    degree = torch.bincount(edges[0], minlength=graph.number_of_nodes()).float()
    x = torch.stack([torch.ones_like(degree), degree / degree.mean()], dim=1)
    return Data(x=x, edge_index=edges, y=torch.tensor([target]))
