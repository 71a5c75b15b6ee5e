"""Progress of a sweep: a live line on a terminal, plain lines elsewhere."""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from types import TracebackType
from typing import Any, Protocol, Self

from gnz_track.runs.executors.events import Done, Event
from gnz_track.runs.fingerprint import fingerprint
from gnz_track.runs.remaining import RemainingCells
from gnz_track.streams import tell
from gnz_track.text import format_seconds, visible
from gnz_track.types import CellResult

__all__ = ["Line", "Progress", "count_aloud", "open_line", "tell_failures"]

# Without a terminal, at most one line in so many seconds.
PLAIN_INTERVAL = 5.0
MOST_REASON = 300


class Progress:
    """Shows on standard error how many cells are done, failed and left; hears the events of a sweep.

    The time left is what past runs, and the cells of this sweep so far, say of the cells that are left.
    """

    def __init__(self, remaining: RemainingCells, *, jobs: int = 1) -> None:
        self.n_done = self.n_failed = 0
        self.total = len(remaining.cells)
        self._n_before, self._n_wanted = len(remaining.done), len(remaining.plan.cells)
        self._left = {fingerprint(cell): cell for cell in remaining.cells}
        self._paces, self._jobs = remaining.paces, jobs
        self._line = open_line(self.total)

    def __enter__(self) -> Self:
        self._line.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._line.stop()

    def hear(self, event: Event) -> None:
        """Count a cell that ended, and show it."""
        if not isinstance(event, Done):
            return
        result = event.result
        self.n_done += 1
        self.n_failed += not result.is_finished
        self._left.pop(fingerprint(result.cell), None)
        if result.is_finished:
            self._paces.learn(result.cell, result.seconds)
        self._line.show(self._describe(result), self.n_done, is_last=self.n_done == self.total)

    def count_kept(self) -> str:
        """Say how many cells of the plan are finished, those of earlier calls included."""
        return f"{self._n_before + self.n_done - self.n_failed} of {self._n_wanted} cells"

    @staticmethod
    def say(sentence: str) -> None:
        """Write a sentence where progress is shown."""
        tell(visible(sentence, keeps_lines=True) + "\n")

    def seconds_left(self) -> float | None:
        """Return how long the cells that are left may take; None where nothing is known of them."""
        return self._paces.time(self._left.values(), jobs=self._jobs)

    def _describe(self, result: CellResult) -> str:
        left = self.seconds_left()
        failed = f", {self.n_failed} failed" if self.n_failed else ""
        score = "failed" if result.score is None else f"{result.metric} {result.score:.3f}"
        time_left = "time left unknown" if left is None else f"about {format_seconds(left)} left"
        return f"{self.n_done}/{self.total} cells{failed}, {time_left}, last: {result.cell.label} {score}"


def tell_failures(results: Sequence[CellResult]) -> list[str]:
    """Return a sentence for each reason why cells failed, the most frequent first."""
    cells: dict[str, list[str]] = {}
    for result in results:
        if result.failure is not None:
            reason = " ".join(f"{result.failure.kind}: {result.failure.message}".split())[:MOST_REASON]
            cells.setdefault(reason, []).append(result.cell.label)
    by_number = sorted(cells.items(), key=lambda item: -len(item[1]))
    return [
        f"failed: {len(labels)} cell{'s' if len(labels) > 1 else ''}, {labels[0]}"
        f"{' and others' if len(labels) > 1 else ''}: {reason} (traceback: gnz ui, or the column error of the table)"
        for reason, labels in by_number
    ]


class Line(Protocol):
    """One line that says how far something is."""

    def start(self) -> None:
        """Show it."""

    def stop(self) -> None:
        """Leave it as it is."""

    def show(self, text: str, n_done: int, *, is_last: bool) -> None:
        """Say something else in it.

        Parameters
        ----------
        text
            Line to show.
        n_done
            Cells that have ended.
        is_last
            Whether no other follows.
        """


@contextlib.contextmanager
def count_aloud() -> Iterator[Callable[[int, int, str], None]]:
    """Yield what shows how many are done, of how many, and which was the last; the line begins with the first."""
    lines: list[Line] = []

    def show(n_done: int, total: int, label: str) -> None:
        if not lines:
            lines.append(open_line(total))
            lines[0].start()
        lines[0].show(f"{n_done}/{total} cells, last: {label}", n_done, is_last=n_done == total)

    try:
        yield show
    finally:
        for line in lines:
            line.stop()


def open_line(total: int) -> Line:
    """Return a live line on a terminal, and one that is written now and then elsewhere."""
    return _Live(total) if sys.stderr is not None and not sys.stderr.closed and sys.stderr.isatty() else _Plain()


class _Plain:
    """Lines for a log."""

    def __init__(self) -> None:
        self._shown = time.monotonic()

    def start(self) -> None:
        self._shown = time.monotonic()

    def stop(self) -> None:
        """Leave the last line as it is."""

    def show(self, text: str, n_done: int, *, is_last: bool) -> None:
        del n_done
        now = time.monotonic()
        if is_last or now - self._shown >= PLAIN_INTERVAL:
            self._shown = now
            tell(visible(text) + "\n")


class _Live:
    """One line that is written again and again."""

    def __init__(self, total: int) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, TextColumn, TimeElapsedColumn
        from rich.progress import Progress as Bar

        # Names are text as it is, never markup.
        text = TextColumn("{task.description}", markup=False)
        self._bar: Any = Bar(BarColumn(bar_width=20), TimeElapsedColumn(), text, console=Console(stderr=True))
        self._follower = self._bar.add_task("starting", total=total)

    def start(self) -> None:
        self._bar.start()

    def stop(self) -> None:
        self._bar.stop()

    def show(self, text: str, n_done: int, *, is_last: bool) -> None:
        del is_last
        self._bar.update(self._follower, completed=n_done, description=visible(text))
