"""Events that an executor reports while it works, in this order for each cell: started, any number of points, done.

Before a cell is started it may be said that a process was not fit for it any more, and that another trains it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from gnz_track.types import Cell, CellResult

__all__ = ["Done", "Event", "Leaked", "Points", "Started", "Tell", "gather", "ignore"]

# Cells shorter than this are reported once, when they end.
STREAM_INTERVAL = 10.0


@dataclass(frozen=True, kw_only=True)
class Started:
    """A worker has taken up a cell."""

    cell: Cell


@dataclass(frozen=True, kw_only=True)
class Points:
    """Epochs of a long cell, as they come: ``(epoch, {series: value})``."""

    cell: Cell
    rows: tuple[tuple[int, Mapping[str, float]], ...]


@dataclass(frozen=True, kw_only=True)
class Done:
    """A cell has ended, finished or failed."""

    result: CellResult

    @property
    def cell(self) -> Cell:
        """The cell that ended."""
        return self.result.cell


@dataclass(frozen=True, kw_only=True)
class Leaked:
    """The cell was not begun where it waited: what ran there before has changed the process, as ``reason`` says."""

    cell: Cell
    reason: str

    def __str__(self) -> str:
        return f"{self.reason}; {self.cell.label} was trained in a new process instead"


Event = Started | Points | Done | Leaked
Tell = Callable[[Event], None]


def ignore(_: Event) -> None:
    """Hear an event and do nothing."""


def gather(cell: Cell, tell: Tell) -> Callable[[int, Mapping[str, float]], None]:
    """Return an observer of epochs that tells what has gathered every few seconds."""
    gathered: list[tuple[int, Mapping[str, float]]] = []
    told = time.monotonic()

    def observe(epoch: int, row: Mapping[str, float]) -> None:
        nonlocal told
        gathered.append((epoch, dict(row)))
        now = time.monotonic()
        if now - told >= STREAM_INTERVAL:
            tell(Points(cell=cell, rows=tuple(gathered)))
            gathered.clear()
            told = now

    return observe
