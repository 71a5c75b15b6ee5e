"""What a cell cost: seconds, CPU seconds, and the most memory it held."""

from __future__ import annotations

import resource
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

import torch

__all__ = ["Gauge"]

_STATUS, _RESET = Path("/proc/self/status"), Path("/proc/self/clear_refs")


@dataclass
class Gauge:
    """Measures what happens inside of its ``with`` block. Memory in MiB; device memory only on a GPU."""

    device: str = "cpu"
    seconds: float = 0.0
    cpu_seconds: float = 0.0
    peak_rss_mib: float | None = None
    peak_device_mib: float | None = None

    def __enter__(self) -> Self:
        _reset_peak()
        if self.device.startswith("cuda"):
            torch.cuda.reset_peak_memory_stats(self.device)
        self._wall, self._cpu = time.perf_counter(), time.process_time()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.seconds, self.cpu_seconds = time.perf_counter() - self._wall, time.process_time() - self._cpu
        self.peak_rss_mib = _read_peak()
        if self.device.startswith("cuda"):
            self.peak_device_mib = torch.cuda.max_memory_allocated(self.device) / 2**20


def _reset_peak() -> None:
    """Let the kernel forget the highest resident size so far, where it can (Linux)."""
    try:
        _RESET.write_text("5")
    except OSError:
        # Elsewhere, and in some containers, the peak is that of the process since its start.
        return


def _read_peak() -> float:
    if _STATUS.exists():
        for line in _STATUS.read_text().splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) / 1024
    # ru_maxrss counts KiB, on macOS bytes.
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (2**20 if sys.platform == "darwin" else 1024)
