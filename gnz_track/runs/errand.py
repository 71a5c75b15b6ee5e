"""The envoy of another process to a Ray cluster: ``python -m gnz_track.runs.errand FD``. See :mod:`envoy`."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import threading
import warnings
from multiprocessing.connection import Connection

from gnz_track.errors import GnzError
from gnz_track.plugins import PluginWarning
from gnz_track.runs.envoy import ENDED, FAILED, HEAD, JOINED, SAID, Errand
from gnz_track.runs.worker import die_with
from gnz_track.streams import guard_streams

__all__ = ["serve"]

# Of all signals one that neither Ray nor a scheduler sends.
RECALL = signal.SIGUSR1


def serve(pipe: Connection) -> None:
    """Join the cluster and say what comes of the cells, until all is done or nobody listens any more."""
    sys.path[:], sys.argv[:] = pipe.recv()
    errand: Errand = pipe.recv()
    threading.Thread(target=_wait_for_recall, args=[pipe], daemon=True).start()
    from gnz_track.runs.on_ray import find_head, run_on_ray

    try:
        pipe.send((HEAD, find_head(errand.address)))
        events = run_on_ray(
            errand.cells,
            address=errand.address,
            jobs=errand.jobs,
            timeout=errand.timeout,
            footprints=errand.footprints,
            is_last=True,
        )
        with contextlib.closing(events):
            pipe.send((JOINED, None))
            for event in events:
                pipe.send((SAID, (event, errand.footprints.device_mib)))
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
