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
from gnz_track.store.artifacts import refuse_links
from gnz_track.store.connection import connect, disconnect, says_in_one_line
from gnz_track.store.listings import has_tables
from gnz_track.store.read_rest import experiments_named, pages
from gnz_track.store.schema import (
    CELL,
    CONFIGURATION_FILE,
    KIND,
    OF_MODEL,
    PREDICTIONS_FILE,
    PREFIX,
    SERIES_FILE,
    SPLIT_FILE,
)

__all__ = ["StoredFiles", "count_files", "find_unneeded"]

# Files that a cell leaves; all else beside runs is left alone.
OF_CELLS = frozenset({PREDICTIONS_FILE, CONFIGURATION_FILE, SERIES_FILE, SPLIT_FILE, *OF_MODEL})
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
    """Return files of cells that failed or were deleted, and what writers that were killed left unfinished.

    Other stores may have their files in the same folder: those of runs that this store does not know are left alone.
    """
    if address.artifacts is None or not address.artifacts.is_dir():
        return []
    refuse_links(address, address.artifacts)
    # Files first: a run is finished before it gets any.
    found = list(_files(address.artifacts))
    unfinished = _unfinished_runs(address)
    before = time.time() - SECONDS_UNTIL_LEFT
    return [
        file
        for folder, file in found
        if (file.relative_to(folder / "artifacts").as_posix() in OF_CELLS and folder.name in unfinished)
        or (file.name.endswith(UNFINISHED) and _changed(file) < before)
    ]


def _unfinished_runs(address: Address) -> set[str]:
    """Return the ids of the cells of a store that were deleted, or ended without being finished."""
    if not has_tables(address):
        return set()
    with says_in_one_line(address):
        tracking = connect(address, creates=False)
        try:
            experiments, cells = experiments_named(tracking, f"{PREFIX}/"), {KIND: CELL}
            deleted = pages(tracking, experiments, cells, view="DELETED_ONLY")
            failed = pages(tracking, experiments, cells, "attributes.status = 'FAILED'")
            killed = pages(tracking, experiments, cells, "attributes.status = 'KILLED'")
            return {run.info.run_id for run in (*deleted, *failed, *killed)}
        finally:
            disconnect(tracking)


def _files(root: Path) -> Iterator[tuple[Path, Path]]:
    """Yield the folder of a run and each of its files, below ``<experiment>/<run>/artifacts``; no link is followed."""
    for experiment in _folders(root):
        for run in _folders(experiment):
            # Only links below the folder that it is given are left alone by the walk.
            start = run / "artifacts"
            for folder, _, names in () if start.is_symlink() else os.walk(start):
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
