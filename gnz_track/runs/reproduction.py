"""A past run trained once more, and set against what the store kept of it, number by number."""

from __future__ import annotations

import enum
import math
from collections.abc import Mapping
from dataclasses import dataclass

from gnz_track.errors import BadValue
from gnz_track.runs.changes import Change, find_changes
from gnz_track.runs.fingerprint import fingerprint
from gnz_track.runs.on_inline import run_inline
from gnz_track.runs.rebuilding import Conditions, Rebuilt, rebuild
from gnz_track.store import layout, schema
from gnz_track.store.address import Address
from gnz_track.store.curve_reader import read_curves
from gnz_track.store.curves import Curve
from gnz_track.store.environment import collect_environment, read_git
from gnz_track.store.past_run import PastRun, read_run
from gnz_track.store.run_record import RunRecord, SweepContext, record_of
from gnz_track.types import CellResult, Status

__all__ = ["TOLERANCE", "NumberDifference", "Reproduction", "ReproductionVerdict", "SeriesDifference", "reproduce"]

# What rounding in another order does to a score of a short training; a model that is another one differs by more.
TOLERANCE = 1e-4
# How long a cell took is no part of what is to come out again.
_TIMES = frozenset({schema.SECONDS, schema.CPU_SECONDS, schema.SECONDS_PER_EPOCH})
_COSTS = _TIMES | {schema.PEAK_RSS, schema.PEAK_DEVICE, schema.MEMORY}


class ReproductionVerdict(enum.StrEnum):
    """Closeness of a run to its repetition."""

    bit_identical = "bit_identical"
    within_tolerance = "within_tolerance"
    different = "different"


@dataclass(frozen=True, kw_only=True)
class SeriesDifference:
    """A curve that came out otherwise: the first epoch that differs, and by how much values differ at most.

    The largest difference is None where no epoch has a value on both sides that differs: one curve is shorter.
    """

    series: str
    first_epoch: int
    largest: float | None


@dataclass(frozen=True, kw_only=True)
class NumberDifference:
    """A final number that came out otherwise; None where there was none, or is none now."""

    name: str
    then: float | None
    now: float | None


@dataclass(frozen=True, kw_only=True)
class Reproduction:
    """A run and its repetition: the verdict, the numbers that differ, and what else has changed since.

    ``n_points`` and ``n_numbers`` say how many values of curves and final numbers were compared. ``error_then`` and
    ``error_now`` are the failures of cells that failed.
    """

    run_id: str
    sweep: str
    task: str
    cell: str
    verdict: ReproductionVerdict
    tolerance: float
    metric: str
    score_then: float | None
    score_now: float | None
    status_then: Status
    status_now: Status
    error_then: str
    error_now: str
    n_points: int
    n_series: int
    n_numbers: int
    series: tuple[SeriesDifference, ...]
    numbers: tuple[NumberDifference, ...]
    changes: tuple[Change, ...]
    notes: tuple[str, ...]
    seconds_then: float | None
    seconds_now: float


def reproduce(
    start: str, address: Address, *, conditions: Conditions, tolerance: float = TOLERANCE, version: str = ""
) -> Reproduction:
    """Train a run once more, from its record alone, and compare; nothing is written to the store.

    Bit-identical: every number that the store kept (of curves at most a hundred epochs) came out equal, or the cell
    failed again in the same words. Within tolerance: the scores differ by at most ``tolerance``, on equal data in equal
    splits. Everything else is different.

    Parameters
    ----------
    start
        First characters of the run's id.
    address
        Its store.
    conditions
        Device and data of the repetition, and whether foreign code is trusted.
    tolerance
        Largest difference of a score, relative to the score where that is above 1.
    version
        Version of this package.
    """
    if not (math.isfinite(tolerance) and tolerance >= 0):
        raise BadValue("tolerance", tolerance, "a number from 0 upwards", command=f"--tolerance {TOLERANCE}")
    run = read_run(address, start)
    rebuilt = rebuild(run, address, conditions)
    [result] = run_inline([rebuilt.cell_now])
    record = _record_now(result, run, version)
    then, now = _numbers(run.metrics), _numbers(layout.final_metrics(record))
    curves = read_curves(address, [run.run_id])[run.run_id]
    series = _compare_curves(curves, result)
    numbers = tuple(_compare_numbers(then, now))
    changes, notes = find_changes(run, record, address, rebuilt=rebuilt)
    return Reproduction(
        **_facts_of(run, record, rebuilt),
        verdict=_judge(run, record, is_equal=not series and not numbers, tolerance=tolerance),
        tolerance=tolerance,
        n_points=sum(map(len, curves.values())),
        n_series=len(curves),
        n_numbers=len(then),
        series=series,
        numbers=numbers,
        changes=changes,
        notes=notes,
    )


def _record_now(result: CellResult, run: PastRun, version: str) -> RunRecord:
    """Return what would be written of the repetition, were it written."""
    context = SweepContext(
        sweep=run.tags[schema.SWEEP],
        suite=run.tags[schema.SUITE],
        environment=collect_environment(),
        git=read_git(),
        version=version,
    )
    return record_of(result, context, fingerprint=fingerprint(result.cell), ended_at=0)


def _facts_of(run: PastRun, record: RunRecord, rebuilt: Rebuilt) -> dict[str, object]:
    return {
        "run_id": run.run_id,
        "sweep": record.sweep,
        "task": record.task,
        "cell": rebuilt.cell.label,
        "metric": record.metric,
        "score_then": _score_of(run),
        "score_now": record.score,
        "status_then": _STATUS[run.status],
        "status_now": record.status,
        "error_then": run.tags.get(schema.ERROR, ""),
        "error_now": layout.error_text(record),
        "seconds_then": run.metrics.get(schema.SECONDS),
        "seconds_now": record.seconds,
    }


_STATUS = {"FINISHED": Status.finished, "FAILED": Status.failed}


def _score_of(run: PastRun) -> float | None:
    return run.metrics.get(run.tags.get(schema.SCORE_KEY, "")) if run.status == "FINISHED" else None


def _judge(run: PastRun, record: RunRecord, *, is_equal: bool, tolerance: float) -> ReproductionVerdict:
    has_ended_alike = _STATUS[run.status] is record.status
    if has_ended_alike and is_equal and run.tags.get(schema.ERROR, "") == layout.error_text(record):
        return ReproductionVerdict.bit_identical
    then, now = _score_of(run), record.score
    is_same_split = run.tags.get(schema.SPLIT_DIGEST, "") == record.split_digest
    if then is None or now is None or not is_same_split:
        return ReproductionVerdict.different
    is_close = abs(then - now) <= tolerance * max(1.0, abs(then))
    return ReproductionVerdict.within_tolerance if is_close else ReproductionVerdict.different


def _numbers(metrics: Mapping[str, float]) -> dict[str, float]:
    return {name: value for name, value in metrics.items() if name not in _COSTS}


def _compare_numbers(then: Mapping[str, float], now: Mapping[str, float]) -> list[NumberDifference]:
    return [
        NumberDifference(name=name, then=then.get(name), now=now.get(name))
        for name in sorted({*then, *now})
        if then.get(name) != now.get(name)
    ]


def _compare_curves(curves: Mapping[str, Curve], result: CellResult) -> tuple[SeriesDifference, ...]:
    """Compare stored points with the epochs of the repetition, and where both end."""
    # As the store names them.
    found = {schema.series_of(schema.curve_key(name)): values for name, values in result.series.items()}
    differences = []
    for name in sorted({*curves, *found}):
        then = dict(curves.get(name, ()))
        # What is no finite number is not stored.
        now = {epoch: value for epoch, value in enumerate(found.get(name, ())) if math.isfinite(value)}
        # Ends are never thinned out.
        epochs = sorted({*then, *(list(now)[-1:])})
        unequal = [epoch for epoch in epochs if then.get(epoch) != now.get(epoch)]
        if unequal:
            gaps = [abs(then[epoch] - now[epoch]) for epoch in unequal if epoch in then and epoch in now]
            largest = max(gaps, default=None)
            differences.append(SeriesDifference(series=name, first_epoch=unequal[0], largest=largest))
    return tuple(differences)
