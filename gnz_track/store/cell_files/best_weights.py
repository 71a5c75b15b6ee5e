"""Weights that a run has for as long as no other cell of its task and model in the same sweep is better.

Better is the score on validation at the selected epoch; of equal ones the smaller seed, then the smaller fingerprint,
so that the order in which cells end decides nothing. A cell that is the best so far keeps its weights as any other file
is kept; those that were beaten since are removed at the end of the sweep. At every moment the best so far is in the
store or waits on the disk, whatever is interrupted when.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from gnz_track.store import schema
from gnz_track.store.cell_files.kept_files import files_from_tag
from gnz_track.store.run_record import RunRecord
from gnz_track.store.writer import Store
from gnz_track.types import Direction

__all__ = ["BestSoFar", "drop_beaten"]

# Rank on validation, seed, fingerprint: the smallest is the best.
Place = tuple[float, int, str]
# Task and model, and which of their cells.
Contender = tuple[tuple[str, str], Place]


@dataclass(frozen=True, kw_only=True)
class _Standing:
    """A run of a sweep that has weights until a better one comes."""

    run_id: str
    started: int
    contender: Contender


class BestSoFar:
    """The best cell of each task and model of a sweep, as far as it has got."""

    def __init__(self) -> None:
        self._places: dict[tuple[str, str], Place] = {}

    def learn(self, store: Store, suite: str, sweep: str) -> None:
        """Take note of the cells of a sweep that have weights in the store.

        Parameters
        ----------
        store
            Open store.
        suite, sweep
            Names of the sweep's suite and of itself.
        """
        for standing in _find_standing(store, suite, sweep):
            self.takes(standing.contender)

    def admit(self, record: RunRecord) -> RunRecord:
        """Return the record of a cell that has ended, without its weights where another cell is better."""
        if schema.WEIGHTS_FILE not in record.files:
            return record
        if self.takes(_contender_of(record)):
            return replace(record, standing=schema.STANDING_BEST)
        return replace(record, files={name: file for name, file in record.files.items() if name not in schema.OF_MODEL})

    def takes(self, contender: Contender) -> bool:
        """Tell whether no cell of the same task and model is better so far, and remember it."""
        group, place = contender
        is_best = group not in self._places or place <= self._places[group]
        if is_best:
            self._places[group] = place
        return is_best


def drop_beaten(store: Store, suite: str, sweep: str) -> list[str]:
    """Remove the weights of all cells of a sweep but the best of each task and model; return the runs that had some.

    Parameters
    ----------
    store
        Open store.
    suite, sweep
        Names of the sweep's suite and of itself.
    """
    # Of a cell that two machines trained at once, readers take the run that began last.
    found = sorted(_find_standing(store, suite, sweep), key=lambda one: (one.started, one.run_id))
    best = BestSoFar()
    stays = {one.contender[0]: one.run_id for one in found if best.takes(one.contender)}
    beaten = [one.run_id for one in found if one.run_id not in stays.values()]
    for run_id in beaten:
        store.remove_files(run_id, schema.OF_MODEL)
    return beaten


def _find_standing(store: Store, suite: str, sweep: str) -> Iterator[_Standing]:
    for run in store.cells_of_sweep(suite, sweep):
        tags = run.data.tags
        is_provisional = schema.read_bookkeeping(tags).get(schema.STANDING) == schema.STANDING_BEST
        if is_provisional and schema.WEIGHTS_FILE in files_from_tag(tags.get(schema.FILES, "")):
            about, contender = run.info, _contender_of_run(run)
            yield _Standing(run_id=about.run_id, started=about.start_time or 0, contender=contender)


def _contender_of(record: RunRecord) -> Contender:
    score = record.validation.get(f"{schema.VALIDATION_PREFIX}{record.metric}", math.nan)
    return (record.task, record.model), (_rank(score, str(record.direction)), record.seed, record.fingerprint)


def _contender_of_run(run: Any) -> Contender:
    tags = run.data.tags
    score = run.data.metrics.get(schema.validation_key(tags.get(schema.METRIC, "")), math.nan)
    seed = tags.get(schema.SEED, "")
    place = (
        _rank(score, tags.get(schema.DIRECTION, "")),
        int(seed) if seed.isdecimal() else 0,
        tags.get(schema.FINGERPRINT, ""),
    )
    return (tags.get(schema.TASK, ""), tags.get(schema.MODEL, "")), place


def _rank(score: float, direction: str) -> float:
    """Return a number that is the smaller the better a score; what is no number is worst."""
    if not math.isfinite(score):
        return math.inf
    return -score if direction == Direction.up else score
