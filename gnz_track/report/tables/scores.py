"""Mean scores: a table of tasks and models whose ranks can be recomputed from the print, marked by verdicts.

The best of a task is marked, and so are the models that the adjusted paired test does not tell from it. Whether
intervals overlap is never looked at: intervals of single models say nothing about a paired difference.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import pandas as pd

from gnz_track.report.tables.latex import ARROWS, LatexLook, Tabular, tex_lines, tex_name, tex_width, write_document
from gnz_track.report.tables.table import Marked, ReportTable
from gnz_track.stats.comparison.choices import TESTS
from gnz_track.stats.comparison.comparison import CellSummary, Comparison, TaskComparison
from gnz_track.stats.ranking.ranks import check_printed_ranks
from gnz_track.text import first_names
from gnz_track.types import Direction

__all__ = ["GridTask", "ScoreGrid", "lay_out_scores", "score_table"]

# What is printed where a task needs more decimals than this would not be read.
MOST_DECIMALS = 6
LARGEST_PLAIN = 1e9
# More names than these are counted in a note.
MOST_NAMES = 6
# Of two directions, models are columns as long as there are no more of them than this.
MOST_COLUMNS = 8
LEGEND = "{} best mean, {} not distinguishable from it"
BOLD_AND_DAGGER = "bold: best mean; \u2020: not distinguishable from it"
# Characters of LaTeX: a cell with three decimals, and the gap between two columns.
CELL, GAP = 15, 2


@dataclass(frozen=True, kw_only=True)
class GridTask:
    """A task of a comparison, its cells by model, and the number of decimals that its scores are printed with.

    Scores of which so many decimals would show nothing, or too much, are printed by their power of ten.
    """

    record: TaskComparison
    cells: Mapping[str, CellSummary]
    decimals: int
    has_powers: bool = False

    @property
    def task(self) -> str:
        """Its name."""
        return self.record.task

    @property
    def arrow(self) -> str:
        """The better direction in words."""
        return "higher is better" if self.record.direction is Direction.up else "lower is better"

    def write(self, value: float, sign: str = "") -> str:
        """Return a score of the task, or a difference of two, as text; the sign is that of a format."""
        return f"{value:{sign}.{self.decimals}{'e' if self.has_powers else 'f'}}"

    def write_ends(self, cell: CellSummary) -> tuple[str, str] | None:
        """Return how far the interval of a cell reaches below and above its mean."""
        if cell.mean is None or cell.interval.low is None or cell.interval.high is None:
            return None
        return self.write(cell.mean - cell.interval.low), self.write(cell.interval.high - cell.mean)


@dataclass(frozen=True, kw_only=True)
class ScoreGrid:
    """All cells of a comparison, and the sentences that belong under them."""

    models: tuple[str, ...]
    tasks: tuple[GridTask, ...]
    interval: str
    notes: tuple[str, ...]

    @property
    def has_even_ends(self) -> bool:
        """Whether all intervals reach as far below their mean as above it."""
        return self.interval == "t"

    @property
    def runs(self) -> Iterator[tuple[str, Sequence[str]]]:
        """The runs behind each number."""
        return ((f"{task.task}, {cell.model}", cell.run_ids) for task in self.tasks for cell in task.record.cells)


def score_table(comparison: Comparison) -> ReportTable:
    """Return the means of all cells: a row per task, or per model where these are many."""
    grid = lay_out_scores(comparison)
    if len(grid.models) <= MOST_COLUMNS or len(grid.models) <= len(grid.tasks):
        columns = ("task", "metric", *grid.models)
        rows = [
            (task.task, f"{task.record.metric} ({task.arrow})", *(_entry(task, name, grid) for name in grid.models))
            for task in grid.tasks
        ]
    else:
        columns = ("model", *(f"{task.task} ({task.record.metric}, {task.arrow})" for task in grid.tasks))
        rows = [(name, *(_entry(task, name, grid) for task in grid.tasks)) for name in grid.models]
    return ReportTable(
        columns=columns,
        rows=tuple(rows),
        empty="no score",
        notes=grid.notes,
        legend=LEGEND,
        numbers=lambda: _numbers(comparison),
        latex=lambda look: _write_latex(grid, look),
    )


def lay_out_scores(comparison: Comparison) -> ScoreGrid:
    """Return the grid: models and tasks in the order of the record."""
    tasks, notes = [], []
    for task in comparison.tasks:
        means = [cell.mean for cell in task.cells if cell.mean is not None]
        power = _power(means, comparison.choices.decimals)
        decimals, is_enough = _decimals([mean / 10.0**power for mean in means], task, comparison.choices.decimals)
        cells = {cell.model: cell for cell in task.cells}
        tasks.append(GridTask(record=task, cells=cells, decimals=decimals, has_powers=power != 0))
        if not is_enough:
            notes.append(f"the ranks on {task.task} do not follow from {decimals} decimals")
    return ScoreGrid(
        models=comparison.models,
        tasks=tuple(tasks),
        interval=comparison.choices.interval,
        notes=(
            *_legend(comparison),
            *notes,
            *_say_chance(comparison),
            *_say_powerless(comparison),
            *_say_lacks(comparison),
        ),
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


def _entry(task: GridTask, model: str, grid: ScoreGrid) -> str | Marked:
    """Return the mean of a cell with its interval, marked where it is the best or not told from it."""
    cell = task.cells.get(model)
    if cell is None or cell.mean is None:
        return "-" if cell is None else f"none ({_lack_of(cell)})"
    ends, text = task.write_ends(cell), task.write(cell.mean)
    if ends is not None:
        text += f" \u00b1 {ends[1]}" if grid.has_even_ends else f" -{ends[0]} +{ends[1]}"
    text += "" if cell.n_finished == cell.n_planned else f" ({cell.n_finished}/{cell.n_planned})"
    is_best = cell.model == task.record.best
    return Marked(text, is_best) if is_best or cell.model in task.record.not_distinguishable else text


def _lack_of(cell: CellSummary) -> str:
    """Return the missing seeds in words."""
    parts = [(cell.n_failed, "failed"), (cell.n_missing, "missing")]
    return ", ".join(f"{count} {word}" for count, word in parts if count)


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
        yield f"no better than a constant answer on {first_names(tasks, MOST_NAMES)}: {first_names(models, MOST_NAMES)}"


def _say_powerless(comparison: Comparison) -> Iterator[str]:
    """Name the tasks on which no pair with the best could have been told apart, so that a mark means nothing."""
    names = []
    for task in comparison.tasks:
        pairs = [pair for pair in task.pairs if task.best in {pair.first, pair.second}]
        if pairs and not any(pair.can_reject for pair in pairs):
            names.append(task.task)
    if names:
        yield f"too few seeds to tell any model from the best: {first_names(names, MOST_NAMES)}"


def _say_lacks(comparison: Comparison) -> Iterator[str]:
    cells = [cell for task in comparison.tasks for cell in task.cells]
    n_failed, n_missing = sum(cell.n_failed for cell in cells), sum(cell.n_missing for cell in cells)
    if n_failed or n_missing:
        yield f"{n_failed} runs failed and {n_missing} are missing; (a/b) marks a mean of a out of b seeds"
    n_not_run = sum(len(task.cells) < len({cell.model for cell in cells}) for task in comparison.tasks)
    if n_not_run:
        yield "a dash stands for a model that was not run on a task"


def _numbers(comparison: Comparison) -> pd.DataFrame:
    """Return a row per (task, model) that was run: counts, mean, interval, verdict against the best, run ids."""
    rows = [
        {
            "task": task.task,
            "model": cell.model,
            "metric": task.metric,
            "direction": str(task.direction),
            "n_planned": cell.n_planned,
            "n_finished": cell.n_finished,
            "n_failed": cell.n_failed,
            "n_missing": cell.n_missing,
            "mean": cell.mean,
            "sd": cell.sd,
            "iqm": cell.iqm,
            "low": cell.interval.low,
            "high": cell.interval.high,
            "is_best": cell.model == task.best,
            "is_tied_with_best": cell.model in task.not_distinguishable,
            "seeds": list(cell.seeds),
            "scores": list(cell.scores),
            "run_ids": list(cell.run_ids),
        }
        for task in comparison.tasks
        for cell in task.cells
    ]
    return pd.DataFrame(rows).astype(dict.fromkeys(("mean", "sd", "iqm", "low", "high"), "float64"))


def _write_latex(grid: ScoreGrid, look: LatexLook) -> str:
    """Return a row per model and a column per task; what is wider than a page goes on below itself."""
    tabulars = [_tabular(grid, tasks, look) for tasks in _blocks(grid, look)]
    marks = [BOLD_AND_DAGGER] if look.bold_best else []
    return write_document(tabulars, [*marks, *grid.notes], look, runs=grid.runs)


def _blocks(grid: ScoreGrid, look: LatexLook) -> list[list[GridTask]]:
    """Return the tasks that fit side by side, about as many in each block."""
    room = look.width - max(tex_width(name) for name in grid.models) - GAP
    widths = [_width(task, look) for task in grid.tasks]
    n_blocks = _fill_blocks(widths, room)[-1] + 1
    even = [place * n_blocks // len(widths) for place in range(len(widths))]
    fits = all(
        sum(width for width, block in zip(widths, even, strict=True) if block == one) <= room for one in range(n_blocks)
    )
    blocks: list[list[GridTask]] = [[] for _ in range(n_blocks)]
    for task, block in zip(grid.tasks, even if fits else _fill_blocks(widths, room), strict=True):
        blocks[block].append(task)
    return blocks


def _fill_blocks(widths: Sequence[int], room: int) -> list[int]:
    """Return the number of the block of each width, with every block as full as it can be."""
    found, used, block = [], 0, 0
    for width in widths:
        if used and used + width > room:
            used, block = 0, block + 1
        used += width
        found.append(block)
    return found


def _width(task: GridTask, look: LatexLook) -> int:
    head = tex_width((look.pretty_tasks or {}).get(task.task, task.task))
    return max(head, CELL + 2 * (task.decimals - 3), len(task.record.metric) + 2) + GAP


def _tabular(grid: ScoreGrid, tasks: Sequence[GridTask], look: LatexLook) -> Tabular:
    pretty = look.pretty_tasks or {}
    names = " & ".join(pretty.get(task.task) or tex_name(task.task) for task in tasks)
    metrics = " & ".join(f"{tex_name(task.record.metric)} {ARROWS[task.record.direction]}" for task in tasks)
    # Superscripts and subscripts of one row would touch those of the next.
    strut = "" if grid.has_even_ends else r"\rule[-1.2ex]{0pt}{3.6ex}"
    rows = []
    for model in grid.models:
        cells = [strut + tex_name(model), *(_tex_cell(task, model, grid, look) for task in tasks)]
        rows.append((tex_lines(model), " & ".join(cells) + r" \\"))
    head = (rf"Model & {names} \\", rf" & {metrics} \\")
    return Tabular(columns="l" + "c" * len(tasks), head=head, rows=tuple(rows))


def _tex_cell(task: GridTask, model: str, grid: ScoreGrid, look: LatexLook) -> str:
    cell = task.cells.get(model)
    if cell is None:
        return "--"
    if cell.mean is None:
        return f"none ({_lack_of(cell)})"
    text = _tex_mean(cell, task, grid, look)
    counts = "" if cell.n_finished == cell.n_planned else rf"\,\textsuperscript{{{cell.n_finished}/{cell.n_planned}}}"
    return text + counts


def _tex_mean(cell: CellSummary, task: GridTask, grid: ScoreGrid, look: LatexLook) -> str:
    is_best = cell.model == task.record.best and look.bold_best
    is_tied = cell.model in task.record.not_distinguishable and look.bold_best
    mean = "" if cell.mean is None else task.write(cell.mean)
    below, above = task.write_ends(cell) or ("", "")
    weight = ", mode=text, reset-text-series=false" if is_best else ""
    if look.siunitx and (grid.has_even_ends or not above):
        number = rf"\num[separate-uncertainty=true{weight}]{{{mean}{f' +- {above}' if above else ''}}}"
        text = rf"{{\bfseries {number}}}" if is_best else number
    else:
        body = (
            mean
            if not above
            else rf"{mean} \pm {above}"
            if grid.has_even_ends
            else rf"{mean}^{{+{above}}}_{{-{below}}}"
        )
        text = rf"$\mathbf{{{body}}}$" if is_best else f"${body}$"
    return rf"{text}$^{{\dagger}}$" if is_tied else text
