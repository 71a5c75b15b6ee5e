"""Frozen data against a second freezing of the same raw files."""

from __future__ import annotations

import tempfile
from pathlib import Path

from gnz_track.datasets.checks.catalogue import CheckFinding, Level
from gnz_track.datasets.frozen import CARD, TENSORS, FrozenDataset
from gnz_track.datasets.preparation import freeze_row
from gnz_track.errors import DataMissing
from gnz_track.files import have_same_bytes
from gnz_track.types import DatasetRow

__all__ = ["compare_with_raw"]


def compare_with_raw(dataset: FrozenDataset, row: DatasetRow, *, home: Path, mirror: str | Path | None) -> CheckFinding:
    """Freeze a row again, elsewhere, and compare digest and bytes; without its raw files that is a note.

    Parameters
    ----------
    dataset, row, home, mirror
    """
    with tempfile.TemporaryDirectory() as folder:
        elsewhere = Path(folder)
        if (home / "raw").is_dir():
            (elsewhere / "raw").symlink_to(home / "raw")
        try:
            again = freeze_row(row, seed=dataset.card.seed or 0, home=elsewhere, mirror=mirror)
        except DataMissing as error:
            return CheckFinding("raw files", Level.note, f"not compared: {error}")
        if again.digest != dataset.digest:
            told = f"the raw files freeze to {again.digest}, the frozen data have {dataset.digest}"
            return CheckFinding("raw files", Level.fault, told)
        differing = [
            name for name in (CARD, TENSORS) if not have_same_bytes(again.folder / name, dataset.folder / name)
        ]
    if differing:
        return CheckFinding("raw files", Level.fault, f"frozen again, other bytes in {', '.join(differing)}")
    return CheckFinding("raw files", Level.ok, "frozen again from the raw files, the same bytes")
