"""Suites of tasks, tasks that are run by name only, and how long cells take. No torch here."""

from __future__ import annotations

from collections.abc import Iterable

from gnz_track.types import DatasetRow, Suite, Task, TaskType

__all__ = ["EPOCHS", "SECONDS", "SUITES", "tasks_beside"]

# What the published benchmark trains its own tasks of each kind for, in the middle.
EPOCHS = {
    TaskType.node_cls: 100,
    TaskType.graph_cls: 20,
    TaskType.graph_reg: 10,
    TaskType.link_pred: 80,
    TaskType.edge_cls: 80,
    TaskType.multi_task: 20,
    TaskType.node_reg: 100,
    TaskType.edge_reg: 80,
}
# Task -> seconds of a cell with the task's own number of epochs, on one core without a GPU, the mean of our models.
# Past runs of a store know better: gnz run --dry-run asks them.
SECONDS: dict[str, float] = {
    "air_routes": 5.7,
    "citeseer": 7.4,
    "crime_roles": 2.0,
    "digits_regions": 1.4,
    "graph_families": 2.3,
    "grid_mines": 0.5,
    "iscas85_gates": 7.3,
    "ising_lattice": 0.2,
    "kinships": 1.6,
    "knn_tour": 1.4,
    "les_miserables": 0.2,
    "mitre_attack": 3.6,
    "mnist_5k_regions": 8.9,
    "mutag": 1.7,
    "pcb442_tour": 1.4,
    "pegase_2869": 2.9,
    "planted_partition": 0.2,
    "primary_school": 1.6,
    "product_space_hs92": 0.8,
    "ptc_mr": 1.8,
    "qm7": 6.1,
    "random_coloring": 0.3,
    "random_tsp": 0.2,
    "umls": 1.3,
}

SUITES = (
    Suite(
        name="quick",
        tasks=(
            "random_tsp",
            "random_coloring",
            "ising_lattice",
            "les_miserables",
            "grid_mines",
            "planted_partition",
            "digits_regions",
            "graph_families",
            "knn_tour",
        ),
        description="nine small tasks of the usual task types, nothing to fetch, a few minutes",
    ),
    Suite(
        name="classic",
        tasks=("cora", "pubmed", "cora_link_pred", "mutag", "proteins", "fb15k_237"),
        description="small public datasets that most papers report, read from a mirror",
    ),
    Suite(
        name="graphnetz",
        tasks=(
            "random_tsp",
            "mutag",
            "cora",
            "fb15k_237",
            "euroroad",
            "board_directors",
            "internet_as",
            "mnist_superpixels",
            "ising_lattice",
            "terrorists_911",
        ),
        description="the ten tasks of the published experiment, one of each category",
    ),
    Suite(
        name="kinds",
        tasks=("overlapping_groups", "smoothed_numbers", "tie_strengths"),
        description="several labels of nodes in graphs never seen, numbers of nodes and of edges; nothing to fetch",
    ),
    # Its epochs: by validation scores alone, about where those of most models no longer rose (seeds 0 and 1); fewer
    # where an epoch is dear (iscas85_gates, on which GCN goes on learning, and mnist_5k_regions).
    Suite(
        name="ten",
        tasks=(
            "mutag",
            "citeseer",
            "pcb442_tour",
            "ptc_mr",
            "primary_school",
            "umls",
            "kinships",
            "air_routes",
            "pegase_2869",
            "product_space_hs92",
            "iscas85_gates",
            "mnist_5k_regions",
            "qm7",
            "crime_roles",
            "mitre_attack",
        ),
        description="real data from all ten categories and of all task types, fetched from a package index alone",
    ),
    Suite(
        name="benchmarking_gnns",
        tasks=(
            "sbm_pattern_1pct",
            "sbm_cluster_1pct",
            "tsp_1pct",
            "csl_generated",
            "cycles_10pct",
            "graph_theory_10pct",
        ),
        description="the published benchmark of graph networks in sizes that one machine can afford",
    ),
)


def tasks_beside(rows: Iterable[DatasetRow], chosen: Iterable[Task], large: Iterable[Task]) -> list[Task]:
    """Return the large tasks, then one for each row and kind of problem that has none.

    A task bears the name of its row where that is free, else the kind of problem behind it: ``cora_link_pred``.

    Parameters
    ----------
    rows
    chosen
        Tasks that stand for a category.
    large
        Tasks that are run by name only.
    """
    large = list(large)
    taken = {task.name for task in (*chosen, *large)}
    posed = {(task.dataset, task.task_type) for task in (*chosen, *large)}
    found = large
    for row in rows:
        for task_type in row.task_types:
            if (row.name, task_type) in posed:
                continue
            name = f"{row.name}_{task_type}" if row.name in taken else row.name
            taken.add(name)
            found.append(Task(name, task_type, epochs=EPOCHS[task_type], dataset=row.name, category=row.category))
    return found
