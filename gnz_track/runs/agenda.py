"""Cells of a plan that are left once past runs are counted, and how long they may take."""

from __future__ import annotations

import math
import statistics
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import pandas as pd

from gnz_track.datasets.catalogue import TASKS
from gnz_track.datasets.rows.times import SECONDS
from gnz_track.errors import StoreUnreachable
from gnz_track.runs.demands import Footprints
from gnz_track.runs.fingerprint import fingerprint
from gnz_track.runs.past import Past
from gnz_track.runs.plan import Plan
from gnz_track.store.address import Address
from gnz_track.store.results import empty_table
from gnz_track.types import Cell

__all__ = ["Agenda", "Paces", "make_agenda"]


class Paces:
    """Seconds per epoch of (task, model), learnt from past runs and from each cell that ends."""

    def __init__(self, known: Mapping[tuple[str, str], float] | None = None) -> None:
        self._known = {pair: [pace] for pair, pace in (known or {}).items()}

    def learn(self, cell: Cell, seconds: float) -> None:
        """Take the time of a cell into account."""
        self._known.setdefault(_pair_of(cell), []).append(seconds / cell.epochs)

    def seconds(self, cell: Cell) -> float | None:
        """Return how long a cell may take; None where no such cell was seen."""
        seen = self._known.get(_pair_of(cell))
        return statistics.median(seen) * cell.epochs if seen else None

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
class Agenda:
    """A plan, the cells to train, longest first, and by fingerprint those that are finished already.

    ``notices`` are sentences for the user about what could not be looked up.
    """

    plan: Plan
    cells: tuple[Cell, ...]
    paces: Paces
    done: frozenset[str] = frozenset()
    past: Past | None = None
    notices: tuple[str, ...] = ()
    footprints: Footprints = field(default_factory=Footprints)

    @cached_property
    def finished(self) -> pd.DataFrame:
        """The rows of the cells that are finished already; read when they are asked for, which takes a moment."""
        return self.past.rows(self.done) if self.past else empty_table()


def make_agenda(plan: Plan, address: Address, *, is_fresh: bool = False) -> Agenda:
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
        return _look_up(plan, wanted, Past(address, tasks), is_fresh=is_fresh)
    except StoreUnreachable as error:
        here = _look_up(plan, wanted, Past(address, tasks, has_store=False), is_fresh=is_fresh)
        said = f"{error}. Past runs are unknown: what does not wait on this disk is trained anew."
        return replace(here, notices=(*here.notices, said))


def _look_up(plan: Plan, wanted: Mapping[str, Cell], past: Past, *, is_fresh: bool) -> Agenda:
    done = frozenset() if is_fresh else frozenset(wanted.keys() & past.finished())
    cells = [cell for key, cell in wanted.items() if key not in done]
    costs = past.costs({cell.task.name for cell in cells})
    paces = _paces(costs, cells)
    return Agenda(
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
