"""``gnz tasks NAME`` and ``gnz models NAME``: what is shown of one, against the rows themselves."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from gnz_track.datasets.catalogue import DATASETS, SUITES, TASKS
from gnz_track.models.building import options_of
from gnz_track.models.catalogue import MODELS
from gnz_track.training.metrics import presumed_metric
from gnz_track.training.protocols import PROTOCOLS
from gnz_track.types import ModelRow, Task

Gnz = Callable[..., Any]


def told_of(out: str) -> dict[str, str]:
    """Return the second column of the tables by the first one."""
    pairs = [re.split(r"\s{2,}", line.strip(), maxsplit=1) for line in out.splitlines()]
    return {pair[0]: pair[1] for pair in pairs if len(pair) == 2}


# One of every kind of problem and licence, and all that are flawed or can be fetched no more.
_SHOWN = {(task.task_type, DATASETS.get(task.dataset).licence): task for task in TASKS.rows()}
_FLAWED = [task for task in TASKS.rows() if DATASETS.get(task.dataset).defects or DATASETS.get(task.dataset).retired]


@pytest.mark.parametrize("task", sorted({*_SHOWN.values(), *_FLAWED}, key=lambda task: task.name), ids=lambda t: t.name)
def test_all_of_a_task_is_shown(task: Task, gnz: Gnz) -> None:
    answer = gnz("tasks", task.name)
    assert (answer.code, answer.err) == (0, "")
    told, row = told_of(answer.out), DATASETS.get(task.dataset)
    assert (told["kind of problem"], told["dataset"]) == (task.task_type, task.dataset)
    assert told["metric"].split(", ")[0] == presumed_metric(task).name
    assert told["epochs"].replace(",", "") == str(task.epochs)
    assert told["licence"] == row.licence
    assert told["retired" if row.retired else "source"] == (row.retired or row.source)
    assert told.get("suites", "").split(", ") == [name for name in SUITES if task.name in SUITES.get(name).tasks] or [
        ""
    ]
    said = " ".join(answer.out.split())
    assert all(" ".join(defect.split()) in said for defect in row.defects)
    assert f"gnz run --task {task.name} " in f"{said} "


@pytest.mark.parametrize("row", MODELS.rows(), ids=lambda row: row.name)
def test_all_of_a_model_is_shown(row: ModelRow, gnz: Gnz) -> None:
    kinds = [kind for kind in row.task_types if kind in PROTOCOLS.get("graphnetz").task_types]
    for kind in ("", kinds[-1]):
        answer = gnz("models", row.name, *(["--task-type", kind] if kind else []))
        assert (answer.code, answer.err) == (0, "")
        assert answer.out.startswith(f"{row.name}: {row.description}\n")
        told = told_of(answer.out)
        assert told["kinds of problem"] == ", ".join(row.task_types)
        assert told["from"] == row.reference
        optimiser = PROTOCOLS.get("graphnetz").optimiser_of(kind or row.task_types[0])
        assert told["lr"].split()[0] == f"{optimiser.lr}"
        names = options_of(row).names
        assert {*names} <= told.keys()
        assert all(told[name].split()[0] == str(value) for name, value in row.options.items())


def test_what_is_searched_of_a_model_is_what_a_search_would_take(gnz: Gnz) -> None:
    told = told_of(gnz("models", "SGC", "--task-type", "graph_cls").out)
    assert re.split(r"\s{2,}", told["n_hops"]) == ["2", "1 to 5"]
    assert re.split(r"\s{2,}", told["batch_size"]) == ["32", "16, 32, 64, 128"]
    assert re.split(r"\s{2,}", told["bias"]) == ["True", "-"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("tasks", "coraa"), "did you mean 'cora'"),
        (("tasks", "cora", "--suite", "quick"), "gnz tasks cora"),
        (("models", "GCNN"), "did you mean 'GCN'"),
        (("models", "GIN", "--task-type", "link_pred"), "allowed: graph_cls, graph_reg. Try: gnz models GIN"),
    ],
)
def test_cards_that_there_are_not(words: tuple[str, ...], said: str, gnz: Gnz) -> None:
    answer = gnz(*words)
    assert (answer.code, answer.out) == (2, "")
    assert said in answer.err


def test_width_of_one_model(gnz: Gnz, tmp_path: Path) -> None:
    out = gnz("models", "GCN", "--budget", "20000", "--task", "graph_families", "--home", str(tmp_path)).out
    assert [line.split()[0] for line in out.splitlines()[2:]] == ["GCN"]
