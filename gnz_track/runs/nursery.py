"""Where worker processes come from. Nothing heavy is imported here.

Importing Torch and PyG takes seconds. On Linux one process does it once, and each worker is a fork of it, ready at
once, with all that was imported shared in memory; so a worker that died is replaced in a moment. That process trains
nothing, starts no thread and touches no device, and so has nothing that a fork could break. The command line, whose
process is nobody else's, forks that process from itself while it has done nothing but import; from Python it is a fresh
one. On other systems every worker is a process of its own that imports everything itself.
"""

from __future__ import annotations

import contextlib
import importlib
import os
import signal
import socket
import struct
import subprocess
import sys
import threading
from collections import deque
from multiprocessing.connection import Connection
from pathlib import Path
from types import TracebackType
from typing import Protocol, Self

__all__ = ["ANSWER", "FORK", "MESSAGE", "Child", "Nursery", "open_nursery", "open_nursery_for"]

# What the nursery is asked, with a process id; it answers with a number: the new process id, or how one ended.
FORK, WAIT = 1, 2
MESSAGE = struct.Struct("<qq")
ANSWER = struct.Struct("<q")
# The allocator of a library that PyG imports; it has its own answer to forks.
SAFE_THREADS = frozenset({"jemalloc_bg_thd"})
WORKER = "gnz_track.runs.worker"
_ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")


class Child(Protocol):
    """A worker process."""

    def kill(self) -> None:
        """End it, whatever it does, and wait until it is gone."""

    def wait(self) -> int:
        """Return how it ended: its exit code, or minus the signal that ended it."""


class Nursery(Protocol):
    """A source of worker processes; a context manager that leaves none behind."""

    def bear(self, pipe: Connection) -> Child:
        """Start a worker on its end of a pipe."""

    def __enter__(self) -> Self: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None: ...


def open_nursery(*, may_fork: bool = False) -> Nursery:
    """Return a nursery that begins to import at once; the sooner it is opened, the sooner workers are ready.

    ``may_fork`` says that this process is nobody else's: then what it imports itself is shared.
    """
    return _Forking(may_fork=may_fork) if sys.platform == "linux" else _Spawning()


def open_nursery_for(
    *, jobs: int, timeout: float | None, may_fork: bool = False
) -> contextlib.AbstractContextManager[Nursery | None]:
    """Return a nursery where workers will be needed, and an empty context where cells are trained in this process."""
    return contextlib.nullcontext() if jobs == 1 and timeout is None else open_nursery(may_fork=may_fork)


class _Spawning:
    """Every worker is a fresh process."""

    def bear(self, pipe: Connection) -> _Spawned:
        return _Spawned(_start("--pipe", pipe.fileno()))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """Leave no worker: whoever asked for one ends it."""


class _Spawned:
    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self._process = process

    def kill(self) -> None:
        self._process.kill()
        self._process.wait()

    def wait(self) -> int:
        return self._process.wait()


class _Own:
    """A child of this process, forked by itself."""

    def __init__(self, pid: int) -> None:
        self.pid = pid

    def kill(self) -> None:
        os.kill(self.pid, signal.SIGKILL)
        self.wait()

    def wait(self) -> int:
        return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])


class _Forking:
    """Every worker is a fork of one process that has imported everything."""

    def __init__(self, *, may_fork: bool = False) -> None:
        self._open(may_fork=may_fork)

    def bear(self, pipe: Connection) -> _Forked:
        try:
            self._ask(FORK, 0, [pipe.fileno()])
        except (BrokenPipeError, ConnectionResetError):
            # The nursery is gone, and with it all workers: a new one takes their place.
            self.close()
            self._open()
            self._ask(FORK, 0, [pipe.fileno()])
        child = _Forked(self)
        self._unborn.append(child)
        return child

    def read_births(self) -> None:
        """Learn the process ids of all that were asked for; the nursery answers once it has imported."""
        while self._unborn:
            self._unborn[0].pid = self._answer()
            self._unborn.popleft()

    def wait_for(self, pid: int) -> int:
        """Wait until a worker is gone, and return how it ended."""
        self._ask(WAIT, pid)
        return self._answer()

    def close(self) -> None:
        """End the nursery; the kernel ends its workers with it."""
        self._process.kill()
        self._socket.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _open(self, *, may_fork: bool = False) -> None:
        self._unborn: deque[_Forked] = deque()
        self._socket, theirs = socket.socketpair()
        with theirs:
            here = _fork_here(theirs, self._socket) if may_fork else None
            self._process: Child = here or _Spawned(_start("--nursery", theirs.fileno()))

    def _ask(self, what: int, pid: int, files: list[int] | None = None) -> None:
        if files:
            socket.send_fds(self._socket, [MESSAGE.pack(what, pid)], files)
        else:
            self._socket.sendall(MESSAGE.pack(what, pid))

    def _answer(self) -> int:
        answer = self._socket.recv(ANSWER.size, socket.MSG_WAITALL)
        if len(answer) < ANSWER.size:
            raise ConnectionResetError
        return int(ANSWER.unpack(answer)[0])


class _Forked:
    """A fork of the nursery; its process id is known once it is born."""

    def __init__(self, nursery: _Forking) -> None:
        self.pid = 0
        self._nursery = nursery
        self._code: int | None = None

    def kill(self) -> None:
        with contextlib.suppress(OSError):
            self._nursery.read_births()
            if self._code is None:
                # Nobody but the nursery takes note of its end, so the number is not another process's yet.
                os.kill(self.pid, signal.SIGKILL)
                self.wait()

    def wait(self) -> int:
        if self._code is None:
            try:
                self._nursery.read_births()
                self._code = self._nursery.wait_for(self.pid)
            except OSError:
                # The nursery died too: the kernel has ended its workers.
                self._code = -signal.SIGKILL
        return self._code


def _fork_here(theirs: socket.socket, ours: socket.socket) -> _Own | None:
    """Return a nursery forked from this process once it has imported what workers need; None where that is not safe."""
    # Read when Torch is imported; this process only plans and writes.
    os.environ.update(_ONE_THREAD)
    worker = importlib.import_module(WORKER)
    worker.import_all()
    threads = {task.joinpath("comm").read_text().strip() for task in Path("/proc/self/task").iterdir()}
    n_threads = threading.active_count()
    if n_threads > 1 or threads - SAFE_THREADS - {Path("/proc/self/comm").read_text().strip()}:
        return None
    sys.stdout.flush()
    sys.stderr.flush()
    parent = os.getpid()
    pid = os.fork()
    if pid:
        return _Own(pid)
    try:
        ours.close()
        worker.become_nursery(theirs.fileno(), parent)
    finally:
        # Never back into what the command line would do next.
        os._exit(0)


def _start(mode: str, file: int) -> subprocess.Popen[bytes]:
    return subprocess.Popen(  # noqa: S603  (our own interpreter and module)
        [sys.executable, "-m", WORKER, mode, str(file)],
        pass_fds=[file],
        env={**os.environ, **_ONE_THREAD},
        stdin=subprocess.DEVNULL,
    )
