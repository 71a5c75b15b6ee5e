"""What tests of this room share: the golden record, its graphs, and an independent way to a complementarity."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import torch
from numpy.typing import NDArray
from scipy.spatial.distance import cdist
from torch_geometric.data import Data

GOLDEN: dict[str, Any] = json.loads((Path(__file__).parents[1] / "golden" / "rings.json").read_text(encoding="utf-8"))
MODES = {
    "o": "original",
    "ef": "empty-features",
    "cf": "complete-features",
    "eg": "empty-graph",
    "cg": "complete-graph",
}
METRICS = {
    "diffusion_distance": "diffusion",
    "heat_kernel_distance": "heat",
    "resistance_distance": "resistance",
    "shortest_path_distance": "shortest_path",
}


def graph_of(item: dict[str, Any]) -> Data:
    """Return a graph of the golden record."""
    x = torch.eye(item["n"]) if isinstance(item["x"], str) else torch.tensor(item["x"])
    ends = torch.tensor(item["edges"], dtype=torch.long).reshape(-1, 2).t()
    edges = torch.unique(torch.cat([ends, ends.flip(0)], dim=1), dim=1)
    return Data(x=x, edge_index=edges, num_nodes=item["n"])


def draw(n: int, m: int, *, seed: int, width: int = 3) -> Data:
    """Return a random graph with random features."""
    ends = torch.tensor(list(nx.gnm_random_graph(n, m, seed=seed).edges), dtype=torch.long).reshape(-1, 2).t()
    x = torch.randn(n, width, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    return Data(x=x, edge_index=torch.cat([ends, ends.flip(0)], dim=1), num_nodes=n)


def complementarity_by_eigenvectors(graph: Data, time: int, *, kind: str = "diffusion", power: float = 1.0) -> float:
    """Return the complementarity of one graph by networkx and eigenvectors, component by component."""
    whole = nx.Graph()
    whole.add_nodes_from(range(int(graph.num_nodes or 0)))
    whole.add_edges_from(graph.edge_index.t().tolist())
    x = graph.x.double().numpy()
    parts = [sorted(part) for part in nx.connected_components(whole)] if whole.edges else [sorted(whole)]
    return sum(
        len(nodes) / len(whole) * _of_part(whole.subgraph(nodes), x, nodes, time, kind, power) for nodes in parts
    )


def _of_part(part: nx.Graph, x: NDArray[np.float64], nodes: list[int], time: int, kind: str, power: float) -> float:
    n = len(nodes)
    features = cdist(x[nodes], x[nodes])
    edges = _EMBEDDINGS[kind](part, nodes, time) if part.edges else np.zeros((n, n))
    scaled = [distances / (distances.max() or 1.0) for distances in (features, edges)]
    total = (np.abs(scaled[0] - scaled[1]) ** power).sum()
    return float((total / max(n * (n - 1), 1)) ** (1 / power))


def _diffusion(part: nx.Graph, nodes: list[int], time: int) -> NDArray[np.float64]:
    matrix = nx.normalized_laplacian_matrix(part, nodelist=nodes).toarray()
    values, vectors = np.linalg.eigh(matrix)
    points = vectors * np.maximum(values, 0.0) ** time
    return cdist(points, points)


def _walk(part: nx.Graph, nodes: list[int], time: int) -> NDArray[np.float64]:
    matrix = nx.to_numpy_array(part, nodelist=nodes)
    degrees = matrix.sum(axis=1)
    rows = np.linalg.matrix_power(matrix / degrees[:, None], time) / np.sqrt(degrees)
    return cdist(rows, rows)


_EMBEDDINGS = {"diffusion": _diffusion, "walk": _walk}
