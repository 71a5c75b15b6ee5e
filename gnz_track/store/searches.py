"""Searches in the store: one run for each.

The run of a search lies beside the cells of its task. It holds what was agreed (``search.json``) and all trials
(``trials.parquet``: a row per trial, sorted; equal trials give equal bytes); its metrics are the best validation score
and what the search cost.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import logging
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from gnz_track.errors import BadValue, GnzError
from gnz_track.records import freeze_mappings, from_plain, to_json
from gnz_track.store import run_record, schema
from gnz_track.store.address import Address, parse_address
from gnz_track.store.artifacts import fetch_artifact
from gnz_track.store.connection import says_in_one_line
from gnz_track.store.environment import this_owner
from gnz_track.store.files.parquet import read_parquet_table, write_parquet_table
from gnz_track.store.listings import has_tables
from gnz_track.store.reader import open_reader
from gnz_track.store.row_filters import PastRun
from gnz_track.store.run_record import shorten
from gnz_track.store.writer import FAILED, FINISHED, RUNNING, Store, now
from gnz_track.types import Direction, TaskType

__all__ = [
    "COMPLETE",
    "PRUNED",
    "SEARCH_RECORD_FAILED",
    "VALUE_PREFIX",
    "SearchRecord",
    "TrialRecord",
    "load_trials",
    "read_searches",
    "rising_best",
    "write_search",
    "write_trials",
]


Value = int | float | str | bool
COMPLETE, SEARCH_RECORD_FAILED, PRUNED = "complete", "failed", "pruned"


@dataclass(frozen=True, kw_only=True)
class TrialRecord:
    """One trial that has ended: ``state`` is complete, failed or pruned.

    ``score`` is the mean of ``seed_scores``, the validation score by tuning seed; None where the trial failed.
    ``reason`` says why it failed. ``epochs``, ``seconds`` and ``cpu_seconds`` are sums over its cells, which
    ``fingerprints`` name. ``source`` says where its values come from: the sampler, the default, or a past search.
    """

    number: int
    state: str
    score: float | None
    hyperparameters: Mapping[str, Value]
    seed_scores: Mapping[int, float] = field(default_factory=dict)
    epochs: int = 0
    seconds: float = 0.0
    cpu_seconds: float = 0.0
    reason: str = ""
    source: str = "sampler"
    fingerprints: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        freeze_mappings(self, "hyperparameters", "seed_scores")


@dataclass(frozen=True, kw_only=True)
class SearchRecord:
    """One search: for the winner on all reporting seeds (kind ``per-task``) or on one (``nested``, with its ``seed``).

    ``space`` is the JSON-able form of the search space, ``budget`` the limits in trials and, where they were given,
    epochs or seconds. ``default`` is what trial 0 took, ``best`` the winner's values, empty where all trials failed.
    ``sweep`` is the one that trained its winner, nothing where none has yet.
    ``versions`` are those of the sampler's library and of this package; ``storage`` shows no password.
    """

    name: str
    suite: str
    sweep: str
    task: str
    task_type: TaskType
    dataset: str
    dataset_digest: str
    model: str
    protocol: str
    kind: str
    metric: str
    direction: Direction
    sampler: str
    study_seed: int
    tuning_seeds: tuple[int, ...]
    space: Mapping[str, object]
    space_digest: str
    budget: Mapping[str, float]
    trials: tuple[TrialRecord, ...]
    default: Mapping[str, Value] = field(default_factory=dict)
    best: Mapping[str, Value] = field(default_factory=dict)
    best_number: int | None = None
    best_score: float | None = None
    seed: int | None = None
    pruner: str = "none"
    storage: str = ""
    versions: Mapping[str, str] = field(default_factory=dict)
    borders: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        freeze_mappings(self, "space", "budget", "default", "best", "versions")

    @property
    def key(self) -> str:
        """Key that tells this search from all others, 32 characters; written again, it is the same run."""
        text = json.dumps([self.suite, self.sweep, self.name])
        return hashlib.sha256(text.encode()).hexdigest()[:32]

    @property
    def title(self) -> str:
        """Title for readers: ``cora GCN``, with the seed where it is for one alone."""
        return f"{self.task} {self.model}" + (f" s{self.seed}" if self.seed is not None else "")

    @property
    def complete(self) -> tuple[TrialRecord, ...]:
        """The trials that went to their end with a score, by number; the winner is one of them."""
        ended = (trial for trial in self.trials if trial.state == COMPLETE and trial.score is not None)
        return tuple(sorted(ended, key=lambda trial: trial.number))

    @property
    def n_failed(self) -> int:
        """Number of failed trials."""
        return sum(trial.state == SEARCH_RECORD_FAILED for trial in self.trials)

    @property
    def cost(self) -> dict[str, float]:
        """Cost of all trials together, those that failed included."""
        totals = {name: sum(getattr(trial, name) for trial in self.trials) for name in ("seconds", "cpu_seconds")}
        n_epochs = sum(trial.epochs for trial in self.trials)
        return {"trials": len(self.trials), "failed_trials": self.n_failed, "epochs": n_epochs, **totals}


def rising_best(record: SearchRecord) -> Iterator[tuple[int, float]]:
    """Yield (number, score) of each trial that was better than all before it."""
    sign = 1.0 if record.direction is Direction.up else -1.0
    best: float | None = None
    for trial in record.complete:
        if trial.score is not None and (best is None or sign * trial.score > sign * best):
            best = trial.score
            yield trial.number, trial.score


def _agreed_to_json(record: SearchRecord) -> str:
    """Write all of a search but its trials, with what they cost, for people to read."""
    fields = json.loads(to_json(dataclasses.replace(record, trials=())))
    del fields["trials"]
    return json.dumps({**fields, "cost": record.cost}, indent=1, sort_keys=True, allow_nan=False) + "\n"


def _agreed_from_json(text: str, trials: tuple[TrialRecord, ...]) -> SearchRecord:
    """Read what :func:`_agreed_to_json` wrote of a search, and give it its trials."""
    fields = json.loads(text)
    del fields["cost"]
    return dataclasses.replace(from_plain(SearchRecord, {**fields, "trials": ()}), trials=trials)


# What is read again; texts of JSON hold what has other names in each search.
PLAIN = ("number", "state", "score", "epochs", "seconds", "cpu_seconds", "reason", "source")
AS_JSON = ("hyperparameters", "seed_scores", "fingerprints")
# One more column for each hyperparameter, for whoever opens the file: "value/lr".
VALUE_PREFIX = "value/"


def write_trials(trials: Iterable[TrialRecord], path: Path) -> None:
    """Write trials, by number."""
    import pyarrow as pa

    rows = sorted(trials, key=lambda trial: trial.number)
    whole, real, text = pa.int64(), pa.float64(), pa.string()
    kinds = dict(zip(PLAIN, (whole, text, real, whole, real, real, text, text), strict=True))
    columns = {name: pa.array([getattr(row, name) for row in rows], kind) for name, kind in kinds.items()}
    columns |= {name: pa.array([_as_json(getattr(row, name)) for row in rows], text) for name in AS_JSON}
    columns |= {name: pa.array(values) for name, values in _value_columns(rows).items()}
    write_parquet_table(pa.table(columns), path)


def load_trials(path: Path) -> tuple[TrialRecord, ...]:
    """Return what :func:`write_trials` wrote."""
    table = read_parquet_table(path)
    wanted = (*PLAIN, *AS_JSON)
    if not set(wanted) <= set(table.column_names):
        raise BadValue(f"columns of {path.name}", ", ".join(table.column_names), ", ".join(wanted))
    return tuple(_read_trial(row) for row in table.select(list(wanted)).to_pylist())


def _value_columns(trials: Sequence[TrialRecord]) -> dict[str, list[Any]]:
    """Return a column for each hyperparameter, None where a trial has no value; values of several kinds as texts."""
    names = sorted({name for trial in trials for name in trial.hyperparameters})
    return {
        f"{VALUE_PREFIX}{name}": _column_of_values([trial.hyperparameters.get(name) for trial in trials])
        for name in names
    }


def _column_of_values(values: list[Any]) -> list[Any]:
    kinds = {type(value) for value in values if value is not None}
    if kinds == {int, float}:
        return [None if value is None else float(value) for value in values]
    return values if len(kinds) < 2 else [None if value is None else str(value) for value in values]


def _as_json(value: Any) -> str:
    return json.dumps(value, sort_keys=not isinstance(value, tuple), ensure_ascii=False, allow_nan=False)


def _read_trial(row: dict[str, Any]) -> TrialRecord:
    found = {name: json.loads(row[name]) for name in AS_JSON}
    seed_scores = {int(seed): score for seed, score in found["seed_scores"].items()}
    return TrialRecord(
        **{name: row[name] for name in PLAIN},
        hyperparameters=found["hyperparameters"],
        seed_scores=seed_scores,
        fingerprints=tuple(found["fingerprints"]),
    )


LOG = logging.getLogger(__name__)


def read_searches(
    uri: str | Address = "", *, suite: str = "", sweep: str = "", task: str = "", model: str = ""
) -> tuple[SearchRecord, ...]:
    """Return the searches that bear all names given, sorted by suite, task, model, seed and name.

    A search that is being written just now is not there yet; one whose files are gone is left out, and a warning says
    so.

    Parameters
    ----------
    uri
        Address of the store; empty: the default store.
    suite, sweep, task, model
        Names that searches must bear.
    """
    address = uri if isinstance(uri, Address) else parse_address(uri)
    if not has_tables(address):
        return ()
    wanted = {schema.SUITE: suite, schema.SWEEP: sweep, schema.TASK: task, schema.MODEL: model}
    tags = {schema.KIND: schema.SEARCH_RUN, **{key: value for key, value in wanted.items() if value}}
    runs = (run for run in open_reader(address).runs(tags) if run.status in {FINISHED, FAILED})
    found = [record for run in runs if (record := _read_record(address, run)) is not None]
    return tuple(sorted(found, key=_order))


def _order(record: SearchRecord) -> tuple[str, str, str, str, int, str]:
    seed = -1 if record.seed is None else record.seed
    return record.suite, record.sweep, record.task, record.model, seed, record.name


def _read_record(address: Address, run: PastRun) -> SearchRecord | None:
    with tempfile.TemporaryDirectory() as temporary:
        names = (schema.SEARCH_FILE, schema.TRIALS_FILE)
        agreed, trials = (fetch_artifact(address, run.artifacts, name, Path(temporary)) for name in names)
        if agreed is None or trials is None:
            LOG.warning("the search of run %s in %s is left out: its files are gone", run.run_id, address)
            return None
        try:
            return _agreed_from_json(agreed.read_text("utf-8"), load_trials(trials))
        except (OSError, ValueError, KeyError, TypeError, GnzError) as error:
            LOG.warning("the search of run %s in %s is left out: %s", run.run_id, address, error)
            return None


def write_search(store: Store, record: SearchRecord) -> str:
    """Write a search into its run, created where there is none, and return the run's id.

    The same search written twice is one run, and a search that went on updates its run. One that was done for no sweep
    becomes that of the first sweep that asks for it, and is not written once a sweep tells as much. While it is being
    written the run is RUNNING: a run that is FINISHED, or FAILED where no trial has a score, is whole.
    """
    from mlflow.entities import RunTag

    owner = schema.write_bookkeeping(run_record.owner_tags(str(this_owner()), at=now()))
    tags = {**_search_tags(record), **owner}
    with says_in_one_line(store.address):
        about = schema.experiment_tags(record.task, record.metric, record.direction)
        experiment = store.experiment(schema.experiment_name(record.suite, record.task), about)
        if told := _told_by_a_sweep(store, experiment, record):
            return told
        run = _find_run(store, experiment, record)
        if run is None:
            given = [RunTag(*tag) for tag in tags.items()]
            run = store.tracking.create_run(experiment, "", now(), given, _name_of_run(record))
        else:
            # What went wrong before goes wrong no more, unless it is said again.
            given = [RunTag(*tag) for tag in {schema.ERROR: "", **tags}.items()]
            store.tracking.log_batch(run.info.run_id, [], [], given)
            _set_status(store, run.info.run_id, RUNNING, at=None)
        _write_files(store, str(run.info.run_id), record)
        # All points have the time at which the run began: written again, they are the same points.
        store.tracking.log_batch(run.info.run_id, list(_metrics_of(record, at=run.info.start_time)), [], [])
        _set_status(store, run.info.run_id, FAILED if record.best_number is None else FINISHED, at=now())
    return str(run.info.run_id)


def _find_run(store: Store, experiment: str, record: SearchRecord) -> Any:
    """Return the run of a search, of any sweep or else of none; None where there is neither."""
    for key in dict.fromkeys((record.key, replace(record, sweep="").key)):
        found = store.search([experiment], {schema.KIND: schema.SEARCH_RUN, schema.RECORD: key})
        if found:
            return min(found, key=lambda run: (run.info.start_time, run.info.run_id))
    return None


def _told_by_a_sweep(store: Store, experiment: str, record: SearchRecord) -> str:
    """Return the run of a sweep that holds all trials of a search which is for none; nothing where no sweep has it."""
    if record.sweep:
        return ""
    found = store.search([experiment], {schema.KIND: schema.SEARCH_RUN, schema.SEARCH: record.name})
    told = (
        str(run.info.run_id)
        for run in found
        if run.data.tags.get(schema.SWEEP)
        and run.info.status in {FINISHED, FAILED}
        and run.data.metrics.get(schema.N_TRIALS, 0) >= len(record.trials)
    )
    return next(told, "")


def _search_tags(record: SearchRecord) -> dict[str, str]:
    """Return the tags of a search: those by which cells are grouped, and what it was."""
    tags = {
        schema.KIND: schema.SEARCH_RUN,
        schema.RECORD: record.key,
        schema.SUITE: record.suite,
        schema.SWEEP: record.sweep,
        schema.TASK: record.task,
        schema.TASK_TYPE: str(record.task_type),
        schema.DATASET: record.dataset,
        schema.DATASET_DIGEST: record.dataset_digest,
        schema.MODEL: record.model,
        schema.SEED: "" if record.seed is None else str(record.seed),
        schema.METRIC: record.metric,
        schema.SCORE_KEY: schema.validation_key(record.metric),
        schema.DIRECTION: str(record.direction),
        schema.PROTOCOL: record.protocol,
        schema.SEARCH: record.name,
        schema.SAMPLER: record.sampler,
        schema.VERSION: record.versions.get("gnz_track", ""),
        schema.SEARCH_KIND: record.kind,
        schema.SPACE_DIGEST: record.space_digest,
        schema.HYPERPARAMETERS: _write_values(record.best),
        schema.BEST_TRIAL: "" if record.best_number is None else str(record.best_number),
        schema.ERROR: _why_failed(record),
    }
    return run_record.checked({key: value for key, value in tags.items() if value})


def _name_of_run(record: SearchRecord) -> str:
    seed = "" if record.seed is None else f" s{record.seed}"
    return f"{record.model}{seed} search"[: schema.MOST_KEY_CHARACTERS]


def _write_values(values: Mapping[str, Any]) -> str:
    shown = {name: shorten(value) if isinstance(value, str) else value for name, value in values.items()}
    return json.dumps(shown, sort_keys=True, ensure_ascii=False, allow_nan=False) if shown else ""


def _why_failed(record: SearchRecord) -> str:
    if record.best_number is not None:
        return ""
    reason = next((trial.reason for trial in record.trials if trial.reason), "no reason is known")
    return f"all {len(record.trials)} trials failed: {reason[: schema.MOST_ERROR_CHARACTERS]}"


def _write_files(store: Store, run_id: str, record: SearchRecord) -> None:
    with tempfile.TemporaryDirectory() as temporary:
        file = Path(temporary) / schema.TRIALS_FILE
        write_trials(record.trials, file)
        store.write_artifact(run_id, schema.TRIALS_FILE, file)
    store.write_text(run_id, schema.SEARCH_FILE, _agreed_to_json(record))


def _metrics_of(record: SearchRecord, *, at: int) -> Iterator[Any]:
    """Yield the best score and the cost, at as many steps as there were trials, and how the best score rose."""
    from mlflow.entities import Metric

    n, cost, key = len(record.trials), record.cost, schema.validation_key(record.metric)
    known = {} if record.best_score is None else {key: record.best_score}
    names = {
        schema.N_TRIALS: "trials",
        schema.N_FAILED_TRIALS: "failed_trials",
        schema.N_EPOCHS: "epochs",
        schema.SECONDS: "seconds",
        schema.CPU_SECONDS: "cpu_seconds",
    }
    # What the interface calls the latest value is that of the highest step.
    for name, value in {**known, **{name: float(cost[part]) for name, part in names.items()}}.items():
        yield Metric(name, value, at, n)
    for number, score in rising_best(record):
        yield Metric(schema.curve_key(f"{schema.VALIDATION_PREFIX}best"), score, at, number)


def _set_status(store: Store, run_id: str, status: str, *, at: int | None) -> None:
    from mlflow.entities import RunStatus

    store.tracking.update_run_info(run_id, RunStatus.from_string(status), at, None)
