"""Cells that wait for a worker, by whose code they run. No torch here."""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterable

from gnz_track.runs.own_code import owner_of
from gnz_track.types import Cell

__all__ = ["CellQueue"]


class CellQueue:
    """Cells in the order in which they were given, those of each owner apart; see :func:`owner_of`."""

    def __init__(self, cells: Iterable[Cell]) -> None:
        self._queues: dict[str, deque[tuple[int, Cell]]] = {}
        self._first = 0
        for place, cell in enumerate(cells):
            self._queues.setdefault(owner_of(cell), deque()).append((place, cell))

    def __bool__(self) -> bool:
        return bool(self._queues)

    def has(self, owner: str) -> bool:
        """Tell whether cells of an owner wait."""
        return owner in self._queues

    def take(self, owner: str) -> Cell:
        """Return the first cell of an owner, which waits no more."""
        queue = self._queues[owner]
        _, cell = queue.popleft()
        if not queue:
            del self._queues[owner]
        return cell

    def put_back(self, cells: Collection[Cell]) -> None:
        """Let cells wait before all others."""
        for cell in reversed(list(cells)):
            self._first -= 1
            self._queues.setdefault(owner_of(cell), deque()).appendleft((self._first, cell))

    def next_owner(self, served: Collection[str | None]) -> str:
        """Return the owner of the first cell; one that no worker serves comes before those that are served.

        So workers change hands seldom, and still none is idle while anything waits.
        """
        return min(self._queues, key=lambda owner: (owner in served, self._queues[owner][0][0]))
