"""Catalogue: combinatorial problems. Nearly all graphs are generated here."""

from __future__ import annotations

from typing import Any

from gnz_track.datasets.references import cited
from gnz_track.types import Category, DatasetRow, Download, Task, TaskType

__all__ = ["ROWS", "TASKS"]

_OTHER_SEED = "Each seed is another instance, so that variance contains that of the data."
_NO_SIGNAL = "Edges are independent, hence no model can do better than an AUC of 0.5: a negative control."
_CSL = "https://raw.githubusercontent.com/PurdueMINDS/RelationalPooling/master/Synthetic_Data"


def _generated(name: str, module: str, *, n_nodes: int, n_features: int, **facts: Any) -> DatasetRow:
    """Make the row of a generator that draws one graph for each seed, for link prediction."""
    shared: dict[str, Any] = {
        "licence": "Apache-2.0",
        "notes": _OTHER_SEED,
        "expected": {"n_graphs": 1, "n_nodes": n_nodes, "n_features": n_features},
    }
    return DatasetRow(
        name=name,
        category=Category.combinatorial,
        task_types=(TaskType.link_pred,),
        loader=f"gnz_track.datasets.generators.{module}:{name}",
        is_seed_aware=True,
        **{**shared, **facts},
    )


ROWS = (
    _generated(
        "random_tsp",
        "communities",
        n_nodes=200,
        n_features=2,
        options={"n_nodes": 200, "k": 4},
        source="generated: uniform points of the unit square, each joined to its four nearest",
        **cited("dacosta2026"),
    ),
    _generated(
        "random_vrp",
        "combinatorial",
        n_nodes=43,
        n_features=4,
        options={"n_customers": 40, "n_depots": 3, "k": 6},
        source="generated: 3 depots and 40 customers with demands, each joined to its six nearest",
        **cited("dacosta2026"),
    ),
    _generated(
        "random_bipartite_matching",
        "combinatorial",
        n_nodes=50,
        n_features=2,
        options={"size": 25, "p": 0.4},
        source="generated: two sides of 25 nodes, weighted random links between them",
        **cited("dacosta2026"),
        defects=("Links join the two sides only, which the features tell; beyond that they are independent.",),
    ),
    _generated(
        "random_coloring",
        "communities",
        n_nodes=200,
        n_features=1,
        options={"n_nodes": 200, "p": 0.1},
        source="generated: Erdos-Renyi graph",
        **cited("erdos1959"),
        notes=_NO_SIGNAL,
    ),
    _generated(
        "random_maxcut",
        "combinatorial",
        n_nodes=50,
        n_features=1,
        options={"n_nodes": 50, "p": 0.12},
        source="generated: weighted Erdos-Renyi graph with a cut that no single node improves",
        **cited("erdos1959", "dacosta2026"),
        notes=_NO_SIGNAL,
    ),
    _generated(
        "random_maxflow",
        "combinatorial",
        n_nodes=30,
        n_features=2,
        options={"n_nodes": 30, "p": 0.2},
        source="generated: directed Erdos-Renyi graph with capacities, a source and a sink",
        **cited("erdos1959", "dacosta2026"),
        notes=_NO_SIGNAL,
    ),
    DatasetRow(
        name="grid_mines",
        category=Category.combinatorial,
        task_types=(TaskType.node_cls,),
        loader="gnz_track.datasets.generators.communities:grid_mines",
        options={"side": 40, "p_mine": 0.2, "p_unknown": 0.5, "seed": 0},
        source="generated: minesweeper on a grid of 40 x 40 cells, after the design of a published graph",
        licence="Apache-2.0",
        **cited("platonov2023"),
        expected={"n_graphs": 1, "n_nodes": 1_600, "n_edges": 12_324, "n_features": 10, "n_classes": 2},
        notes="The seed chooses one of ten random 50/25/25 splits.",
    ),
    DatasetRow(
        name="graph_families",
        category=Category.combinatorial,
        task_types=(TaskType.graph_reg,),
        loader="gnz_track.datasets.generators.families:graph_families",
        options={"n_graphs": 600, "smallest": 20, "largest": 40, "seed": 0},
        source="generated: six families of random graphs with about two edges a node",
        licence="Apache-2.0",
        **cited("fiedler1973"),
        expected={"n_graphs": 600, "n_features": 2, "n_targets": 1},
        notes="The target is the log of the spectral gap, standardised over all graphs.",
    ),
    DatasetRow(
        name="knn_tour",
        category=Category.combinatorial,
        task_types=(TaskType.edge_cls,),
        loader="gnz_track.datasets.generators.tours:knn_tour",
        options={"n_graphs": 60, "n_nodes": 32, "k": 5, "seed": 0},
        source="generated: uniform points of the unit square, each joined to its five nearest, and a short round trip",
        licence="Apache-2.0",
        **cited("joshi2019"),
        expected={"n_graphs": 60, "n_nodes": 1_920, "n_features": 2, "n_classes": 2},
        notes="The trip is locally best, not proven shortest.",
    ),
    DatasetRow(
        name="csl",
        category=Category.combinatorial,
        task_types=(TaskType.graph_cls,),
        loader="gnz_track.datasets.readers.ppi:read_skip_links",
        raw="GNNBenchmarkDataset/CSL/raw",
        source="CSL: circles with skip links, by the length of the links",
        licence="not stated",
        **cited("murphy2019", "dwivedi2023"),
        url="https://github.com/PurdueMINDS/RelationalPooling",
        origins=tuple(
            Download(url=f"{_CSL}/{file}", path=file)
            for file in ("graphs_Kary_Deterministic_Graphs.pkl", "y_Kary_Deterministic_Graphs.pt")
        ),
        expected={"n_graphs": 150, "n_nodes": 6_150, "n_edges": 24_600, "n_features": 0, "n_classes": 10},
        checksum="1e205518921dd5c5fde27dfc2d982fcf",
        defects=(
            "The 15 graphs of a class are isomorphic by design, so that train and test hold the same graphs.",
            "All nodes have four neighbours: message passing without other features cannot tell the classes apart.",
        ),
    ),
)

TASKS = (
    Task("random_tsp", TaskType.link_pred, epochs=80, category=Category.combinatorial),
    Task("random_coloring", TaskType.link_pred, epochs=80, category=Category.combinatorial),
    Task("grid_mines", TaskType.node_cls, epochs=60, category=Category.combinatorial),
    Task("knn_tour", TaskType.edge_cls, epochs=60, category=Category.combinatorial),
    Task("graph_families", TaskType.graph_reg, epochs=30, category=Category.combinatorial),
)
