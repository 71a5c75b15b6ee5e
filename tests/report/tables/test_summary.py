"""Means of a results table: failed cells are counted and never averaged."""

from __future__ import annotations

from typing import Any

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gnz_track.report.tables.summary import summarise
from gnz_track.store.results_table import make_table
from gnz_track.types import Direction


def row(score: float | None, *, task: str = "t", model: str = "GCN", metric: str = "accuracy") -> dict[str, Any]:
    return {
        "task": task,
        "model": model,
        "metric": metric,
        "direction": "down" if metric == "mae" else "up",
        "score": score,
        "status": "failed" if score is None else "finished",
        "seconds": 0.5,
    }


def table(*rows: dict[str, Any]) -> pd.DataFrame:
    return make_table({name: [one[name] for one in rows] for name in rows[0]} if rows else {})


@given(st.lists(st.one_of(st.none(), st.floats(0, 1)), min_size=1, max_size=20))
def test_mean_is_over_finished_cells(scores: list[float | None]) -> None:
    (found,) = summarise(table(*(row(score) for score in scores)))
    finished = [score for score in scores if score is not None]
    assert (found.n_finished, found.n_failed) == (len(finished), len(scores) - len(finished))
    assert found.seconds == pytest.approx(0.5 * len(scores))
    if finished:
        assert found.mean == pytest.approx(sum(finished) / len(finished))
    else:
        assert found.mean is None


def test_rows_come_in_order_of_appearance_and_do_not_mix() -> None:
    rows = table(row(0.2, task="b"), row(0.9, model="MLP"), row(0.1), row(0.4, task="b"), row(0.3))
    found = [(one.task, one.model, one.mean) for one in summarise(rows)]
    assert found == [("b", "GCN", pytest.approx(0.3)), ("t", "MLP", 0.9), ("t", "GCN", pytest.approx(0.2))]


def test_metric_is_that_of_a_finished_cell() -> None:
    (found,) = summarise(table(row(None), row(0.5, metric="mae"), row(None)))
    assert (found.metric, found.direction, found.mean, found.n_failed) == ("mae", Direction.down, 0.5, 2)
    assert summarise(table(row(None)))[0].metric == "accuracy"


def test_no_results_make_no_rows() -> None:
    assert summarise(table()) == []
