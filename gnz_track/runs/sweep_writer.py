"""Turns what an executor tells into records, writes them, and goes on without a store that has gone away."""

from __future__ import annotations

import contextlib
import math
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Self

import pandas as pd

from gnz_track.datasets.frozen import open_frozen
from gnz_track.errors import GnzError, StoreUnreachable
from gnz_track.runs.executors.events import Done, Event, Points, Started
from gnz_track.runs.files_of_cell import BEST, KEEPS_WEIGHTS, PREDICTIONS, WEIGHTS
from gnz_track.runs.fingerprint import NUMBERS, fingerprint
from gnz_track.runs.plan import Plan
from gnz_track.store.address import SQLITE, Address
from gnz_track.store.cell_book import write_book
from gnz_track.store.cell_files.best_weights import BestSoFar, drop_beaten
from gnz_track.store.environment import LoadSampler, collect_environment, read_git, this_owner
from gnz_track.store.files.sqlite import change_of, identity_of
from gnz_track.store.outbox import Outbox, deliver, make_outbox_folder, outbox_folder, outbox_unwritable
from gnz_track.store.replay import replay
from gnz_track.store.results_table import empty_table, table_of_records
from gnz_track.store.run_record import RunRecord, SweepContext, check_hyperparameters, record_of, record_of_start
from gnz_track.store.schema import PLAN_FILE, SPLIT_FILE
from gnz_track.store.sweep_manifest import SweepPlan, conclude_sweep, plan_to_json
from gnz_track.store.writer import FAILED, FINISHED, Store, kill_dead_runs, now, open_store
from gnz_track.text import remake_command, sync_command
from gnz_track.training.metrics import metric_of, presumed_metric
from gnz_track.types import Cell, CellResult

__all__ = ["SweepWriter", "Tracking", "write_wanted"]


def write_wanted(plan: Plan, tracking: Tracking) -> str:
    """Return what a sweep wants, as it is written beside it."""
    return plan_to_json(_wanted_by(plan, suite=tracking.suite, sweep=tracking.sweep))


def _wanted_by(plan: Plan, *, suite: str, sweep: str) -> SweepPlan:
    """Return the cells of a plan as rows of the results table, as far as they are known before training."""
    cells = tuple({"suite": suite, "sweep": sweep, **_row_of_cell(cell)} for cell in plan.cells)
    return SweepPlan(cells=cells, left_out=tuple((item.task, item.model, item.reason) for item in plan.skipped))


def _row_of_cell(cell: Cell) -> dict[str, str | int]:
    metric = presumed_metric(cell.task)
    return {
        "fingerprint": fingerprint(cell),
        "task": cell.task.name,
        "category": str(cell.task.category),
        "task_type": str(cell.task.task_type),
        "model": cell.model.name,
        "seed": cell.seed,
        "metric": metric.name,
        "direction": str(metric.direction),
        "protocol": cell.protocol.label,
        "dataset": cell.task.dataset,
        "dataset_digest": cell.dataset_digest,
        "hyperparameters": check_hyperparameters(cell.hyperparameters),
        "epochs": cell.epochs,
    }


MILLISECONDS_BETWEEN_BEATS, MILLISECONDS_BETWEEN_LOADS = 600_000, 60_000


@dataclass(frozen=True, kw_only=True)
class Tracking:
    """Store and names of a sweep that is written; ``source`` was called, ``searches`` chose cells by fingerprint.

    With ``system_metrics`` the sweep's run has the load of this machine.
    """

    address: Address
    sweep: str
    suite: str = "custom"
    version: str = ""
    source: str = "gnz"
    searches: Mapping[str, str] = field(default_factory=dict)
    system_metrics: bool = False


class SweepWriter:
    """The one writer of a sweep; a context manager that leaves no run of its own without an end."""

    def __init__(self, tracking: Tracking, *, plan: Plan) -> None:
        self.notices: list[str] = []
        self._tracking, self._plan = tracking, plan
        self._folder = outbox_folder(tracking.address)
        self._context = SweepContext(
            sweep=tracking.sweep,
            suite=tracking.suite,
            environment=collect_environment(),
            git=read_git(),
            owner=str(this_owner()),
            version=tracking.version,
            source_name=tracking.source,
            book=write_book({fingerprint(cell): cell for cell in plan.cells}, numbers=NUMBERS),
        )
        self._outbox = Outbox(self._folder, self._context)
        self._load = LoadSampler() if tracking.system_metrics else None
        self._loaded = now()
        self._store: Store | None = None
        self._file: tuple[int, int] | None = None
        self._sweep_run, self._beaten = "", now()
        self._started: dict[str, tuple[Cell, int]] = {}
        self._begun: dict[str, str] = {}
        # Digests of the splits that lie with the run of a cell.
        self._splits: set[str] = set()
        # Where only the best cells keep weights: which these are so far.
        self._best = BestSoFar() if any(cell.keep == BEST for cell in plan.cells) else None
        # Files and tasks of which it was said that they are not kept.
        self._left_out: set[tuple[str, str]] = set()
        # Hears why files of a cell could not be written; None once they wait.
        self._tell_of_files: Callable[[str], object] | None = self._leave_files
        self._written: list[tuple[str, RunRecord]] = []
        self._published = empty_table()
        # One attempt at each cell in one call; a later call is another attempt.
        self._attempt = uuid.uuid4().hex[:12]

    def __enter__(self) -> Self:
        try:
            with contextlib.ExitStack() as stack:
                self._open(stack)
                self._stack = stack.pop_all()
        except OSError as error:
            # What the store says is no OSError any more: this is the disk on which results are to wait.
            self._close_store()
            raise outbox_unwritable(self._folder, error) from error
        except BaseException:
            self._close_store()
            raise
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        try:
            with self._stack:
                self._kill_running("the sweep was interrupted" if kind else "its executor left it")
                self._write_load()
                self._close_sweep(killed="Killed: the sweep was interrupted" if kind else "")
            self._catch_up()
            if self._best is not None and not self._outbox.path.exists():
                # Where files wait, whoever replays them does so.
                self._guard(lambda store: drop_beaten(store, self._tracking.suite, self._tracking.sweep))
        finally:
            self._close_store()

    def take(self, event: Event) -> None:
        """Write what an event says."""
        self._TAKE[type(event)](self, event)
        if now() - self._loaded > MILLISECONDS_BETWEEN_LOADS:
            self._write_load()

    def tables(self) -> tuple[pd.DataFrame, pd.DataFrame]:
        """Return the rows of all cells that ended: those that were published, and those of what waits or was not."""
        published = self._published[self._published["run_id"].isin({run_id for run_id, _ in self._written})]
        known = set(published["run_id"])
        return published, table_of_records(item for item in self._written if item[0] not in known)

    def _write_start(self, event: Started) -> None:
        self._started[fingerprint(event.cell)] = (event.cell, now())

    def _stream(self, event: Points) -> None:
        key = fingerprint(event.cell)
        epoch, row = event.rows[-1]
        points = {name: (epoch, value) for name, value in row.items() if math.isfinite(value)}
        self._guard(lambda store: store.stream(self._begin(key, event.cell, store), points))

    def _write_end(self, event: Done) -> None:
        result = event.result
        self._beat()
        key = fingerprint(result.cell)
        self._started.pop(key, None)
        run_id = self._begun.pop(key, "")
        self._see_that_file_is_there()
        record = self._record_of(self._without_known_split(result), key)
        record = self._spool_files(self._best.admit(record) if self._best else record, result)
        try:
            if self._store is None:
                self._outbox.append(record)
            else:
                run_id = deliver(self._outbox, self._store, record, run_id=run_id, tell=self._tell_of_files)
        except StoreUnreachable as error:
            self._lose(error)
        except GnzError as error:
            self._note(f"{error}. The record waits on this disk: {self._sync}")
        except OSError as error:
            run_id = self._write_without_disk(record, run_id, error)
        self._written.append((run_id, record))

    _TAKE: ClassVar[dict[type, Callable[[SweepWriter, Any], None]]] = {
        Started: _write_start,
        Points: _stream,
        Done: _write_end,
    }

    def _without_known_split(self, result: CellResult) -> CellResult:
        """Leave out a split that another cell of this sweep has brought: one file does for all of a digest."""
        if SPLIT_FILE not in result.files:
            return result
        is_known = result.split_digest in self._splits
        self._splits.add(result.split_digest)
        files = {name: content for name, content in result.files.items() if name != SPLIT_FILE}
        return replace(result, files=files) if is_known else result

    def _spool_files(self, record: RunRecord, result: CellResult) -> RunRecord:
        """Put the files of a cell on this disk, and return its record, without files where the disk takes none."""
        for name, sentence in result.left_out.items():
            # Models and seeds of a task differ by little: once is enough.
            if (name, record.task) not in self._left_out:
                self._left_out.add((name, record.task))
                self._note(sentence)
        try:
            self._outbox.spool({name: result.files[name] for name in record.files})
        except OSError as error:
            reason = error.strerror or str(error)
            keep = WEIGHTS if result.cell.keep in KEEPS_WEIGHTS else PREDICTIONS
            again = f"those of a run are made again by: {remake_command('RUN', self._tracking.address, keep=keep)}"
            self._note(f"files of cells are not kept, since {self._folder} takes none ({reason}); {again}")
            return replace(record, files={})
        return record

    def _leave_files(self, reason: str) -> None:
        # Each further try may take a minute; what waits is tried once more at the end.
        self._tell_of_files = None
        self._note(f"files of cells wait on this disk, since {reason}; when that is mended, type: {self._sync}")

    def _beat(self) -> None:
        """Say now and then that the sweep's own run is alive: its machine may not be the one that looks for dead."""
        if self._sweep_run and now() - self._beaten > MILLISECONDS_BETWEEN_BEATS:
            self._beaten = now()
            self._guard(lambda store: store.stream(self._sweep_run, {}, at=self._beaten))

    def _write_load(self) -> None:
        """Write the load of this machine since the last time; what a store that is away does not hear is forgotten."""
        self._loaded = now()
        samples = self._load.take() if self._load else []
        if samples and self._sweep_run:
            self._guard(lambda store: store.write_load(self._sweep_run, samples))

    def _record_of(self, result: CellResult, key: str) -> RunRecord:
        search = self._tracking.searches.get(key, "")
        return record_of(result, self._context, fingerprint=key, ended_at=now(), attempt=self._attempt, search=search)

    def _begin(self, key: str, cell: Cell, store: Store) -> str:
        """Return the run of a cell that runs, created where there is none yet."""
        if key not in self._begun:
            metric = metric_of(cell.task, is_multi_label=open_frozen(cell.data).is_multi_label)
            record = record_of_start(
                cell,
                self._context,
                fingerprint=key,
                metric=metric,
                started_at=self._started[key][1],
                attempt=self._attempt,
            )
            self._begun[key] = store.start(record)
        return self._begun[key]

    def _write_without_disk(self, record: RunRecord, run_id: str, error: OSError) -> str:
        """Write to the store alone where the disk takes nothing more; where there is no store, nothing is safe."""
        if self._store is not None:
            self._note(f"nothing can be written to {self._folder}: {error}. Results go to the store alone")
            record = replace(record, files={})
            with contextlib.suppress(StoreUnreachable):
                # The disk may have failed once the store had the record.
                known = self._store.runs_of_sweep(record.suite, record.sweep)
                run_id, status = known.get(record.key, (run_id, ""))
                return run_id if status in {FINISHED, FAILED} else self._store.finish(record, run_id)
        kept = f"{len(self._written)} results of this call are kept, and {record.task} {record.name} is trained anew"
        raise outbox_unwritable(self._folder, error, kept=kept) from error

    def _kill_running(self, reason: str) -> None:
        for key, (cell, _) in self._started.items():
            self._guard(
                lambda store, key=key, cell=cell: store.kill(self._begin(key, cell, store), f"Killed: {reason}")
            )

    def _open(self, stack: contextlib.ExitStack) -> None:
        if self._load is not None:
            stack.enter_context(self._load)
        try:
            self._open_store()
            self._open_outbox(stack)
            self._open_sweep()
        except StoreUnreachable as error:
            self._lose(error)
            self._open_outbox(stack)

    def _open_store(self) -> None:
        self._store = open_store(self._tracking.address)
        is_file = self._tracking.address.kind == SQLITE
        self._file = identity_of(self._tracking.address.file) if is_file else None
        # What an earlier call could not write comes first; then nobody's run is taken for a dead one.
        for sentence in replay(self._folder, self._store).complaints:
            self._note(sentence)
        for run in kill_dead_runs(self._store):
            self._note(f"marked as killed: {run.name}, {run.reason}")

    def _open_outbox(self, stack: contextlib.ExitStack) -> None:
        if not self._outbox.is_open:
            make_outbox_folder(self._tracking.address)
            stack.enter_context(self._outbox)

    def _open_sweep(self) -> None:
        if self._store is not None:
            self._sweep_run = self._store.open_sweep(self._context)
            self._store.write_text(self._sweep_run, PLAN_FILE, self._wanted)
            if self._best is not None:
                self._best.learn(self._store, self._tracking.suite, self._tracking.sweep)

    @property
    def _wanted(self) -> str:
        return write_wanted(self._plan, self._tracking)

    def _close_sweep(self, *, killed: str) -> None:
        """Publish the table and end the sweep's run; a store that is away is told so later."""
        is_closed = False

        def close(store: Store) -> None:
            nonlocal is_closed
            about = self._tracking
            names = {"suite": about.suite, "sweep": about.sweep, "run_id": self._sweep_run}
            self._published = conclude_sweep(store, **names, plan=self._wanted)
            # The table of an interrupted sweep is published too; but nobody shall take it for a whole one.
            store.kill(self._sweep_run, killed) if killed else store.close_sweep(self._sweep_run)
            is_closed = True

        if self._sweep_run:
            self._guard(close)
        if not is_closed:
            try:
                self._outbox.append_end(self._wanted, killed=killed)
            except OSError as error:
                self._note(f"nothing can be written to {self._folder}: {error}. The sweep has no plan and no table")

    def _catch_up(self) -> None:
        """Write what waits once more, where the store went away and may be back; say so where it is not."""
        if not self._outbox.path.exists():
            return
        try:
            self._store = self._store or open_store(self._tracking.address)
            done = replay(self._folder, self._store)
        except (GnzError, OSError):
            self._note(f"{self._outbox.waiting} wait on this disk; when the store answers again, type: {self._sync}")
        else:
            for sentence in done.complaints:
                self._note(sentence)
            known = self._store.runs_of_sweep(self._tracking.suite, self._tracking.sweep)
            # A store that took the place of another one has other runs.
            self._written = [(known.get(record.key, (run_id,))[0], record) for run_id, record in self._written]
            if done.written or done.ended or done.filed:
                other = "the sweep's plan and table are" if done.ended else f"files of {len(done.filed)} cells are"
                what = f"{len(done.written)} results that waited are" if done.written else other
                self._note(f"the store answers again: {what} written")

    def _guard(self, write: Callable[[Store], object]) -> None:
        self._see_that_file_is_there()
        if self._store is None:
            return
        try:
            write(self._store)
        except StoreUnreachable as error:
            self._lose(error)
        except GnzError as error:
            self._note(str(error))

    def _see_that_file_is_there(self) -> None:
        """Leave a store whose file was removed or replaced: who has it open still writes, and nobody will read it."""
        address = self._tracking.address
        change = change_of(address.file, self._file) if self._file else ""
        if self._store is not None and change:
            self._lose(StoreUnreachable(address, change, remedy="put it back"))

    def _lose(self, error: StoreUnreachable) -> None:
        self._note(f"{error}. Training goes on; results wait on this disk.")
        if self._file and identity_of(self._tracking.address.file) != self._file:
            # What that file had is nowhere else than on this disk now.
            self._outbox.forget_marks()
        self._close_store()

    def _close_store(self) -> None:
        if self._store is not None:
            self._store.close()
        self._store = None

    @property
    def _sync(self) -> str:
        return sync_command(self._tracking.address)

    def _note(self, sentence: str) -> None:
        if sentence not in self.notices:
            self.notices.append(sentence)
