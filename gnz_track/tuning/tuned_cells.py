"""From what searches found to ordinary cells: the winner of each, on the seeds that are reported."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from gnz_track.runs.compatibility import Skipped
from gnz_track.runs.fingerprint import fingerprint
from gnz_track.runs.plan import Plan
from gnz_track.store.search_record import SearchRecord
from gnz_track.tuning.searches import with_values
from gnz_track.types import Cell, tuned_name

__all__ = ["searches_by_cell", "with_tuned_cells"]


def with_tuned_cells(plan: Plan, records: Sequence[SearchRecord]) -> Plan:
    """Return a plan with the cells of all winners behind the default ones.

    They are cells of a model of another name: in a report it stands beside the default one, on every task, whatever was
    found there. Where the default won, the same numbers come twice.
    """
    tuned = [
        _tuned(cell, record)
        for record in records
        if record.best
        for cell in plan.cells
        if _is_about(record, cell, record.model)
    ]
    lost = [record for record in records if not record.best]
    return Plan(cells=(*plan.cells, *tuned), skipped=(*plan.skipped, *map(_skipped, lost)))


def searches_by_cell(plan: Plan, records: Iterable[SearchRecord]) -> dict[str, str]:
    """Return the name of the search that chose a cell of such a plan, by the cell's fingerprint."""
    return {
        fingerprint(cell): record.name
        for record in records
        for cell in plan.cells
        if _is_about(record, cell, tuned_name(record.model))
    }


def _tuned(cell: Cell, record: SearchRecord) -> Cell:
    row = replace(cell.model, name=tuned_name(cell.model.name))
    return replace(with_values(cell, record.best, record.default), model=row)


def _is_about(record: SearchRecord, cell: Cell, model: str) -> bool:
    return (cell.task.name, cell.model.name) == (record.task, model) and record.seed in (None, cell.seed)


def _skipped(record: SearchRecord) -> Skipped:
    reasons = [trial.reason for trial in record.trials if trial.reason]
    of_seed = "" if record.seed is None else f" for seed {record.seed}"
    reason = f"all {len(record.trials)} trials of its search{of_seed} failed: {reasons[0] if reasons else 'no score'}"
    return Skipped(task=record.task, model=tuned_name(record.model), reason=reason)
