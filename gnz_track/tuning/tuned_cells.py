"""From what searches found to ordinary cells: the winner of each, on the seeds that are reported."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from gnz_track.runs.compatibility import Skipped
from gnz_track.runs.fingerprint import fingerprint
from gnz_track.runs.plan import Plan
from gnz_track.store.search_record import SearchRecord
from gnz_track.tuning.searches import changed, with_values
from gnz_track.types import Cell

__all__ = ["searches_by_cell", "with_tuned_cells"]


def with_tuned_cells(plan: Plan, records: Sequence[SearchRecord]) -> Plan:
    """Return a plan with the cells of all winners behind the default ones; where the default won, these are its own."""
    cells = [
        with_values(cell, record.best, record.default)
        for record in records
        if record.best
        for cell in plan.cells
        if _is_about(record, cell)
    ]
    found = {fingerprint(cell): cell for cell in (*plan.cells, *cells)}
    lost = [record for record in records if not record.best]
    return Plan(cells=tuple(found.values()), skipped=(*plan.skipped, *map(_skipped, lost)))


def searches_by_cell(plan: Plan, records: Iterable[SearchRecord]) -> dict[str, str]:
    """Return the name of the search that chose a cell of a plan, by the cell's fingerprint.

    A default that won is nobody's choice: it is there in any case.
    """
    found = {}
    for record in records:
        chosen = changed(record.best, record.default).items()
        for cell in plan.cells:
            if chosen and _is_about(record, cell) and chosen <= dict(cell.hyperparameters).items():
                found[fingerprint(cell)] = record.name
    return found


def _is_about(record: SearchRecord, cell: Cell) -> bool:
    is_pair = (cell.task.name, cell.model.name) == (record.task, record.model)
    return is_pair and record.seed in (None, cell.seed)


def _skipped(record: SearchRecord) -> Skipped:
    reasons = [trial.reason for trial in record.trials if trial.reason]
    of_seed = "" if record.seed is None else f" for seed {record.seed}"
    reason = f"all {len(record.trials)} trials of its search{of_seed} failed: {reasons[0] if reasons else 'no score'}"
    return Skipped(task=record.task, model=f"{record.model} (tuned)", reason=reason)
