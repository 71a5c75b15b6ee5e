"""Performance profiles: the share of runs of each model above a normalised score, with bands over seeds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from matplotlib.axes import Axes

from gnz_track.report.figures.axes import (
    Margins,
    draw_words,
    line_key,
    model_marks,
    open_sheet,
    set_ticks,
    spread_ticks,
    widen,
)
from gnz_track.report.figures.labels import say_range
from gnz_track.report.figures.style import HouseFigure, Mark, house_style
from gnz_track.stats.comparison.comparison import Comparison, ModelAggregates
from gnz_track.stats.estimates.aggregate import Profile
from gnz_track.text import plural

__all__ = ["draw_profiles"]

# More bands than these cover each other.
MOST_BANDS = 6
WIDTH, HEIGHT = 330.0, 180.0
NO_BOUNDS = (
    "No performance profiles: they put all tasks on one scale, and no bounds were declared. "
    "Compare with bounds=(worst, best), one pair or a pair by task or metric, such as bounds=(0, 1) for accuracies."
)


def draw_profiles(comparison: Comparison) -> HouseFigure:
    """Draw the profile of each model; a sentence where no bounds of the scores were declared."""
    found = [one for one in comparison.aggregates if one.profile.thresholds]
    names = [one.model for one in found]
    marks = model_marks(comparison.models)
    if not found:
        is_declared = comparison.choices.bounds is not None
        return draw_words("No performance profiles: no task has scores of all models." if is_declared else NO_BOUNDS)
    figure, panels = open_sheet(
        [(WIDTH, HEIGHT)],
        margins=Margins(left=38.0, inner=38.0, right=12.0, top=8.0, bottom=28.0),
        n_columns=1,
        caption=_caption(found),
        key=line_key(names, marks, has_lines=True),
        names=names,
    )
    (panel,) = panels
    limits = _limits(found)
    with house_style():
        for one in found:
            _draw_profile(panel.axes, one.profile, marks[one.model], has_band=len(found) <= MOST_BANDS)
        panel.axes.set(xlim=widen(*limits, by=0.01), ylim=(-0.03, 1.03))
        set_ticks(panel.axes, "x", spread_ticks(limits, WIDTH))
        set_ticks(panel.axes, "y", spread_ticks((0.0, 1.0), HEIGHT, is_upright=True))
        panel.below("normalised score \u03c4 (0 worst, 1 best as declared)", drop=22.0)
        panel.beside("share of runs above \u03c4", offset=28.0)
    return figure


def _draw_profile(axes: Axes, profile: Profile, mark: Mark, *, has_band: bool) -> None:
    look: dict[str, Any] = {**mark.point, "linestyle": mark.line, "markersize": 3.0, "linewidth": 1.2}
    every = (mark.place % 3, 3)
    axes.plot(profile.thresholds, profile.shares, markevery=every, gid="gnz-profile", **look)
    if has_band and profile.lows is not None and profile.highs is not None:
        band: dict[str, Any] = {"facecolor": mark.colour, "alpha": 0.16, "linewidth": 0.0, "gid": "gnz-band"}
        axes.fill_between(profile.thresholds, profile.lows, profile.highs, **band)


def _limits(found: Sequence[ModelAggregates]) -> tuple[float, float]:
    """Return the thresholds at which any model has a share between all and nothing, and one on either side."""
    thresholds = found[0].profile.thresholds
    columns = zip(*(one.profile.shares for one in found), strict=True)
    moving = [place for place, shares in enumerate(columns) if any(0.0 < share < 1.0 for share in shares)]
    if not moving:
        return thresholds[0], thresholds[-1]
    return thresholds[max(0, moving[0] - 1)], thresholds[min(len(thresholds) - 1, moving[-1] + 1)]


def _caption(found: Sequence[ModelAggregates]) -> str:
    first = found[0].profile
    seeds = say_range(size for one in found for size in one.profile.seeds_per_task)
    level = f"{100 * first.resampling.level:g} %"
    has_bands = len(found) <= MOST_BANDS and any(one.profile.lows is not None for one in found)
    notes = sorted({one.profile.note for one in found if one.profile.note})
    # No line ends within the formula.
    method = first.method.replace(" / (S - ", "\u00a0/\u00a0(S\u00a0-\u00a0")
    said = [
        f"Performance profiles of {plural(len(found), 'model')} over {plural(first.n_tasks, 'task')},",
        f"{seeds} seeds each: higher is better; every task has the same weight.",
        f"Bands: {level}, pointwise, {method}." if has_bands else "",
        f"No bands: {plural(len(found), 'model')} would cover each other." if len(found) > MOST_BANDS else "",
        *(f"{note[0].upper()}{note[1:]}." for note in notes),
    ]
    return " ".join(part for part in said if part)
