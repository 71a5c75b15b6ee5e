"""Catalogue: real data for each of the ten categories that need nothing but a package index."""

from __future__ import annotations

from gnz_track.datasets.rows import ten_graphs, ten_networks
from gnz_track.types import Category, Suite, Task, TaskType

__all__ = ["ROWS", "SUITE", "TASKS"]

ROWS = (*ten_graphs.ROWS, *ten_networks.ROWS)

# Epochs: chosen by validation scores alone, about where those of most models no longer rose (seeds 0 and 1); fewer
# where an epoch is dear (iscas85_gates, on which GCN goes on learning, and mnist_5k_regions).
TASKS = (
    Task("pcb442_tour", TaskType.edge_cls, epochs=100, metric="average_precision", category=Category.combinatorial),
    Task("ptc_mr", TaskType.graph_cls, epochs=40, category=Category.biology),
    Task("primary_school", TaskType.node_cls, epochs=200, category=Category.social),
    Task("umls", TaskType.link_pred, epochs=100, category=Category.knowledge),
    Task("kinships", TaskType.link_pred, epochs=100, category=Category.knowledge),
    Task("air_routes", TaskType.link_pred, epochs=100, category=Category.infrastructure),
    Task("pegase_2869", TaskType.node_cls, epochs=100, category=Category.infrastructure),
    Task("product_space_hs92", TaskType.node_cls, epochs=60, category=Category.finance),
    Task("iscas85_gates", TaskType.node_cls, epochs=80, category=Category.computing),
    Task("mnist_5k_regions", TaskType.graph_cls, epochs=30, category=Category.vision),
    Task("qm7", TaskType.graph_reg, epochs=40, category=Category.physics),
    Task("crime_roles", TaskType.edge_cls, epochs=120, metric="f1_macro", category=Category.security),
    Task("mitre_attack", TaskType.link_pred, epochs=100, category=Category.security),
)

SUITE = Suite(
    name="ten",
    tasks=("mutag", "citeseer", *(task.name for task in TASKS)),
    description="real data from all ten categories and of all task types, fetched from a package index alone",
)
