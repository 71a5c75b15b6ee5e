"""Scores as an array over tasks, models and seeds, and the label that tells variants of a model apart.

The results table: one row per cell, the only thing that statistics and reports read.

=================  ==========================================================================================
column             holds
=================  ==========================================================================================
run_id             the run in the store that every other value of the row comes from
sweep .. model     names; ``hyperparameters`` is the JSON of what the cell changed, keys sorted, and ``search`` names
                   the search that chose them, empty where none did
status             ``finished`` or ``failed``; only finished rows have a score
score              the value of ``metric`` at ``selected_epoch``, better in ``direction``; where the protocol asks for
                   them, ``score_at_best_validation`` is that of the epoch which validation would have chosen, and
                   ``score_on_training`` that of the training part
n_train, n_test    examples in both parts of the split
baseline           the score of whoever has learnt nothing, by the same metric on the same part
model_source       where the class comes from, ``package.module:Class``; ``model_digest`` tells versions of its code
epochs             how many were allowed; ``n_epochs`` is how many were trained, whichever of them was selected
seconds            of the clock, and with it of all that ran beside; ``cpu_seconds`` are those that the cell computed
memory_mib         the most that the cell itself held; ``peak_rss_mib`` is that of its whole process, with what earlier
                   cells had left where the kernel does not forget it, and ``peak_device_mib`` that of a GPU
instructions       the vector level of the processor that Torch computed with, and settings that change such
start_time         in UTC, to the millisecond
=================  ==========================================================================================

Missing texts are empty, missing numbers are missing; the types of the columns never depend on the content.

The results table of records that were just written, without asking the store again.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from gnz_track.errors import BadValue
from gnz_track.store import run_record, schema
from gnz_track.store.files.parquet import read_parquet_table, write_parquet_table
from gnz_track.store.run_record import RunRecord
from gnz_track.variant_labels import label_variants

__all__ = [
    "COLUMNS",
    "ResultsTensor",
    "count_to",
    "empty_table",
    "labels_of",
    "load_table",
    "make_table",
    "row_of",
    "table_of_records",
    "tensor_of",
    "write_table",
]


TEXT, REAL, WHOLE, TIME = "str", "float64", "Int64", "datetime64[ms, UTC]"

# Column -> (where its value lies in a run, type). Everything that readers know of the layout stands here: BESIDE is a
# final metric whose key is that of the score with an ending, COUNT the number of epochs that a curve reaches to.
RUN, TAG, FINAL, PARAM, BESIDE, COUNT = "run", "tag", "metric", "param", "beside", "count"
COLUMNS: dict[str, tuple[str, str, str]] = {
    "run_id": (RUN, "run_id", TEXT),
    "sweep": (TAG, schema.SWEEP, TEXT),
    "suite": (TAG, schema.SUITE, TEXT),
    "task": (TAG, schema.TASK, TEXT),
    "category": (TAG, schema.CATEGORY, TEXT),
    "task_type": (TAG, schema.TASK_TYPE, TEXT),
    "model": (TAG, schema.MODEL, TEXT),
    "seed": (TAG, schema.SEED, WHOLE),
    "metric": (TAG, schema.METRIC, TEXT),
    "direction": (TAG, schema.DIRECTION, TEXT),
    "score": (RUN, "score", REAL),
    "status": (RUN, "status", TEXT),
    "protocol": (TAG, schema.PROTOCOL, TEXT),
    "fingerprint": (TAG, schema.FINGERPRINT, TEXT),
    "dataset": (TAG, schema.DATASET, TEXT),
    "dataset_digest": (TAG, schema.DATASET_DIGEST, TEXT),
    "split_digest": (TAG, schema.SPLIT_DIGEST, TEXT),
    "n_train": (TAG, schema.N_TRAIN, WHOLE),
    "n_test": (TAG, schema.N_TEST, WHOLE),
    "baseline": (TAG, schema.BASELINE, REAL),
    "model_source": (TAG, schema.MODEL_SOURCE, TEXT),
    "model_digest": (TAG, schema.MODEL_DIGEST, TEXT),
    "hyperparameters": (TAG, schema.HYPERPARAMETERS, TEXT),
    "search": (TAG, schema.SEARCH, TEXT),
    "epochs": (PARAM, "epochs", WHOLE),
    "n_epochs": (COUNT, schema.curve_key(schema.EVERY_EPOCH), WHOLE),
    "selected_epoch": (FINAL, schema.SELECTED_EPOCH, WHOLE),
    "score_at_best_validation": (BESIDE, schema.AT_BEST_VALIDATION, REAL),
    "score_on_training": (BESIDE, schema.ON_TRAINING, REAL),
    "n_parameters": (FINAL, schema.N_PARAMETERS, WHOLE),
    "seconds": (FINAL, schema.SECONDS, REAL),
    "cpu_seconds": (FINAL, schema.CPU_SECONDS, REAL),
    "seconds_per_epoch": (FINAL, schema.SECONDS_PER_EPOCH, REAL),
    "peak_rss_mib": (FINAL, schema.PEAK_RSS, REAL),
    "peak_device_mib": (FINAL, schema.PEAK_DEVICE, REAL),
    "memory_mib": (FINAL, schema.MEMORY, REAL),
    "version": (TAG, schema.VERSION, TEXT),
    "git_commit": (TAG, schema.GIT_COMMIT, TEXT),
    "git_dirty": (TAG, schema.GIT_DIRTY, TEXT),
    "environment": (TAG, schema.ENVIRONMENT, TEXT),
    "device": (TAG, schema.ENV_DEVICE, TEXT),
    "instructions": (TAG, schema.INSTRUCTIONS, TEXT),
    "error": (TAG, schema.ERROR, TEXT),
    "start_time": (RUN, "start_time", TIME),
}
# Columns that tables of earlier versions do not have.
LATER = frozenset(
    {
        *("search", "n_train", "n_test", "n_epochs", "score_at_best_validation", "score_on_training"),
        *("memory_mib", "instructions", "baseline", "model_source", "model_digest"),
    }
)
ORDER = ["suite", "task", "model", "hyperparameters", "protocol", "seed", "fingerprint", "run_id"]
# MLflow's word for how a run ended -> ours. Runs in any other state are no results.
STATUSES = {"FINISHED": "finished", "FAILED": "failed"}
# The same with those that did not end by themselves, which only listings show.
STATES = {**STATUSES, "RUNNING": "running", "KILLED": "killed"}
ROWS_PER_GROUP = 65536


def make_table(columns: Mapping[str, Any], *, names: Collection[str] = COLUMNS) -> pd.DataFrame:
    """Return a table with all columns, or ``names``, of their types; columns not given are missing everywhere."""
    n = max((len(values) for values in columns.values()), default=0)
    made = {}
    for name in names:
        values, kind = columns.get(name), COLUMNS[name][2]
        made[name] = _column_of_kind(pd.Series([None] * n, dtype=object) if values is None else pd.Series(values), kind)
    return pd.DataFrame(made)


def row_of(
    of_run: Mapping[str, object],
    *,
    tags: Mapping[str, str],
    metrics: Mapping[str, float],
    params: Mapping[str, str],
    last_epochs: Mapping[str, int],
) -> dict[str, object]:
    """Return the values of all columns of one run, each from where it lies.

    Parameters
    ----------
    of_run
        Attributes of the run itself.
    tags, metrics, params
        Its tags, last metrics and params by key.
    last_epochs
        Last epoch of each of its curves.
    """
    key = tags.get(schema.SCORE_KEY, "")
    places: dict[str, Mapping[str, object]] = {
        RUN: {**of_run, "score": metrics.get(key)},
        TAG: tags,
        FINAL: metrics,
        PARAM: params,
        BESIDE: {ending: metrics.get(key + ending) for ending in (schema.ON_TRAINING, schema.AT_BEST_VALIDATION)},
        COUNT: {name: count_to(epoch) for name, epoch in last_epochs.items()},
    }
    return {name: places[place].get(key) for name, (place, key, _) in COLUMNS.items()}


def count_to(epoch: Any) -> Any:
    """Return how many epochs there are up to one; what is no epoch stays what it is."""
    return epoch + 1 if isinstance(epoch, int) else epoch


def empty_table(names: Collection[str] = COLUMNS) -> pd.DataFrame:
    """Return the table of no cell."""
    return make_table({}, names=names)


def one_row_per_cell(table: pd.DataFrame) -> pd.DataFrame:
    """Return the row that counts of every fingerprint, sorted: a finished one before a failed one, then the latest."""
    ranked = table.sort_values(
        ["status", "start_time", "run_id"], ascending=[False, False, False], key=_finished_last, kind="stable"
    )
    return sort_rows(ranked.drop_duplicates("fingerprint"))


def sort_rows(table: pd.DataFrame) -> pd.DataFrame:
    """Return the rows in the one order in which tables are written, as far as the table has its columns."""
    return table.sort_values([name for name in ORDER if name in table], kind="stable", ignore_index=True)


def write_table(table: pd.DataFrame, path: Path) -> None:
    """Write a table as parquet: sorted, and equal tables as equal bytes."""
    import pyarrow as pa

    whole = sort_rows(table[list(COLUMNS)])
    # Column by column: what pandas would add to the file (its own version, an index) is not part of the table.
    plain = pa.table({name: _arrow(whole[name], kind) for name, (_, _, kind) in COLUMNS.items()})
    write_parquet_table(plain, path, rows_per_group=ROWS_PER_GROUP)


def load_table(path: Path, *, is_of_now: bool = False) -> pd.DataFrame:
    """Return the table that :func:`write_table` wrote.

    What a table of an earlier version does not have is missing everywhere, or refused where it has to be one
    ``is_of_now``.
    """
    found = read_parquet_table(path)
    later = frozenset[str]() if is_of_now else LATER
    missing = [name for name in COLUMNS if name not in found.column_names and name not in later]
    if missing:
        allowed = f"a table that has {', '.join(missing)}"
        raise BadValue("columns of a results table", ", ".join(found.column_names), allowed)
    known = {name: kind for name, (_, _, kind) in COLUMNS.items() if name in found.column_names}
    return make_table({name: _plain_values(found[name], kind) for name, kind in known.items()})


def _arrow(values: pd.Series, kind: str) -> Any:
    import pyarrow as pa

    kinds = {TEXT: pa.string(), REAL: pa.float64(), WHOLE: pa.int64(), TIME: pa.timestamp("ms", tz="UTC")}
    if kind == TIME:
        return pa.array(values.astype("int64").to_numpy(), pa.int64()).cast(kinds[kind])
    return pa.array(values.astype(object).where(values.notna(), None), kinds[kind], from_pandas=True)


def _plain_values(values: Any, kind: str) -> Any:
    import pyarrow as pa

    return (values.cast(pa.int64()) if kind == TIME else values).to_pandas(integer_object_nulls=True)


def _column_of_kind(values: pd.Series, kind: str) -> pd.Series:
    if kind == TEXT:
        return values.astype(object).where(values.notna(), "").astype("str")
    if kind == WHOLE:
        return pd.to_numeric(values).astype("Int64")
    if kind == TIME:
        if isinstance(values.dtype, pd.DatetimeTZDtype):
            return values.astype(TIME)
        return pd.to_datetime(pd.to_numeric(values), unit="ms", utc=True).astype(TIME)
    return pd.to_numeric(values).astype("float64")


def _finished_last(values: pd.Series) -> pd.Series:
    """Sort by whether a row is finished where it is the status that is sorted by."""
    return values == "finished" if values.name == "status" else values


def table_of_records(records: Iterable[tuple[str, RunRecord]]) -> pd.DataFrame:
    """Return one row per (run id, record), in the given order; a record that waits on disk has no run id yet.

    The rows are those that any reader gives of the same runs.
    """
    rows = [_row_of_record(run_id, record) for run_id, record in records]
    return make_table({name: [row[name] for row in rows] for name in COLUMNS})


def _row_of_record(run_id: str, record: RunRecord) -> dict[str, object]:
    return row_of(
        {"run_id": run_id, "status": str(record.status), "start_time": record.started_at},
        tags=run_record.tags_of(record),
        metrics=run_record.final_metrics(record),
        params=run_record.params_of(record),
        last_epochs={schema.curve_key(name): points[-1][0] for name, points in record.curves.items() if points},
    )


@dataclass(frozen=True, eq=False)
class ResultsTensor:
    """Scores as an array: ``X [tasks, models, seeds]``, NaN where ``mask`` is False, and the run behind each number."""

    X: NDArray[np.float64]
    mask: NDArray[np.bool_]
    run_ids: NDArray[np.object_]
    tasks: tuple[str, ...]
    models: tuple[str, ...]
    seeds: tuple[int, ...]


def tensor_of(table: pd.DataFrame) -> ResultsTensor:
    """Return the scores of the finished cells of a results table as ``X [tasks, models, seeds]``; axes are sorted.

    A model that was run with several hyperparameters or protocols stands for one model each, told apart by its label.
    Cells of one task with other numbers of epochs are refused, where the table has them.
    """
    finished = table[(table["status"] == "finished") & table["score"].notna()]
    names = labels_of(finished)
    columns = (finished["task"], names, finished["seed"].astype("int64"))
    axes = tuple(tuple(sorted(set(values))) for values in columns)
    at = tuple(
        pd.Index(axis, dtype=object).get_indexer(values.to_numpy(dtype=object))
        for axis, values in zip(axes, columns, strict=True)
    )
    _refuse_several_epochs(finished)
    shape = tuple(len(axis) for axis in axes)
    counts = np.zeros(shape, dtype=np.int64)
    np.add.at(counts, at, 1)
    if (counts > 1).any():
        task, model, seed = (axis[int(place[0])] for axis, place in zip(axes, np.nonzero(counts > 1), strict=True))
        raise BadValue("results table", f"{counts.max()} rows for {task} {model} s{seed}", "one row per cell")
    X, run_ids = np.full(shape, np.nan), np.full(shape, "", dtype=object)  # noqa: N806  (the array's name everywhere)
    X[at], run_ids[at] = finished["score"].to_numpy(), finished["run_id"].to_numpy(dtype=object)
    return ResultsTensor(X, counts == 1, run_ids, *axes)


def labels_of(table: pd.DataFrame) -> pd.Series:
    """Return the label of each row, as a comparison has it: the model, and what sets it apart from its variants."""
    tasks, protocols, changes = (table[name].tolist() for name in ("task", "protocol", "hyperparameters"))
    labels = label_variants(table["model"].tolist(), tasks=tasks, protocols=protocols, hyperparameters=changes)
    return pd.Series(labels, index=table.index, dtype=object)


def _refuse_several_epochs(table: pd.DataFrame) -> None:
    """Refuse scores after other numbers of epochs, which would be taken for a difference between models or seeds.

    So does a comparison. Under another protocol a model has a label of its own.
    """
    if "epochs" not in table:
        return
    counts = table.groupby(["task", "protocol"])["epochs"].nunique()
    for task, protocol in counts.index[counts > 1]:
        rows = table[(table["task"] == task) & (table["protocol"] == protocol)]
        n_cells = rows["epochs"].value_counts()
        shown = ", ".join(
            f"{epochs} ({n_cells[epochs]} cell{'' if n_cells[epochs] == 1 else 's'})"
            for epochs in sorted(n_cells.index)
        )
        most = n_cells.sort_index(ascending=False).idxmax()
        raise BadValue(
            f"epochs of {task!r}",
            shown,
            "one number for all cells of a task",
            command=f"where={{'epochs': {most}}}, or the cells of one sweep: sweep=NAME",
        )
