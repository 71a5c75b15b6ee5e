"""A results table in a few lines: one per task and model.

Mean scores as a grid of models and tasks: rounded so that the ranks can be recomputed, marked by verdicts.

The best of a task is marked, and so are the models that the adjusted paired test does not tell from it. Whether
intervals overlap is never looked at: intervals of single models say nothing about a paired difference.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import pandas as pd

from gnz_track.stats.comparison.choices import TESTS
from gnz_track.stats.comparison.comparison import CellSummary, Comparison, TaskComparison
from gnz_track.stats.ranking.ranks import check_printed_ranks
from gnz_track.types import Direction

__all__ = ["GridCell", "GridTask", "ScoreGrid", "SummaryRow", "lay_out_scores", "summarise"]


# What is printed where a task needs more decimals than this would not be read.
MOST_DECIMALS = 6
LARGEST_PLAIN = 1e9
# Half-widths: (below the mean, above it).
Ends = tuple[float, float]


@dataclass(frozen=True, kw_only=True)
class GridCell:
    """One model on one task, and the runs behind the number; ``mean`` is None where no seed has a score.

    ``ends`` are how far the interval reaches below and above the mean.
    """

    mean: float | None
    ends: Ends | None
    is_best: bool
    is_tied_with_best: bool
    n_planned: int
    n_finished: int
    n_failed: int
    n_missing: int
    run_ids: tuple[str, ...]

    @property
    def is_complete(self) -> bool:
        """Whether every planned seed has a score."""
        return self.n_finished == self.n_planned

    @property
    def lack(self) -> str:
        """Missing seeds in words; empty where the cell is complete."""
        parts = [(self.n_failed, "failed"), (self.n_missing, "missing")]
        return ", ".join(f"{count} {word}" for count, word in parts if count)


@dataclass(frozen=True, kw_only=True)
class GridTask:
    """A task and its cells by model; a model that was not run on it has none. Scores are printed with ``decimals``.

    Scores of which so many decimals would show nothing, or too much, are printed by their power of ten.
    """

    task: str
    metric: str
    direction: Direction
    decimals: int
    cells: dict[str, GridCell]
    has_powers: bool = False

    def write(self, value: float, sign: str = "") -> str:
        """Return a score of the task, or a difference of two, as text; the sign is that of a format."""
        return f"{value:{sign}.{self.decimals}{'e' if self.has_powers else 'f'}}"

    @property
    def arrow(self) -> str:
        """The better direction in words."""
        return "higher is better" if self.direction is Direction.up else "lower is better"


@dataclass(frozen=True, kw_only=True)
class ScoreGrid:
    """All cells of a comparison, and the sentences that belong under them."""

    models: tuple[str, ...]
    tasks: tuple[GridTask, ...]
    level: float
    interval: str
    notes: tuple[str, ...]

    @property
    def has_even_ends(self) -> bool:
        """Whether all intervals reach as far below their mean as above it."""
        return self.interval == "t"


def lay_out_scores(comparison: Comparison) -> ScoreGrid:
    """Return the grid: models and tasks in the order of the record."""
    tasks, notes = [], []
    for task in comparison.tasks:
        means = [cell.mean for cell in task.cells if cell.mean is not None]
        power = _power(means, comparison.choices.decimals)
        decimals, is_enough = _decimals([mean / 10.0**power for mean in means], task, comparison.choices.decimals)
        tasks.append(_task(task, decimals, has_powers=power != 0))
        if not is_enough:
            notes.append(f"the ranks on {task.task} do not follow from {decimals} decimals")
    return ScoreGrid(
        models=comparison.models,
        tasks=tuple(tasks),
        level=1 - comparison.choices.alpha,
        interval=comparison.choices.interval,
        notes=(*_legend(comparison), *notes, *_say_chance(comparison), *_say_powerless(comparison), *_say_lacks(tasks)),
    )


def _task(task: TaskComparison, decimals: int, *, has_powers: bool) -> GridTask:
    return GridTask(
        task=task.task,
        metric=task.metric,
        direction=task.direction,
        decimals=decimals,
        cells={cell.model: _cell(cell, task) for cell in task.cells},
        has_powers=has_powers,
    )


def _cell(cell: CellSummary, task: TaskComparison) -> GridCell:
    interval = cell.interval
    has_ends = interval.low is not None and interval.high is not None and cell.mean is not None
    ends = (cell.mean - interval.low, interval.high - cell.mean) if has_ends else None  # type: ignore[operator]
    return GridCell(
        mean=cell.mean,
        ends=ends,
        is_best=cell.model == task.best,
        is_tied_with_best=cell.model in task.not_distinguishable,
        n_planned=cell.n_planned,
        n_finished=cell.n_finished,
        n_failed=cell.n_failed,
        n_missing=cell.n_missing,
        run_ids=cell.run_ids,
    )


def _power(means: Sequence[float], decimals: int) -> int:
    """Return the power of ten of the largest mean where decimals do not show it; 0 where they do."""
    largest = max(map(abs, means), default=0.0)
    is_plain = 10.0**-decimals <= largest < LARGEST_PLAIN or not largest
    return 0 if is_plain else math.floor(math.log10(largest))


def _decimals(means: Sequence[float], task: TaskComparison, fewest: int) -> tuple[int, bool]:
    """Return with how many decimals the ranks on a task can be recomputed, and whether any allowed number does."""
    if len(means) < 2:
        return fewest, True
    found = check_printed_ranks([means], task.direction, decimals=fewest, most=max(fewest, MOST_DECIMALS))
    return (fewest, False) if found.decimals_needed is None else (found.decimals_needed, True)


def _legend(comparison: Comparison) -> Iterator[str]:
    choices = comparison.choices
    yield f"mean over seeds with its {100 * (1 - choices.alpha):.4g} % {choices.interval} interval"
    family = "all pairs of a task" if choices.family == "task" else "all pairs of all tasks"
    yield (
        f"not distinguishable from the best: {TESTS[choices.test]}, {choices.adjustment} over {family}, "
        f"alpha {choices.alpha:g}"
    )


def _say_chance(comparison: Comparison) -> Iterator[str]:
    """Name the models that have not been shown to be better than whoever answers the same to everything."""
    found: dict[tuple[str, ...], list[str]] = {}
    for task in comparison.tasks:
        if task.at_chance:
            found.setdefault(task.at_chance, []).append(task.task)
    for models, tasks in found.items():
        yield f"no better than a constant answer on {_name(tasks)}: {_name(models)}"


def _say_powerless(comparison: Comparison) -> Iterator[str]:
    """Name the tasks on which no pair with the best could have been told apart, so that a mark means nothing."""
    names = []
    for task in comparison.tasks:
        pairs = [pair for pair in task.pairs if task.best in {pair.first, pair.second}]
        if pairs and not any(pair.can_reject for pair in pairs):
            names.append(task.task)
    if names:
        yield f"too few seeds to tell any model from the best: {_name(names)}"


def _say_lacks(tasks: Sequence[GridTask]) -> Iterator[str]:
    cells = [cell for task in tasks for cell in task.cells.values()]
    n_failed, n_missing = sum(cell.n_failed for cell in cells), sum(cell.n_missing for cell in cells)
    if n_failed or n_missing:
        yield f"{n_failed} runs failed and {n_missing} are missing; (a/b) marks a mean of a out of b seeds"
    n_not_run = sum(len(task.cells) < len({name for one in tasks for name in one.cells}) for task in tasks)
    if n_not_run:
        yield "a dash stands for a model that was not run on a task"


def _name(names: Sequence[str], most: int = 6) -> str:
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


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
    """Return one row per (task, model), in order of appearance; failed cells are counted and never averaged."""
    groups = table.groupby(["task", "model"], sort=False)
    return [_row(str(task), str(model), group) for (task, model), group in groups]


def _row(task: str, model: str, group: pd.DataFrame) -> SummaryRow:
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
