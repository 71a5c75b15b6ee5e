"""All test scores of runs, beside the one that the results table has of each.

Curves of past runs: by SQL where the store is a database, by MLflow's own calls otherwise.

One run of the past with all that the store knows of it: by SQL where the store is a database, else by MLflow.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

from gnz_track.errors import UnknownRun
from gnz_track.records import freeze_mappings
from gnz_track.store import schema
from gnz_track.store.address import Address, parse_address
from gnz_track.store.connection import connect, disconnect, says_in_one_line
from gnz_track.store.curves import Curve
from gnz_track.store.listings import has_tables
from gnz_track.store.read_rest import experiments_named, pages
from gnz_track.store.read_sql import ACTIVE, METRIC, RUNS, rows_of
from gnz_track.store.reader import can_read_by_sql
from gnz_track.store.row_filters import is_real

__all__ = ["PastRun", "read_curves", "read_run", "read_scores", "read_sweep_run"]


# A query names each run; databases take a limited number of values.
RUNS_PER_QUERY = 500
Row = tuple[str, str, int, float]


def read_curves(uri: str | Address, run_ids: Iterable[str]) -> dict[str, dict[str, Curve]]:
    """Return run id -> series -> its points, epochs rising; as stored, so thinned to at most a hundred points.

    A run that the store does not know has no series.
    """
    address = uri if isinstance(uri, Address) else parse_address(uri)
    wanted = sorted(set(run_ids) - {""})
    if not wanted:
        return {}
    rows = _by_sql_curve_reader(address, wanted) if can_read_by_sql(address) else _by_rest_curve_reader(address, wanted)
    found: dict[str, dict[str, dict[int, float]]] = {run_id: {} for run_id in wanted}
    # What is no number was written by somebody else, and is no point of a curve.
    points = (row for row in rows if isinstance(row[2], int) and is_real(row[3]))
    for run_id, key, step, value in sorted(points):
        # A point that was streamed, and written again by a replay, is one point.
        found[run_id].setdefault(schema.series_of(key), {})[step] = value
    return {
        run_id: {name: tuple(of_one.items()) for name, of_one in series.items()} for run_id, series in found.items()
    }


def _by_sql_curve_reader(address: Address, run_ids: Sequence[str]) -> Iterator[Row]:
    for start in range(0, len(run_ids), RUNS_PER_QUERY):
        names = {f"r{n}": run_id for n, run_id in enumerate(run_ids[start : start + RUNS_PER_QUERY])}
        marks = ", ".join(f":{name}" for name in names)
        # Only names of this file's own making are in the text; what users give travels as values.
        where = f"run_uuid IN ({marks}) AND key LIKE :curves"
        text = f"SELECT run_uuid, key, step, {METRIC.format('m')} FROM metrics m WHERE {where}"  # noqa: S608
        yield from rows_of(address, text, {**names, "curves": schema.CURVE_PREFIX + "%"})


def _by_rest_curve_reader(address: Address, run_ids: Sequence[str]) -> Iterator[Row]:
    with says_in_one_line(address):
        tracking = connect(address, creates=False)
        for run_id in run_ids:
            for key in _curve_keys(tracking, run_id):
                for point in tracking.get_metric_history(run_id, key):
                    yield run_id, key, point.step, point.value
        disconnect(tracking)


def _curve_keys(tracking: Any, run_id: str) -> list[str]:
    from mlflow.exceptions import MlflowException

    try:
        metrics = tracking.get_run(run_id).data.metrics
    except MlflowException as error:
        if error.error_code != "RESOURCE_DOES_NOT_EXIST":
            raise
        return []
    return [key for key in metrics if key.startswith(schema.CURVE_PREFIX)]


FEWEST_DIGITS, ALL_DIGITS = 6, 32


@dataclass(frozen=True, kw_only=True)
class PastRun:
    """A run: its id, MLflow's word for how it stands, where its artifacts lie, its tags, its final metrics."""

    run_id: str
    status: str
    artifacts: str
    tags: Mapping[str, str]
    metrics: Mapping[str, float]

    def __post_init__(self) -> None:
        freeze_mappings(self, "tags", "metrics")


def read_run(address: Address, start: str) -> PastRun:
    """Return the run whose id begins so; six digits are enough where no other id begins with them."""
    start = start.strip().lower()
    if not re.fullmatch(f"[0-9a-f]{{{FEWEST_DIGITS},{ALL_DIGITS}}}", start):
        raise UnknownRun(start, address, f"an id has {FEWEST_DIGITS} to {ALL_DIGITS} of the digits 0-9 and a-f")
    found = _find_runs(address, {}, start) if has_tables(address) else []
    if not found:
        raise UnknownRun(start, address, "no id begins so")
    if len(found) > 1:
        raise UnknownRun(start, address, "several ids begin so, type more of it")
    return found[0]


def read_sweep_run(address: Address, *, suite: str, sweep: str) -> PastRun | None:
    """Return the run that stands for a sweep; None where there is none.

    Parameters
    ----------
    address
        Store of the sweep.
    suite, sweep
        Names of the sweep's suite and of itself.
    """
    tags = {schema.KIND: schema.SWEEP_RUN, schema.SUITE: suite, schema.SWEEP: sweep}
    found = _find_runs(address, tags, "")
    return found[0] if found else None


def _find_runs(address: Address, tags: Mapping[str, str], start: str) -> list[PastRun]:
    """Return at most two runs of ours that bear the tags and whose ids begin so, oldest first."""
    find = _find_by_sql if can_read_by_sql(address) else _find_by_rest
    return find(address, tags, start)


def _find_by_sql(address: Address, tags: Mapping[str, str], start: str) -> list[PastRun]:
    values = {"start": f"{start}%", "kind": schema.KIND}
    joins = ["JOIN tags k ON k.run_uuid = r.run_uuid AND k.key = :kind"]
    for n, (key, value) in enumerate(tags.items()):
        values |= {f"f{n}_key": key, f"f{n}": value}
        joins.append(f"JOIN tags f{n} ON f{n}.run_uuid = r.run_uuid AND f{n}.key = :f{n}_key AND f{n}.value = :f{n}")
    # Only names of this file's own making are in the text; what users give travels as values.
    text = (
        f"SELECT r.run_uuid, r.status, r.artifact_uri {RUNS} {' '.join(joins)} "
        f"WHERE r.run_uuid LIKE :start AND {ACTIVE} ORDER BY r.start_time, r.run_uuid LIMIT 2"
    )
    return [_read_whole_run(address, *row) for row in rows_of(address, text, values)]


def _read_whole_run(address: Address, run_id: str, status: str, artifacts: str) -> PastRun:
    run = {"run": run_id}
    tags, metrics = (
        {key: value for key, value in rows_of(address, f"SELECT key, {what} FROM {table} t WHERE run_uuid = :run", run)}  # noqa: C416, S608
        for table, what in (("tags", "value"), ("latest_metrics", METRIC.format("t")))
    )
    return PastRun(run_id=run_id, status=status, artifacts=artifacts, tags=tags, metrics=_final(metrics))


def _find_by_rest(address: Address, tags: Mapping[str, str], start: str) -> list[PastRun]:
    with says_in_one_line(address):
        tracking = connect(address, creates=False)
        begins = f"attributes.run_id LIKE '{start}%'" if start else ""
        runs = pages(tracking, experiments_named(tracking, f"{schema.PREFIX}/"), tags, begins)
        found = list(islice((run for run in runs if schema.KIND in run.data.tags), 2))
        disconnect(tracking)
    return [_of_mlflow(run) for run in found]


def _of_mlflow(run: Any) -> PastRun:
    return PastRun(
        run_id=run.info.run_id,
        status=run.info.status,
        artifacts=run.info.artifact_uri,
        tags=run.data.tags,
        metrics=_final(run.data.metrics),
    )


def _final(metrics: Mapping[str, float]) -> dict[str, float]:
    return {
        key: float(value)
        for key, value in metrics.items()
        if not key.startswith(schema.CURVE_PREFIX) and is_real(value)
    }


# What a database takes as values of one query.


def read_scores(address: Address, run_ids: Collection[str]) -> dict[str, dict[str, float]]:
    """Return run -> metric -> test score at the selected epoch, under the metric's own name."""
    found: dict[str, dict[str, float]] = {run_id: {} for run_id in run_ids}
    rows = _by_sql(address, list(found)) if can_read_by_sql(address) else _by_rest(address, list(found))
    for run_id, key, value in rows:
        if key.startswith(schema.TEST_PREFIX):
            found[run_id][schema.original_key(key.removeprefix(schema.TEST_PREFIX))] = value
    return found


def _by_sql(address: Address, run_ids: list[str]) -> Iterator[tuple[str, str, float]]:
    for start in range(0, len(run_ids), RUNS_PER_QUERY):
        values = {f"r{n}": run_id for n, run_id in enumerate(run_ids[start : start + RUNS_PER_QUERY])}
        marks = ", ".join(f":{name}" for name in values)
        where = f"key LIKE :test AND run_uuid IN ({marks})"
        text = f"SELECT run_uuid, key, {METRIC.format('m')} FROM latest_metrics m WHERE {where}"  # noqa: S608
        rows = rows_of(address, text, {**values, "test": f"{schema.TEST_PREFIX}%"})
        yield from ((str(run_id), str(key), float(value)) for run_id, key, value in rows if is_real(value))


def _by_rest(address: Address, run_ids: list[str]) -> Iterator[tuple[str, str, float]]:
    for run_id in run_ids:
        yield from ((run_id, key, value) for key, value in read_run(address, run_id).metrics.items())
