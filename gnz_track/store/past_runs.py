"""Single runs of the past: all that the store knows of one, the curves and all test scores of some, tables by these."""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterable

import pandas as pd

from gnz_track.errors import UnknownRun
from gnz_track.store import schema
from gnz_track.store.address import Address, parse_address
from gnz_track.store.curves import Curve
from gnz_track.store.listings import has_tables
from gnz_track.store.reader import open_reader
from gnz_track.store.results_table import make_table
from gnz_track.store.row_filters import PastRun, is_real
from gnz_track.types import Metric

__all__ = ["read_curves", "read_run", "read_scores", "read_sweep_run", "score_by"]

FEWEST_DIGITS, ALL_DIGITS = 6, 32


def read_curves(uri: str | Address, run_ids: Iterable[str]) -> dict[str, dict[str, Curve]]:
    """Return run id -> series -> its points, epochs rising; as stored, so thinned to at most a hundred points.

    A run that the store does not know has no series.
    """
    address = uri if isinstance(uri, Address) else parse_address(uri)
    wanted = sorted(set(run_ids) - {""})
    if not wanted:
        return {}
    found: dict[str, dict[str, dict[int, float]]] = {run_id: {} for run_id in wanted}
    # What is no number was written by somebody else, and is no point of a curve.
    points = (row for row in open_reader(address).points(wanted) if isinstance(row[2], int) and is_real(row[3]))
    for run_id, key, step, value in sorted(points):
        # A point that was streamed, and written again by a replay, is one point.
        found[run_id].setdefault(schema.series_of(key), {})[step] = value
    return {
        run_id: {name: tuple(of_one.items()) for name, of_one in series.items()} for run_id, series in found.items()
    }


def read_run(address: Address, start: str) -> PastRun:
    """Return the run whose id begins so; six digits are enough where no other id begins with them."""
    start = start.strip().lower()
    if not re.fullmatch(f"[0-9a-f]{{{FEWEST_DIGITS},{ALL_DIGITS}}}", start):
        raise UnknownRun(start, address, f"an id has {FEWEST_DIGITS} to {ALL_DIGITS} of the digits 0-9 and a-f")
    found = open_reader(address).runs({}, start=start, most=2) if has_tables(address) else []
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
    return next(iter(open_reader(address).runs(tags, most=1)), None)


def read_scores(address: Address, run_ids: Collection[str]) -> dict[str, dict[str, float]]:
    """Return run -> metric -> test score at the selected epoch, under the metric's own name."""
    found: dict[str, dict[str, float]] = {run_id: {} for run_id in run_ids}
    for run_id, key, value in open_reader(address).scores(list(found)):
        if is_real(value):
            found[run_id][schema.original_key(key.removeprefix(schema.TEST_PREFIX))] = float(value)
    return found


def score_by(address: Address, table: pd.DataFrame, metric: Metric) -> pd.DataFrame:
    """Return the rows of a results table with their scores by another metric: those that runs have.

    A row whose run has no such score has none; a baseline is known of the metric of the task alone.

    Parameters
    ----------
    address
        Store of the runs.
    table
        Results table.
    metric
        The metric.
    """
    found = read_scores(address, set(table["run_id"]) - {""})
    key = schema.original_key(schema.legal_key(metric.name))
    endings = {
        "score": "",
        "score_on_training": schema.ON_TRAINING,
        "score_at_best_validation": schema.AT_BEST_VALIDATION,
    }
    is_other = table["metric"] != metric.name
    changed = {
        column: [found.get(run_id, {}).get(key + ending, math.nan) for run_id in table["run_id"]]
        for column, ending in endings.items()
        if column in table
    }
    if "baseline" in table:
        changed["baseline"] = table["baseline"].where(~is_other).tolist()
    given = {**{name: table[name] for name in table}, **changed}
    given |= {"metric": [metric.name] * len(table), "direction": [str(metric.direction)] * len(table)}
    return make_table(given, names=list(table))
