"""Searches as figures: findings by budget, the trials of one search, and its hyperparameters."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from matplotlib.axes import Axes

from gnz_track.report.figures.axes import (
    Key,
    Margins,
    columns_for,
    draw_words,
    fence,
    line_key,
    model_marks,
    open_sheet,
    put_text,
    set_ticks,
    spread_ticks,
    widen,
)
from gnz_track.report.figures.labels import ARROWS, say_range, write_p
from gnz_track.report.figures.style import COLOURS, HouseFigure, Mark, house_style, measure_text, short_names
from gnz_track.report.searches import SearchFacts, TaskBudgets
from gnz_track.stats.search.expected_best import BudgetRanks, ExpectedBest
from gnz_track.stats.search.importance import Importance
from gnz_track.store.searches import COMPLETE, TrialRecord
from gnz_track.store.searches import SEARCH_RECORD_FAILED as FAILED
from gnz_track.text import plural
from gnz_track.types import Direction

__all__ = ["draw_budget_ranks", "draw_expected_best", "draw_importances", "draw_search_history"]


PANEL_WIDTH, PANEL_HEIGHT = 114.0, 88.0
ALONE_WIDTH, ALONE_HEIGHT = 300.0, 170.0
# More bands than these cover each other.
MOST_BANDS = 4


def draw_expected_best(tasks: Sequence[TaskBudgets]) -> HouseFigure:
    """Draw a panel per task: the expected best validation score of each model against the number of trials."""
    known = [task for task in tasks if any(curve.budgets for curve in task.curves.values())]
    models = sorted({model for task in tasks for model in task.curves})
    names = [*models, *(task.task for task in tasks)]
    if not known:
        return draw_words("No expected best to draw: no trial of any search has a score.", names=names)
    marks = model_marks(models)
    margins = Margins(left=46.0, inner=46.0, right=12.0, top=18.0, bottom=30.0)
    size = (ALONE_WIDTH, ALONE_HEIGHT) if len(known) == 1 else (PANEL_WIDTH, PANEL_HEIGHT)
    has_bands = max(len(task.curves) for task in known) <= MOST_BANDS
    figure, panels = open_sheet(
        [size] * len(known),
        margins=margins,
        n_columns=columns_for(len(known), size[0], margins),
        caption=_budget_caption(known, has_bands=has_bands),
        key=line_key(models, marks, has_lines=True),
        names=names,
    )
    with house_style():
        for panel, task in zip(panels, known, strict=True):
            for model, curve in sorted(task.curves.items()):
                if curve.budgets:
                    _draw_curve(panel.axes, curve, marks[model], has_band=has_bands)
            _set_scales(panel.axes, list(task.curves.values()), size, has_bands=has_bands)
            panel.title(task.task)
            panel.below("trials", drop=22.0)
            panel.beside(f"validation {task.metric} {ARROWS[task.direction]}", offset=36.0)
    return figure


def draw_budget_ranks(found: BudgetRanks) -> HouseFigure:
    """Draw the mean rank of each model against the number of trials, the best one above."""
    if not found.budgets or len(found.models) < 2:
        said = "no task has searches of two models" if len(found.models) < 2 else "no task has searches of all models"
        return draw_words(f"No ranks by budget to draw: {said}.", names=found.models)
    marks = model_marks(found.models)
    left_out = f" Without a score in any search: {', '.join(found.left_out)}." if found.left_out else ""
    figure, panels = open_sheet(
        [(ALONE_WIDTH, ALONE_HEIGHT)],
        margins=Margins(left=34.0, inner=34.0, right=12.0, top=8.0, bottom=30.0),
        n_columns=1,
        caption=(
            f"Mean rank of {plural(len(found.models), 'model')} over {plural(found.n_tasks, 'task')} by the expected "
            "best validation score of so many trials; 1 is best. Where lines cross, the better model depends on the "
            f"budget.{left_out}"
        ),
        key=line_key(found.models, marks, has_lines=True),
        names=found.models,
    )
    (panel,) = panels
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
    return figure


def _draw_curve(axes: Axes, curve: ExpectedBest, mark: Mark, *, has_band: bool) -> None:
    _draw_line(axes, curve.budgets, curve.means, mark)
    if has_band:
        fill: dict[str, Any] = {"facecolor": mark.colour, "alpha": 0.13, "linewidth": 0.0, "gid": "gnz-band"}
        axes.fill_between(curve.budgets, curve.lows, curve.highs, **fill)


def _draw_line(axes: Axes, xs: Sequence[int], ys: Sequence[float], mark: Mark) -> None:
    n = len(xs)
    # Markers of models stand at different budgets, so that they do not cover each other.
    every = sorted({(n * (2 * step + 1) // 6 + mark.place) % n for step in range(3)}) if n > 2 else [0]
    style: dict[str, Any] = {"linestyle": mark.line, "linewidth": 1.1, "markersize": 3.0, "zorder": 3}
    axes.plot(xs, ys, markevery=every, gid="gnz-budget", **style, **mark.point)


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


def _budget_caption(tasks: Sequence[TaskBudgets], *, has_bands: bool) -> str:
    curves = [curve for task in tasks for curve in task.curves.values()]
    n_failed = sum(curve.n_failed for curve in curves)
    learners = sorted({model for task in tasks for model in task.learners})
    level = f"{100 * (1 - curves[0].alpha):g} %"
    said = [
        f"Expected best validation score of so many trials, out of {say_range(curve.n_trials for curve in curves)}:",
        "the mean over all ways to draw them without replacement.",
        f"Bands: {level} of these draws." if has_bands else "No bands: so many would cover each other.",
        f"{plural(n_failed, 'trial')} failed; they are drawn too, and are never the best." if n_failed else "",
        f"The samplers of {', '.join(learners)} learn: their curves are those of their trials in random order."
        if learners
        else "",
        "Curves that begin far from all others are cut at the edge." if any(map(_is_cut, tasks)) else "",
        "Validation scores choose; they are no results.",
    ]
    return " ".join(part for part in said if part)


WIDTH, HEIGHT = 300.0, 150.0
ROW, NAME_WIDTH, NAME_SIZE = 12.0, 110.0, 7.0
BLUE, RED, GREEN = COLOURS[0], COLOURS[1], COLOURS[2]
# Where the values of a trial come from -> how it is drawn; any other source is a past search.
DEFAULT, SAMPLER, PAST = "default", "sampler", "a past search"
LOOKS: dict[str, dict[str, Any]] = {
    DEFAULT: {"marker": "D", "color": RED, "markersize": 4.5},
    SAMPLER: {"marker": "o", "color": BLUE, "markersize": 3.2},
    PAST: {"marker": "^", "color": GREEN, "markersize": 4.0},
}
PRUNED_LOOK: dict[str, Any] = {"marker": "|", "color": "0.5", "markersize": 6.0}
FAILED_LOOK: dict[str, Any] = {"marker": "x", "color": "0.2", "markersize": 4.0}
BEST_LOOK: dict[str, Any] = {"color": "0.25", "linewidth": 1.0}


def draw_search_history(facts: SearchFacts) -> HouseFigure:
    """Draw the validation score of each trial by its number, and the best so far."""
    search = facts.search
    names = [search.task, search.model]
    trials = search.complete
    if not trials:
        return draw_words(f"No history to draw: {_say_trials(facts)}, none with a score.", names=names)
    figure, panels = open_sheet(
        [(WIDTH, HEIGHT)],
        margins=Margins(left=46.0, inner=46.0, right=12.0, top=18.0, bottom=30.0),
        n_columns=1,
        caption=_history_caption(facts),
        key=_history_key(facts),
        names=names,
    )
    (panel,) = panels
    with house_style():
        axes = panel.axes
        near = fence([trial.score or 0.0 for trial in trials], search.direction)
        low, high = widen(*near, by=0.08)
        _draw_best(axes, facts)
        for source, look in LOOKS.items():
            own = [trial for trial in trials if _source(trial) == source and _is_within(trial, near)]
            _draw_points(axes, own, {**look, "gid": "gnz-trial"})
        pruned = [trial for trial in search.trials if trial.state not in {COMPLETE, FAILED} and trial.score is not None]
        _draw_points(axes, pruned, {**PRUNED_LOOK, "gid": "gnz-pruned"})
        worst = low if search.direction is Direction.up else high
        beyond = [trial.number for trial in trials if not _is_within(trial, near)]
        failed = [trial.number for trial in search.trials if trial.state == FAILED]
        for numbers, look, gid in ((beyond, _beyond_look(search.direction), "beyond"), (failed, FAILED_LOOK, "failed")):
            axes.plot(numbers, [worst] * len(numbers), linestyle="", clip_on=False, gid=f"gnz-{gid}", **look)
        last = max(trial.number for trial in search.trials)
        axes.set(xlim=widen(0.0, float(max(last, 1)), by=0.02), ylim=(low, high))
        ticks, _ = spread_ticks((0.0, float(max(last, 1))), WIDTH)
        whole = [tick for tick in ticks if tick == int(tick)]
        set_ticks(axes, "x", (whole, [f"{tick:.0f}" for tick in whole]))
        set_ticks(axes, "y", spread_ticks((low, high), HEIGHT, is_upright=True))
        panel.title(search.title)
        panel.below("trial", drop=22.0)
        panel.beside(f"validation {search.metric} {ARROWS[search.direction]}", offset=36.0)
    return figure


def draw_importances(facts: SearchFacts) -> HouseFigure:
    """Draw a bar per hyperparameter: its share of the ranks of the scores, and what chance gives."""
    search = facts.search
    known = [one for one in facts.importances if one.share is not None]
    names = [one.name for one in known]
    if not known:
        because = "; ".join(f"{one.name}: {one.note}" for one in facts.importances) or "no trial has a score"
        return draw_words(f"No importance to draw: {because}.", names=[one.name for one in facts.importances])
    labels = short_names(names, NAME_WIDTH, size=NAME_SIZE)
    longest = max(measure_text(label, NAME_SIZE).width for label in labels.values()) + 6.0
    height = ROW * len(known) + 4.0
    figure, panels = open_sheet(
        [(WIDTH - longest, height)],
        margins=Margins(left=longest + 4.0, inner=longest, right=44.0, top=18.0, bottom=28.0),
        n_columns=1,
        caption=_importance_caption(facts, known),
        key=[
            Key(text="share of the ranks", patch={"facecolor": BLUE, "alpha": 0.75}),
            Key(text="not more than chance", patch={"facecolor": "0.8"}),
            Key(text="what chance stays below in 95 %", line={"color": "0.1", "linewidth": 1.0, "marker": "|"}),
        ],
        names=[*names, search.title],
    )
    (panel,) = panels
    with house_style():
        axes = panel.axes
        most = max(max(one.share or 0.0, one.floor or 0.0) for one in known)
        limits = (0.0, min(1.0, 1.08 * most))
        axes.set(xlim=limits, ylim=(len(known) - 0.4, -0.6), yticks=[])
        for place, one in enumerate(known):
            look: dict[str, Any] = {"color": BLUE, "alpha": 0.75} if one.is_found else {"color": "0.8"}
            axes.barh([place], [one.share or 0.0], height=0.62, gid="gnz-share", **look)
            floor = [one.floor or 0.0] * 2
            axes.plot(floor, [place - 0.4, place + 0.4], color="0.1", linewidth=1.0, gid="gnz-floor")
            y = panel.box.top - height * (place + 0.6) / (len(known) + 0.2) - 0.36 * NAME_SIZE
            left, right = panel.box.left - 4.0, panel.box.right + 5.0
            put_text(figure, left, y, labels[one.name], size=NAME_SIZE, align="right", role="hyperparameter")
            put_text(figure, right, y, f"p {_with_sign(one.p_adjusted)}", size=6.5, role="tick")
        set_ticks(axes, "x", spread_ticks(limits, WIDTH - longest))
        panel.title(search.title)
        panel.below("share of the ranks of validation scores", drop=20.0)
    return figure


def _with_sign(p: float | None) -> str:
    text = write_p(p)
    return text if text[0] in "<n" else f"= {text}"


def _draw_best(axes: Axes, facts: SearchFacts) -> None:
    """Draw the best so far as steps, up to the last trial."""
    search = facts.search
    xs: list[float] = []
    ys: list[float] = []
    for number, score in facts.rises:
        xs += [number, number] if xs else [number]
        ys += [ys[-1], score] if ys else [score]
    axes.plot([*xs, max(trial.number for trial in search.trials)], [*ys, ys[-1]], gid="gnz-best", zorder=2, **BEST_LOOK)


def _draw_points(axes: Axes, trials: Sequence[TrialRecord], look: dict[str, Any]) -> None:
    numbers, scores = [trial.number for trial in trials], [trial.score or 0.0 for trial in trials]
    axes.plot(numbers, scores, linestyle="", clip_on=True, zorder=3, **look)


def _source(trial: TrialRecord) -> str:
    return trial.source if trial.source in LOOKS else PAST


def _is_within(trial: TrialRecord, limits: tuple[float, float]) -> bool:
    return trial.score is not None and limits[0] <= trial.score <= limits[1]


def _beyond_look(direction: Direction) -> dict[str, Any]:
    return {"marker": "v" if direction is Direction.up else "^", "color": "0.55", "markersize": 3.6}


def _history_key(facts: SearchFacts) -> list[Key]:
    search = facts.search
    sources = {_source(trial) for trial in search.complete}
    shown = [Key(text=text, line={**look, "linestyle": ""}) for text, look in LOOKS.items() if text in sources]
    shown.append(Key(text="best so far", line={**BEST_LOOK, "marker": "None"}))
    if any(trial.state not in {COMPLETE, FAILED} for trial in search.trials):
        shown.append(Key(text="cut short", line={**PRUNED_LOOK, "linestyle": ""}))
    scores = [trial.score for trial in search.complete if trial.score is not None]
    if fence(scores, search.direction) != (min(scores), max(scores)):
        shown.append(Key(text="far worse", line={**_beyond_look(search.direction), "linestyle": ""}))
    if search.n_failed:
        shown.append(Key(text="failed", line={**FAILED_LOOK, "linestyle": ""}))
    return shown


def _say_trials(facts: SearchFacts) -> str:
    search = facts.search
    failed = f", {search.n_failed} failed" if search.n_failed else ""
    return f"{plural(len(search.trials), 'trial')} of the sampler {search.sampler}{failed}"


def _history_caption(facts: SearchFacts) -> str:
    search = facts.search
    seeds = plural(len(search.tuning_seeds), "tuning seed")
    said = [
        f"{_say_trials(facts)[:1].upper()}{_say_trials(facts)[1:]}; each score is the mean over {seeds}.",
        "Validation scores choose; they are no results.",
        *(f"{words[:1].upper()}{words[1:]}." for words in facts.warnings),
    ]
    return " ".join(said)


def _importance_caption(facts: SearchFacts, known: Sequence[Importance]) -> str:
    left_out = [one for one in facts.importances if one.share is None]
    n_scores = max(one.n_trials for one in known)
    said = [
        f"How much of the ranks of {n_scores} validation scores goes with each hyperparameter by itself (correlation",
        "ratio; ranges in parts of equally many trials), against permutations;",
        "p adjusted by Holm. Effects that hyperparameters have only together are not in it.",
        ""
        if facts.is_random
        else f"The sampler {facts.search.sampler} learns: what it tried together shares its effect.",
        f"Not known: {'; '.join(f'{one.name} ({one.note})' for one in left_out)}." if left_out else "",
    ]
    return " ".join(part for part in said if part)
