"""Blocks that are freed: whether the allocator of the C library keeps them for the next step, or gives them back."""

from __future__ import annotations

import ctypes
import sys

__all__ = ["give_back_freed_memory", "keep_freed_memory"]

# glibc's mallopt: parameter numbers, the largest threshold that it takes, and how many blocks it maps unless told.
_TRIM_THRESHOLD, _MMAP_THRESHOLD, _MMAP_MAX = -1, -3, -4
_LARGEST_MMAP_THRESHOLD, _TRIM_AT, _USUAL_MMAP_MAX = 32 * 2**20, 2**30, 2**16
# No cache takes a block of this size when it is freed, and the end of its arena is looked at.
_LARGE_BYTES = 2**16


def keep_freed_memory(*, even_large: bool = False) -> None:
    """Ask the allocator to keep freed blocks, of which training asks the same sizes again at every step.

    By default glibc hands large blocks back to the kernel at once, and every next one costs its page faults. Those of
    more than 32 MiB it keeps if asked (``even_large``), for a model whose blocks are known to fit where others were: on
    a graph of a million edges they are a third of the time. Others could hold twice as much as they need.
    """
    libc = _find_glibc()
    if libc is not None:
        libc.mallopt(_MMAP_THRESHOLD, _LARGEST_MMAP_THRESHOLD)
        libc.mallopt(_TRIM_THRESHOLD, _TRIM_AT)
        libc.mallopt(_MMAP_MAX, 0 if even_large else _USUAL_MMAP_MAX)


def give_back_freed_memory() -> None:
    """Have the allocator hand back to the kernel what nobody holds, so that what is resident is in use.

    From then on it keeps what is freed.
    ``malloc_trim`` leaves out the end of every arena but the first. A thread is in another one if it began beside
    others, and for good after an allocation that failed; there the end goes back as a block is freed, by the threshold.
    """
    libc = _find_glibc()
    if libc is None:
        return
    libc.malloc.restype = ctypes.c_void_p
    block = ctypes.c_void_p(libc.malloc(ctypes.c_size_t(_LARGE_BYTES)))
    libc.mallopt(_TRIM_THRESHOLD, 0)
    libc.free(block)
    libc.malloc_trim(ctypes.c_size_t(0))
    keep_freed_memory()


def _find_glibc() -> ctypes.CDLL | None:
    libc = ctypes.CDLL(None) if sys.platform == "linux" else None
    return libc if hasattr(libc, "malloc_trim") and hasattr(libc, "mallopt") else None
