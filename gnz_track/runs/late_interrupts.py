"""Ctrl-C, and the signal by which schedulers end a job, put off over what must not be left halfway."""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Iterator
from types import FrameType
from typing import Any

__all__ = ["put_off_interrupts"]

SIGNALS = (signal.SIGINT, signal.SIGTERM)


@contextlib.contextmanager
def put_off_interrupts() -> Iterator[None]:
    """Answer the first signal to end at the end of the block, and any other at once, both as they were answered before.

    What the block itself makes of these signals ends with it.
    """
    if threading.current_thread() is not threading.main_thread():
        # No other is interrupted, or may say what a signal does.
        yield
        return
    noted: list[int] = []
    before: dict[int, Any] = {number: signal.getsignal(number) for number in SIGNALS}

    def note(number: int, frame: FrameType | None) -> None:
        if noted and callable(before[number]):
            before[number](number, frame)
        noted.append(number)

    for number, answer in before.items():
        if callable(answer):
            # One that is ignored, or ends the process, goes on to do so.
            signal.signal(number, note)
    try:
        yield
    finally:
        for number, answer in before.items():
            if answer is not None:
                signal.signal(number, answer)
    if noted:
        signal.raise_signal(noted[0])
