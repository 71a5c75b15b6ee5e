"""The number of workers where nobody says one: what this machine has to give, and what the cells are worth."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from pathlib import Path

from gnz_track.runs.executors.ray.resources import Footprints
from gnz_track.types import Cell

__all__ = ["count_cores", "free_bytes", "usual_jobs"]

# Workers are ready after seconds: what takes no longer is trained in this process.
SHORT_SECONDS = 20.0
# What a worker holds beside its cell, as far as nobody has measured it.
USUAL_BYTES = 2**30
_GROUP = Path("/sys/fs/cgroup")


def usual_jobs(cells: Sequence[Cell], seconds: float | None, footprints: Footprints) -> int:
    """Return how many workers train some cells: one for each core, as far as cells and free memory go.

    One, which trains in this process, for what is done in a moment and for what is trained on a GPU.

    Parameters
    ----------
    cells
        Cells to train.
    seconds
        How long they may take one after another; None where nothing is known.
    footprints
        Memory that such cells have held.
    """
    is_short = seconds is not None and seconds <= SHORT_SECONDS
    if is_short or len(cells) < 2 or any(cell.device != "cpu" for cell in cells):
        return 1
    most = max(max((footprints.resources(cell).memory for cell in cells), default=0), USUAL_BYTES)
    return max(1, min(count_cores(), len(cells), free_bytes() // most))


def count_cores() -> int:
    """Count the processors that this process may use, by its affinity and by the share of its container."""
    known = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    quota, period = (*_numbers_in(_GROUP / "cpu.max"), 0, 0)[:2]
    return max(1, min(known, round(quota / period))) if period else known


def free_bytes() -> int:
    """Return the memory that is free on this machine and in its container; without limit where neither says it."""
    found = [number * 1024 for number in _numbers_in(Path("/proc/meminfo"), "MemAvailable:")]
    limit, used = (_numbers_in(_GROUP / name) for name in ("memory.max", "memory.current"))
    found += [limit[0] - used[0]] if limit and used else []
    return max(0, min(found, default=2**62))


def _numbers_in(file: Path, line: str = "") -> list[int]:
    """Return the whole numbers of a file of the system, or of its line with some first word; none where it has none."""
    try:
        lines: Iterable[str] = file.read_text().splitlines()
    except OSError:
        return []
    return [int(word) for text in lines if text.startswith(line) for word in text.split() if word.isdecimal()]
