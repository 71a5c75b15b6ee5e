"""Files of runs in the folder of a store on this machine: how many bytes they take, and which nobody needs."""

from __future__ import annotations

import contextlib
import os
import stat
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from gnz_track.store.address import Address
from gnz_track.store.listings import has_tables
from gnz_track.store.reader import open_reader
from gnz_track.store.row_filters import RunFilter
from gnz_track.store.schema import CONFIGURATION_FILE, PREDICTIONS_FILE, SERIES_FILE, SPLIT_FILE

__all__ = ["StoredFiles", "count_files", "find_unneeded"]

# Files that a cell leaves; all else beside runs is left alone.
OF_CELLS = frozenset({PREDICTIONS_FILE, CONFIGURATION_FILE, SERIES_FILE, SPLIT_FILE})
UNFINISHED = ".new"
# What a process is writing now is not left behind.
SECONDS_UNTIL_LEFT = 3600.0


@dataclass(frozen=True, kw_only=True)
class StoredFiles:
    """Number of files, of the runs that they belong to, and their bytes."""

    n_files: int
    n_runs: int
    n_bytes: int


def count_files(address: Address) -> StoredFiles | None:
    """Return what lies in the folder of a store; None where it has no folder on this machine."""
    if address.artifacts is None or not address.artifacts.is_dir():
        return None
    sizes = [(folder, _size(file)) for folder, file in _files(address.artifacts)]
    return StoredFiles(
        n_files=len(sizes), n_runs=len({folder for folder, _ in sizes}), n_bytes=sum(size for _, size in sizes)
    )


def find_unneeded(address: Address) -> list[Path]:
    """Return files of cells that no finished cell names, and what writers that were killed left unfinished."""
    if address.artifacts is None or not address.artifacts.is_dir():
        return []
    # Files first: a run is finished before it gets any.
    found = list(_files(address.artifacts))
    finished: set[str] = set()
    if has_tables(address):
        table = open_reader(address).table(RunFilter(), columns=("run_id", "status"))
        finished = set(table["run_id"][table["status"] == "finished"])
    before = time.time() - SECONDS_UNTIL_LEFT
    return [
        file
        for folder, file in found
        if (file.name in OF_CELLS and folder.name not in finished)
        or (file.name.endswith(UNFINISHED) and _changed(file) < before)
    ]


def _files(root: Path) -> Iterator[tuple[Path, Path]]:
    """Yield the folder of a run and each of its files, below ``<experiment>/<run>/artifacts``; no link is followed."""
    for experiment in _folders(root):
        for run in _folders(experiment):
            for folder, _, names in os.walk(run / "artifacts"):
                yield from ((run, Path(folder, name)) for name in sorted(names))


def _folders(folder: Path) -> list[Path]:
    with os.scandir(folder) as entries:
        return sorted(Path(entry.path) for entry in entries if entry.is_dir(follow_symlinks=False))


def _size(file: Path) -> int:
    with contextlib.suppress(OSError):
        found = file.lstat()
        return found.st_size if stat.S_ISREG(found.st_mode) else 0
    return 0


def _changed(file: Path) -> float:
    try:
        return file.lstat().st_mtime
    except OSError:
        return time.time()
