"""Ctrl-C: the first ends the work in hand and keeps what is done, the second ends everything at once."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from types import FrameType
from typing import NoReturn

__all__ = ["INTERRUPTED", "leave", "listen_for_interrupts"]

INTERRUPTED = 130
# Whoever stops a group of processes may tell each of them twice, and means it once.
SECONDS_OF_ONE = 0.3
SECONDS_LATER = 0.05
SHOW_CURSOR = "\x1b[?25h"


class Interrupts:
    """Count of the times that this process was told to end: first by an exception, then at once."""

    def __init__(self) -> None:
        self._first: float | None = None
        self._number = signal.SIGINT.value
        self._show = sys.unraisablehook

    def __call__(self, number: int, frame: FrameType | None) -> None:
        """Take note of a signal."""
        del frame
        now, self._number = time.monotonic(), number
        if self._first is None:
            self._first = now
            raise KeyboardInterrupt
        if now - self._first > SECONDS_OF_ONE:
            leave()

    def hear_again(self, lost: sys.UnraisableHookArgs) -> None:
        """Send a signal once more whose exception met code from which none comes out, such as a weak reference's."""
        if issubclass(lost.exc_type, KeyboardInterrupt):
            self._first = None
            # Later, from another thread: raised in here, it would be lost again. To the main one, which may be waiting.
            main = threading.main_thread().ident
            threading.Timer(SECONDS_LATER, signal.pthread_kill, [main, self._number]).start()
        else:
            self._show(lost)


def listen_for_interrupts() -> None:
    """Answer Ctrl-C, a terminal that is closed, and the signal by which schedulers end a job: what is done is kept.

    Records lie on the disk before they are sent anywhere and workers end with this process, so that leaving at once
    costs no more than a kill does: cells that ran are marked as killed by the next call.
    """
    answer = Interrupts()
    # What a shell begins in the background is not to hear of Ctrl-C.
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, answer)
    signal.signal(signal.SIGTERM, answer)
    # A terminal that is closed; nohup has it ignored.
    if hasattr(signal, "SIGHUP") and signal.getsignal(signal.SIGHUP) is signal.SIG_DFL:
        signal.signal(signal.SIGHUP, answer)
    sys.unraisablehook = answer.hear_again


def leave() -> NoReturn:
    """End this process at once, as one that was interrupted."""
    # By the descriptor: the buffer may be what the interrupted code was writing to.
    try:
        os.write(2, f"{SHOW_CURSOR if sys.stderr.isatty() else ''}interrupted\n".encode())
    finally:
        # Whether there is anybody to tell or not.
        os._exit(INTERRUPTED)
