"""Runs of a sweep that lack predictions or weights, trained once more, so that they can be asked as those with them."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from gnz_track.errors import (
    GnzError,
    NothingToCompare,
    NotReproducible,
    StoreUnreachable,
    StoreUnusable,
    UnknownName,
)
from gnz_track.records import freeze_mappings
from gnz_track.runs.executors.choice import choose_executor
from gnz_track.runs.executors.events import ignore
from gnz_track.runs.files_of_cell import PREDICTIONS, WEIGHTS, check_most_bytes
from gnz_track.runs.fingerprint import fingerprint
from gnz_track.runs.plan import resolve_device
from gnz_track.runs.reproduce import Conditions, files_to_keep, rebuild
from gnz_track.store.address import Address
from gnz_track.store.cell_files.joined_predictions import read_kept_file
from gnz_track.store.cell_files.kept_files import KeptFile, files_from_tag
from gnz_track.store.listings import has_tables
from gnz_track.store.past_runs import read_run
from gnz_track.store.reader import check_known, open_reader
from gnz_track.store.row_filters import PastRun, asked_names
from gnz_track.store.schema import OF_MODEL, PREDICTIONS_FILE, SPLIT_DIGEST, SPLIT_FILE, WEIGHTS_FILE
from gnz_track.store.sweep_manifest import read_wanted_cells
from gnz_track.store.writer import Store, open_store
from gnz_track.text import plural
from gnz_track.types import Cell, CellResult

__all__ = ["Refill", "refill"]

# What runs are to have -> the file by which it is told whether they have it, and all files that are looked at.
_FILE_OF = {PREDICTIONS: PREDICTIONS_FILE, WEIGHTS: WEIGHTS_FILE}
_LOOKED_AT = {PREDICTIONS: (PREDICTIONS_FILE,), WEIGHTS: (PREDICTIONS_FILE, *OF_MODEL)}


@dataclass(frozen=True, kw_only=True)
class Refill:
    """Finished runs of a sweep: those that had what ``keep`` says, that got it, and run -> why another has none."""

    sweep: str
    keep: str
    had: tuple[str, ...]
    got: tuple[str, ...]
    left_out: Mapping[str, str]

    def __post_init__(self) -> None:
        freeze_mappings(self, "left_out")


def refill(
    sweep: str,
    address: Address,
    *,
    conditions: Conditions,
    keep: str = PREDICTIONS,
    keep_at_most: int = Cell.keep_at_most,
    jobs: int = 1,
    tell: Callable[[int, int, str], None] | None = None,
) -> Refill:
    """Train the finished runs of a sweep that lack files, and write these where all numbers came out the same.

    Each run gets its files as soon as they are there: the same call goes on where another was interrupted. A run whose
    file is gone, or is not what it was, counts as one that lacks it. A store that takes no more files ends the call.

    Parameters
    ----------
    sweep, address
        The sweep, and its store.
    conditions
        Device and data of the repetitions, and whether foreign code is trusted.
    keep
        ``predictions``, or ``weights`` and these.
    keep_at_most
        Bytes of the largest file that a run gets.
    jobs
        Worker processes; 1 trains in this one.
    tell
        Is told of each run: how many have been trained, of how many, and which one.
    """
    most_bytes = check_most_bytes(keep_at_most)
    if keep not in _FILE_OF:
        raise UnknownName("files to keep of a sweep", keep, _FILE_OF, command="gnz reproduce --help")
    if conditions.device:
        # A slip in it is no fault of any run.
        resolve_device(conditions.device)
    past = _PastRuns(address, sweep, keep)
    waiting, left_out = past.rebuild(conditions)
    wanted = [replace(cell, keep=keep, keep_at_most=most_bytes) for _, cell in waiting]
    runs_of: dict[str, list[PastRun]] = {}
    for run, cell in waiting:
        runs_of.setdefault(fingerprint(cell), []).append(run)
    got = []
    with contextlib.ExitStack() as stack:
        results = stack.enter_context(contextlib.closing(choose_executor(jobs=jobs)(wanted, ignore)))
        store = stack.enter_context(open_store(address))
        for n, result in enumerate(results, 1):
            run = runs_of[fingerprint(result.cell)].pop(0)
            try:
                past.write(store, run, result)
                got.append(run.run_id)
            except StoreUnreachable as error:
                # Further runs would be trained for nothing.
                remedy = f"{len(got)} of {plural(len(wanted), 'run')} got {keep}; the same command goes on from there"
                raise StoreUnusable(address, error.reason, remedy=remedy) from error
            except GnzError as error:
                left_out[run.run_id] = str(error)
            if tell:
                tell(n, len(wanted), result.cell.label)
    return Refill(sweep=sweep, keep=keep, had=tuple(past.had), got=tuple(got), left_out=left_out)


class _PastRuns:
    """Finished runs of a sweep: which of them have what is to be kept, and which splits lie with any of them."""

    def __init__(self, address: Address, sweep: str, keep: str) -> None:
        self._address, self._name, self._looked_at = address, _FILE_OF[keep], _LOOKED_AT[keep]
        split_of = _finished_runs(address, sweep)
        kept = open_reader(address).kept_files(list(split_of))
        files_of = {run_id: (place, files_from_tag(tag)) for run_id, place, tag in kept}
        self.had = [run_id for run_id, (place, files) in files_of.items() if self._has(run_id, place, files)]
        self._lacking = [run_id for run_id in split_of if run_id not in set(self.had)]
        self._splits = {split_of[run_id] for run_id, (_, files) in files_of.items() if SPLIT_FILE in files}

    def _has(self, run_id: str, place: str, files: Mapping[str, KeptFile]) -> bool:
        """Tell whether a run names the file, and whether what it names of that kind is there, and what it was."""
        named = {name: files[name] for name in self._looked_at if name in files}
        with contextlib.suppress(GnzError):
            found = (read_kept_file(self._address, run_id, place, *item) for item in named.items())
            return self._name in named and all(content is not None for content in found)
        return False

    def rebuild(self, conditions: Conditions) -> tuple[list[tuple[PastRun, Cell]], dict[str, str]]:
        """Return the runs that lack the file with their cells, and why others cannot be trained again."""
        found, left_out = [], {}
        for run_id in self._lacking:
            try:
                run = read_run(self._address, run_id)
                found.append((run, rebuild(run, self._address, conditions).cell_now))
            except GnzError as error:
                left_out[run_id] = str(error)
        return found, left_out

    def write(self, store: Store, run: PastRun, result: CellResult) -> None:
        """Write the files of a repetition into its run; where that file is missing, raise an error that says why."""
        files = files_to_keep(run, result, self._address)
        split = run.tags.get(SPLIT_DIGEST, "")
        store.add_files(
            run.run_id, {name: one for name, one in files.items() if name != SPLIT_FILE or split not in self._splits}
        )
        if SPLIT_FILE in files:
            self._splits.add(split)
        if self._name not in files:
            reason = result.left_out.get(self._name, "it has none to keep")
            raise NotReproducible(run.run_id, reason, remedy="gnz reproduce --help")


def _finished_runs(address: Address, sweep: str) -> dict[str, str]:
    """Return run -> digest of its split, of the finished cells that a sweep wanted."""
    if not has_tables(address):
        raise NothingToCompare(f"there is nothing in {address} yet; fill it with: gnz run")
    rows = read_wanted_cells(address, sweep).table
    if rows.empty:
        check_known(address, asked_names({}, sweep=sweep), rows)
    rows = rows[(rows["status"] == "finished") & (rows["run_id"] != "")]
    return {str(run_id): str(split) for run_id, split in zip(rows["run_id"], rows["split_digest"], strict=True)}
