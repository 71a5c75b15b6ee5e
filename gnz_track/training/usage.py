"""Cost of a cell: seconds of the clock and of the processor, and the most memory that it held itself."""

from __future__ import annotations

import resource
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

import torch

from gnz_track.training.allocator import give_back_freed_memory

__all__ = ["Gauge"]

_STATUS, _RESET = Path("/proc/self/status"), Path("/proc/self/clear_refs")
_KIB = 1024
# What the kernel counts apart for each processor before it adds it up.
_SLACK_KIB = 4 * _KIB


@dataclass
class Gauge:
    """Measures what happens inside of its ``with`` block. Memory in MiB; device memory only on a GPU.

    ``seconds`` are of the clock: they tell how long one waited, and with it what else ran on the machine.
    ``cpu_seconds`` are those that this process computed, and its children that have ended. ``memory_mib`` is what the
    block held at most beside what was there before it, None where that cannot be known; ``peak_rss_mib`` is the most
    that the whole process held, with its libraries.
    """

    device: str = "cpu"
    seconds: float = 0.0
    cpu_seconds: float = 0.0
    memory_mib: float | None = None
    peak_rss_mib: float | None = None
    peak_device_mib: float | None = None

    def __enter__(self) -> Self:
        # Blocks that were freed and kept would take what comes next without the process growing.
        give_back_freed_memory()
        _reset_peak()
        self._held, self._peak = _read_kib("VmRSS"), _read_kib("VmHWM")
        if self.device.startswith("cuda"):
            torch.cuda.synchronize(self.device)
            torch.cuda.reset_peak_memory_stats(self.device)
        self._wall, self._cpu = time.perf_counter(), _cpu_seconds()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if self.device.startswith("cuda"):
            _wait_for(self.device)
        self.seconds, self.cpu_seconds = time.perf_counter() - self._wall, _cpu_seconds() - self._cpu
        peak = _read_kib("VmHWM")
        if peak and self._held and self._peak:
            # A peak of before hides all that stays below it; what is higher is of this block.
            is_known = peak > self._peak or self._peak <= self._held + _SLACK_KIB
            self.memory_mib = max(0, peak - self._held) / _KIB if is_known else None
        self.peak_rss_mib = _most_ever_mib() if peak is None else peak / _KIB
        if self.device.startswith("cuda"):
            self.peak_device_mib = torch.cuda.max_memory_allocated(self.device) / 2**20


def _cpu_seconds() -> float:
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime


def _wait_for(device: str) -> None:
    """Wait for what a GPU still computes; one whose program has crashed says so again to whoever asks."""
    try:
        torch.cuda.synchronize(device)
    except RuntimeError:
        # The block has told of it already, and a cell that failed has no time to be compared.
        return


def _reset_peak() -> None:
    """Ask the kernel to forget the highest resident size so far, where it can (Linux)."""
    try:
        _RESET.write_text("5")
    except OSError:
        # Elsewhere, and in some containers, the peak is that of the process since its start.
        return


def _read_kib(name: str) -> int | None:
    """Return a size of this process as the kernel has it; None where there is no such file or line."""
    try:
        lines = _STATUS.read_text().splitlines()
    except FileNotFoundError:
        return None
    return next((int(line.split()[1]) for line in lines if line.startswith(f"{name}:")), None)


def _most_ever_mib() -> float:
    # ru_maxrss counts KiB, on macOS bytes.
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (2**20 if sys.platform == "darwin" else _KIB)
