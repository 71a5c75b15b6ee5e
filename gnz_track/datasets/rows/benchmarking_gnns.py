"""Catalogue: graphs drawn as a published benchmark of graph networks draws them, whole and in smaller sizes.

A name alone is the published size; ``_1pct`` is about a hundredth of it and ``_tiny`` less, where they can be the first
graphs of the whole. None of them stands for a category: they are run by name, or as a suite.
"""

from __future__ import annotations

from typing import Any

from gnz_track.datasets.references import cited
from gnz_track.types import Category, DatasetRow, Suite, Task, TaskType

__all__ = ["LARGE_TASKS", "ROWS", "SUITE", "TASKS"]

_GENERATORS = "gnz_track.datasets.generators"
_SEED = 0
_SKIPS = (2, 3, 4, 5, 6, 9, 11, 12, 13, 16)


def _drawn(
    name: str, loader: str, task_type: TaskType, sizes: tuple[int, ...], *, options: dict[str, Any], **facts: Any
) -> DatasetRow:
    """Make the row of one size of a generated set; ``sizes`` are the graphs of its three parts."""
    expected = {"n_graphs": sum(sizes), **facts.pop("expected")}
    return DatasetRow(
        name=name,
        category=Category.combinatorial,
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


_CYCLES = {
    "matched": "Graphs come in pairs of equal degrees, which message passing without other features cannot tell apart.",
    "loose": "Circles and trees of the two classes are drawn apart, so that degrees say something of the class.",
}
_EXACT = "Trips are proven shortest. Links have a direction, and about one in twelve is a step."

ROWS = (
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
    DatasetRow(
        name="csl_generated",
        category=Category.combinatorial,
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

TASKS: tuple[Task, ...] = ()

# Classes of unequal size, of which the published scores are these.
_METRICS = {TaskType.node_cls: "balanced_accuracy", TaskType.edge_cls: "f1"}
LARGE_TASKS = tuple(
    Task(row.name, kind, epochs=20, metric=_METRICS.get(kind, ""), category=row.category)
    for row in ROWS
    for kind in row.task_types
)

SUITE = Suite(
    name="benchmarking_gnns",
    tasks=("sbm_pattern_1pct", "sbm_cluster_1pct", "tsp_1pct", "csl_generated", "cycles_10pct", "graph_theory_10pct"),
    description="the published benchmark of graph networks in sizes that one machine can afford",
)
