"""Where cells are trained. An executor takes cells and yields results, and tells meanwhile what goes on."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Generator, Sequence

from gnz_track.errors import BadValue
from gnz_track.runs.events import Done, Event, Tell
from gnz_track.runs.nursery import Nursery
from gnz_track.runs.on_inline import run_inline
from gnz_track.runs.on_processes import run_on_processes
from gnz_track.types import Cell, CellResult

__all__ = ["Executor", "choose_executor"]

# Its iterator is closed when nobody wants more results; workers may begin before it is asked for the first.
Executor = Callable[[Sequence[Cell], Tell], Generator[CellResult, None, None]]


def choose_executor(*, jobs: int = 1, timeout: float | None = None, nursery: Nursery | None = None) -> Executor:
    """Return what trains cells: this process, or workers where there are several or a time limit is to be kept."""
    if not isinstance(jobs, int) or jobs < 1:
        raise BadValue("jobs", jobs, "a whole number from 1 upwards", command="--jobs 2")
    if timeout is not None and not timeout > 0:
        raise BadValue("timeout", timeout, "seconds, more than 0", command="--timeout 300")
    if jobs == 1 and timeout is None:
        return run_inline

    def run_on_workers(cells: Sequence[Cell], tell: Tell) -> Generator[CellResult, None, None]:
        results = _results(run_on_processes(cells, jobs=jobs, timeout=timeout, nursery=nursery), tell)
        # Up to where the workers are its own to end.
        next(results)
        return results

    return run_on_workers


def _results(events: Generator[Event, None, None], tell: Tell) -> Generator[CellResult, None, None]:
    with contextlib.closing(events):
        yield None  # type: ignore[misc]
        for event in events:
            if isinstance(event, Done):
                yield event.result
            else:
                tell(event)
