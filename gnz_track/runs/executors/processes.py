"""Cells on worker processes of this machine.

Workers of our own models live as long as the sweep. Code of others may change a process for good, so a worker that has
run the model of somebody else trains that model alone, and is replaced where other cells are left. Each holds one cell
and one to follow, so that it never waits for the parent. A worker that dies or exceeds the time limit costs the cell
that it was at, and nothing else: another takes its place.
"""

from __future__ import annotations

import contextlib
import signal
import sys
from collections import deque
from collections.abc import Collection, Generator, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from multiprocessing.connection import Connection, Pipe, wait
from typing import cast

from gnz_track.runs.executors.events import Done, Event, Leaked, Started
from gnz_track.runs.executors.fork_server import Child, ForkServer, open_fork_server
from gnz_track.runs.owners import owner_of
from gnz_track.types import Cell
from gnz_track.waking_time import WakingTime

__all__ = ["CellQueue", "run_on_processes"]


class CellQueue:
    """Cells in the order in which they were given, those of each owner apart; see :func:`owner_of`."""

    def __init__(self, cells: Iterable[Cell]) -> None:
        self._queues: dict[str, deque[tuple[int, Cell]]] = {}
        self._first = 0
        for place, cell in enumerate(cells):
            self._queues.setdefault(owner_of(cell.model), deque()).append((place, cell))

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
            self._queues.setdefault(owner_of(cell.model), deque()).appendleft((self._first, cell))

    def next_owner(self, served: Collection[str | None]) -> str:
        """Return the owner of the first cell; one that no worker serves comes before those that are served.

        So workers change hands seldom, and still none is idle while anything waits.
        """
        return min(self._queues, key=lambda owner: (owner in served, self._queues[owner][0][0]))


# A worker has its current cell and this many in all.
QUEUE = 2


def run_on_processes(
    cells: Sequence[Cell], *, jobs: int, timeout: float | None = None, fork_server: ForkServer | None = None
) -> Generator[Event, None, None]:
    """Yield events as they come; cells are handed out in the given order, and end in any.

    Workers begin at once, and not when the first event is asked for. Closing the iterator ends all workers.

    Parameters
    ----------
    cells
        Cells to train.
    jobs
        Most workers at once.
    timeout
        Longest time of one cell, in seconds.
    fork_server
        One that was opened before, to save time; it stays open.
    """
    events = _run_on_workers(cells, jobs=jobs, timeout=timeout, fork_server=fork_server)
    # Up to where workers have their first cells.
    next(events)
    return cast("Generator[Event, None, None]", events)


def _run_on_workers(
    cells: Sequence[Cell], *, jobs: int, timeout: float | None, fork_server: ForkServer | None
) -> Generator[Event | None, None, None]:
    waiting = CellQueue(cells)
    with contextlib.ExitStack() as stack:
        if cells:
            fork_server = fork_server or stack.enter_context(open_fork_server())
        time = WakingTime()
        workers = [_Worker(cast("ForkServer", fork_server), time) for _ in range(min(jobs, len(cells)))]
        for worker in workers:
            stack.callback(worker.kill)
        _hand_out(waiting, workers)
        yield None
        while waiting or any(worker.cells for worker in workers):
            _hand_out(waiting, workers)
            yield from _listen(workers, waiting, timeout)


def _hand_out(waiting: CellQueue, workers: Sequence[_Worker]) -> None:
    for n_cells in range(1, QUEUE + 1):
        for worker in workers:
            while waiting and len(worker.cells) < n_cells:
                owner = worker.choose_owner(waiting, workers)
                if owner is None:
                    break
                worker.give(waiting.take(owner))


@dataclass
class _Worker:
    """A child process and the cells that it has: the first is the one it is at."""

    fork_server: ForkServer
    # Of this process: one that is stopped hears of no cell that ends, and its workers may be stopped with it.
    time: WakingTime = field(default_factory=WakingTime)
    cells: deque[Cell] = field(default_factory=deque)
    # When it took up its current cell; None while it starts, or has nothing to do.
    since: float | None = None
    # Whose code it runs, see `owner_of`; None while it has run nothing.
    owner: str | None = None

    def __post_init__(self) -> None:
        self.start()

    def start(self) -> None:
        """Start the process; it gets ready while its first cells wait in the pipe."""
        self.pipe, theirs = Pipe()
        with theirs:
            self.process: Child = self.fork_server.bear(theirs)
        self.pipe.send(sys.path)
        self.since, self.owner = None, None

    def choose_owner(self, waiting: CellQueue, workers: Sequence[_Worker]) -> str | None:
        """Return whose cells to take next, in this process or one in its place; None where it has to end others first.

        Where only our own code has run, that of anybody may; where that of somebody else has, no other.
        """
        if self.owner is None or not waiting.has(self.owner):
            if self.owner and self.cells:
                return None
            if self.owner:
                self.start_anew(waiting)
            self.owner = waiting.next_owner({worker.owner for worker in workers if worker.cells})
        return self.owner

    def give(self, cell: Cell) -> None:
        """Queue a cell; a process that died meanwhile is noticed when it is listened to."""
        self.cells.append(cell)
        try:
            self.pipe.send(cell)
        except (BrokenPipeError, ConnectionResetError):
            return

    def start_anew(self, waiting: CellQueue) -> None:
        """Put another process in place of this one; its cells go back."""
        waiting.put_back(self.cells)
        self.cells.clear()
        self.kill()
        self.start()

    def kill(self) -> None:
        """End the process, whatever it does."""
        self.process.kill()
        self.pipe.close()


def _listen(workers: Sequence[_Worker], waiting: CellQueue, timeout: float | None) -> Iterator[Event]:
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
            worker.since = worker.time.seconds()
        if isinstance(event, Done):
            worker.since = None
            worker.cells.popleft()
        if isinstance(event, Leaked):
            worker.start_anew(waiting)
        yield event
    for worker in workers:
        if timeout is not None and worker.since is not None and worker.time.seconds() - worker.since > timeout:
            yield _replace(worker, waiting, "TimeLimit", f"the cell ran longer than {timeout:g} s; see --timeout")


def _replace(worker: _Worker, waiting: CellQueue, kind: str, message: str) -> Done:
    """Start a worker's process anew; its queued cells go back, the one it was at has failed."""
    # Here: nothing else of this file needs Torch, which workers import meanwhile.
    from gnz_track.runs.run_one import lost_result

    lost = worker.cells.popleft()
    worker.start_anew(waiting)
    return Done(result=lost_result(lost, kind, message))


def _describe_death(code: int) -> str:
    if code == 0:
        return (
            "the worker process ended with exit code 0 in the middle of the cell, as if all were well: "
            "something that the model calls ended it, as os._exit(0) does"
        )
    if code >= 0:
        return f"the worker process ended with exit code {code}; its last words are above"
    name = signal.Signals(-code).name
    usual = {"SIGKILL": "the system was out of memory", "SIGBUS": "a file that it had mapped was cut off"}
    reason = f": most often {usual[name]}" if name in usual else ""
    return f"the worker process was ended by {name}{reason}"
