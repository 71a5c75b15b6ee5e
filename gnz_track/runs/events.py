"""What an executor reports while it works, in this order for each cell: started, any number of points, done."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from gnz_track.types import Cell, CellResult

__all__ = ["Done", "Event", "Points", "Started", "results_of"]


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


Event = Started | Points | Done


def results_of(events: Iterable[Event]) -> Iterator[CellResult]:
    """Yield the results among events."""
    return (event.result for event in events if isinstance(event, Done))
