"""Records on disk before they are in the store: a store that is away costs no result.

One folder, and per sweep ``<sweep>.jsonl``: a line per environment, per record, and for an end that the store was not
told, each with a digest of itself; ``<sweep>.done``: the keys of what the store has; ``<sweep>.corrupted``: lines that
could not be read. What the store refuses for its own sake lies in ``refused``, in the same files, with the reasons.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
import re
import uuid
from collections import Counter
from pathlib import Path
from typing import Self

from gnz_track.errors import BadValue, SpoolBusy, StoreUnreachable
from gnz_track.records import to_json
from gnz_track.store.address import Address, store_home
from gnz_track.store.locks import file_lock
from gnz_track.store.run_record import RunRecord, SweepContext
from gnz_track.store.spool_lines import CONTEXT, END, RECORD, SweepEnd, read_lines, sealed
from gnz_track.store.writer import Store

__all__ = [
    "Spool",
    "deliver",
    "make_spool_folder",
    "spool_folder",
    "spool_home",
    "spool_unwritable",
    "spooled",
    "spools_in",
    "waiting_records",
]

LINES, DONE, ASIDE, LOCK = ".jsonl", ".done", ".corrupted", ".lock"
STORE_FILE = "store.txt"
# A folder within that of a store, for what the store refuses.
REFUSED = "refused"


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
        end_torn_line(self.path)
        append_line(self.path, sealed(CONTEXT, to_json(self.context)))
        self._is_open = True
        return self

    def __exit__(self, *_: object) -> None:
        # The lock ends whatever the disk says.
        with self._stack:
            self._is_open = False
            lines = read_lines(self.path)
            if not lines.bad and lines.keys <= marks_of(self.path):
                remove_files(self.path)

    @property
    def is_open(self) -> bool:
        """Whether this process holds the sweep."""
        return self._is_open

    @property
    def waiting(self) -> str:
        """Records that the store is not known to have, in words."""
        n_records, n_ends, _ = count_lines(self.path)
        parts = [f"{n_records} result" + "s" * (n_records != 1)] if n_records else []
        return " and ".join([*parts, *(["the sweep's plan and table"] if n_ends else [])]) or "lines"

    def append(self, record: RunRecord) -> None:
        """Write a record; when this returns, it is on the disk."""
        append_line(self.path, sealed(RECORD, to_json(record)))

    def mark(self, record: RunRecord) -> None:
        """Note that the store has a record."""
        append_line(self.path.with_suffix(DONE), record.key)

    def forget_marks(self) -> None:
        """Take nothing for written any more: the store that had it is gone, and whichever comes is asked."""
        self.path.with_suffix(DONE).unlink(missing_ok=True)

    def append_end(self, plan: str, *, killed: str = "") -> None:
        """Write how the sweep ended, where the store could not be told: its plan and its table are still to come."""
        append_line(
            self.path, sealed(END, to_json(SweepEnd(key=f"end {uuid.uuid4().hex[:12]}", plan=plan, killed=killed)))
        )


def deliver(spool: Spool, store: Store | None, record: RunRecord, *, run_id: str = "") -> str:
    """Spool a record, write it to the store, and mark it; return the run's id.

    A store that is away raises :class:`StoreUnreachable` once the record is safe: go on training, and say that
    ``gnz sync`` replays.

    Parameters
    ----------
    spool
        Where records wait.
    store
        Open store; None: none could be opened.
    record
        Record of a run.
    run_id
        Run that has been created for it.
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
    """Return that folder, made where it was not, for its owner alone, with a note of whose it is."""
    folder = spool_folder(address)
    folder.mkdir(parents=True, exist_ok=True)
    folder.chmod(0o700)
    (folder / STORE_FILE).write_text(address.masked + "\n", encoding="utf-8")
    return folder


def spool_unwritable(folder: Path, error: OSError, *, kept: str = "nothing was trained") -> BadValue:
    """Return the error for a disk that takes no results, with what is to be done about it and what is kept.

    Parameters
    ----------
    folder
        Folder in which results wait.
    error
        Error of the operating system.
    kept
        What is kept, as the end of a sentence.
    """
    is_full = error.errno in {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
    remedy = "make room" if is_full else "set XDG_DATA_HOME to a folder that you own"
    return BadValue(
        "the folder in which results wait for the store",
        str(folder),
        f"one that takes files ({error.strerror or error}); {kept}",
        command=f"{remedy}, then type the same command again",
    )


def spooled(folder: Path) -> dict[str, int]:
    """Return how many records of which sweep the store is not known to have."""
    found = Counter[str]()
    for path in spools_in(folder):
        found[path.stem] += count_lines(path)[0]
    return {sweep: n for sweep, n in found.items() if n}


def spools_in(folder: Path, *, with_refused: bool = True) -> list[Path]:
    """Return the files of records in the folder of a store, with those that it refused."""
    return [*sorted(folder.glob("*" + LINES)), *(sorted(folder.glob(f"{REFUSED}/*{LINES}")) if with_refused else ())]


def holds_sweeps(folder: Path) -> bool:
    """Tell whether a folder holds any sweep's records, waiting or not."""
    return bool(spools_in(folder))


def count_lines(path: Path) -> tuple[int, int, int]:
    """Return how many records (of cells and searches) and ends of a spool wait, and how many lines none can read."""
    lines, marked = read_lines(path), marks_of(path)
    n_records = len((lines.records.keys() | lines.searches.keys()) - marked)
    return n_records, len(lines.ends.keys() - marked), len(lines.bad)


def waiting_records(folder: Path) -> list[RunRecord]:
    """Return the records that the store is not known to have, of all sweeps."""
    found = ((path, read_lines(path)) for path in spools_in(folder))
    return [record for path, lines in found for key, record in lines.records.items() if key not in marks_of(path)]


def file_stem(sweep: str) -> str:
    """Return a name for the files of a sweep; no two sweeps share one."""
    plain = re.sub(r"[^\w\-]+", "_", sweep, flags=re.ASCII)[:80]
    return plain if plain == sweep else f"{plain}-{hashlib.sha256(sweep.encode()).hexdigest()[:8]}"


def marks_of(path: Path) -> set[str]:
    """Return the keys that the store is known to have of a spool."""
    marks = path.with_suffix(DONE)
    # A mark that was torn is no key, so its record is looked up in the store once more.
    return set(marks.read_text(errors="replace").splitlines()) if marks.exists() else set()


def append_line(path: Path, line: str) -> None:
    """Append a line; when this returns, it is on the disk."""
    is_new = not path.exists()
    with path.open("ab") as handle:
        handle.write(line.encode() + b"\n")
        handle.flush()
        os.fsync(handle.fileno())
    if is_new:
        _sync_folder(path.parent)


def end_torn_line(path: Path) -> None:
    """End a line that a crash tore, so that the next one does not become part of it."""
    if path.exists() and path.stat().st_size and not path.read_bytes().endswith(b"\n"):
        with path.open("ab") as handle:
            handle.write(b"\n")


def remove_files(path: Path) -> None:
    """Remove a spool of which the store has everything."""
    path.unlink()
    path.with_suffix(DONE).unlink(missing_ok=True)


def _sync_folder(folder: Path) -> None:
    """See that the name of a new file is on the disk too."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
