"""Archives of arrays (``.npz``) from anywhere: nothing in them is run, and one that is broken is told in a sentence."""

from __future__ import annotations

import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from gnz_track.datasets.sources.archives import LIMIT
from gnz_track.errors import BadValue

__all__ = ["open_archive"]

_BROKEN = (OSError, ValueError, TypeError, EOFError, MemoryError, RuntimeError, zipfile.BadZipFile, zlib.error)


@contextmanager
def open_archive(what: str, path: str | Path) -> Iterator[Any]:
    """Open an archive of plain arrays, which are read as they are asked for; ``what`` it is stands in the message."""
    try:
        if not zipfile.is_zipfile(path):
            raise BadValue(what, str(path), "a whole .npz archive, as numpy.savez writes it; this is none, or cut off")
        with zipfile.ZipFile(path) as packed:
            # No member gives more bytes than it says.
            size, most = sum(member.file_size for member in packed.infolist()), LIMIT.of(Path(path))
        if size > most:
            raise BadValue(f"unpacked size of {what}", f"{size:,} bytes", f"at most {most:,}, as large as it is packed")
        with np.load(path, allow_pickle=False) as arrays:
            yield arrays
    except _BROKEN as error:
        # What numpy says of arrays of objects is how to run them.
        is_code = "allow_pickle" in str(error)
        reason = "it holds Python objects, which are never run" if is_code else f"{type(error).__name__}: {error}"
        allowed = f"an .npz archive of plain arrays of numbers that reads ({reason})"
        raise BadValue(what, str(path), allowed) from error
