"""Records on disk before they are in the store: a store that is away costs no result.

One folder a store, and per sweep ``<sweep>.jsonl``: a line per environment, per record, and for an end that the store
was not told, each with a digest of itself; ``<sweep>.done``: the keys of what the store has; ``<sweep>.corrupted``:
lines that could not be read. What the store refuses for its own sake lies in ``refused``, in the same files, with the
reasons, so that it holds up no other record. A search has a file of its own.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import json
import os
import re
import shutil
import uuid
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

from gnz_track.errors import BadValue, GnzError, OutboxBusy, StoreUnreachable, StoreUnusable
from gnz_track.files import file_lock, sync_folder
from gnz_track.records import from_json, to_json
from gnz_track.store.address import Address, store_home
from gnz_track.store.cell_files.kept_files import drop_files, spool_files
from gnz_track.store.run_record import RunRecord, SweepContext
from gnz_track.store.searches import SearchRecord, write_search
from gnz_track.store.writer import Store, open_store
from gnz_track.text import sync_command

__all__ = [
    "CONTEXT",
    "END",
    "REASONS",
    "RECORD",
    "SEARCH",
    "Lines",
    "Outbox",
    "SweepEnd",
    "WaitingSweep",
    "clear_outbox",
    "count_waiting",
    "deliver",
    "describe_outboxes",
    "file_key",
    "files_of_outbox",
    "is_of_record",
    "is_set_aside",
    "keep_search",
    "make_outbox_folder",
    "outbox_folder",
    "outbox_home",
    "outbox_unwritable",
    "read_lines",
    "remove_empty",
    "remove_reasons",
    "set_aside_refused",
    "waiting_files",
    "waiting_records",
]


CONTEXT, RECORD, SEARCH, END = "context", "record", "search", "end"


@dataclass(frozen=True, kw_only=True)
class SweepEnd:
    """End of a sweep that a store which was away is still to be told: its plan, and why it was killed, if it was."""

    key: str
    plan: str
    killed: str = ""


@dataclass
class Lines:
    """Contents of a file: the latest context of each environment and book, records and ends by key, bad lines.

    A search may be there several times, each time as far as it was; its keys are digests of all that it said then.
    """

    contexts: dict[str, SweepContext] = field(default_factory=dict)
    records: dict[str, RunRecord] = field(default_factory=dict)
    searches: dict[str, SearchRecord] = field(default_factory=dict)
    ends: dict[str, SweepEnd] = field(default_factory=dict)
    bad: dict[int, bytes] = field(default_factory=dict)

    @property
    def keys(self) -> set[str]:
        """The keys of all that the store is to have."""
        return {*self.records, *self.searches, *self.ends, *self.file_keys}

    @property
    def file_keys(self) -> dict[str, RunRecord]:
        """Records that have files, by the key under which it is noted that these are in the store."""
        return {file_key(record): record for record in self.records.values() if record.files}

    def sealed_again(self, keys: Collection[str]) -> list[str]:
        """Return the lines of these keys, and of the contexts that belong to them, to be written elsewhere."""
        contexts = [_sealed(CONTEXT, to_json(context)) for context in self.contexts.values()]
        records = [_sealed(RECORD, to_json(record)) for key, record in self.records.items() if key in keys]
        searches = [_sealed(SEARCH, to_json(search)) for key, search in self.searches.items() if key in keys]
        ends = [_sealed(END, to_json(end)) for key, end in self.ends.items() if key in keys]
        return [*contexts, *records, *searches, *ends]


def read_lines(path: Path) -> Lines:
    """Return what a file holds; a line that is no record is kept as it is."""
    found = Lines()
    for number, line in enumerate(path.read_bytes().split(b"\n"), start=1):
        if not line:
            continue
        try:
            kind, text = _opened(line)
            _TAKE[kind](found, text)
        except (ValueError, KeyError, TypeError, GnzError):
            found.bad[number] = line
    return found


def _take_context(found: Lines, text: str) -> None:
    context = from_json(SweepContext, text)
    found.contexts[f"{context.environment.digest} {context.book_digest}"] = context


def _take_record(found: Lines, text: str) -> None:
    record = from_json(RunRecord, text)
    found.records.setdefault(record.key, record)


def _take_search(found: Lines, text: str) -> None:
    key = f"search {_digest_of_line(SEARCH, text)}"
    # What was said last comes last, were it said before.
    found.searches.pop(key, None)
    found.searches[key] = from_json(SearchRecord, text)


def _take_end(found: Lines, text: str) -> None:
    end = from_json(SweepEnd, text)
    found.ends[end.key] = end


_TAKE = {CONTEXT: _take_context, RECORD: _take_record, SEARCH: _take_search, END: _take_end}


def _sealed(kind: str, text: str) -> str:
    """Return a line that tells whether it is whole: garbage in its middle may well be JSON still."""
    return json.dumps({"digest": _digest_of_line(kind, text), "kind": kind, "text": text})


def _opened(line: bytes) -> tuple[str, str]:
    found = json.loads(line)
    kind, text = found["kind"], found["text"]
    if _digest_of_line(kind, text) != found["digest"]:
        message = "the digest is another one"
        raise ValueError(message)
    return kind, text


def _digest_of_line(kind: str, text: str) -> str:
    return hashlib.sha256(f"{kind}:{text}".encode()).hexdigest()[:16]


LINES, DONE, ASIDE, LOCK, FILES = ".jsonl", ".done", ".corrupted", ".lock", ".files"
STORE_FILE = "store.txt"
# As many as a cell leaves.
FILES_AT_ONCE = 4
# A folder within that of a store, for what the store refuses.
REFUSED = "refused"


class Outbox:
    """The records of one sweep on disk; held by one process, a context manager."""

    def __init__(self, folder: Path, context: SweepContext) -> None:
        self.context = context
        self.path = folder / (file_stem(context.sweep) + LINES)
        self._stack = contextlib.ExitStack()
        self._is_open = False
        # They begin with the first file.
        self._threads = ThreadPoolExecutor(FILES_AT_ONCE)
        # Digest of a file -> records that wait with it.
        self._waiting = Counter[str]()

    def __enter__(self) -> Self:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        if not self._stack.enter_context(file_lock(self.path.with_suffix(LOCK), waits=False)):
            self._stack.close()
            raise OutboxBusy(self.context.sweep)
        self._stack.enter_context(self._threads)
        _end_torn_line(self.path)
        append_line(self.path, _sealed(CONTEXT, to_json(self.context)))
        if self.files.is_dir():
            self._waiting.update(digest for record in waiting_files(self.path) for digest in digests_of(record))
            # What a process that was killed had not finished, or had not dropped.
            drop_files(self.files, {file.name for file in self.files.iterdir()} - self._waiting.keys())
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
    def files(self) -> Path:
        """The folder in which files of cells wait."""
        return self.path.with_suffix(FILES)

    @property
    def is_open(self) -> bool:
        """Whether this process holds the sweep."""
        return self._is_open

    @property
    def waiting(self) -> str:
        """Records that the store is not known to have, in words."""
        n_records, n_ends, _, n_files = _count_lines(self.path)
        parts = [f"{n_records} result" + "s" * (n_records != 1)] if n_records else []
        # With a result wait its files, of which no word is needed.
        parts += [f"files of {n_files} cell" + "s" * (n_files != 1)] if n_files > n_records else []
        return " and ".join([*parts, *(["the sweep's plan and table"] if n_ends else [])]) or "lines"

    def append(self, record: RunRecord) -> None:
        """Write a record; when this returns, it is on the disk."""
        append_line(self.path, _sealed(RECORD, to_json(record)))
        self._waiting.update(digests_of(record))

    def spool(self, files: Mapping[str, bytes]) -> None:
        """Write files of a cell; when this returns, they are on the disk."""
        if files:
            spool_files(self.files, files, self._threads)

    def paths_of(self, record: RunRecord) -> dict[str, Path]:
        """Return where the files of a record wait, by their names."""
        return {name: self.files / file.digest for name, file in record.files.items()}

    def is_shared(self, record: RunRecord) -> bool:
        """Tell whether another record waits with a file that this one has too."""
        return any(self._waiting[digest] > 1 for digest in digests_of(record))

    def mark(self, record: RunRecord, *, with_files: bool = True) -> None:
        """Note that the store has a record, and its files unless these go on waiting."""
        if not record.files or not with_files:
            append_line(self.path.with_suffix(DONE), record.key)
            return
        append_line(self.path.with_suffix(DONE), f"{record.key}\n{file_key(record)}")
        digests = digests_of(record)
        self._waiting.subtract(digests)
        drop_files(self.files, [digest for digest in digests if self._waiting[digest] <= 0])

    def forget_marks(self) -> None:
        """Take nothing for written any more: the store that had it is gone, and whichever comes is asked."""
        self.path.with_suffix(DONE).unlink(missing_ok=True)

    def append_end(self, plan: str, *, killed: str = "") -> None:
        """Write how the sweep ended, where the store could not be told: its plan and its table are still to come."""
        append_line(
            self.path, _sealed(END, to_json(SweepEnd(key=f"end {uuid.uuid4().hex[:12]}", plan=plan, killed=killed)))
        )


def digests_of(record: RunRecord) -> set[str]:
    """Return the digests of the files of a record."""
    return {file.digest for file in record.files.values()}


def file_key(record: RunRecord) -> str:
    """Return the key under which it is noted that the store has the files of a record."""
    return f"files {record.key}"


def deliver(
    outbox: Outbox,
    store: Store | None,
    record: RunRecord,
    *,
    run_id: str = "",
    tell: Callable[[str], object] | None = None,
) -> str:
    """Put a record into the outbox, write it to the store, and mark it; return the run's id.

    A store that is away raises :class:`StoreUnreachable` once the record is safe: go on training, and say that
    ``gnz sync`` replays.

    Parameters
    ----------
    outbox
        Where records wait.
    store
        Open store; None: none could be opened.
    record
        Record of a run.
    run_id
        Run that has been created for it.
    tell
        Hears why files of the record, which were spooled before, go on waiting; without it they do so untried.
    """
    outbox.append(record)
    if store is None:
        raise StoreUnreachable("none", "no store could be opened")
    run_id = store.finish(record, run_id)
    is_whole = tell is not None
    if record.files and tell is not None:
        try:
            store.keep_files(run_id, outbox.paths_of(record), moves=not outbox.is_shared(record))
        except StoreUnusable as error:
            # The record is in the store; what lies beside it must not cost anything else.
            is_whole = False
            tell(error.reason)
    outbox.mark(record, with_files=is_whole)
    return run_id


def outbox_home() -> Path:
    """Return the folder in which the outboxes of all stores lie."""
    return store_home() / "spool"


def outbox_folder(address: Address) -> Path:
    """Return the folder in which records of a store wait on this machine; it may not be there."""
    return outbox_home() / hashlib.sha256(address.masked.encode()).hexdigest()[:12]


def make_outbox_folder(address: Address) -> Path:
    """Return that folder, made where it was not, for its owner alone, with a note of whose it is."""
    folder = outbox_folder(address)
    folder.mkdir(parents=True, exist_ok=True)
    folder.chmod(0o700)
    (folder / STORE_FILE).write_text(address.masked + "\n", encoding="utf-8")
    return folder


def outbox_unwritable(folder: Path, error: OSError, *, kept: str = "nothing was trained") -> BadValue:
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


def count_waiting(folder: Path) -> dict[str, int]:
    """Return how many records of which sweep the store is not known to have."""
    found = Counter[str]()
    for path in files_of_outbox(folder):
        found[path.stem] += _count_lines(path)[0]
    return {sweep: n for sweep, n in found.items() if n}


def files_of_outbox(folder: Path, *, with_refused: bool = True) -> list[Path]:
    """Return the files of records in the folder of a store, with those that it refused."""
    return [*sorted(folder.glob("*" + LINES)), *(sorted(folder.glob(f"{REFUSED}/*{LINES}")) if with_refused else ())]


def holds_sweeps(folder: Path) -> bool:
    """Tell whether a folder holds any sweep's records, waiting or not."""
    return bool(files_of_outbox(folder))


def _count_lines(path: Path) -> tuple[int, int, int, int]:
    """Return how many records (of cells and searches) and ends wait, lines that none can read, and cells' files."""
    lines, marked = read_lines(path), marks_of(path)
    n_records = len((lines.records.keys() | lines.searches.keys()) - marked)
    return n_records, len(lines.ends.keys() - marked), len(lines.bad), len(lines.file_keys.keys() - marked)


def waiting_files(path: Path) -> list[RunRecord]:
    """Return the records of an outbox whose files the store is not known to have."""
    marked = marks_of(path)
    return [record for key, record in read_lines(path).file_keys.items() if key not in marked]


def waiting_records(folder: Path) -> list[RunRecord]:
    """Return the records that the store is not known to have, of all sweeps."""
    found = ((path, read_lines(path)) for path in files_of_outbox(folder))
    return [record for path, lines in found for key, record in lines.records.items() if key not in marks_of(path)]


def file_stem(sweep: str) -> str:
    """Return a name for the files of a sweep; no two sweeps share one."""
    plain = re.sub(r"[^\w\-]+", "_", sweep, flags=re.ASCII)[:80]
    return plain if plain == sweep else f"{plain}-{hashlib.sha256(sweep.encode()).hexdigest()[:8]}"


def marks_of(path: Path) -> set[str]:
    """Return the keys that the store is known to have of an outbox."""
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
        sync_folder(path.parent)


def _end_torn_line(path: Path) -> None:
    """End a line that a crash tore, so that the next one does not become part of it."""
    if path.exists() and path.stat().st_size and not path.read_bytes().endswith(b"\n"):
        with path.open("ab") as handle:
            handle.write(b"\n")


def remove_files(path: Path) -> None:
    """Remove an outbox of which the store has everything."""
    path.unlink()
    path.with_suffix(DONE).unlink(missing_ok=True)
    drop_files(path.with_suffix(FILES))


REASONS = ".reasons"
# What MLflow says of a value that it would take from nobody; and SQLAlchemy's class of what a database says of one.
OF_VALUE, OF_DATA = re.compile("exceeds the maximum|Invalid value|Names may "), "DataError"


def is_of_record(error: BaseException) -> bool:
    """Tell whether a store refuses what a record holds, and not whoever writes, or everything."""
    return any(
        isinstance(one, BadValue | UnicodeError)
        or (hasattr(one, "error_code") and OF_VALUE.search(str(one)))
        or type(one).__name__ == OF_DATA
        for one in _causes(error)
    )


def is_set_aside(path: Path) -> bool:
    """Tell whether an outbox is one of refused records."""
    return path.parent.name == REFUSED


def set_aside_refused(path: Path, lines: list[str], reasons: Mapping[str, str]) -> Path:
    """Add lines to the refused ones of a sweep, and return the file that has them.

    Parameters
    ----------
    path
        File of the sweep's waiting records.
    lines
        Records that the store refused.
    reasons
        Key of each, and why it was refused.
    """
    aside = path.parent / REFUSED / path.name
    aside.parent.mkdir(mode=0o700, exist_ok=True)
    with file_lock(aside.with_suffix(LOCK)):
        _end_torn_line(aside)
        files = path.with_suffix(FILES)
        if files.is_dir():
            shutil.copytree(files, aside.with_suffix(FILES), dirs_exist_ok=True)
        for line in lines:
            append_line(aside, line)
        with aside.with_suffix(REASONS).open("a", encoding="utf-8") as output:
            output.writelines(f"{key}: {reason}\n" for key, reason in reasons.items())
    return aside


def remove_reasons(path: Path) -> None:
    """Forget why records were refused that are in the store now."""
    path.with_suffix(REASONS).unlink(missing_ok=True)


def remove_empty(folder: Path) -> None:
    """Remove the folder of refused records where none is left."""
    with contextlib.suppress(OSError):
        # Others lie there.
        folder.rmdir()


def _causes(error: BaseException) -> Iterator[BaseException]:
    seen: BaseException | None = error
    while seen is not None:
        yield seen
        seen = seen.__cause__


def keep_search(address: Address, record: SearchRecord) -> tuple[str, str]:
    """Write a search to its store, outside of any sweep; return the run's id, and a sentence where it waits on disk.

    Where the store is away, or refuses it, the record is safe on this disk and the id is empty: ``gnz sync`` writes it.
    """
    path = _path(address, record)
    with file_lock(path.with_suffix(LOCK)):
        _append(path, record)
        try:
            with open_store(address) as store:
                return _deliver(path, store, record), ""
        except GnzError as error:
            return "", f"{error}. The search of {record.title} waits on this disk: {sync_command(address)}"


def _path(address: Address, record: SearchRecord) -> Path:
    stem = file_stem(f"search-{record.task}-{record.model}-{record.key[:12]}")
    return make_outbox_folder(address) / (stem + LINES)


def _append(path: Path, record: SearchRecord) -> None:
    _end_torn_line(path)
    append_line(path, _sealed(SEARCH, to_json(record)))


def _deliver(path: Path, store: Store, record: SearchRecord) -> str:
    run_id = write_search(store, record)
    # What the search was before is in the store too, in what it is now.
    lines = read_lines(path)
    for key in lines.keys - marks_of(path):
        append_line(path.with_suffix(DONE), key)
    if not lines.bad:
        remove_files(path)
    return run_id


@dataclass(frozen=True, kw_only=True)
class WaitingSweep:
    """Records of one sweep that wait for a store; ``store`` is empty where nobody noted it.

    ``n_refused`` are records that the store has refused, ``n_files`` those whose files wait. ``is_unended`` says that
    the store does not know yet how the sweep ended: its plan and its table wait.
    """

    store: str
    sweep: str
    n_records: int
    n_unreadable: int
    n_refused: int
    n_files: int
    is_unended: bool
    folder: Path


def describe_outboxes() -> list[WaitingSweep]:
    """Return what waits, of all stores, sorted by folder and sweep."""
    found = []
    for path in [path for folder in sorted(outbox_home().glob("*/")) for path in files_of_outbox(folder)]:
        is_refused = is_set_aside(path)
        folder = path.parent.parent if is_refused else path.parent
        n_records, n_ends, n_unreadable, n_files = _count_lines(path)
        if n_records or n_ends or n_unreadable or n_files:
            note = folder / STORE_FILE
            store = note.read_text(encoding="utf-8", errors="replace").removesuffix("\n") if note.exists() else ""
            found.append(
                WaitingSweep(
                    store=store,
                    sweep=path.stem,
                    n_records=n_records,
                    n_unreadable=n_unreadable,
                    n_refused=n_records if is_refused else 0,
                    n_files=n_files,
                    is_unended=bool(n_ends),
                    folder=folder,
                )
            )
    return found


def clear_outbox(folder: Path, *, removes: bool = True) -> list[Path]:
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
        if removes:
            drop_files(stem.with_suffix(FILES))
    return [*cleared, *left]


def _holds_anything(path: Path) -> bool:
    return path.exists() and any(_count_lines(path))
