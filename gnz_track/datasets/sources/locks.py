"""Locks that all processes of this machine respect."""

from __future__ import annotations

import contextlib
import fcntl
import os
from collections.abc import Iterator
from pathlib import Path

__all__ = ["hold"]


@contextlib.contextmanager
def hold(path: Path) -> Iterator[None]:
    """Wait for the lock of a file that need not exist, and hold it; threads of one process exclude one another too."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle = _locked(path)
    try:
        yield
    finally:
        # Removed while it is still held: whoever waits for it sees that the name is gone, and makes a new file.
        path.unlink(missing_ok=True)
        os.close(handle)


def _locked(path: Path) -> int:
    while True:
        handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX)
            if os.path.samestat(os.fstat(handle), path.stat()):
                return handle
        except FileNotFoundError:
            pass
        except BaseException:
            os.close(handle)
            raise
        os.close(handle)
