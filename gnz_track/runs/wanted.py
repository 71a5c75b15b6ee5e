"""Plan of a sweep as reports find it: its cells before any of them is trained, and the pairs left out."""

from __future__ import annotations

from gnz_track.runs.fingerprint import fingerprint
from gnz_track.runs.one import presumed_metric
from gnz_track.runs.plan import Plan
from gnz_track.store.plans import SweepPlan
from gnz_track.store.run_record import check_hyperparameters
from gnz_track.types import Cell

__all__ = ["wanted_by"]


def wanted_by(plan: Plan, *, suite: str, sweep: str) -> SweepPlan:
    """Return the cells of a plan as rows of the results table, as far as they are known before training.

    Parameters
    ----------
    plan
        Plan of a sweep.
    suite, sweep
        Names of the sweep's suite and of itself.
    """
    cells = tuple({"suite": suite, "sweep": sweep, **_row_of_cell(cell)} for cell in plan.cells)
    return SweepPlan(cells=cells, left_out=tuple((item.task, item.model, item.reason) for item in plan.skipped))


def _row_of_cell(cell: Cell) -> dict[str, str | int]:
    metric = presumed_metric(cell.task)
    return {
        "fingerprint": fingerprint(cell),
        "task": cell.task.name,
        "category": str(cell.task.category),
        "task_type": str(cell.task.task_type),
        "model": cell.model.name,
        "seed": cell.seed,
        "metric": metric.name,
        "direction": str(metric.direction),
        "protocol": cell.protocol.label,
        "dataset": cell.task.dataset,
        "dataset_digest": cell.dataset_digest,
        "hyperparameters": check_hyperparameters(cell.hyperparameters),
        "epochs": cell.epochs,
    }
