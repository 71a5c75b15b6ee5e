"""Cells of a plan that are left once past runs are counted, and how long they may take."""

from __future__ import annotations

import math
import statistics
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import pandas as pd

from gnz_track.datasets.catalogue import TASKS
from gnz_track.datasets.rows.suites import SECONDS
from gnz_track.errors import StoreUnreachable
from gnz_track.runs.executors.ray.resources import Footprints
from gnz_track.runs.fingerprint import fingerprint
from gnz_track.runs.plan import Plan
from gnz_track.store.address import Address
from gnz_track.store.listings import has_tables
from gnz_track.store.outbox import outbox_folder, waiting_records
from gnz_track.store.reader import finished_fingerprints, read_table
from gnz_track.store.results_table import empty_table, one_row_per_cell, table_of_records
from gnz_track.types import Cell

__all__ = ["OF_COSTS", "Paces", "PastCells", "RemainingCells", "find_remaining"]


OF_COSTS = ("task", "model", "seconds_per_epoch", "peak_rss_mib", "peak_device_mib")


class PastCells:
    """Past runs of some tasks, in a store and waiting on this disk; without a store, those on this disk alone.

    A database is asked each question by itself, for a part of its columns. Through MLflow's search a part takes as long
    as the whole, which is read once.
    """

    def __init__(self, address: Address, tasks: Iterable[str], *, has_store: bool = True) -> None:
        self._address, self._tasks = address, tuple(tasks)
        self._waiting = table_of_records(("", record) for record in waiting_records(outbox_folder(address)))
        self._has_store = has_store and has_tables(address)

    def finished(self) -> set[str]:
        """Return the fingerprints of all finished cells."""
        rows = self._waiting if self._is_asked else self._whole_table
        waiting = set(rows["fingerprint"][rows["status"] == "finished"])
        return waiting | finished_fingerprints(self._address) if self._is_asked else waiting

    def costs(self, tasks: Collection[str]) -> pd.DataFrame:
        """Return what past cells of tasks took and held, in the columns ``OF_COSTS``."""
        if not self._is_asked:
            rows = self._whole_table
        elif tasks:
            rows = _join_tables(read_table(self._address, task=tasks, columns=OF_COSTS), self._waiting)
        else:
            rows = empty_table()
        return rows[rows["task"].isin(list(tasks))][list(OF_COSTS)]

    def rows(self, fingerprints: Collection[str]) -> pd.DataFrame:
        """Return the whole rows of finished cells."""
        if not fingerprints:
            return empty_table()
        rows = (
            _join_tables(read_table(self._address, task=self._tasks), self._waiting)
            if self._is_asked
            else self._whole_table
        )
        is_wanted = rows["fingerprint"].isin(list(fingerprints)) & (rows["status"] == "finished")
        return one_row_per_cell(rows[is_wanted])

    @property
    def _is_asked(self) -> bool:
        return self._has_store and self._address.is_database

    @cached_property
    def _whole_table(self) -> pd.DataFrame:
        return (
            _join_tables(read_table(self._address, task=self._tasks), self._waiting)
            if self._has_store
            else self._waiting
        )


def _join_tables(stored: pd.DataFrame, waiting: pd.DataFrame) -> pd.DataFrame:
    # An empty table has no types that could be joined with those of the other.
    parts = [table for table in (stored, waiting[list(stored.columns)]) if not table.empty]
    return pd.concat(parts, ignore_index=True) if parts else stored


class Paces:
    """Seconds per epoch of (task, model): the median of the cells that ended, else what was expected before.

    A machine may be slower than that of the catalogue, or busier than in past runs: what was expected is multiplied by
    how much longer than expected those cells took that ended.
    """

    def __init__(self, expected: Mapping[tuple[str, str], float] | None = None) -> None:
        self._expected = dict(expected or {})
        self._seen: dict[tuple[str, str], list[float]] = {}
        self._observed_sum = self._expected_sum = 0.0

    def learn(self, cell: Cell, seconds: float) -> None:
        """Take the time of a cell into account."""
        pair = _pair_of(cell)
        self._seen.setdefault(pair, []).append(seconds / cell.epochs)
        if pair in self._expected:
            self._observed_sum += seconds
            self._expected_sum += self._expected[pair] * cell.epochs

    def seconds(self, cell: Cell) -> float | None:
        """Return how long a cell may take; None where no such cell was seen."""
        pair = _pair_of(cell)
        if pair in self._seen:
            return statistics.median(self._seen[pair]) * cell.epochs
        if pair not in self._expected:
            return None
        slowdown = self._observed_sum / self._expected_sum if self._expected_sum else 1.0
        return self._expected[pair] * slowdown * cell.epochs

    def total(self, cells: Iterable[Cell]) -> float | None:
        """Return how long cells may take one after another; what was never seen counts as the average of the rest.

        None where nothing was seen at all.
        """
        expected = [self.seconds(cell) for cell in cells]
        known = [seconds for seconds in expected if seconds is not None]
        return statistics.fmean(known) * len(expected) if known else None if expected else 0.0

    def time(self, cells: Collection[Cell], *, jobs: int) -> float | None:
        """Return how long cells may take on so many workers; None where nothing was seen at all."""
        total = self.total(cells)
        if total is None:
            return None
        # However many workers there are, the longest cell is not shared among them.
        longest = max((self.seconds(cell) or 0.0 for cell in cells), default=0.0)
        return max(total / max(1, min(jobs, len(cells))), longest)


@dataclass(frozen=True, eq=False)
class RemainingCells:
    """A plan, the cells to train, longest first, and by fingerprint those that are finished already.

    ``notices`` are sentences for the user about what could not be looked up.
    """

    plan: Plan
    cells: tuple[Cell, ...]
    paces: Paces
    done: frozenset[str] = frozenset()
    past: PastCells | None = None
    notices: tuple[str, ...] = ()
    footprints: Footprints = field(default_factory=Footprints)

    @cached_property
    def finished(self) -> pd.DataFrame:
        """The rows of the cells that are finished already; read when they are asked for, which takes a moment."""
        return self.past.rows(self.done) if self.past else empty_table()


def find_remaining(plan: Plan, address: Address, *, is_fresh: bool = False) -> RemainingCells:
    """Look up what of a plan is finished; nothing is written.

    Records that wait on this disk count as well as runs in the store.

    Parameters
    ----------
    plan
        Cells that are wanted.
    address
        Store that may have some of them.
    is_fresh
        Whether everything is trained again.
    """
    wanted = {fingerprint(cell): cell for cell in plan.cells}
    tasks = tuple(dict.fromkeys(cell.task.name for cell in plan.cells))
    try:
        return _look_up(plan, wanted, PastCells(address, tasks), is_fresh=is_fresh)
    except StoreUnreachable as error:
        here = _look_up(plan, wanted, PastCells(address, tasks, has_store=False), is_fresh=is_fresh)
        said = f"{error}. Past runs are unknown: what does not wait on this disk is trained anew."
        return replace(here, notices=(*here.notices, said))


def _look_up(plan: Plan, wanted: Mapping[str, Cell], past: PastCells, *, is_fresh: bool) -> RemainingCells:
    done = frozenset() if is_fresh else frozenset(wanted.keys() & past.finished())
    cells = [cell for key, cell in wanted.items() if key not in done]
    costs = past.costs({cell.task.name for cell in cells})
    paces = _paces(costs, cells)
    return RemainingCells(
        plan=plan,
        cells=tuple(_longest_first(cells, paces)),
        paces=paces,
        done=done,
        past=past,
        notices=plan.notices,
        footprints=Footprints.of(costs),
    )


def _paces(past: pd.DataFrame, cells: Iterable[Cell]) -> Paces:
    """Return what past runs tell; of tasks that were never run here what the catalogue measured, for any model."""
    known = past[past["seconds_per_epoch"].notna()]
    medians = known.groupby(["task", "model"])["seconds_per_epoch"].median()
    usual = {
        _pair_of(cell): SECONDS[cell.task.name] / TASKS.get(cell.task.name).epochs
        for cell in cells
        if cell.task.name in SECONDS and cell.task.name in TASKS
    }
    return Paces({**usual, **{(str(task), str(model)): float(pace) for (task, model), pace in medians.items()}})


def _longest_first(cells: Sequence[Cell], paces: Paces) -> list[Cell]:
    """Sort so that no long cell is left over for the end; those never seen come first, since they may be long."""

    def length(cell: Cell) -> float:
        seconds = paces.seconds(cell)
        return math.inf if seconds is None else seconds

    return sorted(cells, key=length, reverse=True)


def _pair_of(cell: Cell) -> tuple[str, str]:
    return cell.task.name, cell.model.name
