"""Records on disk before they are in the store: a store that is away costs no result.

One folder, and per sweep ``<sweep>.jsonl``: a line per environment and per record, each with a digest of itself;
``<sweep>.done``: the keys of the records that the store has; ``<sweep>.corrupted``: lines that could not be read.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, Self

from gnz_track.errors import GnzError, SpoolBusy, SpoolCorrupted, StoreUnreachable
from gnz_track.records import to_json
from gnz_track.store.connection import file_lock
from gnz_track.store.environment import Environment, GitState
from gnz_track.store.run_record import RunRecord, SweepContext, record_from_json
from gnz_track.store.writer import FAILED, FINISHED, Store

__all__ = ["Replay", "Spool", "deliver", "replay", "spooled"]

CONTEXT, RECORD = "context", "record"
LINES, DONE, ASIDE, LOCK = ".jsonl", ".done", ".corrupted", ".lock"


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

    def __enter__(self) -> Self:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        if not self._stack.enter_context(file_lock(self.path.with_suffix(LOCK), waits=False)):
            self._stack.close()
            raise SpoolBusy(self.context.sweep)
        _end_torn_line(self.path)
        _append(self.path, _sealed(CONTEXT, to_json(self.context)))
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def append(self, record: RunRecord) -> None:
        """Write a record; when this returns, it is on the disk."""
        _append(self.path, _sealed(RECORD, to_json(record)))

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


def spooled(folder: Path) -> dict[str, int]:
    """Return how many records of which sweep the store is not known to have."""
    waiting = {path: _read(path) for path in sorted(folder.glob("*" + LINES))}
    found = {path.stem: len(set(lines.records) - _done(path)) for path, lines in waiting.items()}
    return {sweep: n for sweep, n in found.items() if n}


def replay(folder: Path, store: Store) -> Replay:
    """Write every spooled record that the store has not; doing it again, or after a crash, changes nothing.

    The store itself is asked what it has, since a crash may fall between writing and marking. A run that was begun
    and not ended is completed. Spools whose records are all in the store are removed, unless lines were corrupted.
    """
    parts = []
    for path in sorted(folder.glob("*" + LINES)):
        with file_lock(path.with_suffix(LOCK), waits=False) as is_ours:
            parts.append(_replay_sweep(path, store) if is_ours else Replay(busy=(path.stem,)))
    names = [item.name for item in fields(Replay)]
    return Replay(**{name: tuple(item for part in parts for item in getattr(part, name)) for name in names})


def file_stem(sweep: str) -> str:
    """Return a name for the files of a sweep; no two sweeps share one."""
    plain = re.sub(r"[^\w\-]+", "_", sweep, flags=re.ASCII)[:80]
    return plain if plain == sweep else f"{plain}-{hashlib.sha256(sweep.encode()).hexdigest()[:8]}"


@dataclass
class _Lines:
    """What a file holds: the latest context of each sweep and environment, records by key, bad lines by number."""

    contexts: dict[str, SweepContext] = field(default_factory=dict)
    records: dict[str, RunRecord] = field(default_factory=dict)
    bad: dict[int, bytes] = field(default_factory=dict)


def _replay_sweep(path: Path, store: Store) -> Replay:
    lines, marked = _read(path), _done(path)
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
        path.unlink()
        path.with_suffix(DONE).unlink(missing_ok=True)
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


def _read(path: Path) -> _Lines:
    found = _Lines()
    for number, line in enumerate(path.read_bytes().split(b"\n"), start=1):
        if not line:
            continue
        try:
            kind, text = _unsealed(line)
            _TAKE[kind](found, text)
        except (ValueError, KeyError, TypeError, GnzError):
            found.bad[number] = line
    return found


def _take_context(found: _Lines, text: str) -> None:
    facts: dict[str, Any] = json.loads(text)
    facts["environment"] = Environment(**facts["environment"])
    facts["git"] = GitState(**facts["git"])
    context = SweepContext(**facts)
    found.contexts[context.environment.digest] = context


def _take_record(found: _Lines, text: str) -> None:
    record = record_from_json(text)
    found.records.setdefault(record.key, record)


_TAKE = {CONTEXT: _take_context, RECORD: _take_record}


def _sealed(kind: str, text: str) -> str:
    """Return a line that tells whether it is whole: garbage in its middle may well be JSON still."""
    return json.dumps({"digest": _digest(kind, text), "kind": kind, "text": text})


def _unsealed(line: bytes) -> tuple[str, str]:
    sealed = json.loads(line)
    kind, text = sealed["kind"], sealed["text"]
    if _digest(kind, text) != sealed["digest"]:
        message = "the digest is another one"
        raise ValueError(message)
    return kind, text


def _digest(kind: str, text: str) -> str:
    return hashlib.sha256(f"{kind}:{text}".encode()).hexdigest()[:16]


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


def _sync_folder(folder: Path) -> None:
    """See that the name of a new file is on the disk too."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
