"""Capture of standard error, where native code writes past Python, until somebody may want it."""

from __future__ import annotations

import contextlib
import os
import sys
import tempfile
from collections.abc import Callable, Iterator

__all__ = ["hold_back"]

STANDARD_ERROR = 2


@contextlib.contextmanager
def hold_back(is_explained: Callable[[BaseException], bool]) -> Iterator[None]:
    """Hold back what is written meanwhile; it is shown at the end, but for an error that needs no more words."""
    sys.stderr.flush()
    wanted = True
    with tempfile.TemporaryFile() as held, os.fdopen(os.dup(STANDARD_ERROR), "wb", buffering=0) as shown:
        os.dup2(held.fileno(), STANDARD_ERROR)
        try:
            yield
        except BaseException as error:
            wanted = not is_explained(error)
            raise
        finally:
            sys.stderr.flush()
            os.dup2(shown.fileno(), STANDARD_ERROR)
            held.seek(0)
            # Where nobody reads any more, what happened is told by the error itself.
            with contextlib.suppress(OSError):
                shown.write(held.read() if wanted else b"")
