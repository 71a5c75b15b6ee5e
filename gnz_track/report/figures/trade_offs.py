"""Score against cost: what each model scores on a task, for how many seconds or parameters, and the Pareto front."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from matplotlib.axes import Axes

from gnz_track.errors import UnknownName
from gnz_track.report.figures.axes import (
    Key,
    Margins,
    Panel,
    columns_for,
    draw_words,
    line_key,
    log_ticks,
    model_marks,
    open_sheet,
    order_models,
    set_ticks,
    spread_ticks,
    widen,
)
from gnz_track.report.figures.labels import ARROWS, say_counts, say_interval, say_seeds
from gnz_track.report.figures.style import HouseFigure, Mark, house_style
from gnz_track.stats.comparison.cells import ScoreFrame
from gnz_track.stats.comparison.comparison import CellSummary, Comparison, TaskComparison
from gnz_track.stats.comparison.costs import CPU_TIME, WALL_TIME, cost_doubts, mean_costs, pareto_front, time_column
from gnz_track.text import plural
from gnz_track.types import Direction

__all__ = ["COSTS", "draw_trade_off"]

COSTS = {
    CPU_TIME: "CPU seconds of training",
    WALL_TIME: "wall seconds of training",
    "n_parameters": "parameters",
}
WIDTH, HEIGHT = 114.0, 92.0
ALONE_WIDTH, ALONE_HEIGHT = 260.0, 160.0
# From the least to the largest cost; a longer way is drawn on a logarithmic axis.
MOST_LINEAR = 5.0

Point = tuple[CellSummary, float]


def draw_trade_off(comparison: Comparison, table: ScoreFrame, *, cost: str = "") -> HouseFigure:
    """Draw a panel per task: mean score against mean cost of the runs in the table, joined where none is better.

    Parameters
    ----------
    comparison
        Comparison of the models.
    table
        Results table behind it.
    cost
        Column of the cost; without it CPU seconds where all cells were computed by processors, else wall seconds.
    """
    cost = cost or time_column(table)
    if cost not in COSTS:
        raise UnknownName("cost", cost, COSTS)
    names = [*comparison.models, *(task.task for task in comparison.tasks)]
    has_column = cost in {str(name) for name in table.columns}
    costs = mean_costs(comparison, table, cost) if has_column else {}
    points = {task.task: _points(task, costs) for task in comparison.tasks}
    tasks = [task for task in comparison.tasks if points[task.task]]
    if not tasks:
        said = "no cell has both a score and a cost" if has_column else f"the table has no column {cost}"
        return draw_words(f"No trade-off between score and {COSTS[cost]}: {said}.", names=names)
    models = [name for name in order_models(comparison) if any(name == c.model for p in points.values() for c, _ in p)]
    marks = model_marks(comparison.models)
    margins = Margins(left=46.0, inner=46.0, right=12.0, top=18.0, bottom=30.0)
    size = (ALONE_WIDTH, ALONE_HEIGHT) if len(tasks) == 1 else (WIDTH, HEIGHT)
    front = Key(text="Pareto front", line={"color": "0.45", "linewidth": 0.9, "marker": "None"})
    figure, panels = open_sheet(
        [size] * len(tasks),
        margins=margins,
        n_columns=columns_for(len(tasks), size[0], margins),
        caption=_caption(comparison, tasks, cost, doubts=() if cost == "n_parameters" else cost_doubts(table)),
        key=[*line_key(models, marks, has_lines=False), front],
        names=names,
    )
    with house_style():
        for panel, task in zip(panels, tasks, strict=True):
            _draw_panel(panel, points[task.task], marks, task.direction)
            panel.title(task.task)
            panel.below(COSTS[cost], drop=22.0)
            panel.beside(f"{task.metric} {ARROWS[task.direction]}", offset=36.0)
    return figure


def _points(task: TaskComparison, costs: dict[tuple[str, str], float]) -> list[Point]:
    return [
        (cell, costs[task.task, cell.model])
        for cell in task.cells
        if cell.mean is not None and (task.task, cell.model) in costs
    ]


def _draw_panel(panel: Panel, points: Sequence[Point], marks: Mapping[str, Mark], direction: Direction) -> None:
    axes = panel.axes
    _set_scales(panel, points)
    xs, ys = [cost for _, cost in points], [cell.mean or 0.0 for cell, _ in points]
    _draw_front(axes, xs, ys, direction)
    for (cell, _), x, y in zip(points, xs, ys, strict=True):
        mark = marks[cell.model]
        if cell.interval.low is not None and cell.interval.high is not None:
            ends = [cell.interval.low, cell.interval.high]
            axes.plot([x, x], ends, color=mark.colour, linewidth=0.7, zorder=2.5, gid="gnz-interval")
        look = {**mark.point, "markersize": 4.5}
        axes.plot([x], [y], linestyle="", zorder=3, clip_on=False, gid="gnz-point", **look)


def _draw_front(axes: Axes, xs: Sequence[float], ys: Sequence[float], direction: Direction) -> None:
    """Draw the best score that each cost buys, as steps up to the edge of the panel."""
    front = pareto_front(xs, ys, direction)
    worst = axes.get_ylim()[0 if direction is Direction.up else 1]
    steps_x, steps_y = [xs[front[0]]], [worst]
    for place in front:
        steps_x += [xs[place], xs[place]]
        steps_y += [steps_y[-1], ys[place]]
    steps_x.append(axes.get_xlim()[1])
    steps_y.append(steps_y[-1])
    axes.plot(steps_x, steps_y, color="0.45", linewidth=0.9, zorder=2, gid="gnz-front")


def _set_scales(panel: Panel, points: Sequence[Point]) -> None:
    """Set limits and ticks; costs that span much are drawn on a logarithmic axis."""
    axes, box = panel.axes, panel.box
    xs = [cost for _, cost in points]
    low, high = min(xs), max(xs)
    is_long = low > 0.0 and high > MOST_LINEAR * low
    across = (low / 1.4, high * 1.4) if is_long else widen(low, high, by=0.12)
    axes.set_xscale("log" if is_long else "linear")
    axes.set_xlim(across)
    ticks = log_ticks if is_long else spread_ticks
    set_ticks(axes, "x", ticks(across, box.right - box.left))
    values = [
        value for cell, _ in points for value in (cell.mean, cell.interval.low, cell.interval.high) if value is not None
    ]
    down = widen(min(values), max(values), by=0.08)
    axes.set_ylim(down)
    set_ticks(axes, "y", spread_ticks(down, box.top - box.bottom, is_upright=True))


def _caption(comparison: Comparison, tasks: Sequence[TaskComparison], cost: str, *, doubts: Sequence[str]) -> str:
    left_out = len(comparison.tasks) - len(tasks)
    said = [
        f"Mean score (with {say_interval(comparison)}) against mean {COSTS[cost]} of the same runs,",
        f"{say_seeds(tasks)}. The line is the Pareto front: no model is both cheaper and better than those on it;",
        "it goes by means alone, so that models on it need not differ.",
        "An arrow at the metric says which way is better.",
        say_counts(comparison),
        f"Left out: {plural(left_out, 'task')} without costs or scores." if left_out else "",
        *(f"{doubt[0].upper()}{doubt[1:]}." for doubt in doubts),
    ]
    return " ".join(part for part in said if part)
