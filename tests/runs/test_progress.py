"""How far a sweep is, in words and numbers."""

from __future__ import annotations

import os
import pty
import select
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any

import pytest

from gnz_track.runs import progress
from gnz_track.runs.executors.events import Done, Points, Started
from gnz_track.runs.plan import Plan
from gnz_track.runs.progress import Progress
from gnz_track.runs.remaining import Paces, RemainingCells
from gnz_track.text import format_seconds
from gnz_track.types import Cell, CellResult, Direction, Status

Make = Callable[..., Cell]


@pytest.fixture
def cell(cell_on: Callable[..., Cell], world: Callable[[str], Any]) -> Make:
    return lambda model="GCN", seed=0, *, epochs=10: cell_on(world("nodes"), model, seed=seed, epochs=epochs)


@pytest.fixture
def all_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "PLAIN_INTERVAL", 0.0)


def progress_of(cells: Iterable[Cell], paces: Mapping[str, float] | None = None, *, jobs: int = 1) -> Progress:
    chosen = tuple(cells)
    known = Paces({("nodes", model): pace for model, pace in (paces or {}).items()})
    return Progress(RemainingCells(Plan(cells=chosen, skipped=()), chosen, known), jobs=jobs)


def done(cell: Cell, *, seconds: float = 20.0, score: float | None = 0.5) -> Done:
    status = Status.finished if score is not None else Status.failed
    result = CellResult(
        cell=cell, status=status, metric="accuracy", direction=Direction.up, score=score, seconds=seconds
    )
    return Done(result=result)


def test_time_left_is_shared_by_the_workers(cell: Make) -> None:
    cells = [cell(seed=seed) for seed in range(4)]
    assert progress_of(cells, {"GCN": 2.0}).seconds_left() == 80.0
    assert progress_of(cells, {"GCN": 2.0}, jobs=2).seconds_left() == 40.0
    assert progress_of(cells, {"GCN": 2.0}, jobs=64).seconds_left() == 20.0, "the cells are fewer than the workers"
    assert progress_of([], {"GCN": 2.0}).seconds_left() == 0.0


def test_time_left_is_no_shorter_than_the_longest_cell(cell: Make) -> None:
    cells = [*(cell(seed=seed) for seed in range(3)), cell("GAT")]
    assert progress_of(cells, {"GCN": 0.1, "GAT": 6.0}, jobs=4).seconds_left() == 60.0


def test_time_left_follows_a_machine_that_is_slower_than_expected(cell: Make) -> None:
    models = ("GCN", "GAT", "MLP", "GraphSAGE")
    cells = [cell(model, seed) for model in models for seed in range(5)]
    shown = progress_of(cells, dict.fromkeys(models, 0.4), jobs=2)
    assert shown.seconds_left() == 40.0
    for n, one in enumerate(cells, start=1):
        shown.hear(done(one, seconds=52.0))
        assert shown.seconds_left() == pytest.approx(52 * (20 - n) / min(2, 20 - n) if n < 20 else 0.0)


def test_time_left_is_unknown_until_a_cell_has_ended(cell: Make) -> None:
    cells = [cell(seed=seed) for seed in range(3)]
    shown = progress_of(cells)
    assert shown.seconds_left() is None
    shown.hear(Started(cell=cells[0]))
    shown.hear(Points(cell=cells[0], rows=((0, {"train/loss": 1.0}),)))
    assert (shown.n_done, shown.seconds_left()) == (0, None)
    shown.hear(done(cells[0]))
    assert (shown.n_done, shown.seconds_left()) == (1, 40.0)


def test_a_quick_failure_says_nothing_of_time(cell: Make) -> None:
    cells = [cell(seed=seed) for seed in range(3)]
    shown = progress_of(cells)
    shown.hear(done(cells[0], seconds=0.01, score=None))
    assert (shown.n_done, shown.n_failed, shown.seconds_left()) == (1, 1, None)


def test_cells_of_one_label_are_counted_apart(cell: Make) -> None:
    # The label does not tell protocols and epochs.
    cells = [cell(), replace(cell(), epochs=20)]
    assert cells[0].label == cells[1].label
    shown = progress_of(cells, {"GCN": 1.0})
    assert shown.seconds_left() == 30.0
    shown.hear(done(cells[0], seconds=10.0))
    assert shown.seconds_left() == 20.0


@pytest.mark.usefixtures("all_lines")
def test_without_a_terminal_lines_are_plain(cell: Make, capsys: pytest.CaptureFixture[str]) -> None:
    cells = [cell(seed=seed) for seed in range(3)]
    with progress_of(cells) as shown:
        shown.hear(done(cells[0], score=None))
        shown.hear(done(cells[1], seconds=125.0, score=0.81649))
        shown.hear(done(cells[2]))
    said = capsys.readouterr()
    assert said.out == "", "the standard output is for results"
    assert said.err.splitlines() == [
        "1/3 cells, 1 failed, time left unknown, last: nodes GCN s0 failed",
        "2/3 cells, 1 failed, about 2 min 5 s left, last: nodes GCN s1 accuracy 0.816",
        "3/3 cells, 1 failed, about 0 s left, last: nodes GCN s2 accuracy 0.500",
    ]


def test_plain_lines_are_few_and_the_last_one_is_shown(cell: Make, capsys: pytest.CaptureFixture[str]) -> None:
    cells = [cell(seed=seed) for seed in range(50)]
    with progress_of(cells) as shown:
        for one in cells:
            shown.hear(done(one))
    [line] = capsys.readouterr().err.splitlines()
    assert line.startswith("50/50 cells, about 0 s left")


@pytest.mark.parametrize("name", ["[red]x[/red]", "[/nope]", ":smile:", "\x1b[31mred\x1b]0;title\x07\nnext"])
@pytest.mark.usefixtures("all_lines")
def test_names_are_no_markup_and_drive_no_terminal(name: str, cell: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    one = replace(cell(), model=replace(cell().model, name=name))
    for opened in (_terminal, _pipe):
        reading, writing = opened()
        monkeypatch.setenv("COLUMNS", "200")
        monkeypatch.setenv("TERM", "xterm")
        with os.fdopen(writing, "w") as stream:
            monkeypatch.setattr(sys, "stderr", stream)
            assert stream.isatty() == (opened is _terminal)
            with progress_of([one]) as shown:
                shown.hear(done(one))
            stream.flush()
            said = _all_from(reading)
        os.close(reading)
        written = name.replace("\x1b", r"\x1b").replace("\x07", r"\x07").replace("\n", r"\n")
        assert f"last: nodes {written} s0 accuracy 0.500" in said


def _all_from(reading: int) -> str:
    """Return what was written so far; a terminal hands it over in pieces."""
    said = b""
    while select.select([reading], [], [], 0.2)[0]:
        said += os.read(reading, 100_000)
    return said.decode()


def _terminal() -> tuple[int, int]:
    return pty.openpty()


def _pipe() -> tuple[int, int]:
    return os.pipe()


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0.0, "0 s"),
        (0.4, "0 s"),
        (59.4, "59 s"),
        (59.6, "1 min 0 s"),
        (3599.6, "1 h 0 min"),
        (7300, "2 h 1 min"),
        (90_000, "25 h 0 min"),
    ],
)
def test_durations_have_two_units(seconds: float, text: str) -> None:
    assert format_seconds(seconds) == text
