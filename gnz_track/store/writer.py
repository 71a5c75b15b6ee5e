"""The one writer of a store: a run per cell, in a handful of transactions; runs of owners that are gone are KILLED."""

from __future__ import annotations

import json
import tempfile
import time
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import starmap
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from gnz_track.errors import StoreUnusable
from gnz_track.records import to_json
from gnz_track.store import run_record, schema
from gnz_track.store.address import Address, parse_address
from gnz_track.store.artifacts import fetch_artifact, keep_artifact, remove_artifact
from gnz_track.store.cell_files.kept_files import (
    KeptFile,
    describe_files,
    digest_of_bytes,
    files_from_tag,
    tag_of_files,
)
from gnz_track.store.connection import connect, disconnect, says_in_one_line, version_of_server
from gnz_track.store.curves import is_streamed
from gnz_track.store.environment import Owner, Sample, parse_owner, this_owner
from gnz_track.store.read_rest import experiments_named, pages
from gnz_track.store.run_record import Point, RunRecord, SweepContext, written_out
from gnz_track.types import Status

__all__ = ["DeadRun", "Store", "find_dead_runs", "kill_dead_runs", "now", "open_store"]


RUNNING, FINISHED, FAILED, KILLED = "RUNNING", "FINISHED", "FAILED", "KILLED"
ENDED = {Status.finished: FINISHED, Status.failed: FAILED}


def now() -> int:
    """Return the time in milliseconds since 1970."""
    return time.time_ns() // 1_000_000


def open_store(uri: str | Address = "", *, home: Path | None = None) -> Store:
    """Open a store for writing; a local one is created where there is none. See :func:`parse_address` for ``uri``."""
    address = uri if isinstance(uri, Address) else parse_address(uri, home=home)
    return Store(address, connect(address))


class Store:
    """Runs of cells, written by one process at a time; a context manager that closes its connections."""

    def __init__(self, address: Address, tracking: Any) -> None:
        self.address = address
        self.tracking = tracking
        self._experiments: dict[str, str] = {}
        self._artifacts: dict[str, str] = {}
        self._streamed: dict[str, set[tuple[str, int]]] = {}
        self._n_streamed: dict[str, int] = {}
        self._published: dict[str, str] = {}
        # Run -> what its bookkeeping says; sweep -> its run; run of a sweep -> the params that it has.
        self._kept: dict[str, dict[str, str]] = {}
        self._sweeps: dict[str, str] = {}
        self._params_of_sweep: dict[str, set[str]] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Close all connections."""
        disconnect(self.tracking)

    def start(self, record: RunRecord) -> str:
        """Create the RUNNING run of a cell that has just begun, with all its tags, and return its id.

        ``record`` holds what is known so far. Cells that are over sooner than anybody looks need no start:
        :meth:`finish` creates their run.
        """
        with says_in_one_line(self.address):
            return self._create_run(record)

    def stream(self, run_id: str, series: Mapping[str, tuple[int, float]], *, at: int | None = None) -> None:
        """Write the newest point of every series of a long cell, and a heartbeat, in one call.

        As hours pass, fewer and fewer calls write points; a heartbeat is in each.

        Parameters
        ----------
        run_id
            Run of the cell.
        series
            Name of each series, and its newest (epoch, value).
        at
            Time of the call, in milliseconds since 1970; None: now.
        """
        from mlflow.entities import Metric, RunTag

        at = now() if at is None else at
        self._n_streamed[run_id] = n = self._n_streamed.get(run_id, 0) + 1
        series = series if is_streamed(n) else {}
        points = {(schema.curve_key(name), epoch): value for name, (epoch, value) in series.items()}
        metrics = [Metric(key, value, at, epoch) for (key, epoch), value in points.items()]
        with says_in_one_line(self.address):
            beat = {**self._bookkeeping_of(run_id), schema.HEARTBEAT: str(at)}
            tags = schema.write_bookkeeping(beat)
            self.tracking.log_batch(run_id, metrics, [], [RunTag(*tag) for tag in tags.items()])
        self._streamed.setdefault(run_id, set()).update(points)

    def write_load(self, run_id: str, samples: Sequence[Sample]) -> None:
        """Write samples of the load of this machine into a run."""
        from mlflow.entities import Metric

        with says_in_one_line(self.address):
            for first in range(0, len(samples), schema.MOST_POINTS):
                points = [Metric(*sample) for sample in samples[first : first + schema.MOST_POINTS]]
                self.tracking.log_batch(run_id, points, [], [])

    def finish(self, record: RunRecord, run_id: str = "") -> str:
        """Write everything that is known of a cell and end its run; return the run's id.

        The status comes last: a run that is FINISHED or FAILED is whole. Writing one record again into the same run
        changes nothing, since all values and times come from the record.
        """
        from mlflow.entities import RunTag

        with says_in_one_line(self.address):
            if record.sweep in self._published:
                self.tracking.set_tag(self._published.pop(record.sweep), RunTag(schema.TABLE, ""))
            was_started = bool(run_id)
            run_id = run_id or self._create_run(record)
            self._log_dataset(record, run_id)
            self._write_artifacts(run_id, _artifacts_of(record))
            # A run that was started knew less: its tags are written again, with what came out.
            tags = run_record.checked(run_record.tags_of(record)) if was_started else {}
            self._log_batch(record, run_id, tags=tags, is_new=not was_started)
            self._end_run(run_id, ENDED[record.status], at=record.ended_at)
            self._streamed.pop(run_id, None)
            self._n_streamed.pop(run_id, None)
            self._kept.pop(run_id, None)
        return run_id

    def kill(self, run_id: str, reason: str, *, at: int | None = None) -> None:
        """Mark a RUNNING run as killed.

        Parameters
        ----------
        run_id
            The run.
        reason
            Why it is dead.
        at
            Time of its end, in milliseconds since 1970; None: now.
        """
        from mlflow.entities import RunTag

        with says_in_one_line(self.address):
            self.tracking.set_tag(run_id, RunTag(schema.ERROR, reason))
            self._end_run(run_id, KILLED, at=now() if at is None else at)

    def open_sweep(self, context: SweepContext) -> str:
        """Return the run that stands for a sweep, created where there is none; it keeps its environment and its cells.

        A sweep that is written to again has no published table any more: readers must not take the old one.
        """
        from mlflow.entities import RunStatus, RunTag

        with says_in_one_line(self.address):
            experiment = self.experiment(schema.sweep_experiment(context.suite), {})
            found = self.search([experiment], {schema.SWEEP: context.sweep, schema.KIND: schema.SWEEP_RUN})
            run = min(found, key=lambda run: (run.info.start_time, run.info.run_id), default=None)
            about = run_record.sweep_tags(context, at=now())
            tags = [RunTag(key, value) for key, value in about.items()]
            if run is None:
                run = self.tracking.create_run(experiment, "", now(), tags, f"sweep {context.sweep}")
            else:
                self.tracking.log_batch(
                    run.info.run_id, [], [], [*tags, RunTag(schema.TABLE, ""), RunTag(schema.ERROR, "")]
                )
                self.tracking.update_run_info(run.info.run_id, RunStatus.RUNNING, None, None)
            self._artifacts[run.info.run_id] = run.info.artifact_uri
            self._kept[run.info.run_id] = schema.read_bookkeeping(about)
            self._sweeps[context.sweep] = str(run.info.run_id)
            self._params_of_sweep[run.info.run_id] = set(run.data.params)
            files = {schema.environment_file(context.environment.digest): to_json(context.environment)}
            if context.book:
                files[schema.book_file(context.book_digest)] = context.book
            self._write_artifacts(run.info.run_id, files)
        return str(run.info.run_id)

    def close_sweep(self, run_id: str) -> None:
        """End the run that stands for a sweep."""
        with says_in_one_line(self.address):
            self._end_run(run_id, FINISHED, at=now())

    def write_artifact(self, run_id: str, name: str, source: Path) -> None:
        """Copy a file into a run.

        Parameters
        ----------
        run_id
            The run.
        name
            Name of the artifact, which may hold folders.
        source
            File to copy.
        """
        with says_in_one_line(self.address):
            keep_artifact(self.address, self._place_of(run_id), name, source)

    def keep_files(self, run_id: str, files: Mapping[str, Path], *, moves: bool = False) -> None:
        """Copy the files of a cell into its run.

        Parameters
        ----------
        run_id
            The run.
        files
            Files by the names that they get.
        moves
            Whether they may be moved, where both places are on one disk.
        """
        with says_in_one_line(self.address):
            for name, source in files.items():
                keep_artifact(self.address, self._place_of(run_id), name, source, moves=moves)

    def has_file(self, run_id: str, name: str, file: KeptFile) -> bool:
        """Tell whether a file lies in a run as it is described.

        Parameters
        ----------
        run_id
            The run.
        name, file
            Name of the file, and its digest and size.
        """
        with says_in_one_line(self.address), tempfile.TemporaryDirectory() as temporary:
            path = fetch_artifact(self.address, self._place_of(run_id), name, Path(temporary))
            if path is None or path.stat().st_size != file.n_bytes:
                return False
            return digest_of_bytes(path.read_bytes()) == file.digest

    def add_files(self, run_id: str, files: Mapping[str, bytes]) -> None:
        """Write files of a cell into a run that has ended, and name them there beside those that it has.

        Parameters
        ----------
        run_id
            The run.
        files
            Contents by name.
        """
        with says_in_one_line(self.address), tempfile.TemporaryDirectory() as temporary:
            named = files_from_tag(self.tracking.get_run(run_id).data.tags.get(schema.FILES, ""))
            for name, content in files.items():
                source = Path(temporary) / Path(name).name
                source.write_bytes(content)
                keep_artifact(self.address, self._place_of(run_id), name, source)
            self._name_files(run_id, {**named, **describe_files(files)})

    def remove_files(self, run_id: str, names: Collection[str]) -> None:
        """Remove files of a cell from a run that has ended; once they are gone, the run does not name them any more.

        What it gets of them later is its own, and stays whatever cell is the best.

        Parameters
        ----------
        run_id
            The run.
        names
            Names of the files.
        """
        with says_in_one_line(self.address):
            tags = self.tracking.get_run(run_id).data.tags
            named, about = files_from_tag(tags.get(schema.FILES, "")), schema.read_bookkeeping(tags)
            for name in names:
                remove_artifact(self.address, self._place_of(run_id), name)
            rest = {name: file for name, file in named.items() if name not in names}
            about.pop(schema.STANDING, None)
            self._name_files(run_id, rest, schema.write_bookkeeping(about))

    def _name_files(self, run_id: str, files: Mapping[str, KeptFile], more: Mapping[str, str] | None = None) -> None:
        from mlflow.entities import RunTag

        tags = {
            schema.FILES: tag_of_files(dict(sorted(files.items()))),
            schema.LOGGED_MODELS: schema.tell_models(files) or "[]",
            **(more or {}),
        }
        self.tracking.log_batch(run_id, [], [], [RunTag(*tag) for tag in tags.items()])

    def write_text(self, run_id: str, name: str, text: str) -> None:
        """Write a text into a run.

        Parameters
        ----------
        run_id, name
            Those of :meth:`write_artifact`.
        text
            Contents of the artifact.
        """
        with says_in_one_line(self.address):
            self._write_artifacts(run_id, {name: text})

    def add_scores(self, run_id: str, scores: Mapping[str, float], origin: Mapping[str, str]) -> frozenset[str]:
        """Write further final metrics into a run that has ended, and where they come from; return the new keys.

        What the run says already stays.

        Parameters
        ----------
        run_id
            The run.
        scores
            Values by key.
        origin
            What made them.
        """
        from mlflow.entities import Metric, RunTag

        at = now()
        with says_in_one_line(self.address):
            data = self.tracking.get_run(run_id).data
            new = {key: value for key, value in scores.items() if key not in data.metrics}
            if new:
                origins = {**schema.read_origins(data.tags), **{key: dict(origin) for key in new}}
                tags = run_record.checked({schema.ORIGINS: json.dumps(origins, sort_keys=True)})
                # Before the values: one that is there has always said where it comes from.
                self.tracking.log_batch(run_id, [], [], [RunTag(*tag) for tag in tags.items()])
                self.tracking.log_batch(run_id, [Metric(key, value, at, 0) for key, value in new.items()], [], [])
        return frozenset(new)

    def mark_published(self, run_id: str, sweep: str, tags: Mapping[str, str]) -> None:
        """Tag a sweep's run with the table that lies in it; the next cell of the sweep takes the mark away.

        Parameters
        ----------
        run_id
            Run that stands for the sweep.
        sweep
            Name of the sweep.
        tags
            Digest and state of the table.
        """
        from mlflow.entities import RunTag

        with says_in_one_line(self.address):
            self.tracking.log_batch(run_id, [], [], [RunTag(key, value) for key, value in tags.items()])
        self._published[sweep] = run_id

    def summarise_sweep(self, run_id: str, params: Mapping[str, str], metrics: Mapping[str, float]) -> None:
        """Write what a sweep is about and how each of its models did into the sweep's run.

        Parameters
        ----------
        run_id
            Run that stands for the sweep.
        params
            What it is about; what the run says already stays, since params never change.
        metrics
            Numbers of cells, scores and ranks.
        """
        from mlflow.entities import Metric, Param

        said, at = self._params_of_sweep.get(run_id, set()), now()
        new = [Param(key, value) for key, value in params.items() if key not in said]
        found = [Metric(key, value, at, 0) for key, value in metrics.items()]
        with says_in_one_line(self.address):
            for first in range(0, max(1, len(found)), schema.MOST_POINTS):
                self.tracking.log_batch(run_id, found[first : first + schema.MOST_POINTS], [] if first else new, [])
        self._params_of_sweep.setdefault(run_id, set()).update(params)

    def show_sweep(
        self, suite: str, sweep: str, about: Mapping[str, str], *, models: Sequence[str], whole: str
    ) -> None:
        """Give the experiment of a task a view of the cells of a sweep, grouped by model.

        Parameters
        ----------
        suite, sweep
            Names of the sweep's suite and of itself.
        about
            Tags of the experiment.
        models
            Models of the sweep.
        whole
            Condition that takes the place of the sweep's name where other sweeps had trained some of its cells.
        """
        from mlflow.entities import ExperimentTag

        if not self._names_views:
            return
        condition = whole or schema.tag_is(schema.SWEEP, sweep)
        conditions = [condition] if condition else []
        tag = schema.view_of_sweep(about, at=now(), sweep=sweep, models=models, conditions=conditions)
        with says_in_one_line(self.address):
            experiment = self.experiment(schema.experiment_name(suite, about[schema.TASK]), about)
            # A view of more models than a tag holds would be cut, and be none.
            if len(tag[1]) <= schema.MOST_EXPERIMENT_TAG_CHARACTERS:
                self.tracking.set_experiment_tag(experiment, ExperimentTag(*tag))

    def runs_of_sweep(self, suite: str, sweep: str) -> dict[str, tuple[str, str]]:
        """Return record key -> (run id, status) of all cells of a sweep; of a key twice, the run that ended."""
        found = self.cells_of_sweep(suite, sweep)
        runs: dict[str, tuple[str, str]] = {}
        for run in sorted(found, key=lambda run: run.info.status in {FINISHED, FAILED}):
            key = schema.read_bookkeeping(run.data.tags).get(schema.RECORD, "")
            runs[key] = (run.info.run_id, run.info.status)
        return runs

    def cells_of_sweep(self, suite: str, sweep: str) -> list[Any]:
        """Return the runs of all cells of a sweep."""
        with says_in_one_line(self.address):
            return self.search(self.experiments(suite), {schema.SWEEP: sweep, schema.KIND: schema.CELL})

    def running(self) -> list[Any]:
        """Return all RUNNING runs that were written by this package."""
        with says_in_one_line(self.address):
            return self.search(self.experiments(), {}, "attributes.status = 'RUNNING'")

    def experiments(self, suite: str = "") -> list[str]:
        """Return the ids of all experiments of a suite, or of all suites."""
        return experiments_named(self.tracking, f"{schema.PREFIX}/{suite}/" if suite else f"{schema.PREFIX}/")

    def search(self, experiments: list[str], tags: Mapping[str, str], more: str = "") -> list[Any]:
        """Return all runs of experiments that bear the tags.

        Parameters
        ----------
        experiments
            Ids of the experiments.
        tags
            Tags and values that runs must bear.
        more
            Further condition in MLflow's words.
        """
        return list(pages(self.tracking, experiments, tags, more))

    def experiment(self, name: str, tags: Mapping[str, str]) -> str:
        """Return the id of an experiment, created with its tags where there is none; several may try at once."""
        if name not in self._experiments:
            found = self.tracking.get_experiment_by_name(name) or self._create_experiment(name, tags)
            if found.lifecycle_stage != "active":
                remedy = f"bring it back: mlflow experiments restore --experiment-id {found.experiment_id}"
                raise StoreUnusable(self.address, f"its experiment {name!r} was deleted", remedy=remedy)
            self._experiments[name] = str(found.experiment_id)
        return self._experiments[name]

    def _create_experiment(self, name: str, tags: Mapping[str, str]) -> Any:
        from mlflow.entities import ExperimentTag
        from mlflow.exceptions import MlflowException

        if schema.PRIMARY_METRIC in tags and self._names_views:
            tags = {**tags, **schema.standing_views(tags, at=now())}
        folder = self.address.artifacts
        place = (folder / schema.folder_name(name)).as_uri() if folder else None
        try:
            self.tracking.create_experiment(name, place, [ExperimentTag(key, value) for key, value in tags.items()])
        except MlflowException as error:
            if error.error_code != "RESOURCE_ALREADY_EXISTS":
                raise
        return self.tracking.get_experiment_by_name(name)

    def _create_run(self, record: RunRecord) -> str:
        from mlflow.entities import RunTag

        about = schema.experiment_tags(record.task, record.metric, record.direction)
        experiment = self.experiment(schema.experiment_name(record.suite, record.task), about)
        tags = run_record.checked(run_record.tags_of(record))
        parent = {schema.PARENT: self._sweeps[record.sweep]} if record.sweep in self._sweeps else {}
        given = [RunTag(*tag) for tag in {**tags, **parent}.items()]
        run = self.tracking.create_run(experiment, "", record.started_at, given, record.name)
        self._artifacts[run.info.run_id] = run.info.artifact_uri
        self._kept[run.info.run_id] = schema.read_bookkeeping(tags)
        return str(run.info.run_id)

    @cached_property
    def _names_views(self) -> bool:
        """Whether the interface on this store names views; that of a database is the one installed here."""
        return self.address.is_database or version_of_server(self.address) >= schema.FIRST_WITH_VIEWS

    def _bookkeeping_of(self, run_id: str) -> dict[str, str]:
        if run_id not in self._kept:
            self._kept[run_id] = schema.read_bookkeeping(self.tracking.get_run(run_id).data.tags)
        return self._kept[run_id]

    def _log_dataset(self, record: RunRecord, run_id: str) -> None:
        from mlflow.entities import Dataset, DatasetInput, InputTag
        from mlflow.exceptions import MlflowException

        if not record.dataset_digest:
            return
        # Our own digest of all bytes; MLflow's looks at the first ten thousand values only.
        digest = record.dataset_digest[: schema.MOST_DIGEST_CHARACTERS]
        source = json.dumps({"dataset": record.dataset, "digest": record.dataset_digest})
        dataset = Dataset(name=record.dataset, digest=digest, source_type="gnz_track", source=source)
        context = InputTag("mlflow.data.context", schema.DATASET_CONTEXT)
        try:
            self.tracking.log_inputs(run_id, [DatasetInput(dataset, [context])])
        except MlflowException as error:
            if "unique" not in str(error).lower():
                raise
            # Another writer named the same dataset for the first time just now; this time it is found.
            self.tracking.log_inputs(run_id, [DatasetInput(dataset, [context])])

    def _log_batch(self, record: RunRecord, run_id: str, *, tags: Mapping[str, str], is_new: bool) -> None:
        from mlflow.entities import Metric, Param, RunTag

        streamed = self._streamed.get(run_id, set())
        points = [(key, value, record.ended_at, 0) for key, value in run_record.final_metrics(record).items()]
        points += run_record.curve_points(record, streamed)
        params = run_record.params_of(record)
        if is_new and self.address.is_database:
            self._insert_rows(run_id, points, params)
            return
        metrics = [Metric(*point) for point in points]
        self.tracking.log_batch(
            run_id, metrics, list(starmap(Param, params.items())), list(starmap(RunTag, tags.items()))
        )

    def _insert_rows(self, run_id: str, points: Sequence[Point], params: Mapping[str, str]) -> None:
        """Write points, those of a key by epoch, and params of a run that has none yet, as MLflow would.

        MLflow makes an object of each point and compares it with the one before, which takes longer than all else that
        is written of a cell.
        """
        from mlflow.store.tracking.dbmodels.models import SqlLatestMetric, SqlMetric, SqlParam

        metrics = [
            {"run_uuid": run_id, "key": key, "value": float(value), "timestamp": at, "step": epoch, "is_nan": False}
            for key, value, at, epoch in points
        ]
        rows: dict[Any, list[dict[str, Any]]] = {
            SqlParam: [{"run_uuid": run_id, "key": key, "value": value} for key, value in params.items()],
            SqlMetric: metrics,
            SqlLatestMetric: list({row["key"]: row for row in metrics}.values()),
        }
        with self.tracking.ManagedSessionMaker(read_only=False) as session:
            for table, found in rows.items():
                if found:
                    session.execute(table.__table__.insert(), found)

    def _end_run(self, run_id: str, status: str, *, at: int) -> None:
        from mlflow.entities import RunStatus

        self.tracking.update_run_info(run_id, RunStatus.from_string(status), at, None)

    def _write_artifacts(self, run_id: str, texts: Mapping[str, str]) -> None:
        with tempfile.TemporaryDirectory() as temporary:
            for name, text in texts.items():
                file = Path(temporary) / Path(name).name
                file.write_text(written_out(text), encoding="utf-8")
                keep_artifact(self.address, self._place_of(run_id), name, file)

    def _place_of(self, run_id: str) -> str:
        """Return where the artifacts of a run lie, as the store says."""
        if run_id not in self._artifacts:
            self._artifacts[run_id] = self.tracking.get_run(run_id).info.artifact_uri
        return self._artifacts[run_id]


def _artifacts_of(record: RunRecord) -> dict[str, str]:
    texts = {}
    if record.long_params:
        texts[schema.LONG_PARAMS_FILE] = json.dumps(dict(record.long_params), sort_keys=True, ensure_ascii=False)
    if record.failure is not None:
        texts[schema.TRACEBACK_FILE] = record.failure.traceback or f"{record.failure.kind}: {record.failure.message}\n"
        texts[schema.CELL_FILE] = record.cell
    return texts


# Long cells beat every ten seconds, but one epoch may take long and a node may be busy.
STALE_AFTER_SECONDS = 3600.0


@dataclass(frozen=True, kw_only=True)
class DeadRun:
    """A run that nobody will end any more, and why."""

    run_id: str
    name: str
    reason: str


def kill_dead_runs(store: Store, *, stale_after: float = STALE_AFTER_SECONDS) -> list[DeadRun]:
    """Mark every RUNNING run of a dead owner as KILLED, and return them.

    Dead is, on this machine, who runs no more; on any other, whose last heartbeat is ``stale_after`` seconds old.
    """
    stale = find_dead_runs(store, stale_after=stale_after)
    for one in stale:
        store.kill(one.run_id, f"Killed: {one.reason}")
    return stale


def find_dead_runs(store: Store, *, stale_after: float = STALE_AFTER_SECONDS) -> list[DeadRun]:
    """Return every RUNNING run of a dead owner, unchanged."""
    me, at = this_owner(), now()
    found = []
    for run in store.running():
        reason = _why_stale(run, me=me, at=at, stale_after=stale_after)
        if reason:
            found.append(DeadRun(run_id=run.info.run_id, name=run.info.run_name, reason=reason))
    return found


def _why_stale(run: Any, *, me: Owner, at: int, stale_after: float) -> str:
    """Return why nobody will end a run any more, nothing where somebody may."""
    tags = schema.read_bookkeeping(run.data.tags)
    beat = tags.get(schema.HEARTBEAT, "")
    last = int(beat) if beat.isdecimal() else run.info.start_time
    owner = parse_owner(tags.get(schema.OWNER, ""))
    if owner is not None and owner.is_on_the_machine_of(me):
        # A heartbeat is written by the owner: the process must be older than the last one.
        return "" if owner.is_alive(since=last / 1000) else f"its owner {owner} runs no more"
    age = (at - last) / 1000
    return f"no heartbeat for {age:.0f} s" if age > stale_after else ""
