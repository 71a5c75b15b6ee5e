"""Bars: the mean score of each model on each task, with its interval, and its seeds where they are few."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from matplotlib.axes import Axes
from matplotlib.colors import to_rgb

from gnz_track.report.figures.axes import (
    EDGE,
    WIDTH,
    Margins,
    Panel,
    draw_words,
    model_marks,
    open_sheet,
    order_models,
    put_text,
    set_ticks,
    share_limits,
    spread_ticks,
)
from gnz_track.report.figures.labels import say_counts, say_interval, say_seeds
from gnz_track.report.figures.style import HouseFigure, house_style, measure_text, short_names
from gnz_track.stats.comparison.comparison import CellSummary, Comparison, TaskComparison
from gnz_track.text import plural

__all__ = ["draw_bars"]

ROW = 11.0
NAME_WIDTH = 120.0
NAME_SIZE = 7.0
NARROW, WIDE = 88.0, 200.0
# More dots than these are a smear.
MOST_DOTS = 12

Limits = tuple[float, float]


def draw_bars(comparison: Comparison) -> HouseFigure:
    """Draw a panel per task with a bar per model, from zero, in the order of the mean ranks."""
    tasks = [task for task in comparison.tasks if any(cell.mean is not None for cell in task.cells)]
    models = order_models(comparison)
    names = [*models, *(task.task for task in comparison.tasks)]
    if not tasks:
        return draw_words(f"No score to draw: none of {plural(comparison.n_cells, 'cell')} has one.", names=names)
    labels = short_names(models, NAME_WIDTH, size=NAME_SIZE)
    longest = max(measure_text(label, NAME_SIZE).width for label in labels.values()) + 6.0
    margins = Margins(left=longest, inner=26.0, right=26.0, top=16.0, bottom=26.0)
    room = WIDTH - 2 * EDGE - longest - margins.right + margins.inner
    n_columns = max(1, min(len(tasks), int(room // (NARROW + margins.inner))))
    width = min(WIDE, room / n_columns - margins.inner)
    figure, panels = open_sheet(
        [(width, ROW * len(models) + 2.0)] * len(tasks),
        margins=margins,
        n_columns=n_columns,
        caption=_caption(comparison, tasks),
        names=names,
    )
    limits = share_limits([_extent(task) for task in tasks], [task.metric for task in tasks])
    with house_style():
        for panel, task, ends in zip(panels, tasks, limits, strict=True):
            _draw_panel(panel.axes, task, models, ends)
            set_ticks(panel.axes, "x", spread_ticks(ends, width))
            panel.title(task.task, room=14.0)
            panel.below(f"{task.metric} ({DIRECTIONS[task.direction.value]})", drop=20.0)
            _say_missing(figure, panel, task, models)
            if panel.is_first:
                for place, model in enumerate(models):
                    y = _height(panel, place) - 0.36 * NAME_SIZE
                    left = panel.box.left - 4.0
                    put_text(figure, left, y, labels[model], size=NAME_SIZE, align="right", role="model")
    return figure


DIRECTIONS = {"up": "higher is better", "down": "lower is better"}


def _draw_panel(axes: Axes, task: TaskComparison, models: Sequence[str], limits: Limits) -> None:
    axes.set(xlim=limits, ylim=(len(models) - 0.5 + 1.0 / ROW, -0.5 - 1.0 / ROW), yticks=[])
    axes.spines["left"].set_position(("data", 0.0))
    marks = model_marks(models)
    for cell in task.cells:
        if cell.mean is None:
            continue
        place = models.index(cell.model)
        mark = marks[cell.model]
        look: dict[str, Any] = {
            "facecolor": _paler(mark.colour),
            "edgecolor": mark.colour,
            "hatch": mark.hatch,
        }
        axes.barh(place, cell.mean, height=0.74, linewidth=0.6, gid="gnz-bar", **look)
        if cell.interval.low is not None and cell.interval.high is not None:
            ends = [cell.interval.low, cell.interval.high]
            look = {"color": "0", "linewidth": 0.9, "marker": "|", "markersize": 4.5, "markeredgewidth": 0.9}
            axes.plot(ends, [place, place], gid="gnz-interval", clip_on=False, zorder=4, **look)
        _draw_seeds(axes, cell, place)


def _draw_seeds(axes: Axes, cell: CellSummary, place: int) -> None:
    n = len(cell.scores)
    if 0 < n <= MOST_DOTS:
        # By the order of the seeds from top to bottom, so that equal scores do not hide each other.
        ys = [place + (0.52 * (seed + 0.5) / n - 0.26) for seed in range(n)]
        look: dict[str, Any] = {"marker": "o", "markersize": 2.0, "markerfacecolor": "white", "markeredgecolor": "0.2"}
        axes.plot(cell.scores, ys, linestyle="", markeredgewidth=0.35, clip_on=False, gid="gnz-seeds", **look)


def _say_missing(figure: HouseFigure, panel: Panel, task: TaskComparison, models: Sequence[str]) -> None:
    cells = {cell.model: cell for cell in task.cells}
    for place, model in enumerate(models):
        cell = cells.get(model)
        y = _height(panel, place) - 2.0
        if cell is None or cell.mean is None:
            said = "not run" if cell is None else "no score"
            put_text(figure, panel.box.left + 4.0, y, said, size=5.5, role="axis")
        if cell is not None and cell.n_finished < cell.n_planned:
            put_text(figure, panel.box.right + 5.0, y, f"{cell.n_finished}/{cell.n_planned}", size=5.5, role="axis")


def _height(panel: Panel, place: int) -> float:
    return panel.box.top - 1.0 - ROW * (place + 0.5)


def _extent(task: TaskComparison) -> Limits:
    values = [0.0]
    for cell in task.cells:
        found = (cell.mean, cell.interval.low, cell.interval.high, *cell.scores)
        values += [value for value in found if value is not None]
    low, high = min(values), max(values)
    span = (high - low) or 1.0
    return (low - 0.04 * span if low < 0 else 0.0), (high + 0.04 * span if high > 0 or low == high else 0.0)


def _paler(colour: str) -> tuple[float, float, float]:
    red, green, blue = (0.45 + 0.55 * part for part in to_rgb(colour))
    return red, green, blue


def _caption(comparison: Comparison, tasks: Sequence[TaskComparison]) -> str:
    most = max((len(cell.scores) for task in tasks for cell in task.cells), default=0)
    dots = f"Dots are seeds{'' if most <= MOST_DOTS else f', where there are at most {MOST_DOTS}'}."
    is_partial = any(cell.n_finished < cell.n_planned for task in tasks for cell in task.cells)
    left_out = len(comparison.tasks) - len(tasks)
    said = [
        f"Mean scores over {say_seeds(tasks)} with {say_interval(comparison)}. {dots}",
        "Intervals of single models do not tell whether two of them differ: see their paired differences.",
        "Beside a bar: finished of planned seeds." if is_partial else "",
        say_counts(comparison),
        f"Left out: {plural(left_out, 'task')} without any score." if left_out else "",
    ]
    return " ".join(part for part in said if part)
