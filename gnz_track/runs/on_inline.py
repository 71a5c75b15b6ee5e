"""The simplest executor: cells one after another, in this process."""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Generator, Iterable

from gnz_track.runs.events import Started, Tell, gather, ignore
from gnz_track.runs.one import run_one
from gnz_track.types import Cell, CellResult

__all__ = ["keep_freed_memory", "run_inline"]

# glibc's mallopt: parameter numbers, and the largest threshold that it takes.
_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3
_LARGEST_MMAP_THRESHOLD, _TRIM_AT = 32 * 2**20, 2**30


def run_inline(cells: Iterable[Cell], tell: Tell = ignore) -> Generator[CellResult, None, None]:
    """Yield the result of each cell as it is done, in the given order; ``tell`` hears what goes on meanwhile."""
    keep_freed_memory()
    for cell in cells:
        tell(Started(cell=cell))
        yield run_one(cell, observe=gather(cell, tell))


def keep_freed_memory() -> None:
    """Ask the allocator to keep freed blocks, of which training asks the same sizes again at every step.

    By default glibc hands large blocks back to the kernel at once, and every next one costs its page faults.
    """
    if sys.platform == "linux":
        mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
        if mallopt is not None:
            mallopt(_MMAP_THRESHOLD, _LARGEST_MMAP_THRESHOLD)
            mallopt(_TRIM_THRESHOLD, _TRIM_AT)
