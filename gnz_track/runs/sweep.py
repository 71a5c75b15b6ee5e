"""A sweep: what is left of a plan, trained by an executor and written by this one process.

The same call again goes on where the last one stopped. Results reach the disk before they reach the store, so a store
that is away costs none of them.

The first cells are the preflight: one of each (task, model, hyperparameters) comes before all others, so that what
cannot be trained is known before hours are spent on the rest. Each is trained as it would be later: a sweep in which
nothing fails costs nothing more, and has the same numbers.
"""

from __future__ import annotations

import contextlib
import hashlib
import re
import uuid
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import pandas as pd

from gnz_track.datasets.steady import read_again
from gnz_track.errors import StoreUnreachable
from gnz_track.runs.executors.choice import Executor
from gnz_track.runs.executors.events import Done, Event, Leaked, Tell, ignore
from gnz_track.runs.files_of_cell import BEST
from gnz_track.runs.fingerprint import fingerprint
from gnz_track.runs.plan import Plan, Skipped
from gnz_track.runs.remaining import RemainingCells
from gnz_track.runs.sweep_writer import SweepWriter, Tracking, write_wanted
from gnz_track.store.outbox import files_of_outbox, outbox_folder
from gnz_track.store.results_table import empty_table, one_row_per_cell
from gnz_track.store.run_record import check_cells
from gnz_track.store.sweep_manifest import is_concluded
from gnz_track.training.metrics import METRICS
from gnz_track.types import Cell, CellResult, Value

__all__ = ["Preflight", "Sweep", "name_sweep", "order_for_preflight", "run_sweep", "say_once"]

# How the error of a store that is away goes on behind its reason.
REPLAYED = "Records that were spooled are replayed with:"


@dataclass(frozen=True, eq=False)
class Sweep:
    """A sweep that was carried out: a row per cell of its plan, the results of this call, and words for the user.

    ``refusal`` says why it was ended: every cell of it fails in the same way, before its first epoch.
    """

    name: str
    table: pd.DataFrame
    results: tuple[CellResult, ...]
    skipped: tuple[Skipped, ...]
    notices: tuple[str, ...]
    refusal: str = ""

    def series(self) -> dict[str, Mapping[str, tuple[float, ...]]]:
        """Return fingerprint -> series, of the cells that this call trained."""
        return {fingerprint(result.cell): result.series for result in self.results}


def run_sweep(remaining: RemainingCells, tracking: Tracking, *, execute: Executor, tell: Tell = ignore) -> Sweep:
    """Train the cells of a plan and write each as it ends; where all fail in the same way, a few are enough.

    An interrupt ends the workers: what was done is kept, and what was running is marked as killed.

    Parameters
    ----------
    remaining
        Cells to train, and those that are finished.
    tracking
        Store and names of the sweep.
    execute
        Trains cells and yields their results.
    tell
        Hears of every event once it is written.
    """
    # What no store would take is told before anything is trained for it.
    check_cells(remaining.cells, suite=tracking.suite, sweep=tracking.sweep, metrics=METRICS.names())
    if _is_written(remaining, tracking):
        finished, unread = _read_finished(remaining)
        notices = say_once((*remaining.notices, *unread))
        return Sweep(tracking.sweep, _in_order(finished, remaining.plan), (), remaining.plan.skipped, notices)
    results, leaks = [], []
    preflight = Preflight(() if remaining.done else remaining.cells)

    def hear(event: Event) -> None:
        if isinstance(event, Leaked):
            leaks.append(str(event))
        else:
            writer.take(event)
        tell(event)

    # Workers begin while the store is opened. They are ended first, so that what still ran can be marked.
    executing = execute(order_for_preflight(remaining.cells), hear)
    with (
        contextlib.closing(executing),
        SweepWriter(tracking, plan=remaining.plan) as writer,
        contextlib.closing(executing),
    ):
        # While workers get ready: later the store may be away, and with it what was done before.
        finished, unread = _read_finished(remaining)
        for result in executing:
            # Their files are written as they come; a sweep of thousands must not hold all of them.
            results.append(replace(result, files={}))
            hear(Done(result=result))
            if preflight.take(result):
                break
    changed = _read_data_again(remaining, results)
    rows = [table for table in (finished, *writer.tables()) if not table.empty]
    table = one_row_per_cell(pd.concat(rows, ignore_index=True)) if rows else finished
    notices = say_once((*remaining.notices, *unread, *writer.notices, *leaks, *changed))
    table = _in_order(table, remaining.plan)
    return Sweep(tracking.sweep, table, tuple(results), remaining.plan.skipped, notices, refusal=preflight.reason)


def _is_written(remaining: RemainingCells, tracking: Tracking) -> bool:
    """Tell whether there is nothing to train and nothing to write: the same sweep has ended, and nothing waits."""
    if remaining.cells or tracking.system_metrics or files_of_outbox(outbox_folder(tracking.address)):
        return False
    if any(cell.keep == BEST for cell in remaining.plan.cells):
        # Weights that were beaten may still be there.
        return False
    try:
        return is_concluded(tracking.address, tracking.sweep, plan=write_wanted(remaining.plan, tracking))
    except StoreUnreachable:
        # It was there a moment ago; the writer says what becomes of it.
        return False


def _read_data_again(remaining: RemainingCells, results: Iterable[CellResult]) -> list[str]:
    """Return a sentence for each dataset of finished cells that is another one by now."""
    trained = {result.cell.dataset_digest for result in results if result.is_finished}
    cells = [cell for cell in remaining.cells if cell.dataset_digest in trained]
    data = {(cell.data, cell.dataset_digest, cell.task.dataset) for cell in cells}
    found = (read_again(folder, digest=digest, name=name) for folder, digest, name in sorted(data))
    return [f"{sentence}. Cells that had ended before it changed are not concerned" for sentence in found if sentence]


def _read_finished(remaining: RemainingCells) -> tuple[pd.DataFrame, tuple[str, ...]]:
    """Return the rows of what was done before; where the store has gone away since it was asked, none and a word."""
    try:
        return remaining.finished, ()
    except StoreUnreachable as error:
        said = f"{error}. {len(remaining.done)} cells of earlier calls are missing here; the same call shows them."
        return empty_table(), (said,)


def say_once(notices: Iterable[str]) -> tuple[str, ...]:
    """Return notices in which no store is told of twice for one reason; of later ones what follows from it stays."""
    said: list[str] = []
    away: set[str] = set()
    for notice in notices:
        reason, mark, rest = notice.partition(f". {REPLAYED}")
        said.append(rest.rpartition(". ")[2] if mark and reason in away else notice)
        away.add(reason)
    return tuple(dict.fromkeys(said))


def _in_order(table: pd.DataFrame, plan: Plan) -> pd.DataFrame:
    """Return the rows of a results table in the order of their cells in the plan."""
    places = {fingerprint(cell): number for number, cell in enumerate(plan.cells)}
    return table.iloc[table["fingerprint"].map(places).argsort(kind="stable")].reset_index(drop=True)


def name_sweep(cells: Iterable[Cell], *, suite: str, is_fresh: bool = False) -> str:
    """Return the name of a sweep: the same cells wanted again are the same sweep.

    Parameters
    ----------
    cells
        All cells of the sweep.
    suite
        Name of its suite, with which its own begins.
    is_fresh
        Whether it is another sweep than all before.
    """
    text = "".join(sorted(map(fingerprint, cells)))
    mark = uuid.uuid4().hex if is_fresh else text
    return f"{suite}-{hashlib.sha256(mark.encode()).hexdigest()[:8]}"


Group = tuple[str, str, tuple[tuple[str, Value], ...]]
# Kinds of failure that another attempt or another seed may not meet.
_BY_CHANCE = frozenset({"Diverged", "ScoreUndefined", "DataCorrupted", "MemoryError", "OutOfMemoryError", "OSError"})
# Sizes in a message differ from task to task where the mistake is one; of code of others its place tells that.
_NUMBER = re.compile(r"\d+")


def order_for_preflight(cells: Iterable[Cell]) -> list[Cell]:
    """Return cells in an order in which one of each (task, model, hyperparameters) comes before all others."""
    first: dict[Group, Cell] = {}
    rest = [cell for cell in cells if first.setdefault(_group_of(cell), cell) is not cell]
    return [*first.values(), *rest]


class Preflight:
    """Hears results, and tells whether each group of cells has failed in the same way before its first epoch."""

    def __init__(self, cells: Iterable[Cell]) -> None:
        self._left = {_group_of(cell) for cell in cells}
        self._is_open = bool(self._left)
        self._ways: set[tuple[str, str]] = set()
        self._reason = ""

    def take(self, result: CellResult) -> bool:
        """Take a result into account; return whether every other cell would fail in the same way."""
        if not self._is_open:
            return False
        failure = result.failure
        # What never came to a worker's hands, or was lost with it, has no instructions.
        if failure is None or result.series or not result.instructions or failure.kind in _BY_CHANCE:
            self._is_open = False
            return False
        self._left.discard(_group_of(result.cell))
        place = _place_of(failure.traceback)
        self._ways.add((failure.kind, place or _NUMBER.sub("0", failure.message)))
        self._reason = self._reason or f"{failure.kind}: {failure.message}{place}"
        self._is_open = len(self._ways) == 1
        return self._is_open and not self._left

    @property
    def reason(self) -> str:
        """Why every cell fails, and where; nothing as long as one may not."""
        return " ".join(self._reason.split()) if self._is_open and not self._left else ""


def _group_of(cell: Cell) -> Group:
    return cell.task.name, cell.model.name, cell.hyperparameters


# Code that whoever wrote a model did not write: this package, and what is installed.
_NOT_THEIRS = (str(Path(__file__).parents[1]), "site-packages")
_FRAME = re.compile(r'^  File "(?P<file>[^"]+)", line (?P<line>\d+), in (?P<function>\S+)', re.MULTILINE)


def _place_of(text: str) -> str:
    """Return the last place of a traceback that is neither ours nor a library's, in parentheses."""
    frames = [one for one in _FRAME.finditer(text) if not any(mark in one["file"] for mark in _NOT_THEIRS)]
    if not frames:
        return ""
    last = frames[-1]
    name = re.split(r"[/\\]", last["file"])[-1]
    return f" ({name}, line {last['line']}, in {last['function']})"
