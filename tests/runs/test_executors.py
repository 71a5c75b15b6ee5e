"""Which executor is chosen, and that all give results and tell of the same events."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import own_nets
import pytest

from gnz_track.errors import BadValue
from gnz_track.runs.events import Event, Started, ignore
from gnz_track.runs.executors import choose_executor
from gnz_track.runs.on_inline import run_inline
from gnz_track.types import Cell


@pytest.mark.parametrize("jobs", [0, -1, 1.5, "2", None])
def test_jobs_that_cannot_be_are_refused(jobs: Any) -> None:
    with pytest.raises(BadValue, match=f"jobs is {jobs!r}; allowed: a whole number from 1 upwards.* --jobs 2"):
        choose_executor(jobs=jobs)


@pytest.mark.parametrize("timeout", [0.0, -1.0, float("nan")])
def test_timeouts_that_cannot_be_are_refused(timeout: float) -> None:
    with pytest.raises(BadValue, match=r"timeout is .*; allowed: seconds, more than 0.* --timeout 300"):
        choose_executor(timeout=timeout)


def test_one_job_without_a_time_limit_needs_no_worker() -> None:
    assert choose_executor() is run_inline
    assert choose_executor(jobs=2) is not run_inline
    assert choose_executor(timeout=60) is not run_inline


def test_workers_give_results_and_tell_what_else_goes_on(
    cell_on: Callable[..., Cell], world: Callable[[str], Any]
) -> None:
    cells = [cell_on(world("nodes"), model, epochs=1) for model in ("GCN", own_nets.FailsForward, "MLP")]
    heard: list[Event] = []
    results = list(choose_executor(jobs=1, timeout=120)(cells, heard.append))
    assert [result.cell for result in results] == cells
    assert [result.is_finished for result in results] == [True, False, True]
    assert heard == [Started(cell=cell) for cell in cells], "results are given, and not told as well"


def test_no_cells_are_no_results() -> None:
    for execute in (choose_executor(), choose_executor(jobs=2)):
        assert list(execute([], ignore)) == []
