"""The spools of all stores on this machine: what waits in them, and what is left over of them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from gnz_track.store.locks import file_lock
from gnz_track.store.refused import is_set_aside
from gnz_track.store.spool import DONE, LINES, LOCK, STORE_FILE, count_lines, spool_home, spools_in

__all__ = ["WaitingSweep", "clear_spool", "describe_spools"]


@dataclass(frozen=True, kw_only=True)
class WaitingSweep:
    """Records of one sweep that wait for a store; ``store`` is empty where nobody noted it.

    ``n_refused`` are records that the store has refused. ``is_unended`` says that the store does not know yet how the
    sweep ended: its plan and its table wait.
    """

    store: str
    sweep: str
    n_records: int
    n_unreadable: int
    n_refused: int
    is_unended: bool
    folder: Path


def describe_spools() -> list[WaitingSweep]:
    """Return what waits, of all stores, sorted by folder and sweep."""
    found = []
    for path in [path for folder in sorted(spool_home().glob("*/")) for path in spools_in(folder)]:
        is_refused = is_set_aside(path)
        folder = path.parent.parent if is_refused else path.parent
        n_records, n_ends, n_unreadable = count_lines(path)
        if n_records or n_ends or n_unreadable:
            note = folder / STORE_FILE
            store = note.read_text(encoding="utf-8", errors="replace").removesuffix("\n") if note.exists() else ""
            found.append(
                WaitingSweep(
                    store=store,
                    sweep=path.stem,
                    n_records=n_records,
                    n_unreadable=n_unreadable,
                    n_refused=n_records if is_refused else 0,
                    is_unended=bool(n_ends),
                    folder=folder,
                )
            )
    return found


def clear_spool(folder: Path, *, removes: bool = True) -> list[Path]:
    """Remove the files of sweeps of which nothing waits, and return them; without ``removes``, return them only.

    Sweeps that a process is writing, and lines that were kept aside, are left alone. Whoever holds a lock removes its
    file; one that an ended process left goes as soon as it is asked for, here too.
    """
    files = folder.iterdir() if folder.is_dir() else ()
    stems = {path.with_suffix("") for path in files if path.suffix in {LINES, DONE, LOCK}}
    return [path for stem in sorted(stems) for path in _clear_sweep(stem, removes=removes)]


def _clear_sweep(stem: Path, *, removes: bool) -> list[Path]:
    lock = stem.with_suffix(LOCK)
    left = [lock] if lock.exists() else []
    with file_lock(lock, waits=False) as is_ours:
        if not is_ours or _holds_anything(stem.with_suffix(LINES)):
            return []
        # Records before their marks, which mean nothing alone.
        cleared = [path for path in map(stem.with_suffix, (LINES, DONE)) if path.exists()]
        for path in cleared if removes else ():
            path.unlink()
    return [*cleared, *left]


def _holds_anything(path: Path) -> bool:
    return path.exists() and any(count_lines(path))
