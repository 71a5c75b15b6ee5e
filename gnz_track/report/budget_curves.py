"""Findings of searches by budget: the expected best validation score, and the ranks of the models."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from matplotlib.axes import Axes

from gnz_track.kinds import Direction
from gnz_track.report.canvas import HouseFigure, house_style
from gnz_track.report.captions import count, say_range
from gnz_track.report.model_marks import ModelMark, line_key, model_marks
from gnz_track.report.scales import fence, set_ticks, spread_ticks, widen
from gnz_track.report.search_facts import TaskBudgets
from gnz_track.report.sheet import Margins, columns_for, draw_words, open_sheet
from gnz_track.stats.expected_best import BudgetRanks, ExpectedBest

__all__ = ["draw_budget_ranks", "draw_expected_best"]

WIDTH, HEIGHT = 114.0, 88.0
ALONE_WIDTH, ALONE_HEIGHT = 300.0, 170.0
# More bands than these cover each other.
MOST_BANDS = 4
ARROWS = {Direction.up: "\u2191", Direction.down: "\u2193"}


def draw_expected_best(tasks: Sequence[TaskBudgets]) -> HouseFigure:
    """Draw a panel per task: the expected best validation score of each model against the number of trials."""
    known = [task for task in tasks if any(curve.budgets for curve in task.curves.values())]
    models = sorted({model for task in tasks for model in task.curves})
    names = [*models, *(task.task for task in tasks)]
    if not known:
        return draw_words("No expected best to draw: no trial of any search has a score.", names=names)
    marks = model_marks(models)
    margins = Margins(left=46.0, inner=46.0, right=12.0, top=18.0, bottom=30.0)
    size = (ALONE_WIDTH, ALONE_HEIGHT) if len(known) == 1 else (WIDTH, HEIGHT)
    has_bands = max(len(task.curves) for task in known) <= MOST_BANDS
    sheet = open_sheet(
        [size] * len(known),
        margins=margins,
        n_columns=columns_for(len(known), size[0], margins),
        caption=_caption(known, has_bands=has_bands),
        key=line_key(models, marks, has_lines=True),
        names=names,
    )
    with house_style():
        for panel, task in zip(sheet.panels, known, strict=True):
            for model, curve in sorted(task.curves.items()):
                if curve.budgets:
                    _draw_curve(panel.axes, curve, marks[model], has_band=has_bands)
            _set_scales(panel.axes, list(task.curves.values()), size, has_bands=has_bands)
            panel.title(task.task)
            panel.below("trials", drop=22.0)
            panel.beside(f"validation {task.metric} {ARROWS[task.direction]}", offset=36.0)
    return sheet.figure


def draw_budget_ranks(found: BudgetRanks) -> HouseFigure:
    """Draw the mean rank of each model against the number of trials, the best one above."""
    if not found.budgets or len(found.models) < 2:
        said = "no task has searches of two models" if len(found.models) < 2 else "no task has searches of all models"
        return draw_words(f"No ranks by budget to draw: {said}.", names=found.models)
    marks = model_marks(found.models)
    left_out = f" Without a score in any search: {', '.join(found.left_out)}." if found.left_out else ""
    sheet = open_sheet(
        [(ALONE_WIDTH, ALONE_HEIGHT)],
        margins=Margins(left=34.0, inner=34.0, right=12.0, top=8.0, bottom=30.0),
        n_columns=1,
        caption=(
            f"Mean rank of {count(len(found.models), 'model')} over {count(found.n_tasks, 'task')} by the expected "
            "best validation score of so many trials; 1 is best. Where lines cross, the better model depends on the "
            f"budget.{left_out}"
        ),
        key=line_key(found.models, marks, has_lines=True),
        names=found.models,
    )
    (panel,) = sheet.panels
    worst = len(found.models)
    with house_style():
        for model in found.models:
            _draw_line(panel.axes, found.budgets, found.ranks[model], marks[model])
        panel.axes.set(xlim=_across(found.budgets[-1]), ylim=(worst + 0.15, 0.85))
        set_ticks(panel.axes, "x", _whole_ticks(found.budgets[-1], ALONE_WIDTH))
        every = max(1, worst // 12)
        ranks = list(range(1, worst + 1, every))
        set_ticks(panel.axes, "y", ([float(rank) for rank in ranks], [str(rank) for rank in ranks]))
        panel.axes.grid(visible=True, axis="y", color="0.9", linewidth=0.4)
        panel.axes.set_axisbelow(True)
        panel.below("trials", drop=22.0)
        panel.beside("mean rank", offset=24.0)
    return sheet.figure


def _draw_curve(axes: Axes, curve: ExpectedBest, mark: ModelMark, *, has_band: bool) -> None:
    _draw_line(axes, curve.budgets, curve.means, mark)
    if has_band:
        fill: dict[str, Any] = {"facecolor": mark.mark.colour, "alpha": 0.13, "linewidth": 0.0, "gid": "gnz-band"}
        axes.fill_between(curve.budgets, curve.lows, curve.highs, **fill)


def _draw_line(axes: Axes, xs: Sequence[int], ys: Sequence[float], mark: ModelMark) -> None:
    n = len(xs)
    # Markers of models stand at different budgets, so that they do not cover each other.
    every = sorted({(n * (2 * step + 1) // 6 + mark.place) % n for step in range(3)}) if n > 2 else [0]
    style: dict[str, Any] = {"linestyle": mark.mark.line, "linewidth": 1.1, "markersize": 3.0, "zorder": 3}
    axes.plot(xs, ys, markevery=every, gid="gnz-budget", **style, **mark.marker)


def _set_scales(axes: Axes, curves: Sequence[ExpectedBest], size: tuple[float, float], *, has_bands: bool) -> None:
    """Set limits by the means, and by bands as far as they do not squeeze the means."""
    means = [mean for curve in curves for mean in curve.means]
    low, high = widen(*fence(means, curves[0].direction), by=0.06)
    if has_bands:
        room = 0.6 * (high - low)
        low = max(low - room, min([low, *(value for curve in curves for value in curve.lows)]))
        high = min(high + room, max([high, *(value for curve in curves for value in curve.highs)]))
    last = max(curve.budgets[-1] for curve in curves if curve.budgets)
    axes.set(xlim=_across(last), ylim=(low, high))
    set_ticks(axes, "x", _whole_ticks(last, size[0]))
    set_ticks(axes, "y", spread_ticks((low, high), size[1], is_upright=True))


def _is_cut(task: TaskBudgets) -> bool:
    means = [mean for curve in task.curves.values() for mean in curve.means]
    return bool(means) and fence(means, task.direction) != (min(means), max(means))


def _across(last: int) -> tuple[float, float]:
    return widen(1.0, float(last), by=0.02) if last > 1 else (0.5, 1.5)


def _whole_ticks(last: int, length: float) -> tuple[list[float], list[str]]:
    """Return ticks at whole numbers of trials: one trial, and round numbers behind it."""
    ticks, _ = spread_ticks((0.0, float(last)), length)
    whole = sorted({1.0, *(tick for tick in ticks if tick == int(tick) and tick > max(1.0, 0.06 * last))})
    return whole, [f"{tick:.0f}" for tick in whole]


def _caption(tasks: Sequence[TaskBudgets], *, has_bands: bool) -> str:
    curves = [curve for task in tasks for curve in task.curves.values()]
    n_failed = sum(curve.n_failed for curve in curves)
    learners = sorted({model for task in tasks for model in task.learners})
    level = f"{100 * (1 - curves[0].alpha):g} %"
    said = [
        f"Expected best validation score of so many trials, out of {say_range(curve.n_trials for curve in curves)}:",
        "the mean over all ways to draw them without replacement.",
        f"Bands: {level} of these draws." if has_bands else "No bands: so many would cover each other.",
        f"{count(n_failed, 'trial')} failed; they are drawn too, and are never the best." if n_failed else "",
        f"The samplers of {', '.join(learners)} learn: their curves are those of their trials in random order."
        if learners
        else "",
        "Curves that begin far from all others are cut at the edge." if any(map(_is_cut, tasks)) else "",
        "Validation scores choose; they are no results.",
    ]
    return " ".join(part for part in said if part)
