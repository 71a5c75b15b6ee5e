"""One run of the past with all that the store knows of it: by SQL where the store is a database, else by MLflow."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Any

from gnz_track.errors import UnknownRun
from gnz_track.records import freeze_mappings
from gnz_track.store import schema
from gnz_track.store.address import Address
from gnz_track.store.connection import connect, disconnect, says_in_one_line
from gnz_track.store.legible import is_real
from gnz_track.store.reading import can_read_by_sql
from gnz_track.store.rest_reader import experiments_named, pages
from gnz_track.store.sql_reader import ACTIVE, METRIC, RUNS, rows_of
from gnz_track.store.sweeps import has_tables

__all__ = ["PastRun", "read_run", "read_sweep_run"]

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
