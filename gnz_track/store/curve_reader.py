"""Curves of past runs: by SQL where the store is a database, by MLflow's own calls otherwise."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from gnz_track.store import schema
from gnz_track.store.address import Address, parse_address
from gnz_track.store.connection import connect, disconnect, says_in_one_line
from gnz_track.store.curves import Curve
from gnz_track.store.legible import is_real
from gnz_track.store.reading import can_read_by_sql
from gnz_track.store.sql_reader import METRIC, rows_of

__all__ = ["read_curves"]

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
    rows = _by_sql(address, wanted) if can_read_by_sql(address) else _by_rest(address, wanted)
    found: dict[str, dict[str, dict[int, float]]] = {run_id: {} for run_id in wanted}
    # What is no number was written by somebody else, and is no point of a curve.
    points = (row for row in rows if isinstance(row[2], int) and is_real(row[3]))
    for run_id, key, step, value in sorted(points):
        # A point that was streamed, and written again by a replay, is one point.
        found[run_id].setdefault(schema.series_of(key), {})[step] = value
    return {
        run_id: {name: tuple(of_one.items()) for name, of_one in series.items()} for run_id, series in found.items()
    }


def _by_sql(address: Address, run_ids: Sequence[str]) -> Iterator[Row]:
    for start in range(0, len(run_ids), RUNS_PER_QUERY):
        names = {f"r{n}": run_id for n, run_id in enumerate(run_ids[start : start + RUNS_PER_QUERY])}
        marks = ", ".join(f":{name}" for name in names)
        # Only names of this file's own making are in the text; what users give travels as values.
        where = f"run_uuid IN ({marks}) AND key LIKE :curves"
        text = f"SELECT run_uuid, key, step, {METRIC.format('m')} FROM metrics m WHERE {where}"  # noqa: S608
        yield from rows_of(address, text, {**names, "curves": schema.CURVE_PREFIX + "%"})


def _by_rest(address: Address, run_ids: Sequence[str]) -> Iterator[Row]:
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
