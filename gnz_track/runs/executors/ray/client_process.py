"""Cells on a Ray cluster that this process joins by another one, its client, which alone speaks with the cluster.

Where the head goes silent while somebody joins, Ray waits without end or ends the process, and holds Python's lock
meanwhile: no thread, and no Ctrl-C, gets a turn. The other may be waited for, looked after and ended. It is called as
``python -m gnz_track.runs.executors.ray.client_process FD``.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import threading
import time
import warnings
from collections.abc import Generator, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection, Pipe
from types import TracebackType
from typing import Any, Self, cast

from gnz_track.errors import GnzError
from gnz_track.registry import PluginWarning
from gnz_track.runs.executors.events import Done, Event
from gnz_track.runs.executors.ray.head import LOCAL, Post, greet, head_at
from gnz_track.runs.executors.ray.resources import Footprints
from gnz_track.runs.executors.worker import die_with
from gnz_track.streams import guard_streams, inherited
from gnz_track.types import Cell

__all__ = [
    "ENDED",
    "FAILED",
    "HEAD",
    "JOINED",
    "SAID",
    "ClientRequest",
    "needs_client_process",
    "run_by_client_process",
    "serve",
]


# What a client process says: who leads the cluster, that it has joined it, an event, our error, that all is done.
HEAD, JOINED, SAID, FAILED, ENDED = "head", "joined", "said", "failed", "ended"
PROGRAM = "gnz_track.runs.executors.ray.client_process"
SECONDS_BETWEEN_LOOKS, SECONDS_TO_LEAVE = 1.0, 10.0
# The processes of a head end one after another, and that on which the client process hangs may be the first.
SECONDS_OF_ONE_END = 4.0


@dataclass(frozen=True, kw_only=True)
class ClientRequest:
    """Request to a client process: the arguments of ``run_on_ray``."""

    cells: Sequence[Cell]
    address: str
    jobs: int
    timeout: float | None
    footprints: Footprints


def needs_client_process(address: str) -> bool:
    """Tell whether a cluster is joined: not one that is started here, nor one that the caller is connected to."""
    ray = sys.modules.get("ray")
    return address != LOCAL and not (ray is not None and ray.is_initialized())


def run_by_client_process(request: ClientRequest) -> Generator[Event, None, None]:
    """Yield the events of ``run_on_ray`` as a client process says them, who has joined the cluster when this returns.

    A head that is silent for too long ends it by one error of ours, whatever becomes of the client process.
    """
    events = _run_in_client_process(request)
    next(events)
    return cast("Generator[Event, None, None]", events)


def _run_in_client_process(request: ClientRequest) -> Generator[Event | None, None, None]:
    if not request.cells:
        yield None
        return
    with _ClientProcess(request) as client:
        while True:
            kind, said = client.hear()
            if kind == ENDED:
                return
            if kind == JOINED:
                yield None
            if kind == SAID:
                event, device_mib = said
                if isinstance(event, Done):
                    request.footprints.learn(event.result, device_mib=device_mib)
                yield event


class _ClientProcess:
    """The other process; a context manager that leaves none behind."""

    def __init__(self, request: ClientRequest) -> None:
        self._request, self._n_ended, self._has_joined = request, 0, False
        self._post: Post | None = None
        self._pipe, theirs = Pipe()
        with theirs:
            self._process = _start_client_process(theirs)
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            # One that is gone already is noticed when it is listened to.
            self._pipe.send((sys.path, sys.argv))
            self._pipe.send(request)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        """Let it leave the cluster in good order where it can; its cells end with it in any case."""
        self._pipe.close()
        is_lost = kind is not None and issubclass(kind, GnzError)
        try:
            if self._has_joined and not is_lost:
                self._process.wait(SECONDS_TO_LEAVE)
        except subprocess.TimeoutExpired:
            pass
        finally:
            self._process.kill()
            self._process.wait()

    def hear(self) -> tuple[str, Any]:
        """Return what it says next; raise where that is an error, and where it or the head of the cluster is gone."""
        while not self._pipe.poll(SECONDS_BETWEEN_LOOKS):
            if self._post is not None and self._post.is_silent():
                self._post.check_patience(n_ended=self._n_ended, n_cells=len(self._request.cells))
        try:
            kind, said = self._pipe.recv()
        except (EOFError, ConnectionResetError):
            raise self._read_end() from None
        if kind == FAILED:
            of, message, facts = said
            error = of.__new__(of, message)
            vars(error).update(facts)
            raise error
        if kind == HEAD:
            self._post = head_at(said, typed=self._request.address)
        self._has_joined |= kind == JOINED
        self._n_ended += kind == SAID and isinstance(said[0], Done)
        return kind, said

    def _read_end(self) -> GnzError:
        """Return why it ended without a word of ours: most often the head did, and Ray ends who was connected to it."""
        code = self._process.wait()
        n_ended, n_cells, until = self._n_ended, len(self._request.cells), time.monotonic() + SECONDS_OF_ONE_END
        while self._post is not None and time.monotonic() < until:
            fault = greet(self._post.address)
            if fault:
                return self._post.loss(fault, n_ended=n_ended, n_cells=n_cells)
            time.sleep(SECONDS_BETWEEN_LOOKS / 4)
        how = f"exit code {code}" if code >= 0 else f"signal {-code}"
        return Post("the process of Ray on this machine", "", patience=0).loss(
            f"who was connected to it ended with {how}", n_ended=n_ended, n_cells=n_cells
        )


def _start_client_process(pipe: Connection) -> subprocess.Popen[bytes]:
    return subprocess.Popen(  # noqa: S603  (our own interpreter and module)
        [sys.executable, *(f"-W{option}" for option in sys.warnoptions), "-m", PROGRAM, str(pipe.fileno())],
        pass_fds=[pipe.fileno()],
        stdin=subprocess.DEVNULL,
        stdout=inherited(sys.__stdout__),
        stderr=inherited(sys.__stderr__),
    )


# Of all signals one that neither Ray nor a scheduler sends.
RECALL = signal.SIGUSR1


def serve(pipe: Connection) -> None:
    """Join the cluster and say what comes of the cells, until all is done or nobody listens any more."""
    sys.path[:], sys.argv[:] = pipe.recv()
    request: ClientRequest = pipe.recv()
    threading.Thread(target=_wait_for_recall, args=[pipe], daemon=True).start()
    from gnz_track.runs.executors.ray.driver import find_head, run_on_ray

    try:
        pipe.send((HEAD, find_head(request.address)))
        events = run_on_ray(
            request.cells,
            address=request.address,
            jobs=request.jobs,
            timeout=request.timeout,
            footprints=request.footprints,
            is_last=True,
        )
        with contextlib.closing(events):
            pipe.send((JOINED, None))
            for event in events:
                pipe.send((SAID, (event, request.footprints.device_mib)))
        pipe.send((ENDED, None))
    except GnzError as error:
        # Errors are made of facts, and travel as the sentence that came of them.
        pipe.send((FAILED, (type(error), str(error), vars(error))))


def _wait_for_recall(pipe: Connection) -> None:
    """Interrupt the work once the other end is closed: while long cells train, nothing is said, and nobody notices."""
    with contextlib.suppress(EOFError, OSError):
        pipe.recv()
    main = threading.main_thread().ident
    if main is not None:
        signal.pthread_kill(main, RECALL)


def main() -> None:
    """Serve on the file descriptor that is the argument, and leave at once: Ray may wait for ever at the end."""
    # An interrupt is for the other process: it decides what is kept, and recalls this one.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
    signal.signal(RECALL, signal.default_int_handler)
    die_with(os.getppid())
    guard_streams()
    warnings.simplefilter("ignore", PluginWarning)
    code = 0
    try:
        serve(Connection(int(sys.argv[1])))
    except (KeyboardInterrupt, EOFError, BrokenPipeError, ConnectionResetError):
        # Nobody wants more.
        pass
    except BaseException:  # noqa: BLE001  (a process ends here; there is nobody to raise to)
        sys.excepthook(*sys.exc_info())
        code = 1
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


if __name__ == "__main__":
    main()
