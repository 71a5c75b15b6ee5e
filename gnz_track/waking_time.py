"""Time during which this process ran.

A process that is stopped (``kill -STOP``, Ctrl-Z, a container that is frozen, a laptop asleep) is not told. What it
waits for has had less time than its clock says, or has ended long ago and was not heard. So limits count the time that
was spent awake: a thread looks at the clock several times a second, and what passes between two looks is counted up to
a second.
"""

from __future__ import annotations

import threading
import time
import weakref

__all__ = ["WakingTime"]

SECONDS_BETWEEN_LOOKS, MOST_BETWEEN_LOOKS = 0.25, 1.0


class WakingTime:
    """A clock that stands still while the process does; it begins at 0, and its thread ends with it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._total, self._looked = 0.0, time.monotonic()
        threading.Thread(target=_look_again, args=[weakref.ref(self)], daemon=True, name="waking time").start()

    def seconds(self) -> float:
        """Return for how many seconds the process has run since the clock was made."""
        with self._lock:
            now = time.monotonic()
            self._total += min(now - self._looked, MOST_BETWEEN_LOOKS)
            self._looked = now
            return self._total


def _look_again(known: weakref.ref[WakingTime]) -> None:
    while (clock := known()) is not None:
        clock.seconds()
        del clock
        time.sleep(SECONDS_BETWEEN_LOOKS)
