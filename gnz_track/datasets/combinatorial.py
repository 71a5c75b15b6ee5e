"""Catalogue: combinatorial problems. All graphs are generated here."""

from __future__ import annotations

from gnz_track.types import Category, DatasetRow, Task, TaskType

__all__ = ["ROWS", "TASKS"]

ROWS = (
    DatasetRow(
        name="random_tsp",
        category=Category.combinatorial,
        task_types=(TaskType.link_pred,),
        loader="gnz_track.datasets.geometric_graphs:random_tsp",
        options={"n_nodes": 200, "k": 4},
        is_seed_aware=True,
        source="generated: uniform points of the unit square, each joined to its four nearest",
        licence="Apache-2.0",
        citation="GraphNetz 0.2.0, generator random_tsp (same instances), https://pypi.org/project/graphnetz/",
        expected={"n_graphs": 1, "n_nodes": 200, "n_features": 2},
        notes="Each seed is another instance, so that variance contains that of the data.",
    ),
    DatasetRow(
        name="random_coloring",
        category=Category.combinatorial,
        task_types=(TaskType.link_pred,),
        loader="gnz_track.datasets.geometric_graphs:random_coloring",
        options={"n_nodes": 200, "p": 0.1},
        is_seed_aware=True,
        source="generated: Erdos-Renyi graph",
        licence="Apache-2.0",
        citation="Erdos, Renyi: On random graphs I. Publicationes Mathematicae Debrecen 6, 290-297, 1959",
        expected={"n_graphs": 1, "n_nodes": 200, "n_features": 1},
        notes="Edges are independent, hence no model can do better than an AUC of 0.5: a negative control.",
    ),
    DatasetRow(
        name="grid_mines",
        category=Category.combinatorial,
        task_types=(TaskType.node_cls,),
        loader="gnz_track.datasets.labelled_graphs:grid_mines",
        options={"side": 40, "p_mine": 0.2, "p_unknown": 0.5, "seed": 0},
        source="generated: minesweeper on a grid of 40 x 40 cells",
        licence="Apache-2.0",
        citation=(
            "Platonov, Kuznedelev, Diskin, Babenko, Prokhorenkova: A critical look at the evaluation of GNNs under "
            "heterophily: are we really making progress? ICLR 2023 (the design; the instance is our own)"
        ),
        expected={"n_graphs": 1, "n_nodes": 1_600, "n_edges": 12_324, "n_features": 10, "n_classes": 2},
        notes="The seed chooses one of ten random 50/25/25 splits.",
    ),
    DatasetRow(
        name="graph_families",
        category=Category.combinatorial,
        task_types=(TaskType.graph_reg,),
        loader="gnz_track.datasets.graph_families:graph_families",
        options={"n_graphs": 600, "smallest": 20, "largest": 40, "seed": 0},
        source="generated: six families of random graphs with about two edges a node",
        licence="Apache-2.0",
        citation="Fiedler: Algebraic connectivity of graphs. Czechoslovak Mathematical Journal 23, 298-305, 1973",
        expected={"n_graphs": 600, "n_features": 2, "n_targets": 1},
        notes="The target is the log of the spectral gap, standardised over all graphs.",
    ),
)

TASKS = (
    Task("random_tsp", TaskType.link_pred, epochs=80, category=Category.combinatorial),
    Task("random_coloring", TaskType.link_pred, epochs=80, category=Category.combinatorial),
    Task("grid_mines", TaskType.node_cls, epochs=60, category=Category.combinatorial),
    Task("graph_families", TaskType.graph_reg, epochs=30, category=Category.combinatorial),
)
