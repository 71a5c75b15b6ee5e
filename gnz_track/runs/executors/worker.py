"""A process that trains cells until its pipe closes: ``python -m gnz_track.runs.executors.worker --pipe FD``.

With ``--fork-server FD`` it imports what workers need, and forks one whenever it is asked to. Neither holds anything of
its parent: no threads, no locks, no open store. It imports no tracking store, writes no file, and is one thread.
"""

from __future__ import annotations

import ctypes
import gc
import os
import signal
import socket
import sys
import warnings
from collections.abc import Callable
from multiprocessing.connection import Connection
from pathlib import Path

from gnz_track.registry import PluginWarning
from gnz_track.runs.executors.events import Done, Leaked, Started, gather
from gnz_track.runs.executors.fork_server import ANSWER, FORK, MESSAGE
from gnz_track.streams import guard_streams

__all__ = ["die_with", "fork_workers", "serve", "work"]

_DIE_WITH_PARENT = 1


def serve(pipe: Connection) -> None:
    """Answer each cell that comes down the pipe with its events, until the other end is closed.

    A cell of somebody else's model is trained in a fork of this process, which has imported the model and nothing else:
    whatever a cell keeps in modules and classes of its own (counters, caches), the next one begins as if it were alone.
    Where that cannot be, it is begun only where the process still computes as it did.
    """
    from gnz_track.runs.isolation.canary import Watch
    from gnz_track.runs.owners import is_ours
    from gnz_track.runs.run_one import make_ready, run_one
    from gnz_track.training.allocator import keep_freed_memory

    keep_freed_memory()
    watch = Watch()
    while True:
        try:
            cell = pipe.recv()
        except EOFError:
            return
        reason = watch.find_leak()
        if reason:
            pipe.send(Leaked(cell=cell, reason=reason))
            return
        pipe.send(Started(cell=cell))
        if not is_ours(cell.model):
            make_ready(cell)
            if _may_fork():
                _in_a_fork(lambda cell=cell: pipe.send(Done(result=run_one(cell, observe=gather(cell, pipe.send)))))
                continue
        watch.begin(cell)
        pipe.send(Done(result=run_one(cell, observe=gather(cell, pipe.send))))


def _may_fork() -> bool:
    """Tell whether a fork of this process would be as it is: threads are not in it, and devices do not work there."""
    import torch

    tasks = Path("/proc/self/task")
    return tasks.is_dir() and len(list(tasks.iterdir())) == 1 and not torch.cuda.is_initialized()


def _in_a_fork(do: Callable[[], object]) -> None:
    """Do it in a fork of this process; where that ends before it is done, end as it did, for all to see."""
    me, (theirs, ours) = os.getpid(), os.pipe()
    os.set_blocking(theirs, False)
    child = os.fork()
    if not child:
        code = 1
        try:
            die_with(me)
            code = _say_how(lambda: (do(), os.write(ours, b".")))
        finally:
            # Not by way of what stands around the loop of cells: it is that of the first process.
            os._exit(code)
    _, status = os.waitpid(child, 0)
    os.close(ours)
    with os.fdopen(theirs, "rb", buffering=0) as told:
        is_done = bool(told.read(1))
    if not is_done:
        if os.WIFSIGNALED(status):
            os.kill(me, os.WTERMSIG(status))
        os._exit(os.waitstatus_to_exitcode(status))


def work(file: int) -> None:
    """Serve on a file descriptor until the parent is gone or has nothing more to do."""
    pipe = Connection(file)
    try:
        sys.path[:] = pipe.recv()
        serve(pipe)
    except (EOFError, BrokenPipeError, ConnectionResetError):
        # The parent is gone, and with it whoever wanted the result.
        return


def fork_workers(file: int) -> None:
    """Import everything, then fork a worker for every pipe that comes, and tell how workers ended."""
    # A sixth of the time that imports take goes into looking for rings among what they make, all of which stays.
    gc.disable()
    import pyarrow.parquet  # noqa: F401  (so that no worker has to)

    import gnz_track.runs.run_one  # noqa: F401  (as above)

    # What is here stays as it is, and is shared by all workers.
    gc.freeze()
    gc.enable()
    with socket.socket(fileno=file) as parent:
        while True:
            message, files, _, _ = socket.recv_fds(parent, MESSAGE.size, 1)
            if not message:
                return
            what, pid = MESSAGE.unpack(message)
            if what != FORK:
                parent.sendall(ANSWER.pack(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])))
                continue
            me = os.getpid()
            born = os.fork()
            if not born:
                parent.close()
                die_with(me)
                # Not by way of what stands around this loop: it is the fork server's.
                os._exit(_work_and_say(files[0]))
            os.close(files[0])
            parent.sendall(ANSWER.pack(born))


def _work_and_say(file: int) -> int:
    return _say_how(lambda: work(file))


def _say_how(do: Callable[[], object]) -> int:
    """Do it, and return an exit code; what went wrong is said where a process of its own would say it."""
    try:
        do()
    except BaseException:  # noqa: BLE001  (a process ends here; there is nobody to raise to)
        sys.excepthook(*sys.exc_info())
        return 1
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
    return 0


def die_with(parent: int) -> None:
    """End this process with the one that started it, where the system can do that."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_DIE_WITH_PARENT, signal.SIGKILL)
        if os.getppid() != parent:
            # It died before this process could ask to be told.
            os._exit(1)


def main() -> None:
    """Do what the first argument says, on the file descriptor that is the second."""
    # An interrupt is for the parent: it decides what is kept and ends the workers.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    die_with(os.getppid())
    guard_streams()
    # Whoever started this process has said what is missing.
    warnings.simplefilter("ignore", PluginWarning)
    mode, file = sys.argv[1:]
    {"--pipe": work, "--fork-server": fork_workers}[mode](int(file))


if __name__ == "__main__":
    main()
