"""The trials of one search as a parquet file: a row per trial, sorted; equal trials give equal bytes."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from gnz_track.errors import BadValue
from gnz_track.store.parquet_files import read_parquet_table
from gnz_track.store.search_record import TrialRecord

__all__ = ["VALUE_PREFIX", "load_trials", "value_columns", "write_trials"]

# What is read again; texts of JSON hold what has other names in each search.
PLAIN = ("number", "state", "score", "epochs", "seconds", "cpu_seconds", "reason", "source")
AS_JSON = ("hyperparameters", "seed_scores", "fingerprints")
# One more column for each hyperparameter, for whoever opens the file: "value/lr".
VALUE_PREFIX = "value/"


def write_trials(trials: Iterable[TrialRecord], path: Path) -> None:
    """Write trials, by number."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    rows = sorted(trials, key=lambda trial: trial.number)
    whole, real, text = pa.int64(), pa.float64(), pa.string()
    kinds = dict(zip(PLAIN, (whole, text, real, whole, real, real, text, text), strict=True))
    columns = {name: pa.array([getattr(row, name) for row in rows], kind) for name, kind in kinds.items()}
    columns |= {name: pa.array([_as_json(getattr(row, name)) for row in rows], text) for name in AS_JSON}
    columns |= {name: pa.array(values) for name, values in value_columns(rows).items()}
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_name(path.name + ".part")
    pq.write_table(pa.table(columns), unfinished, compression="zstd", version="2.6", store_schema=False)
    unfinished.replace(path)


def load_trials(path: Path) -> tuple[TrialRecord, ...]:
    """Return what :func:`write_trials` wrote."""
    table = read_parquet_table(path)
    wanted = (*PLAIN, *AS_JSON)
    if not set(wanted) <= set(table.column_names):
        raise BadValue(f"columns of {path.name}", ", ".join(table.column_names), ", ".join(wanted))
    return tuple(_read_trial(row) for row in table.select(list(wanted)).to_pylist())


def value_columns(trials: Sequence[TrialRecord]) -> dict[str, list[Any]]:
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
