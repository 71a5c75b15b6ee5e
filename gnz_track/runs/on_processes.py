"""Cells on worker processes of this machine.

Workers live as long as the sweep. Each holds one cell and one to follow, so that it never waits for the parent. A
worker that dies or exceeds the time limit costs the cell that it was at, and nothing else: another takes its place.
"""

from __future__ import annotations

import contextlib
import signal
import sys
import time
from collections import deque
from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass, field
from multiprocessing.connection import Connection, Pipe, wait
from typing import cast

from gnz_track.runs.events import Done, Event, Started
from gnz_track.runs.nursery import Child, Nursery, open_nursery
from gnz_track.runs.one import lost_result
from gnz_track.types import Cell

__all__ = ["run_on_processes"]

# A worker has its current cell and this many in all.
QUEUE = 2


def run_on_processes(
    cells: Sequence[Cell], *, jobs: int, timeout: float | None = None, nursery: Nursery | None = None
) -> Generator[Event, None, None]:
    """Yield events as they come; cells are handed out in the given order, and end in any.

    Workers begin at once, and not when the first event is asked for. ``timeout`` is the longest time in seconds for one
    cell. Closing the iterator ends all workers. ``nursery`` is one that was opened before, to save time; it stays open.
    """
    events = _run(cells, jobs=jobs, timeout=timeout, nursery=nursery)
    # Up to where workers have their first cells.
    next(events)
    return cast("Generator[Event, None, None]", events)


def _run(
    cells: Sequence[Cell], *, jobs: int, timeout: float | None, nursery: Nursery | None
) -> Generator[Event | None, None, None]:
    waiting = deque(cells)
    with contextlib.ExitStack() as stack:
        if cells:
            nursery = nursery or stack.enter_context(open_nursery())
        workers = [_Worker(cast("Nursery", nursery)) for _ in range(min(jobs, len(cells)))]
        for worker in workers:
            stack.callback(worker.kill)
        _hand_out(waiting, workers)
        yield None
        while waiting or any(worker.cells for worker in workers):
            _hand_out(waiting, workers)
            yield from _listen(workers, waiting, timeout)


def _hand_out(waiting: deque[Cell], workers: Sequence[_Worker]) -> None:
    for worker in workers:
        while waiting and len(worker.cells) < QUEUE:
            worker.give(waiting.popleft())


@dataclass
class _Worker:
    """A child process and the cells that it has: the first is the one it is at."""

    nursery: Nursery
    cells: deque[Cell] = field(default_factory=deque)
    # When it took up its current cell; None while it starts, or has nothing to do.
    since: float | None = None

    def __post_init__(self) -> None:
        self.start()

    def start(self) -> None:
        """Start the process; it gets ready while its first cells wait in the pipe."""
        self.pipe, theirs = Pipe()
        with theirs:
            self.process: Child = self.nursery.bear(theirs)
        self.pipe.send(sys.path)
        self.since = None

    def give(self, cell: Cell) -> None:
        """Queue a cell; a process that died meanwhile is noticed when it is listened to."""
        self.cells.append(cell)
        try:
            self.pipe.send(cell)
        except (BrokenPipeError, ConnectionResetError):
            return

    def kill(self) -> None:
        """End the process, whatever it does."""
        self.process.kill()
        self.pipe.close()


def _listen(workers: Sequence[_Worker], waiting: deque[Cell], timeout: float | None) -> Iterator[Event]:
    """Yield what workers have to say within a moment, and replace those that died or hang."""
    busy = {worker.pipe: worker for worker in workers if worker.cells}
    for pipe in wait(list(busy), timeout=1.0 if timeout is None else min(1.0, timeout / 4)):
        worker = busy[cast("Connection", pipe)]
        try:
            event = worker.pipe.recv()
        except (EOFError, ConnectionResetError, OSError):
            yield _replace(worker, waiting, "WorkerDied", _describe_death(worker.process.wait()))
            continue
        if isinstance(event, Started):
            worker.since = time.monotonic()
        if isinstance(event, Done):
            worker.since = None
            worker.cells.popleft()
        yield event
    for worker in workers:
        if timeout is not None and worker.since is not None and time.monotonic() - worker.since > timeout:
            yield _replace(worker, waiting, "TimeLimit", f"the cell ran longer than {timeout:g} s; see --timeout")


def _replace(worker: _Worker, waiting: deque[Cell], kind: str, message: str) -> Done:
    """Start a worker's process anew; its queued cells go back, the one it was at has failed."""
    lost = worker.cells.popleft()
    waiting.extendleft(reversed(worker.cells))
    worker.cells.clear()
    worker.kill()
    worker.start()
    return Done(result=lost_result(lost, kind, message))


def _describe_death(code: int) -> str:
    if code >= 0:
        return f"the worker process ended with exit code {code}; its last words are above"
    name = signal.Signals(-code).name
    memory = ": most often the system was out of memory" if name == "SIGKILL" else ""
    return f"the worker process was ended by {name}{memory}"
