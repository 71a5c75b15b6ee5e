"""Standard streams, as they are at hand where nobody is there to read: under cron, behind a pipe that has gone.

Whoever starts a process may have closed its numbers 0, 1 and 2. The next file, socket or pipe that is opened gets the
lowest free one, and all that Python, a library or a model prints is then written into it. So these numbers are taken
first, by what takes everything and gives nothing. What is said of a work is no reason to end it: where it can go
nowhere it is dropped, here and on purpose. What was asked for, on standard output, is dropped only where its reader has
left.
"""

from __future__ import annotations

import errno
import io
import os
import sys
from typing import IO, Any

__all__ = ["guard_streams", "inherited", "take_missing_streams", "tell"]

_NAMES = ("stdin", "stdout", "stderr")
STDOUT, STDERR = 1, 2


def take_missing_streams() -> None:
    """Open the null device on each standard stream that is closed, for Python too."""
    for number, name in enumerate(_NAMES):
        is_ours = not _is_open(number)
        if is_ours:
            opened = os.open(os.devnull, os.O_RDWR)
            if opened != number:
                os.dup2(opened, number)
                os.close(opened)
            # Of children as well, who would be born without.
            os.set_inheritable(number, True)  # noqa: FBT003  (the shape of the library)
        if getattr(sys, name) is None:
            # A number that was taken before is somebody's file.
            place: int | str = number if is_ours else os.devnull
            mode = "w" if number else "r"
            setattr(sys, name, open(place, mode, encoding="utf-8", closefd=not is_ours))  # noqa: SIM115


def guard_streams() -> None:
    """Let what is printed go nowhere once its reader has left; let nothing that standard error refuses be an error."""
    sys.stdout = _guard_stream(sys.stdout, STDOUT, forgiven=(errno.EPIPE,))
    sys.stderr = _guard_stream(sys.stderr, STDERR, forgiven=())


def inherited(stream: object) -> int | None:
    """Return what a child gets for one of ``sys.__stdout__`` and ``sys.__stderr__``: the same, or the null device.

    Where the stream was closed, its number may be that of somebody's file.
    """
    # Here, because `import gnz_track` is to cost nothing.
    from subprocess import DEVNULL

    return None if stream is not None else DEVNULL


def tell(text: str) -> None:
    """Write to standard error, if it takes anything: whoever calls this works on."""
    try:
        sys.stderr.write(text)
        sys.stderr.flush()
    except (OSError, ValueError, AttributeError):
        # It is full, broken, closed, or none.
        return


class _Guarded(io.FileIO):
    """A standard stream by its number; some refusals, or all where none is named, are forgiven."""

    def __init__(self, number: int, forgiven: tuple[int, ...]) -> None:
        super().__init__(number, "w", closefd=False)
        self._forgiven = forgiven

    def write(self, content: Any) -> int:
        try:
            return super().write(content)
        except OSError as error:
            if self._forgiven and error.errno not in self._forgiven:
                raise
            return memoryview(content).nbytes


def _guard_stream(stream: Any, number: int, *, forgiven: tuple[int, ...]) -> Any:
    """Return the same stream, guarded; one that somebody has put in its place stays."""
    if not isinstance(stream, io.TextIOWrapper) or stream.fileno() != number:
        return stream
    stream.flush()
    raw = _Guarded(number, forgiven)
    buffer: IO[bytes] = raw if stream.write_through else io.BufferedWriter(raw)
    # A sign that the terminal's alphabet lacks is written as its number.
    errors = "backslashreplace" if stream.errors == "strict" else stream.errors
    return io.TextIOWrapper(
        buffer,
        encoding=stream.encoding,
        errors=errors,
        line_buffering=stream.line_buffering,
        write_through=stream.write_through,
    )


def _is_open(number: int) -> bool:
    try:
        os.fstat(number)
    except OSError:
        return False
    return True
