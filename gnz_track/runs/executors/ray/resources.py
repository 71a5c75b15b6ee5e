"""Resources that a cell needs: processors, memory, a part of a GPU. Learnt from cells that ended."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from gnz_track.errors import BadValue
from gnz_track.types import Cell, CellResult

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Footprints", "ResourceRequest", "check_share", "check_share_is_taken"]

# What a repetition may need more than the most that was seen.
MARGIN = 1.25
# CUDA itself, in every process that uses a GPU; the allocator does not count it.
CONTEXT_MIB = 512
# Shares are multiples of it: 20 cells on one GPU at most.
STEP = 0.05


@dataclass(frozen=True, kw_only=True)
class ResourceRequest:
    """Processors, GPUs (or a part of one), and bytes of memory; 0 bytes where nothing is known."""

    cpus: float = 1.0
    gpus: float = 0.0
    memory: int = 0


class Footprints:
    """The most memory, in MiB, that cells of each (task, model) have held, on their machine and on its GPU.

    ``share`` is the part of a GPU that every cell takes, where the user says so; otherwise it is measured.
    """

    def __init__(
        self, known: Mapping[tuple[str, str], tuple[float, float]] | None = None, *, share: float = 0.0
    ) -> None:
        check_share(share)
        self.share = share
        self._known = dict(known or {})
        self._device_mib = math.inf

    @classmethod
    def of(cls, past: pd.DataFrame) -> Footprints:
        """Read them off the rows of past runs."""
        most = past.groupby(["task", "model"])[["peak_rss_mib", "peak_device_mib"]].max().fillna(0.0)
        return cls({(str(task), str(model)): (float(a), float(b)) for (task, model), a, b in most.itertuples()})

    def with_share(self, share: float) -> Footprints:
        """Return the same with a part of a GPU that was declared; 0 leaves it to be measured."""
        return Footprints(self._known, share=share)

    @property
    def device_mib(self) -> float:
        """The memory of the smallest GPU that was seen; 0 while none was."""
        return 0.0 if math.isinf(self._device_mib) else self._device_mib

    def learn(self, result: CellResult, *, device_mib: float = 0.0) -> None:
        """Take a cell that ended into account; ``device_mib`` is the memory of the whole GPU that it was on."""
        before = self._known.get(_pair_of(result.cell), (0.0, 0.0))
        seen = (result.peak_rss_mib or 0.0, result.peak_device_mib or 0.0)
        self._known[_pair_of(result.cell)] = (max(before[0], seen[0]), max(before[1], seen[1]))
        # Of GPUs of several sizes the smallest has to do.
        self._device_mib = min(self._device_mib, device_mib or math.inf)

    def resources(self, cell: Cell) -> ResourceRequest:
        """Return what a cell asks for: one processor, memory as measured, a whole GPU until its need is known."""
        host, device = self._known.get(_pair_of(cell), (0.0, 0.0))
        gpus = self._gpus(device) if cell.device.startswith("cuda") else 0.0
        return ResourceRequest(gpus=gpus, memory=math.ceil(host * MARGIN * 2**20))

    def _gpus(self, peak_mib: float) -> float:
        if self.share:
            return self.share
        if not peak_mib or math.isinf(self._device_mib):
            return 1.0
        part = (peak_mib * MARGIN + CONTEXT_MIB) / self._device_mib
        return min(1.0, round(STEP * math.ceil(part / STEP), 2))


def check_share(share: float) -> None:
    """Refuse a part of a GPU that is none; 0 means that it is measured."""
    if not 0.0 <= share <= 1.0:
        raise BadValue("gpu_share", share, "a part of one GPU, above 0 and up to 1", command="--gpu-share 0.25")


def check_share_is_taken(share: float, cells: Sequence[Cell]) -> None:
    """Refuse a part of a GPU for cells that are trained without any."""
    if share and cells and not any(cell.device.startswith("cuda") for cell in cells):
        allowed = "0, or a part of the GPU that cells are trained on; these are all trained on cpu"
        raise BadValue("gpu_share", share, allowed, command=f"--device cuda --gpu-share {share:g}")


def _pair_of(cell: Cell) -> tuple[str, str]:
    return cell.task.name, cell.model.name
