"""Replay of records that wait on the disk into the store: once, whatever happened when and how often."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path

from gnz_track.errors import GnzError, OutboxCorrupted, StoreUnreachable, StoreUnusable
from gnz_track.files import file_lock
from gnz_track.store import schema
from gnz_track.store.cell_files.best_weights import drop_beaten
from gnz_track.store.cell_files.kept_files import sound_files
from gnz_track.store.outbox import (
    ASIDE,
    DONE,
    FILES,
    LOCK,
    Lines,
    SweepEnd,
    append_line,
    files_of_outbox,
    is_of_record,
    is_set_aside,
    marks_of,
    read_lines,
    remove_empty,
    remove_files,
    remove_reasons,
    set_aside_refused,
)
from gnz_track.store.run_record import RunRecord, SweepContext
from gnz_track.store.searches import SearchRecord, write_search
from gnz_track.store.sweep_manifest import conclude_sweep
from gnz_track.store.writer import FAILED, FINISHED, Store
from gnz_track.text import remake_command, sync_command

__all__ = ["Replay", "replay", "replay_each"]


@dataclass(frozen=True, kw_only=True)
class Replay:
    """Outcome of a replay.

    Keys of records (of cells and searches) written and of those that the store had; lines that hold none, as
    ``file:line``, and the files that keep them; sweeps that another process is writing; what the store refused, with
    its reason; ends that it was told. Keys of records whose files were written, and sentences about files that were
    not, and about those that are lost.
    """

    written: tuple[str, ...] = ()
    present: tuple[str, ...] = ()
    corrupted: tuple[str, ...] = ()
    busy: tuple[str, ...] = ()
    aside: tuple[str, ...] = ()
    refused: tuple[str, ...] = ()
    ended: tuple[str, ...] = ()
    filed: tuple[str, ...] = ()
    unfiled: tuple[str, ...] = ()
    lost_files: tuple[str, ...] = ()

    @property
    def is_left_over(self) -> bool:
        """Whether anything could not be written."""
        return bool(self.refused or self.busy or self.corrupted or self.unfiled or self.lost_files)

    @property
    def complaints(self) -> tuple[str, ...]:
        """Sentences about what could not be written; sweeps of other processes are no reason to complain."""
        bad = (str(OutboxCorrupted(self.corrupted, ", ".join(self.aside))),) if self.corrupted else ()
        again = "It is kept on this disk; try it again with: gnz sync"
        return (*bad, *(f"the store refused {what} {again}" for what in self.refused), *self.unfiled, *self.lost_files)

    def joined(self, other: Replay) -> Replay:
        """Return what this replay and another one did."""
        return Replay(**{item.name: (*getattr(self, item.name), *getattr(other, item.name)) for item in fields(Replay)})

    def check(self) -> None:
        """Raise where lines could not be read; everything else has been replayed."""
        if self.corrupted:
            raise OutboxCorrupted(self.corrupted, ", ".join(self.aside))


def replay(folder: Path, store: Store) -> Replay:
    """Write every waiting record that the store has not; doing it again, or after a crash, changes nothing.

    The store itself is asked what it has, since a crash may fall between writing and marking. A run that was begun
    and not ended is completed. Outboxes whose records are all in the store are removed, unless lines were corrupted.
    """
    return functools.reduce(Replay.joined, (part for _, part in replay_each(folder, store)), Replay())


def replay_each(folder: Path, store: Store, *, with_refused: bool = False) -> Iterator[tuple[str, Replay]]:
    """Replay sweep by sweep; yield the name of its files, and what was done.

    Parameters
    ----------
    folder
        Folder of the records that wait for this store.
    store
        Open store.
    with_refused
        Whether what the store has refused is tried again: nobody else is to wait for it.
    """
    for path in files_of_outbox(folder, with_refused=with_refused):
        with file_lock(path.with_suffix(LOCK), waits=False) as is_ours:
            if not is_ours:
                yield path.stem, Replay(busy=(path.stem,))
            elif path.exists():  # another replay may just have ended
                yield path.stem, _replay_sweep(path, store)
        if is_set_aside(path):
            remove_empty(path.parent)


def _replay_sweep(path: Path, store: Store) -> Replay:
    lines, marked = read_lines(path), marks_of(path)
    left = [record for key, record in lines.records.items() if key not in marked]
    ends = [end for key, end in lines.ends.items() if key not in marked]
    tried = Tried(path)
    if left or ends:
        _replay_cells(left, ends, lines, store, tried)
    _replay_files(path, lines, store, tried)
    _drop_beaten(lines, store, tried)
    _replay_searches({key: search for key, search in lines.searches.items() if key not in marked}, store, tried)
    _set_aside(path, lines, tried)
    corrupted, aside = _keep_aside(path, lines.bad)
    if not lines.bad and not tried.waits:
        remove_files(path)
        if is_set_aside(path):
            remove_reasons(path)
    present = sorted(marked & {*lines.records, *lines.searches})
    done = {name: tuple(items) for name, items in tried.done.items()}
    return Replay(**{**done, "present": (*present, *done["present"])}, corrupted=corrupted, aside=aside)


def _replay_cells(
    left: Sequence[RunRecord], ends: Sequence[SweepEnd], lines: Lines, store: Store, tried: Tried
) -> None:
    """Write records into the run of their sweep, and end that."""
    # Whichever line was not corrupted says which sweep it is.
    named: list[RunRecord | SweepContext] = [*left, *lines.contexts.values()]
    if not named:
        return
    about = named[0]
    try:
        runs = {store.open_sweep(context) for context in lines.contexts.values()}
        known = store.runs_of_sweep(about.suite, about.sweep)
    except GnzError as error:
        if not is_of_record(error):
            raise
        # A sweep that is refused has no run for its records either.
        for key in (*(record.key for record in left), *(end.key for end in ends)):
            tried.refuse(key, f"sweep {about.sweep}: {error}", error)
        return
    for record in left:
        _replay_record(record, store, tried, *known.get(record.key, ("", "")))
    for run_id in runs:
        _end_sweep(store, run_id, about, ends[-1] if ends else None)
    for end in ends:
        tried.note("ended", end.key)


class Tried:
    """Outcome of the lines of an outbox; each that the store has is marked at once."""

    def __init__(self, path: Path) -> None:
        self._marks = path.with_suffix(DONE)
        self.done: dict[str, list[str]] = {name: [] for name in _OUTCOMES}
        # Key -> reason of what is refused for its own sake; whatever else was refused waits where it is.
        self.reasons: dict[str, str] = {}
        self.waits = False

    def note(self, what: str, key: str) -> None:
        """Note that the store has a line, or was told of it."""
        self.mark(key)
        self.done[what].append(key)

    def mark(self, key: str) -> None:
        """Note that a line does not wait here any more."""
        append_line(self._marks, key)

    def refuse(self, key: str, said: str, error: GnzError) -> None:
        """Note that the store did not take a line, and whether that is the line's own fault.

        Parameters
        ----------
        key, said
            Key of the record, and what is said of it.
        error
            Why the store did not take it.
        """
        self.done["refused"].append(said)
        if is_of_record(error):
            self.reasons[key] = said
        else:
            self.waits = True


_OUTCOMES = ("written", "present", "refused", "ended", "filed", "unfiled", "lost_files")


def _replay_files(path: Path, lines: Lines, store: Store, tried: Tried) -> None:
    """Write files of cells that wait into the runs of these cells; the first that is not taken ends it."""
    marked = marks_of(path)
    waiting = {key: record for key, record in lines.file_keys.items() if key not in marked}
    if not waiting:
        return
    about = next(iter(waiting.values()))
    known = store.runs_of_sweep(about.suite, about.sweep)
    for n, (key, record) in enumerate(waiting.items()):
        run_id, status = known.get(record.key, ("", ""))
        if status not in {FINISHED, FAILED}:
            # Its record is not in the store; with that the files wait, or are set aside.
            if record.key in tried.reasons:
                tried.mark(key)
            continue
        files, lost = sound_files(path.with_suffix(FILES), record.files)
        try:
            store.keep_files(run_id, files)
        except StoreUnusable as error:
            tried.done["unfiled"].append(_tell_left(len(waiting) - n, record, store, error))
            tried.waits = True
            return
        tried.note("filed", key)
        # Whoever was interrupted may have moved some into the run already.
        lost = {name: reason for name, reason in lost.items() if not store.has_file(run_id, name, record.files[name])}
        if lost:
            said = ", ".join(f"{name} {reason}" for name, reason in lost.items())
            keep = "weights" if lost.keys() & {*schema.OF_MODEL} else "predictions"
            again = remake_command(run_id, store.address, keep=keep)
            tried.done["lost_files"].append(f"of {record.task} {record.name}, {said}; make it again: {again}")


def _drop_beaten(lines: Lines, store: Store, tried: Tried) -> None:
    """Remove the weights of cells that are not the best any more, once those that waited are all in the store."""
    about = next((record for record in lines.records.values() if record.standing), None)
    if about is None or tried.waits:
        return
    try:
        drop_beaten(store, about.suite, about.sweep)
    except StoreUnusable as error:
        said = f"weights that are not the best ones are still with runs of sweep {about.sweep}, since {error.reason}"
        tried.done["unfiled"].append(said)


def _tell_left(n: int, record: RunRecord, store: Store, error: StoreUnusable) -> str:
    return (
        f"files of {n} cell{'s' * (n != 1)} of sweep {record.sweep} wait on this disk, since {error.reason}; "
        f"when that is mended, type: {sync_command(store.address)}"
    )


def _set_aside(path: Path, lines: Lines, tried: Tried) -> None:
    """Move what is refused for its own sake out of the way of all that follows."""
    if not tried.reasons:
        return
    if is_set_aside(path):
        tried.waits = True
        return
    set_aside_refused(path, lines.sealed_again(tried.reasons), tried.reasons)
    for key in tried.reasons:
        tried.mark(key)


def _end_sweep(store: Store, run_id: str, about: RunRecord | SweepContext, end: SweepEnd | None) -> None:
    """Close the run of a sweep; where its end is known, with the plan and the table that every reader looks for."""
    if end is not None:
        store.write_text(run_id, schema.PLAN_FILE, end.plan)
        conclude_sweep(store, about.suite, about.sweep, run_id=run_id, plan=end.plan)
    if end is not None and end.killed:
        store.kill(run_id, end.killed)
    else:
        store.close_sweep(run_id)


def _replay_record(record: RunRecord, store: Store, tried: Tried, run_id: str, status: str) -> None:
    """Write a record that is not in the store yet; a store that is away raises."""
    if status in {FINISHED, FAILED}:
        tried.note("present", record.key)
        return
    try:
        store.finish(record, run_id)
    except StoreUnreachable:
        raise
    except GnzError as error:
        # One record that cannot be stored must not keep all behind it from the store.
        tried.refuse(record.key, f"{record.task} {record.name}: {error}", error)
    else:
        tried.note("written", record.key)


def _replay_searches(searches: Mapping[str, SearchRecord], store: Store, tried: Tried) -> None:
    """Write each search; of several states of one, the last is written for all of them."""
    states: dict[str, list[str]] = {}
    for key, search in searches.items():
        states.setdefault(search.key, []).append(key)
    for keys in states.values():
        last = searches[keys[-1]]
        try:
            write_search(store, last)
        except StoreUnreachable:
            raise
        except GnzError as error:
            tried.refuse(keys[-1], f"search {last.title}: {error}", error)
            if keys[-1] in tried.reasons:
                # No state of it is given up: all of them are set aside.
                tried.reasons |= dict.fromkeys(keys, tried.reasons[keys[-1]])
        else:
            for key in keys:
                tried.note("written" if key == keys[-1] else "present", key)


def _keep_aside(path: Path, bad: dict[int, bytes]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    if not bad:
        return (), ()
    aside = path.with_suffix(ASIDE)
    aside.write_bytes(b"".join(b"line %d: %s\n" % item for item in bad.items()))
    return tuple(f"{path}:{number}" for number in bad), (str(aside),)
