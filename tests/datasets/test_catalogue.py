"""The one table: complete rows, views over it, and no torch."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from published_table import PUBLISHED_EPOCHS, PUBLISHED_EPOCHS_OF_LARGE_TASKS

from gnz_track.datasets.catalogue import (
    BENCHMARK_TASKS,
    DATASETS,
    SUITES,
    TASKS,
    iter_benchmark_tasks,
    iter_tasks,
    register_task,
    unregister_task,
)
from gnz_track.datasets.homes import missing_library
from gnz_track.datasets.preparation import prepare_dataset
from gnz_track.datasets.sources.fetch import lack_of
from gnz_track.datasets.splits.links import split_links, split_triples
from gnz_track.datasets.splits.nodes_and_graphs import split_edges, split_graphs, split_nodes
from gnz_track.errors import BadValue, DuplicateName, UnknownName
from gnz_track.registry import import_target, is_target
from gnz_track.types import Category, DatasetRow, Task, TaskType

# Seconds, and quarters of an hour, of proving trips shortest; gigabytes of communities.
SLOW = {"sbm_pattern", "sbm_cluster", "tsp_tiny", "tsp_1pct", "cycles", "cycles_loose", "graph_theory"}
HOURS = {"tsp", "tsp_50_100", "communities_2m"}
GENERATED = [
    pytest.param(row, id=row.name, marks=[pytest.mark.slow] * (row.name in SLOW))
    for row in DATASETS.rows()
    if not row.raw and row.name not in HOURS
]
MIRRORED = [row for row in DATASETS.rows() if row.raw]


def _by_name(row: DatasetRow) -> str:
    return row.name


@pytest.mark.parametrize("row", DATASETS.rows(), ids=_by_name)
def test_a_row_lacks_nothing(row: DatasetRow) -> None:
    for name in ("source", "licence", "citation", "expected"):
        assert getattr(row, name), f"{row.name} lacks {name}"
    assert any(year in row.citation for year in map(str, range(1900, 2100))) or "https://" in row.citation
    assert {"n_graphs", "n_features"} <= set(row.expected)
    assert row.url or not row.raw
    assert is_target(row.loader)
    assert callable(import_target(row.loader))
    tasks = [task for task in TASKS.rows() if task.dataset == row.name]
    assert {task.task_type for task in tasks} <= set(row.task_types)
    assert tasks, f"no task is posed on {row.name}"


def _split(row: DatasetRow, home: Path, mirror: Path | None) -> None:
    """Freeze a row, which holds sizes and checksum against the catalogue, and split it for each of its tasks."""
    dataset = prepare_dataset(row, seed=1, home=home, mirror=mirror)
    assert {name: dataset.card.sizes[name] for name in row.expected} == dict(row.expected)
    splits = {
        TaskType.node_cls: split_nodes,
        TaskType.link_pred: split_links,
        TaskType.graph_cls: split_graphs,
        TaskType.graph_reg: split_graphs,
        TaskType.edge_cls: split_edges,
        TaskType.node_reg: split_nodes,
        TaskType.edge_reg: split_edges,
        TaskType.multi_task: split_graphs,
    }
    for task_type in row.task_types:
        if dataset.is_relational:
            assert split_triples(dataset).test.edge_index.size(1) > 0
        else:
            assert splits[task_type](dataset, policy="published", seed=1).digest


@pytest.mark.parametrize("row", GENERATED)
def test_a_generated_row_has_its_sizes(row: DatasetRow, tmp_path: Path) -> None:
    _split(row, tmp_path, None)


@pytest.mark.mirror
@pytest.mark.parametrize("row", MIRRORED, ids=_by_name)
def test_a_mirrored_row_has_its_sizes(row: DatasetRow, tmp_path: Path, mirror: Path) -> None:
    lack = lack_of(row, mirror / row.raw)
    if lack or missing_library(row):
        pytest.skip(f"the mirror has no {row.raw}, {lack}" if lack else f"{missing_library(row)} is not installed")
    _split(row, tmp_path, mirror)


def test_the_quick_suite_has_all_graph_problems_and_no_files() -> None:
    tasks = [TASKS.get(name) for name in SUITES.get("quick").tasks]
    assert {task.task_type for task in tasks} == set(TaskType) - {
        TaskType.multi_task,
        TaskType.node_reg,
        TaskType.edge_reg,
    }
    assert all(not DATASETS.get(task.dataset).raw for task in tasks)


def test_suites_name_tasks_and_tasks_name_datasets() -> None:
    assert all(name in TASKS for suite in SUITES.rows() for name in suite.tasks)
    assert all(task.dataset in DATASETS for task in TASKS.rows() if task.loader is None)


@pytest.mark.mirror
def test_every_folder_of_the_mirror_has_a_row(mirror: Path) -> None:
    # Tables of a published study and further splits of Planetoid: no graphs of their own.
    other = {"glemos", "Planetoid/Cora/geom-gcn-splits", "Planetoid/PubMed/geom-gcn-splits"}
    folders = {path.parent.relative_to(mirror).as_posix() for path in mirror.rglob("*") if path.is_file()}
    named = {row.raw for row in DATASETS.rows() if row.raw and not lack_of(row, mirror / row.raw)}
    assert folders - other - {"."} == named


def test_a_category_stands_for_the_published_tasks() -> None:
    shown = {task.name for by_type in BENCHMARK_TASKS.values() for tasks in by_type.values() for task in tasks}
    assert set(PUBLISHED_EPOCHS) <= shown
    assert not shown & (set(PUBLISHED_EPOCHS_OF_LARGE_TASKS) | {"enzymes", "modelnet40"})
    assert {task.category for task in map(TASKS.get, SUITES.get("graphnetz").tasks)} == set(Category) - {"custom"}


def test_epochs_are_the_published_ones() -> None:
    published = PUBLISHED_EPOCHS | PUBLISHED_EPOCHS_OF_LARGE_TASKS
    assert {name: TASKS.get(name).epochs for name in published} == published


def test_the_table_is_read_quickly() -> None:
    code = (
        "import time, dataclasses, enum, importlib.metadata, re, typing, pathlib, json, difflib, functools\n"
        "from urllib import parse; import gnz_track.types\n"
        "start = time.process_time(); import gnz_track.datasets.catalogue; print(time.process_time() - start)"
    )
    root = Path(__file__).parents[2]
    taken = [
        float(subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, cwd=root).stdout)
        for _ in range(3)
    ]
    assert min(taken) < 0.05


def test_listing_tasks_imports_no_torch() -> None:
    code = (
        "import sys, gnz_track.datasets.catalogue; print([m for m in ('torch', 'numpy', 'scipy') if m in sys.modules])"
    )
    root = Path(__file__).parents[2]
    found = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True, cwd=root)
    assert found.stdout.strip() == "[]"


@pytest.fixture
def own_task() -> Iterator[Task]:
    task = register_task("security", Task("own", "node_cls", "math:sqrt", epochs=3))
    yield task
    if "own" in TASKS:
        TASKS.remove("own")


def test_an_own_task_stands_in_the_views(own_task: Task) -> None:
    assert own_task.category is Category.security
    assert BENCHMARK_TASKS["security"]["node_cls"] == [own_task]
    assert iter_benchmark_tasks("security")[-1] == own_task
    with pytest.raises(DuplicateName, match="'own'"):
        register_task("security", own_task)
    with pytest.raises(UnknownName, match="category biology"):
        unregister_task("biology", "own")
    assert unregister_task("security", "own") == own_task
    assert "node_cls" not in BENCHMARK_TASKS["security"]
    assert own_task not in iter_benchmark_tasks("security")


def test_a_task_run_by_name_only_can_be_replaced_by_an_own_one_that_is_shown() -> None:
    name = TASKS.names()[-1]  # the last one, so that putting it back keeps the order
    old = TASKS.remove(name)
    try:
        own = register_task(old.category, Task(name, old.task_type, "math:sqrt"))
        assert own in iter_benchmark_tasks(old.category)
        TASKS.remove(name)
    finally:
        TASKS.add(name, old)
    assert old in iter_tasks()
    assert old not in iter_benchmark_tasks()


def test_views_show_every_task_once() -> None:
    shown = [task for by_type in BENCHMARK_TASKS.values() for tasks in by_type.values() for task in tasks]
    assert sorted(task.name for task in shown) == sorted(task.name for task in iter_benchmark_tasks())
    assert {task.name for task in iter_tasks()} == set(TASKS.names()) > {task.name for task in shown}
    assert len(BENCHMARK_TASKS) == len(list(BENCHMARK_TASKS))
    assert "zinc" in {task.name for task in iter_benchmark_tasks("physics", "graph_reg")}


def test_what_is_not_there_is_named() -> None:
    with pytest.raises(BadValue, match="biologie"):
        iter_benchmark_tasks("biologie")
    with pytest.raises(BadValue, match="node_clas"):
        iter_benchmark_tasks(task_type="node_clas")
    with pytest.raises(BadValue, match="str"):
        register_task("social", "cora")  # type: ignore[arg-type]
    with pytest.raises(UnknownName, match="did you mean 'cora'"):
        TASKS.get("coora")
