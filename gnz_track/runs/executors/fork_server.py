"""Sources of worker processes. Nothing heavy is imported here.

Importing Torch and PyG takes seconds. On Linux one process does it once, and each worker is a fork of it, ready at
once, with all that was imported shared in memory; so a worker that died is replaced in a moment. That process trains
nothing, starts no thread and touches no device, and so has nothing that a fork could break; it is a fresh process, and
no fork of the caller's, which may have threads, locks and an open store. On other systems every worker is a process of
its own that imports everything itself.
"""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import struct
import subprocess
import sys
from collections import deque
from multiprocessing.connection import Connection
from types import TracebackType
from typing import Protocol, Self

from gnz_track.streams import inherited

__all__ = ["ANSWER", "FORK", "MESSAGE", "Child", "ForkServer", "open_fork_server", "open_fork_server_for"]

# What the fork server is asked, with a process id; it answers with a number: the new process id, or how one ended.
FORK, WAIT = 1, 2
MESSAGE = struct.Struct("<qq")
ANSWER = struct.Struct("<q")
WORKER = "gnz_track.runs.executors.worker"
_ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")


class Child(Protocol):
    """A worker process."""

    def kill(self) -> None:
        """End it, whatever it does, and wait until it is gone."""

    def wait(self) -> int:
        """Return how it ended: its exit code, or minus the signal that ended it."""


class ForkServer(Protocol):
    """A source of worker processes; a context manager that leaves none behind."""

    def bear(self, pipe: Connection) -> Child:
        """Start a worker on its end of a pipe."""

    def __enter__(self) -> Self: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None: ...


def open_fork_server() -> ForkServer:
    """Return a fork server that begins to import at once; the sooner it is opened, the sooner workers are ready."""
    return _Forking() if sys.platform == "linux" else _Spawning()


def open_fork_server_for(
    *, jobs: int, timeout: float | None, executor: object = "auto"
) -> contextlib.AbstractContextManager[ForkServer | None]:
    """Return a fork server where workers of this machine will or may be needed, and an empty context elsewhere.

    Parameters
    ----------
    jobs, timeout, executor
        Those of :class:`~gnz_track.runs.executors.choice.Crew`.
    """
    if executor == "processes" or (executor == "auto" and (jobs != 1 or timeout is not None)):
        return open_fork_server()
    # Models of the user's own have workers of their own, and whether there are any is not known yet.
    return _Late() if executor == "auto" else contextlib.nullcontext()


class _Late:
    """A fork server that begins when the first worker is asked for."""

    def __init__(self) -> None:
        self._stack = contextlib.ExitStack()
        self._fork_server: ForkServer | None = None

    def bear(self, pipe: Connection) -> Child:
        if self._fork_server is None:
            self._fork_server = self._stack.enter_context(open_fork_server())
        return self._fork_server.bear(pipe)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()


class _Spawning:
    """Every worker is a fresh process."""

    def bear(self, pipe: Connection) -> _Spawned:
        return _Spawned(_start_process("--pipe", pipe.fileno()))

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


class _Forking:
    """Every worker is a fork of one process that has imported everything; should that die, of another."""

    def __init__(self) -> None:
        self._source = _ForkProcess()

    def bear(self, pipe: Connection) -> _Forked:
        try:
            return self._source.bear(pipe)
        except OSError:
            # It is gone, and with it all its workers.
            self._source.close()
            self._source = _ForkProcess()
            return self._source.bear(pipe)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._source.close()


class _ForkProcess:
    """The process that forks, and the socket on which it is asked to."""

    def __init__(self) -> None:
        self._unborn: deque[_Forked] = deque()
        self._socket, theirs = socket.socketpair()
        with theirs:
            self._process = _Spawned(_start_process("--fork-server", theirs.fileno()))

    def bear(self, pipe: Connection) -> _Forked:
        """Ask for a worker; it begins as soon as everything is imported, and nobody waits for that here."""
        socket.send_fds(self._socket, [MESSAGE.pack(FORK, 0)], [pipe.fileno()])
        child = _Forked(self)
        self._unborn.append(child)
        return child

    def read_births(self) -> None:
        """Learn the process ids of all that were asked for."""
        while self._unborn:
            self._unborn[0].pid = self._answer()
            self._unborn.popleft()

    def wait_for(self, pid: int) -> int:
        """Wait until a worker is gone, and return how it ended."""
        self._socket.sendall(MESSAGE.pack(WAIT, pid))
        return self._answer()

    def close(self) -> None:
        """End the process; the kernel ends its workers with it."""
        self._process.kill()
        self._socket.close()

    def _answer(self) -> int:
        answer = self._socket.recv(ANSWER.size, socket.MSG_WAITALL)
        if len(answer) < ANSWER.size:
            raise ConnectionResetError
        return int(ANSWER.unpack(answer)[0])


class _Forked:
    """A fork; its process id is known once it is born. Whoever outlives its source is none: it has died with it."""

    def __init__(self, source: _ForkProcess) -> None:
        self.pid = 0
        self._source = source
        self._code: int | None = None

    def kill(self) -> None:
        with contextlib.suppress(OSError):
            self._source.read_births()
            if self._code is None:
                # Its end was not asked for yet, so the number cannot be another process's.
                os.kill(self.pid, signal.SIGKILL)
                self.wait()

    def wait(self) -> int:
        if self._code is None:
            try:
                self._source.read_births()
                self._code = self._source.wait_for(self.pid)
            except OSError:
                self._code = -signal.SIGKILL
        return self._code


def _start_process(mode: str, file: int) -> subprocess.Popen[bytes]:
    return subprocess.Popen(  # noqa: S603  (our own interpreter and module)
        [sys.executable, "-m", WORKER, mode, str(file)],
        pass_fds=[file],
        env={**os.environ, **_ONE_THREAD},
        stdin=subprocess.DEVNULL,
        stdout=inherited(sys.__stdout__),
        stderr=inherited(sys.__stderr__),
    )
