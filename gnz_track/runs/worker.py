"""A process that trains cells until its pipe closes: ``python -m gnz_track.runs.worker FD``.

Started afresh and not forked, so that it holds nothing of its parent: no threads, no locks, no open store. It imports
no tracking store, writes no file, and one worker is one thread.
"""

from __future__ import annotations

import ctypes
import signal
import sys
from multiprocessing.connection import Connection

from gnz_track.runs.events import Done, Started, gather

__all__ = ["serve"]

_DIE_WITH_PARENT = 1


def serve(pipe: Connection) -> None:
    """Answer each cell that comes down the pipe with its events, until the other end is closed."""
    from gnz_track.runs.on_inline import keep_freed_memory
    from gnz_track.runs.one import run_one

    keep_freed_memory()
    while True:
        try:
            cell = pipe.recv()
        except EOFError:
            return
        pipe.send(Started(cell=cell))
        pipe.send(Done(result=run_one(cell, observe=gather(cell, pipe.send))))


def main() -> None:
    """Serve on the file descriptor given as argument."""
    # An interrupt is for the parent: it decides what is kept and ends the workers.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_DIE_WITH_PARENT, signal.SIGKILL)
    pipe = Connection(int(sys.argv[1]))
    sys.path[:] = pipe.recv()
    try:
        serve(pipe)
    except (BrokenPipeError, ConnectionResetError):
        # The parent is gone, and with it whoever wanted the result.
        sys.exit(0)


if __name__ == "__main__":
    main()
