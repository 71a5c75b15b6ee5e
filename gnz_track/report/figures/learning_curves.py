"""Learning curves: the mean of a series over seeds at each epoch, with an interval band, a panel per task."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Any

from matplotlib.axes import Axes

from gnz_track.errors import BadValue
from gnz_track.report.figures.axes import (
    Margins,
    columns_for,
    draw_words,
    line_key,
    model_marks,
    open_sheet,
    set_ticks,
    spread_ticks,
    widen,
)
from gnz_track.report.figures.labels import ARROWS, say_range
from gnz_track.report.figures.style import HouseFigure, Mark, house_style
from gnz_track.stats.estimates.intervals import MeanCurve, mean_curve
from gnz_track.text import plural
from gnz_track.types import Direction

__all__ = ["choose_series", "draw_learning_curves", "series_of_part"]

Series = Mapping[str, Sequence[float]]
# [task][model] -> the series of its seeds.
Histories = Mapping[str, Mapping[str, Sequence[Series]]]

WIDTH, HEIGHT = 114.0, 88.0
ALONE_WIDTH, ALONE_HEIGHT = 300.0, 170.0
# More bands than these cover each other.
MOST_BANDS = 6
ALPHA = 0.05
# What a model selects its epoch by comes before what nobody may choose by, and both before the loss of training.
PARTS = ("val", "test", "train")


# The name of the series that is drawn of one task, and its mean by model.
TaskCurves = tuple[str, Mapping[str, MeanCurve]]


def draw_learning_curves(
    histories: Histories,
    *,
    directions: Mapping[str, Direction | str] | None = None,
    max_cols: int | None = None,
    ylabel: str | None = None,
) -> HouseFigure:
    """Draw mean curves with their bands, a panel per task.

    Parameters
    ----------
    histories
        ``[task][model]`` -> a mapping of series for each seed.
    directions
        Task -> whether higher or lower is better.
    max_cols
        Most panels side by side.
    ylabel
        Label of the vertical axes in place of the name of the series.
    """
    towards = {task: _direction(task, given) for task, given in (directions or {}).items()}
    found = {task: curves for task, models in histories.items() if (curves := _choose_curves(models)) is not None}
    models = list(dict.fromkeys(model for group in histories.values() for model in group))
    names = [*models, *histories]
    if not found:
        tasks = plural(len(histories), "task")
        return draw_words(f"No learning curve to draw: no finished cell of {tasks} has a series.", names=names)
    size = (ALONE_WIDTH, ALONE_HEIGHT) if len(found) == 1 else (WIDTH, HEIGHT)
    margins = Margins(left=46.0, inner=46.0, right=12.0, top=18.0, bottom=30.0)
    marks = model_marks(models)
    n_drawn = max(len(of_models) for _, of_models in found.values())
    figure, panels = open_sheet(
        [size] * len(found),
        margins=margins,
        n_columns=columns_for(len(found), size[0], margins, most=max_cols),
        caption=_caption(histories, [*found.values()], has_bands=n_drawn <= MOST_BANDS),
        key=line_key(models, marks, has_lines=True),
        names=names,
    )
    with house_style():
        for panel, (task, (series, of_models)) in zip(panels, found.items(), strict=True):
            for model, curve in of_models.items():
                _draw_curve(panel.axes, curve, marks[model], has_band=n_drawn <= MOST_BANDS)
            _set_scales(panel.axes, [*of_models.values()], size, has_bands=n_drawn <= MOST_BANDS)
            panel.title(task)
            panel.below("epoch", drop=22.0)
            panel.beside(f"{series}{_arrow(series, towards.get(task))}", offset=36.0)
    for text in figure.findobj(_stands_upright) if ylabel is not None else ():
        text.set_text(ylabel)  # type: ignore[attr-defined]
    return figure


def series_of_part(histories: Histories, part: str) -> dict[str, dict[str, list[Series]]]:
    """Return the series of one part of the data: test, val or train."""
    return {
        task: {
            model: [{name: one[name] for name in one if name.startswith(f"{part}/")} for one in seeds]
            for model, seeds in models.items()
        }
        for task, models in histories.items()
    }


def _stands_upright(artist: Any) -> bool:
    """Tell whether an artist is the label of a vertical axis."""
    return hasattr(artist, "get_text") and artist.get_rotation() == 90.0 and bool(artist.get_text())


def choose_series(names: Sequence[str]) -> str:
    """Return the series that is drawn of those there are: a metric of validation, of test, then a loss."""
    return min(names, key=_order)


def _order(name: str) -> tuple[bool, int, str]:
    part, _, metric = name.partition("/")
    return metric == "loss", PARTS.index(part) if part in PARTS else len(PARTS), name


def _choose_curves(models: Mapping[str, Sequence[Series]]) -> TaskCurves | None:
    names = sorted({name for seeds in models.values() for seed in seeds for name, values in seed.items() if values})
    if not names:
        return None
    series = choose_series(names)
    curves = {
        model: mean_curve([seed.get(series, ()) for seed in seeds], alpha=ALPHA) for model, seeds in models.items()
    }
    known = {model: curve for model, curve in curves.items() if any(mean is not None for mean in curve.means)}
    return (series, known) if known else None


def _direction(task: str, given: Direction | str) -> Direction:
    if given not in list(Direction):
        raise BadValue(f"direction of {task}", given, "up (larger is better) or down (smaller is better)")
    return Direction(given)


def _arrow(series: str, direction: Direction | None) -> str:
    if series.endswith("/loss"):
        return f" {ARROWS[Direction.down]}"
    return f" {ARROWS[direction]}" if direction else ""


def _draw_curve(axes: Axes, curve: MeanCurve, mark: Mark, *, has_band: bool) -> None:
    """Draw the mean while all seeds are there as a line with its band, behind that thin and without one."""
    points = [
        (epoch, mean, low, high)
        for epoch, mean, low, high in zip(curve.epochs, curve.means, curve.lows, curve.highs, strict=True)
        if mean is not None
    ]
    whole = [point for point in points if point[0] < curve.n_whole]
    n = len(whole)
    # Markers of models stand at different epochs, so that they do not cover each other.
    every = [(n * (2 * step + 1) // 6 + mark.place) % n for step in range(3)] if n > 2 else [0][:n]
    xs, ys = [point[0] for point in whole], [point[1] for point in whole]
    style: dict[str, Any] = {"linestyle": mark.line, "linewidth": 1.1, "markersize": 3.0, "zorder": 3}
    axes.plot(xs, ys, markevery=sorted(set(every)), gid="gnz-curve", **style, **mark.point)
    rest = [point for point in points if point[0] >= curve.n_whole - 1]
    if len(rest) > 1:
        thin: dict[str, Any] = {"linestyle": (0, (1, 1.5)), "linewidth": 0.7, "color": mark.colour, "zorder": 2.5}
        axes.plot([point[0] for point in rest], [point[1] for point in rest], gid="gnz-rest", **thin)
    if not has_band:
        return
    for is_known, group in groupby(whole, key=lambda point: point[2] is not None):
        band = list(group)
        if is_known:
            lows, highs = [point[2] or 0.0 for point in band], [point[3] or 0.0 for point in band]
            fill: dict[str, Any] = {"facecolor": mark.colour, "alpha": 0.16, "linewidth": 0.0, "gid": "gnz-band"}
            axes.fill_between([point[0] for point in band], lows, highs, **fill)


def _set_scales(axes: Axes, curves: Sequence[MeanCurve], size: tuple[float, float], *, has_bands: bool) -> None:
    """Set limits by the means, and by bands as far as they do not squeeze the means."""
    means = [mean for curve in curves for mean in curve.means if mean is not None]
    low, high = widen(min(means), max(means), by=0.06)
    room = 0.35 * (high - low)
    if has_bands:
        lows = [value for curve in curves for value in curve.lows if value is not None]
        highs = [value for curve in curves for value in curve.highs if value is not None]
        low, high = max(low - room, min([low, *lows])), min(high + room, max([high, *highs]))
    last = max(curve.epochs[-1] for curve in curves)
    across = widen(0.0, float(last), by=0.02) if last else (-0.5, 0.5)
    axes.set(xlim=across, ylim=(low, high))
    ticks, labels = spread_ticks((0.0, float(last)), size[0])
    whole = [(tick, label) for tick, label in zip(ticks, labels, strict=True) if tick == int(tick)]
    set_ticks(axes, "x", ([tick for tick, _ in whole], [f"{tick:.0f}" for tick, _ in whole]))
    set_ticks(axes, "y", spread_ticks((low, high), size[1], is_upright=True))


def _caption(histories: Histories, found: Sequence[TaskCurves], *, has_bands: bool) -> str:
    curves = [curve for _, of_models in found for curve in of_models.values()]
    seeds = say_range(curve.n_seeds for curve in curves)
    n_absent = sum(len(models) for models in histories.values()) - len(curves)
    is_cut = any(curve.epochs and curve.n_whole <= curve.epochs[-1] for curve in curves)
    is_alone = any(curve.n_seeds == 1 for curve in curves)
    said = [
        f"Mean over {seeds} seed{'' if seeds == '1' else 's'} at each epoch, epochs counted from 0.",
        f"Bands: {100 * (1 - ALPHA):g} % Student t intervals at each epoch, not for the whole curve."
        if has_bands
        else "",
        "" if has_bands else "No bands: so many would cover each other.",
        "A curve of one seed has no band." if is_alone and has_bands else "",
        "Dotted: some seeds stopped earlier, and the mean is that of the rest." if is_cut else "",
        f"Not drawn: {plural(n_absent, 'cell group')} (task and model) without a series." if n_absent else "",
    ]
    return " ".join(part for part in said if part)
