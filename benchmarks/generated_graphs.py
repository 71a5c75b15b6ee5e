"""Graphs of any size with dense features, generated and frozen: ``python generated_graphs.py NAME FOLDER``.

Nodes and edges are random, four directed edges a node, as on Cora; so are features and the seven classes, and nothing
can be learnt. As on Cora, 140 of 2,708, one node in twenty is trained on; a fifth validates, and two fifths test.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any, NamedTuple

N_CLASSES = 7


class Graph(NamedTuple):
    """Size of a graph: nodes, directed edges, features of a node."""

    n_nodes: int
    n_edges: int
    width: int


GRAPHS = {
    "dense-128": Graph(2_500, 10_000, 128),
    "dense-500": Graph(2_500, 10_000, 500),
    "million": Graph(250_000, 1_000_000, 64),
}


def generate(graph: Graph) -> Any:
    """Return the graph, undirected and without repeated edges, with its masks."""
    import torch
    from torch_geometric.data import Data

    draws = torch.Generator().manual_seed(0)
    n, n_pairs = graph.n_nodes, graph.n_edges // 2
    # A few more than are needed: some are drawn twice, and some are loops.
    low, high = torch.randint(n, (2, n_pairs + n_pairs // 20), generator=draws).sort(dim=0).values
    codes = torch.unique((low * n + high)[low < high])
    codes = codes[torch.randperm(codes.numel(), generator=draws)[:n_pairs]]
    pairs = torch.stack([codes // n, codes % n])
    place = torch.randperm(n, generator=draws)
    return Data(
        x=torch.randn(n, graph.width, generator=draws),
        edge_index=torch.cat([pairs, pairs.flip(0)], dim=1),
        y=torch.randint(N_CLASSES, (n,), generator=draws),
        train_mask=place < n // 20,
        val_mask=(place >= n // 20) & (place < n // 4),
        test_mask=place >= n * 6 // 10,
    )


def freeze_graph(name: str, folder: Path) -> None:
    """Freeze a graph by name into a folder."""
    from gnz_track.datasets.frozen import freeze
    from gnz_track.types import Category, DatasetRow, TaskType

    about = {"licence": "none: generated", "citation": "none", "url": "none", "notes": "random"}
    row = DatasetRow(
        name=name, category=Category.social, task_types=(TaskType.node_cls,), loader="", source="random", **about
    )
    freeze(generate(GRAPHS[name]), folder, row=row)


if __name__ == "__main__":
    freeze_graph(sys.argv[1], Path(sys.argv[2]))
