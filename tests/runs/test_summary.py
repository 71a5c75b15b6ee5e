"""Means of a sweep: failed cells are counted and never averaged."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import own_nets
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gnz_track.models.catalogue import MODELS
from gnz_track.runs.one import run_one
from gnz_track.runs.summary import summarise
from gnz_track.training.protocols import PROTOCOLS
from gnz_track.types import Cell, CellResult, Direction, Failure, Status, Task, TaskType

FAILURE = Failure(kind="E", message="e", traceback="Traceback")


def result(score: float | None, *, task: str = "t", model: str = "GCN", metric: str = "accuracy") -> CellResult:
    cell = Cell(
        task=Task(task, TaskType.node_cls),
        model=MODELS.get(model),
        seed=0,
        protocol=PROTOCOLS.get("graphnetz"),
        epochs=1,
        dataset_digest="d",
        data="f",
    )
    return CellResult(
        cell=cell,
        status=Status.failed if score is None else Status.finished,
        metric=metric,
        direction=Direction.down if metric == "mae" else Direction.up,
        score=score,
        seconds=0.5,
        failure=FAILURE if score is None else None,
    )


@given(st.lists(st.one_of(st.none(), st.floats(0, 1)), min_size=1, max_size=20))
def test_mean_is_over_finished_cells(scores: list[float | None]) -> None:
    (row,) = summarise([result(score) for score in scores])
    finished = [score for score in scores if score is not None]
    assert (row.n_finished, row.n_failed) == (len(finished), len(scores) - len(finished))
    assert row.seconds == pytest.approx(0.5 * len(scores))
    if finished:
        assert row.mean == pytest.approx(sum(finished) / len(finished))
    else:
        assert row.mean is None


def test_rows_come_in_order_of_appearance_and_do_not_mix() -> None:
    results = [
        result(0.2, task="b"),
        result(0.9, model="MLP"),
        result(0.1),
        result(0.4, task="b"),
        result(0.3),
    ]
    found = [(row.task, row.model, row.mean) for row in summarise(results)]
    assert found == [("b", "GCN", pytest.approx(0.3)), ("t", "MLP", 0.9), ("t", "GCN", pytest.approx(0.2))]


def test_metric_is_that_of_a_finished_cell() -> None:
    (row,) = summarise([result(None), result(0.5, metric="mae"), result(None)])
    assert (row.metric, row.direction, row.mean, row.n_failed) == ("mae", Direction.down, 0.5, 2)
    assert summarise([result(None)])[0].metric == "accuracy"


def test_no_results_make_no_rows() -> None:
    assert summarise([]) == []


def test_real_failures_are_counted(world: Callable[[str], Any], cell_on: Callable[..., Cell]) -> None:
    cells = [cell_on(world("nodes"), model, epochs=1) for model in ("GCN", own_nets.FailsForward)]
    first, second = summarise([run_one(cell) for cell in cells])
    assert (first.n_finished, first.n_failed) == (1, 0)
    assert (second.n_finished, second.n_failed, second.mean) == (0, 1, None)
