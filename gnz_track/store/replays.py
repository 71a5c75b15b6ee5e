"""What waits on the disk, written into the store: once, whatever happened when and how often."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from pathlib import Path

from gnz_track.errors import GnzError, SpoolCorrupted, StoreUnreachable
from gnz_track.store import schema
from gnz_track.store.connection import file_lock
from gnz_track.store.reading import publish_table
from gnz_track.store.run_record import RunRecord, SweepContext
from gnz_track.store.search_record import SearchRecord
from gnz_track.store.search_writer import write_search
from gnz_track.store.spool import ASIDE, DONE, LINES, LOCK, append_line, marks_of, remove_files
from gnz_track.store.spool_lines import SweepEnd, read_lines
from gnz_track.store.writer import FAILED, FINISHED, Store

__all__ = ["Replay", "replay", "replay_each"]


@dataclass(frozen=True, kw_only=True)
class Replay:
    """What a replay did.

    Keys of records (of cells and searches) written and of those that the store had; lines that hold none, as
    ``file:line``, and the files that keep them; sweeps that another process is writing; what the store refused, with
    its reason; ends that it was told.
    """

    written: tuple[str, ...] = ()
    present: tuple[str, ...] = ()
    corrupted: tuple[str, ...] = ()
    busy: tuple[str, ...] = ()
    aside: tuple[str, ...] = ()
    refused: tuple[str, ...] = ()
    ended: tuple[str, ...] = ()

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


def _replay_sweep(path: Path, store: Store) -> Replay:
    lines, marked = read_lines(path), marks_of(path)
    left = [record for key, record in lines.records.items() if key not in marked]
    ends = [end for key, end in lines.ends.items() if key not in marked]
    done: dict[str, list[str]] = {"written": [], "present": sorted(marked & {*lines.records, *lines.searches})}
    done |= {"refused": [], "ended": []}
    # Whichever line was not corrupted says which sweep it is.
    named: list[RunRecord | SweepContext] = [*left, *lines.contexts.values()]
    about = next(iter(named), None)
    if about is not None and (left or ends):
        runs = {store.open_sweep(context) for context in lines.contexts.values()}
        known = store.runs_of_sweep(about.suite, about.sweep)
        for record in left:
            what, said = _replay_record(record, store, *known.get(record.key, ("", "")))
            done[what].append(said)
            if what != "refused":
                append_line(path.with_suffix(DONE), record.key)
        for run_id in runs:
            _end_sweep(store, run_id, about, ends[-1] if ends else None)
        for end in ends:
            append_line(path.with_suffix(DONE), end.key)
            done["ended"].append(end.key)
    waiting = {key: search for key, search in lines.searches.items() if key not in marked}
    for key, (what, said) in _replay_searches(waiting, store).items():
        done[what].append(said)
        if what != "refused":
            append_line(path.with_suffix(DONE), key)
    corrupted, aside = _keep_aside(path, lines.bad)
    if not lines.bad and not done["refused"]:
        remove_files(path)
    return Replay(corrupted=corrupted, aside=aside, **{name: tuple(items) for name, items in done.items()})


def _end_sweep(store: Store, run_id: str, about: RunRecord | SweepContext, end: SweepEnd | None) -> None:
    """Close the run of a sweep; where its end is known, with the plan and the table that every reader looks for."""
    if end is not None:
        store.write_text(run_id, schema.PLAN_FILE, end.plan)
        publish_table(store, about.suite, about.sweep, run_id=run_id)
    if end is not None and end.killed:
        store.kill(run_id, end.killed)
    else:
        store.close_sweep(run_id)


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


def _replay_searches(searches: Mapping[str, SearchRecord], store: Store) -> dict[str, tuple[str, str]]:
    """Return what became of each state of a search; of several states of one, the last is written for all of them."""
    states: dict[str, list[str]] = {}
    for key, search in searches.items():
        states.setdefault(search.key, []).append(key)
    done: dict[str, tuple[str, str]] = {}
    for keys in states.values():
        last = searches[keys[-1]]
        try:
            write_search(store, last)
        except StoreUnreachable:
            raise
        except GnzError as error:
            done[keys[-1]] = ("refused", f"search {last.title}: {error}")
        else:
            done |= {key: ("present", key) for key in keys} | {keys[-1]: ("written", keys[-1])}
    return done


def _keep_aside(path: Path, bad: dict[int, bytes]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    if not bad:
        return (), ()
    aside = path.with_suffix(ASIDE)
    aside.write_bytes(b"".join(b"line %d: %s\n" % item for item in bad.items()))
    return tuple(f"{path}:{number}" for number in bad), (str(aside),)
