"""Searches in the store: one run for each, and where it is asked for, one for each of its trials.

The run of a search lies beside the cells of its task. It holds what was agreed (``search.json``) and all trials
(``trials.parquet``); its metrics are the best validation score and what the search cost.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from gnz_track.store import layout, schema
from gnz_track.store.connection import says_in_one_line
from gnz_track.store.owners import this_owner
from gnz_track.store.run_record import shorten
from gnz_track.store.search_record import SearchRecord, agreed_to_json, rising_best
from gnz_track.store.trial_table import write_trials
from gnz_track.store.writer import FAILED, FINISHED, RUNNING, Store, now

__all__ = ["write_search"]


def write_search(store: Store, record: SearchRecord) -> str:
    """Write a search into its run, created where there is none, and return the run's id.

    The same search written twice is one run, and a search that went on updates its run. One that was done for no sweep
    becomes that of the first sweep that asks for it, and is not written once a sweep tells as much. While it is being
    written the run is RUNNING: a run that is FINISHED, or FAILED where no trial has a score, is whole.
    """
    from mlflow.entities import RunTag

    tags = {**search_tags(record), **layout.owner_tags(str(this_owner()), at=now())}
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


def search_tags(record: SearchRecord) -> dict[str, str]:
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
    return layout.checked({key: value for key, value in tags.items() if value})


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
    store.write_text(run_id, schema.SEARCH_FILE, agreed_to_json(record))


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
    for name, value in {**known, **{name: float(cost[field]) for name, field in names.items()}}.items():
        yield Metric(name, value, at, n)
    for number, score in rising_best(record):
        yield Metric(schema.curve_key(f"{schema.VALIDATION_PREFIX}best"), score, at, number)


def _set_status(store: Store, run_id: str, status: str, *, at: int | None) -> None:
    from mlflow.entities import RunStatus

    store.tracking.update_run_info(run_id, RunStatus.from_string(status), at, None)
