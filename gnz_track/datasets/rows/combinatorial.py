"""Catalogue: combinatorial problems, nearly all of them generated here.

The rows of ``_DRAWN`` are drawn as a published benchmark of graph networks draws them. A name alone is the published
size; ``_1pct`` is about a hundredth of it and ``_tiny`` less, where they can be the first graphs of the whole. None of
them stands for the category: they are run by name, or as a suite.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from gnz_track.datasets.references import cited
from gnz_track.datasets.rows.templates import pinned
from gnz_track.types import Category, DatasetRow, Download, Task, TaskType

__all__ = ["LARGE_TASKS", "ROWS", "TASKS"]

_OTHER_SEED = "Each seed is another instance, so that variance contains that of the data."
_NO_SIGNAL = "Edges are independent, hence no model can do better than an AUC of 0.5: a negative control."
_CSL = "https://raw.githubusercontent.com/PurdueMINDS/RelationalPooling/master/Synthetic_Data"
_GENERATORS = "gnz_track.datasets.generators"
_SEED = 0
_SKIPS = (2, 3, 4, 5, 6, 9, 11, 12, 13, 16)
_CYCLES = {
    "matched": "Graphs come in pairs of equal degrees, which message passing without other features cannot tell apart.",
    "loose": "Circles and trees of the two classes are drawn apart, so that degrees say something of the class.",
}
_EXACT = "Trips are proven shortest. Links have a direction, and about one in twelve is a step."
_TOUR = {"problem": "pcb442.tsp", "tour": "pcb442.opt.tour"}
# Classes of unequal size, of which the published scores are these.
_METRICS = {TaskType.node_cls: "balanced_accuracy", TaskType.edge_cls: "f1"}
_row = partial(DatasetRow, category=Category.combinatorial)
_task = partial(Task, category=Category.combinatorial)


def _generated(name: str, *, n_nodes: int, n_features: int, **facts: Any) -> DatasetRow:
    """Make the row of a generator that draws one graph for each seed, for link prediction."""
    shared: dict[str, Any] = {
        "licence": "Apache-2.0",
        "notes": _OTHER_SEED,
        "expected": {"n_graphs": 1, "n_nodes": n_nodes, "n_features": n_features},
    }
    return _row(
        name=name,
        task_types=(TaskType.link_pred,),
        loader=f"gnz_track.datasets.generators.combinatorial:{name}",
        is_seed_aware=True,
        **{**shared, **facts},
    )


def _drawn(
    name: str, loader: str, task_type: TaskType, sizes: tuple[int, ...], *, options: dict[str, Any], **facts: Any
) -> DatasetRow:
    """Make the row of one size of a generated set; ``sizes`` are the graphs of its three parts."""
    expected = {"n_graphs": sum(sizes), **facts.pop("expected")}
    return _row(
        name=name,
        task_types=(task_type,),
        loader=f"{_GENERATORS}.{loader}",
        options={**options, "sizes": sizes, "seed": _SEED},
        licence="Apache-2.0",
        expected=expected,
        **facts,
    )


def _pattern(name: str, *sizes: int, **found: int) -> DatasetRow:
    return _drawn(
        name,
        "communities:sbm_pattern",
        TaskType.node_cls,
        sizes,
        options={"n_patterns": 100},
        source=f"generated: one of 100 patterns among five communities, {_in_parts(sizes)}",
        **cited("dwivedi2023", "abbe2018"),
        expected={"n_features": 1, "n_classes": 2, **found},
        notes="Patterns have 5 to 34 nodes, as those of the published generator; one graph a pattern in turn.",
        defects=("Patterns are the same in all parts, as published.",),
    )


def _cluster(name: str, *sizes: int, **found: int) -> DatasetRow:
    return _drawn(
        name,
        "communities:sbm_cluster",
        TaskType.node_cls,
        sizes,
        options={},
        source=f"generated: six communities, one node of each named, {_in_parts(sizes)}",
        **cited("dwivedi2023", "abbe2018"),
        expected={"n_features": 1, "n_classes": 6, **found},
    )


def _tours(name: str, *sizes: int, nodes: tuple[int, int], **facts: Any) -> DatasetRow:
    found = facts.pop("found", {})
    return _drawn(
        name,
        "tours:tour_edges",
        TaskType.edge_cls,
        sizes,
        options={"nodes": nodes, "k": 25, "solver": facts.pop("solver", "exact")},
        source=f"generated: {nodes[0]} to {nodes[1]} points, links to the 25 nearest, a round trip; {_in_parts(sizes)}",
        **cited("dwivedi2023", "joshi2019", "dantzig1954"),
        expected={"n_features": 2, "n_classes": 2, **found},
        **facts,
    )


def _cycles(name: str, *sizes: int, mode: str) -> DatasetRow:
    return _drawn(
        name,
        "cycles:six_cycles",
        TaskType.graph_cls,
        sizes,
        options={"mode": mode},
        source=f"generated: circles and trees, with a circle of six nodes or without; {_in_parts(sizes)}",
        **cited("dwivedi2023"),
        expected={"n_features": 1, "n_classes": 2},
        notes=_CYCLES[mode],
        defects=("The published graphs are others, whose generator nobody has published.",),
    )


def _theory(name: str, *sizes: int) -> DatasetRow:
    return _drawn(
        name,
        "families:graph_theory",
        TaskType.multi_task,
        sizes,
        options={},
        source=f"generated: graphs of ten shapes and six properties of them, {_in_parts(sizes)}",
        **cited("corso2020", "dwivedi2023"),
        expected={"n_features": 2, "n_targets": 3},
        notes=(
            "Targets of nodes in y: distance from a source, eccentricity, Laplacian; of graphs in graph_y: connected, "
            "diameter, spectral radius; all in units of the largest of training."
        ),
    )


def _in_parts(sizes: tuple[int, ...]) -> str:
    return " / ".join(f"{size:,}" for size in sizes) + " graphs"


_DRAWN = (
    _pattern("sbm_pattern", 10_000, 2_000, 2_000),
    _pattern("sbm_pattern_1pct", 100, 20, 20),
    _pattern("sbm_pattern_tiny", 40, 10, 10),
    _cluster("sbm_cluster", 10_000, 1_000, 1_000),
    _cluster("sbm_cluster_1pct", 100, 10, 10),
    _cluster("sbm_cluster_tiny", 40, 10, 10),
    _tours(
        "tsp",
        10_000,
        1_000,
        1_000,
        nodes=(50, 500),
        solver="fast_tsp",
        extra="tours",
        defects=("Trips come from a local search: short, and not proven shortest.",),
    ),
    _tours("tsp_50_100", 1_000, 100, 100, nodes=(50, 100), notes=_EXACT),
    _tours("tsp_1pct", 100, 10, 10, nodes=(50, 100), notes=_EXACT),
    _tours("tsp_tiny", 100, 20, 20, nodes=(30, 50), notes=_EXACT),
    _cycles("cycles", 9_000, 1_000, 10_000, mode="matched"),
    _cycles("cycles_10pct", 900, 100, 1_000, mode="matched"),
    _cycles("cycles_1pct", 90, 10, 100, mode="matched"),
    _cycles("cycles_tiny", 40, 10, 20, mode="matched"),
    _cycles("cycles_loose", 9_000, 1_000, 10_000, mode="loose"),
    _cycles("cycles_loose_10pct", 900, 100, 1_000, mode="loose"),
    _cycles("cycles_loose_1pct", 90, 10, 100, mode="loose"),
    _cycles("cycles_loose_tiny", 40, 10, 20, mode="loose"),
    _theory("graph_theory", 5_120, 640, 1_280),
    _theory("graph_theory_10pct", 510, 65, 130),
    _theory("graph_theory_1pct", 50, 5, 15),
    _theory("graph_theory_tiny", 20, 5, 5),
    _row(
        name="csl_generated",
        task_types=(TaskType.graph_cls,),
        loader=f"{_GENERATORS}.cycles:skip_link_circles",
        options={"n_nodes": 41, "skips": _SKIPS, "n_copies": 15, "n_folds": 5, "seed": _SEED},
        source="generated: circles of 41 nodes with skip links of ten lengths, 15 of each in random order",
        licence="Apache-2.0",
        **cited("murphy2019", "dwivedi2023"),
        expected={"n_graphs": 150, "n_nodes": 6_150, "n_edges": 24_600, "n_features": 1, "n_classes": 10},
        notes="Five folds of 90 / 30 / 30 graphs; the seed modulo 5 is the fold.",
        defects=(
            "The 15 graphs of a class are isomorphic by design, so that train and test hold the same graphs.",
            "All nodes have four neighbours: message passing without other features cannot tell the classes apart.",
        ),
    ),
)

ROWS = (
    _generated(
        "random_tsp",
        n_nodes=200,
        n_features=2,
        options={"n_nodes": 200, "k": 4},
        source="generated: uniform points of the unit square, each joined to its four nearest",
        **cited("dacosta2026"),
    ),
    _generated(
        "random_vrp",
        n_nodes=43,
        n_features=4,
        options={"n_customers": 40, "n_depots": 3, "k": 6},
        source="generated: 3 depots and 40 customers with demands, each joined to its six nearest",
        **cited("dacosta2026"),
    ),
    _generated(
        "random_bipartite_matching",
        n_nodes=50,
        n_features=2,
        options={"size": 25, "p": 0.4},
        source="generated: two sides of 25 nodes, weighted random links between them",
        **cited("dacosta2026"),
        defects=("Links join the two sides only, which the features tell; beyond that they are independent.",),
    ),
    _generated(
        "random_coloring",
        n_nodes=200,
        n_features=1,
        options={"n_nodes": 200, "p": 0.1},
        source="generated: Erdos-Renyi graph",
        **cited("erdos1959"),
        notes=_NO_SIGNAL,
    ),
    _generated(
        "random_maxcut",
        n_nodes=50,
        n_features=1,
        options={"n_nodes": 50, "p": 0.12},
        source="generated: weighted Erdos-Renyi graph with a cut that no single node improves",
        **cited("erdos1959", "dacosta2026"),
        notes=_NO_SIGNAL,
    ),
    _generated(
        "random_maxflow",
        n_nodes=30,
        n_features=2,
        options={"n_nodes": 30, "p": 0.2},
        source="generated: directed Erdos-Renyi graph with capacities, a source and a sink",
        **cited("erdos1959", "dacosta2026"),
        notes=_NO_SIGNAL,
    ),
    _row(
        name="grid_mines",
        task_types=(TaskType.node_cls,),
        loader="gnz_track.datasets.generators.combinatorial:grid_mines",
        options={"side": 40, "p_mine": 0.2, "p_unknown": 0.5, "seed": 0},
        source="generated: minesweeper on a grid of 40 x 40 cells, after the design of a published graph",
        licence="Apache-2.0",
        **cited("platonov2023"),
        expected={"n_graphs": 1, "n_nodes": 1_600, "n_edges": 12_324, "n_features": 10, "n_classes": 2},
        notes="The seed chooses one of ten random 50/25/25 splits.",
    ),
    _row(
        name="graph_families",
        task_types=(TaskType.graph_reg,),
        loader="gnz_track.datasets.generators.families:graph_families",
        options={"n_graphs": 600, "smallest": 20, "largest": 40, "seed": 0},
        source="generated: six families of random graphs with about two edges a node",
        licence="Apache-2.0",
        **cited("fiedler1973"),
        expected={"n_graphs": 600, "n_features": 2, "n_targets": 1},
        notes="The target is the log of the spectral gap, standardised over all graphs.",
    ),
    _row(
        name="knn_tour",
        task_types=(TaskType.edge_cls,),
        loader="gnz_track.datasets.generators.tours:knn_tour",
        options={"n_graphs": 60, "n_nodes": 32, "k": 5, "seed": 0},
        source="generated: uniform points of the unit square, each joined to its five nearest, and a short round trip",
        licence="Apache-2.0",
        **cited("joshi2019"),
        expected={"n_graphs": 60, "n_nodes": 1_920, "n_features": 2, "n_classes": 2},
        notes="The trip is locally best, not proven shortest.",
    ),
    _row(
        name="csl",
        task_types=(TaskType.graph_cls,),
        loader="gnz_track.datasets.readers.graph_sets:read_skip_links",
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
    _row(
        name="pcb442_tour",
        task_types=(TaskType.edge_cls,),
        loader="gnz_track.datasets.readers.tsplib:read_tour_edges",
        options={**_TOUR, "k": 10},
        raw="ten/pcb442_tour",
        origins=pinned("tsplib95", {name: f"tsplib95-0.7.1/tests/data/{name}" for name in _TOUR.values()}),
        source="TSPLIB pcb442: holes to drill into a circuit board; which short edges does the optimal tour use?",
        licence="Apache-2.0 (package tsplib95); terms of the data not stated there",
        **cited("reinelt1991"),
        url="http://comopt.ifi.uni-heidelberg.de/software/TSPLIB95/",
        expected={"n_graphs": 1, "n_nodes": 442, "n_edges": 5_092, "n_features": 3, "n_classes": 2},
        checksum="6d370c50926db836aca2169985dc2297",
        notes="17.4 % of the 2,546 edges to the ten nearest are in the tour, and all 442 of its edges are among them.",
        defects=(
            "Holes lie on a grid, so that many tours are as short, and one of them is the label.",
            "Train and test edges are of one board.",
        ),
    ),
    *_DRAWN,
)

TASKS = (
    _task("random_tsp", TaskType.link_pred, epochs=80),
    _task("random_coloring", TaskType.link_pred, epochs=80),
    _task("grid_mines", TaskType.node_cls, epochs=60),
    _task("knn_tour", TaskType.edge_cls, epochs=60),
    _task("graph_families", TaskType.graph_reg, epochs=30),
    _task("pcb442_tour", TaskType.edge_cls, epochs=100, metric="average_precision"),
)

LARGE_TASKS = tuple(
    _task(row.name, kind, epochs=20, metric=_METRICS.get(kind, "")) for row in _DRAWN for kind in row.task_types
)
