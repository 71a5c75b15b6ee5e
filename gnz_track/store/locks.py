"""Locks that all processes of one machine respect; their files are gone once nobody holds them."""

from __future__ import annotations

import contextlib
import fcntl
import os
from collections.abc import Iterator
from pathlib import Path

__all__ = ["file_lock"]


@contextlib.contextmanager
def file_lock(path: Path, *, waits: bool = True) -> Iterator[bool]:
    """Hold a lock that all processes of this machine respect; yield False where it is taken and nobody waits.

    The file is removed while the lock is held, so whoever waited for it sees that its file is another one, and asks for
    the lock on that.
    """
    with contextlib.ExitStack() as handles:
        while True:
            handle = handles.enter_context(path.open("a"))
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | (0 if waits else fcntl.LOCK_NB))
            except BlockingIOError:
                yield False
                return
            if _is_file_at(path, handle.fileno()):
                break
        try:
            yield True
        finally:
            # A folder that takes no changes any more keeps the file, which harms nobody. The lock ends with the handle.
            with contextlib.suppress(OSError):
                if _is_file_at(path, handle.fileno()):
                    path.unlink()


def _is_file_at(path: Path, handle: int) -> bool:
    """Tell whether the open file is still the one of that name: who held its lock before may have removed it."""
    try:
        return os.path.samestat(os.fstat(handle), path.stat())
    except FileNotFoundError:
        return False
