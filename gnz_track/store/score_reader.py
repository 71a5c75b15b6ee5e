"""All test scores of runs, beside the one that the results table has of each."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from gnz_track.store import schema
from gnz_track.store.address import Address
from gnz_track.store.legible import is_real
from gnz_track.store.past_run import read_run
from gnz_track.store.reading import can_read_by_sql
from gnz_track.store.sql_reader import METRIC, rows_of

__all__ = ["read_scores"]

# What a database takes as values of one query.
RUNS_PER_QUERY = 500


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
