"""Mean scores of a results table, as they are printed where a sweep ends: no statistics are needed for them."""

from __future__ import annotations

import statistics
from dataclasses import dataclass

import pandas as pd

from gnz_track.store.results_table import labels_of
from gnz_track.types import Direction

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


def summarise(table: pd.DataFrame) -> list[SummaryRow]:
    """Return one row per task and variant of a model, as they come; failed cells are counted and never averaged."""
    groups = table.assign(model=labels_of(table)).groupby(["task", "model"], sort=False)
    return [_summary_of(str(task), str(model), group) for (task, model), group in groups]


def _summary_of(task: str, model: str, group: pd.DataFrame) -> SummaryRow:
    finished = group[group["status"] == "finished"]
    scores = [float(score) for score in finished["score"]]
    # The metric of a cell that failed early is only presumed.
    example = (finished if len(finished) else group).iloc[0]
    return SummaryRow(
        task=task,
        model=model,
        metric=str(example["metric"]),
        direction=Direction(str(example["direction"])),
        mean=statistics.fmean(scores) if scores else None,
        n_finished=len(scores),
        n_failed=len(group) - len(scores),
        seconds=float(group["seconds"].sum()),
    )
