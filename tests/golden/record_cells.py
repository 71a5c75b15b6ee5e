"""Cells of every kind of problem, protocol and model, trained as a user's script does: ``record_cells.py STORE``."""

from __future__ import annotations

import sys
from collections.abc import Sequence

import torch
from torch_geometric.data import Data

from gnz_track import MODELS, PROTOCOLS, TASKS, Task, TaskType, run_benchmark


def drawn(seed: int, n_nodes: int, n_classes: int) -> Data:
    generator = torch.Generator().manual_seed(seed)
    pairs = torch.randint(n_nodes, (2, 2 * n_nodes), generator=generator)
    y = torch.arange(n_nodes) % n_classes
    x = torch.randn(n_nodes, 4, generator=generator) + y[:, None]
    links = torch.cat([pairs, pairs.flip(0)], dim=1).unique(dim=1)
    return Data(x=x, edge_index=links, edge_attr=(x[links[0]] - x[links[1]]).abs()[:, :2], y=y)


def nodes() -> Data:
    return drawn(1, 60, 3)


def edges() -> list[Data]:
    graphs = [drawn(seed, 12, 2) for seed in range(20)]
    for graph in graphs:
        pairs = graph.edge_index[:, graph.edge_index[0] < graph.edge_index[1]]
        graph.edge_label_index, graph.edge_label = pairs, (graph.y[pairs[0]] == graph.y[pairs[1]]).long()
        del graph.y
    return graphs


def graphs() -> list[Data]:
    found = [drawn(seed, 8 + seed % 2, 2) for seed in range(40)]
    for seed, graph in enumerate(found):
        graph.y = torch.tensor([seed % 2])
    return found


def sizes() -> list[Data]:
    found = [drawn(seed, 6 + seed % 7, 2) for seed in range(40)]
    for graph in found:
        graph.y = torch.tensor([[graph.num_nodes / 10]])
    return found


def triples() -> Data:
    generator = torch.Generator().manual_seed(0)
    head, relation, tail = (torch.randint(n, (400,), generator=generator) for n in (40, 3, 40))
    found = torch.stack([head, relation, tail]).unique(dim=1)
    return Data(edge_index=found[[0, 2]], edge_type=found[1], num_nodes=40)


OWN: list[Task | str] = [
    Task("own_nodes", TaskType.node_cls, nodes),
    Task("own_graphs", TaskType.graph_cls, graphs),
    Task("own_edges", TaskType.edge_cls, edges),
    Task("own_sizes", TaskType.graph_reg, sizes),
    Task("own_triples", TaskType.link_pred, triples),
    "les_miserables",
]


def train(store: str, tasks: Sequence[Task | str], models: Sequence[str], protocol: str = "graphnetz") -> None:
    run_benchmark(
        tasks=tasks, models=list(models), protocol=protocol, seeds=[0], epochs=2, store=store, jobs=1, verbose=False
    )


def main(store: str) -> None:
    for protocol in PROTOCOLS.rows():
        budget = protocol.budget
        # Networks of half a million parameters take their time: two kinds of problem each.
        tasks = OWN[:2] if budget > 100_000 else [*OWN, "graph_theory_tiny"] if protocol.name == "dwivedi-100k" else OWN
        train(store, tasks, ["GatedGCN" if budget else "GCN"], protocol.name)
    # Every model once, on the first of these that it serves.
    left = set(MODELS.names())
    for task in (OWN[0], OWN[1], OWN[5], OWN[2]):
        kind = (TASKS.get(task) if isinstance(task, str) else task).task_type
        serving = sorted(name for name in left if kind in MODELS.get(name).task_types)
        left -= set(serving)
        train(store, [task], serving)


if __name__ == "__main__":
    main(sys.argv[1])
