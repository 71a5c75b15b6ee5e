"""Results of many cells in one short table."""

from __future__ import annotations

import statistics
from collections.abc import Iterable
from dataclasses import dataclass

from gnz_track.types import CellResult, Direction

__all__ = ["SummaryRow", "summarise"]


@dataclass(frozen=True, kw_only=True)
class SummaryRow:
    """One (task, model): mean score over finished cells, and how many finished and failed."""

    task: str
    model: str
    metric: str
    direction: Direction
    mean: float | None
    n_finished: int
    n_failed: int
    seconds: float


def summarise(results: Iterable[CellResult]) -> list[SummaryRow]:
    """Return one row per (task, model), in order of appearance; failed cells are counted and never averaged."""
    groups: dict[tuple[str, str], list[CellResult]] = {}
    for result in results:
        groups.setdefault((result.cell.task.name, result.cell.model.name), []).append(result)
    return [_row(task, model, group) for (task, model), group in groups.items()]


def _row(task: str, model: str, group: list[CellResult]) -> SummaryRow:
    scores = [result.score for result in group if result.score is not None]
    # The metric of a cell that failed early is only presumed.
    example = next((result for result in group if result.is_finished), group[0])
    return SummaryRow(
        task=task,
        model=model,
        metric=example.metric,
        direction=example.direction,
        mean=statistics.fmean(scores) if scores else None,
        n_finished=len(scores),
        n_failed=len(group) - len(scores),
        seconds=sum(result.seconds for result in group),
    )
