"""Records on disk before they are in the store: a store that is away costs no result.

One folder, and per sweep ``<sweep>.jsonl``: a line per environment and per record, each with a digest of itself;
``<sweep>.done``: the keys of the records that the store has; ``<sweep>.corrupted``: lines that could not be read.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Self

from gnz_track.errors import GnzError, SpoolBusy, SpoolCorrupted, StoreUnreachable
from gnz_track.records import to_json
from gnz_track.store.address import Address, store_home
from gnz_track.store.connection import file_lock
from gnz_track.store.run_record import RunRecord, SweepContext
from gnz_track.store.spool_lines import CONTEXT, RECORD, read_lines, sealed
from gnz_track.store.writer import FAILED, FINISHED, Store

__all__ = [
    "Replay",
    "Spool",
    "deliver",
    "make_spool_folder",
    "replay",
    "replay_each",
    "spool_folder",
    "spool_home",
    "spooled",
    "waiting_records",
]

LINES, DONE, ASIDE, LOCK = ".jsonl", ".done", ".corrupted", ".lock"
STORE_FILE = "store.txt"


@dataclass(frozen=True, kw_only=True)
class Replay:
    """What a replay did.

    Keys of records written and of those that the store had; lines that hold none, as ``file:line``, and the files that
    keep them; sweeps that another process is writing; what the store refused, with its reason.
    """

    written: tuple[str, ...] = ()
    present: tuple[str, ...] = ()
    corrupted: tuple[str, ...] = ()
    busy: tuple[str, ...] = ()
    aside: tuple[str, ...] = ()
    refused: tuple[str, ...] = ()

    @property
    def is_left_over(self) -> bool:
        """Whether anything could not be written."""
        return bool(self.refused or self.busy or self.corrupted)

    @property
    def complaints(self) -> tuple[str, ...]:
        """Sentences about what could not be written; sweeps of other processes are no reason to complain."""
        bad = (str(SpoolCorrupted(self.corrupted, ", ".join(self.aside))),) if self.corrupted else ()
        return (*bad, *(f"the store refused {what}" for what in self.refused))

    def check(self) -> None:
        """Raise where lines could not be read; everything else has been replayed."""
        if self.corrupted:
            raise SpoolCorrupted(self.corrupted, ", ".join(self.aside))


class Spool:
    """The records of one sweep on disk; held by one process, a context manager."""

    def __init__(self, folder: Path, context: SweepContext) -> None:
        self.context = context
        self.path = folder / (file_stem(context.sweep) + LINES)
        self._stack = contextlib.ExitStack()
        self._is_open = False

    def __enter__(self) -> Self:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        if not self._stack.enter_context(file_lock(self.path.with_suffix(LOCK), waits=False)):
            self._stack.close()
            raise SpoolBusy(self.context.sweep)
        _end_torn_line(self.path)
        _append(self.path, sealed(CONTEXT, to_json(self.context)))
        self._is_open = True
        return self

    def __exit__(self, *_: object) -> None:
        # The lock ends whatever the disk says.
        with self._stack:
            self._is_open = False
            lines = read_lines(self.path)
            if not lines.bad and set(lines.records) <= _done(self.path):
                _remove(self.path)

    @property
    def is_open(self) -> bool:
        """Whether this process holds the sweep."""
        return self._is_open

    def append(self, record: RunRecord) -> None:
        """Write a record; when this returns, it is on the disk."""
        _append(self.path, sealed(RECORD, to_json(record)))

    def mark(self, record: RunRecord) -> None:
        """Note that the store has a record."""
        _append(self.path.with_suffix(DONE), record.key)


def deliver(spool: Spool, store: Store | None, record: RunRecord, *, run_id: str = "") -> str:
    """Spool a record, write it to the store, and mark it; return the run's id.

    A store that is away raises :class:`StoreUnreachable` once the record is safe: go on training, and say that
    ``gnz sync`` replays.
    """
    spool.append(record)
    if store is None:
        raise StoreUnreachable("none", "no store could be opened")
    run_id = store.finish(record, run_id)
    spool.mark(record)
    return run_id


def spool_home() -> Path:
    """Return the folder in which the spools of all stores lie."""
    return store_home() / "spool"


def spool_folder(address: Address) -> Path:
    """Return the folder in which records of a store wait on this machine; it may not be there."""
    return spool_home() / hashlib.sha256(address.masked.encode()).hexdigest()[:12]


def make_spool_folder(address: Address) -> Path:
    """Return that folder, made where it was not, with a note of whose it is."""
    folder = spool_folder(address)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / STORE_FILE).write_text(address.masked + "\n", encoding="utf-8")
    return folder


def spooled(folder: Path) -> dict[str, int]:
    """Return how many records of which sweep the store is not known to have."""
    found = {path.stem: count_lines(path)[0] for path in sorted(folder.glob("*" + LINES))}
    return {sweep: n for sweep, n in found.items() if n}


def holds_sweeps(folder: Path) -> bool:
    """Tell whether a folder holds any sweep's records, waiting or not."""
    return next(folder.glob("*" + LINES), None) is not None


def count_lines(path: Path) -> tuple[int, int]:
    """Return how many records of a spool the store is not known to have, and how many lines cannot be read."""
    lines = read_lines(path)
    return len(set(lines.records) - _done(path)), len(lines.bad)


def waiting_records(folder: Path) -> list[RunRecord]:
    """Return the records that the store is not known to have, of all sweeps."""
    found = ((path, read_lines(path)) for path in sorted(folder.glob("*" + LINES)))
    return [record for path, lines in found for key, record in lines.records.items() if key not in _done(path)]


def replay(folder: Path, store: Store) -> Replay:
    """Write every spooled record that the store has not; doing it again, or after a crash, changes nothing.

    The store itself is asked what it has, since a crash may fall between writing and marking. A run that was begun
    and not ended is completed. Spools whose records are all in the store are removed, unless lines were corrupted.
    """
    parts = [part for _, part in replay_each(folder, store)]
    names = [item.name for item in fields(Replay)]
    return Replay(**{name: tuple(item for part in parts for item in getattr(part, name)) for name in names})


def replay_each(folder: Path, store: Store) -> Iterator[tuple[str, Replay]]:
    """Replay sweep by sweep; yield the name of its files, and what was done."""
    for path in sorted(folder.glob("*" + LINES)):
        with file_lock(path.with_suffix(LOCK), waits=False) as is_ours:
            if not is_ours:
                yield path.stem, Replay(busy=(path.stem,))
            elif path.exists():  # another replay may just have ended
                yield path.stem, _replay_sweep(path, store)


def file_stem(sweep: str) -> str:
    """Return a name for the files of a sweep; no two sweeps share one."""
    plain = re.sub(r"[^\w\-]+", "_", sweep, flags=re.ASCII)[:80]
    return plain if plain == sweep else f"{plain}-{hashlib.sha256(sweep.encode()).hexdigest()[:8]}"


def _replay_sweep(path: Path, store: Store) -> Replay:
    lines, marked = read_lines(path), _done(path)
    left = [record for key, record in lines.records.items() if key not in marked]
    done: dict[str, list[str]] = {"written": [], "present": sorted(marked & set(lines.records)), "refused": []}
    if left:
        runs = {store.open_sweep(context) for context in lines.contexts.values()}
        known = store.runs_of_sweep(left[0].suite, left[0].sweep)
        for record in left:
            what, said = _replay_record(record, store, *known.get(record.key, ("", "")))
            done[what].append(said)
            if what != "refused":
                _append(path.with_suffix(DONE), record.key)
        for run_id in runs:
            store.close_sweep(run_id)
    corrupted, aside = _keep_aside(path, lines.bad)
    if not lines.bad and not done["refused"]:
        _remove(path)
    return Replay(corrupted=corrupted, aside=aside, **{name: tuple(items) for name, items in done.items()})


def _replay_record(record: RunRecord, store: Store, run_id: str, status: str) -> tuple[str, str]:
    """Return what became of a record: written, present or refused; a store that is away raises."""
    if status in {FINISHED, FAILED}:
        return "present", record.key
    try:
        store.finish(record, run_id)
    except StoreUnreachable:
        raise
    except GnzError as error:
        # One record that cannot be stored must not keep all behind it from the store.
        return "refused", f"{record.task} {record.name}: {error}"
    return "written", record.key


def _keep_aside(path: Path, bad: dict[int, bytes]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    if not bad:
        return (), ()
    aside = path.with_suffix(ASIDE)
    aside.write_bytes(b"".join(b"line %d: %s\n" % item for item in bad.items()))
    return tuple(f"{path}:{number}" for number in bad), (str(aside),)


def _done(path: Path) -> set[str]:
    marks = path.with_suffix(DONE)
    # A mark that was torn is no key, so its record is looked up in the store once more.
    return set(marks.read_text(errors="replace").splitlines()) if marks.exists() else set()


def _append(path: Path, line: str) -> None:
    is_new = not path.exists()
    with path.open("ab") as handle:
        handle.write(line.encode() + b"\n")
        handle.flush()
        os.fsync(handle.fileno())
    if is_new:
        _sync_folder(path.parent)


def _end_torn_line(path: Path) -> None:
    """End a line that a crash tore, so that the next one does not become part of it."""
    if path.exists() and path.stat().st_size and not path.read_bytes().endswith(b"\n"):
        with path.open("ab") as handle:
            handle.write(b"\n")


def _remove(path: Path) -> None:
    path.unlink()
    path.with_suffix(DONE).unlink(missing_ok=True)


def _sync_folder(folder: Path) -> None:
    """See that the name of a new file is on the disk too."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
