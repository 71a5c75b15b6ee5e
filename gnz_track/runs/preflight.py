"""First cells of a sweep as its preflight: what cannot be trained is known before hours are spent on the rest.

One cell of each (task, model, hyperparameters) comes before all others. It is trained as it would be later, so that a
sweep in which nothing fails costs nothing more and has the same numbers.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

from gnz_track.types import Cell, CellResult, Value

__all__ = ["Preflight", "order_for_preflight"]

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
