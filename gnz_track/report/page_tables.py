"""The tables that stand on the page before anybody asks: scores, tasks in detail, and what is missing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from gnz_track.report.page_data import order_of
from gnz_track.stats.comparison import CellSummary, Comparison, PairComparison, TaskComparison

__all__ = ["ScoreCell", "TaskSection", "make_sections", "missing_of", "rank_rows"]


@dataclass(frozen=True, kw_only=True)
class ScoreCell:
    """One model on one task, as texts; ``task`` and ``model`` are its numbers, by which the page finds its runs."""

    task: int
    model: int
    name: str
    mean: str
    value: float | None
    interval: str
    sd: str
    counts: str
    behind: str
    p: str
    verdict: str
    is_best: bool
    is_level: bool
    is_short: bool


@dataclass(frozen=True, kw_only=True)
class TaskSection:
    """One task: its heading, the line in words, its cells, best first, and how many pairs it has."""

    place: int
    task: str
    metric: str
    direction: str
    line: str
    cells: tuple[ScoreCell, ...]
    n_pairs: int
    not_planned: tuple[str, ...]
    by_model: Mapping[int, ScoreCell]


def make_sections(comparison: Comparison) -> list[TaskSection]:
    """Return a section for each task."""
    places = {model: place for place, model in enumerate(order_of(comparison))}
    return [_section(place, task, places) for place, task in enumerate(comparison.tasks)]


def rank_rows(comparison: Comparison) -> list[tuple[str, int, str, int, int, int]]:
    """Return (model, its number, mean rank, pairs across tasks that it wins, loses, and that are undetermined)."""
    ranks = comparison.across.ranks
    if ranks is None or ranks.n_tasks < 1:
        return []
    means = dict(zip(ranks.models, ranks.mean_ranks, strict=True))
    counts: dict[str, list[int]] = {model: [0, 0, 0] for model in ranks.order}
    for pair in comparison.across.pairs:
        for model, ahead in ((pair.first, pair.wins - pair.losses), (pair.second, pair.losses - pair.wins)):
            if model in counts:
                is_found = str(pair.verdict) in {"different", "trivial"}
                counts[model][2 if not is_found else 0 if ahead > 0 else 1] += 1
    return [(model, place, f"{means[model]:.2f}", *counts[model]) for place, model in enumerate(ranks.order)]  # type: ignore[misc]


def missing_of(comparison: Comparison) -> Iterator[tuple[str, str, str]]:
    """Yield (task, model, what is missing) of each cell that was planned and is not whole, and of those not planned."""
    for task in comparison.tasks:
        for cell in task.cells:
            if cell.n_finished < cell.n_planned:
                yield task.task, cell.model, f"{cell.n_failed} failed, {cell.n_missing} missing of {cell.n_planned}"
        for model in task.not_planned:
            yield task.task, model, "not run on this task"


def write_number(value: float | None) -> str:
    """Write a number with four significant digits; nothing where there is none."""
    return "" if value is None else f"{value:.4g}"


def _section(place: int, task: TaskComparison, places: Mapping[str, int]) -> TaskSection:
    with_best = {
        (pair.second if pair.first == task.best else pair.first): pair
        for pair in task.pairs
        if task.best in {pair.first, pair.second}
    }
    made = [_cell(cell, task, place, places[cell.model], with_best.get(cell.model)) for cell in task.cells]
    return TaskSection(
        place=place,
        task=task.task,
        metric=task.metric,
        direction={"up": "\u2191", "down": "\u2193"}[str(task.direction)],
        line=str(task).removeprefix(f"{task.task} ({task.metric}, {task.direction}): "),
        cells=tuple(_best_first(made, is_up=str(task.direction) == "up")),
        n_pairs=len(task.pairs),
        not_planned=task.not_planned,
        by_model={cell.model: cell for cell in made},
    )


def _best_first(cells: Sequence[ScoreCell], *, is_up: bool) -> list[ScoreCell]:
    def key(cell: ScoreCell) -> tuple[bool, float]:
        value = cell.value if cell.value is not None else 0.0
        return cell.value is None, -value if is_up else value

    return sorted(cells, key=key)


def _cell(cell: CellSummary, task: TaskComparison, place: int, model: int, pair: PairComparison | None) -> ScoreCell:
    low, high = cell.interval.low, cell.interval.high
    is_best = cell.model == task.best
    found: dict[str, Any] = {"behind": "", "p": "", "verdict": "best" if is_best else ""}
    if pair is not None and not is_best:
        mean = pair.effects.mean.mean
        behind = mean if pair.first == task.best or mean is None else -mean
        found = {
            "behind": write_number(behind),
            "p": "no p" if pair.p_adjusted is None else f"{pair.p_adjusted:.3g}",
            "verdict": str(pair.verdict),
        }
    return ScoreCell(
        task=place,
        model=model,
        name=cell.model,
        mean=write_number(cell.mean) or "no score",
        value=cell.mean,
        interval="" if low is None or high is None else f"{write_number(low)} to {write_number(high)}",
        sd=write_number(cell.sd),
        counts=f"{cell.n_finished} of {cell.n_planned}",
        is_best=is_best,
        is_level=cell.model in task.not_distinguishable,
        is_short=cell.n_finished < cell.n_planned,
        **found,
    )
