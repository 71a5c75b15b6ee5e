"""How far a sweep is: a live line on a terminal, plain lines elsewhere."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable, Iterator

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from gnz_track.types import CellResult

__all__ = ["follow"]

# Without a terminal, at most one line in so many seconds.
PLAIN_INTERVAL = 5.0


def follow(results: Iterable[CellResult], *, total: int) -> Iterator[CellResult]:
    """Pass results on as they come, and show on standard error how many are done, failed and left."""
    yield from (_follow_live if sys.stderr.isatty() else _follow_plainly)(results, total)


def _follow_live(results: Iterable[CellResult], total: int) -> Iterator[CellResult]:
    from rich.console import Console

    columns = (BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), TimeRemainingColumn())
    # Names are text as it is, never markup.
    names = TextColumn("{task.description}", markup=False)
    with Progress(*columns, names, console=Console(stderr=True)) as bar:
        follower = bar.add_task("", total=total)
        n_failed = 0
        for result in results:
            n_failed += not result.is_finished
            bar.update(follower, advance=1, description=_describe(result, n_failed))
            yield result


def _follow_plainly(results: Iterable[CellResult], total: int) -> Iterator[CellResult]:
    started = shown = time.monotonic()
    n_failed = 0
    for n_done, result in enumerate(results, start=1):
        n_failed += not result.is_finished
        now = time.monotonic()
        if now - shown >= PLAIN_INTERVAL or n_done == total:
            shown = now
            left = (now - started) / n_done * (total - n_done)
            sys.stderr.write(f"{n_done}/{total} cells, about {left:.0f} s left, {_describe(result, n_failed)}\n")
            sys.stderr.flush()
        yield result


def _describe(result: CellResult, n_failed: int) -> str:
    failed = f"{n_failed} failed, " if n_failed else ""
    score = "failed" if result.score is None else f"{result.metric} {result.score:.3f}"
    return f"{failed}last: {result.cell.label} {score}"
