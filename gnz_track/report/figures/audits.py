"""Figures of audits: complementarity under each perturbation, against performance, and the plane of diversities."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from gnz_track.report.figures.axes import Key, Margins, draw_words, open_sheet, set_ticks, spread_ticks, widen
from gnz_track.report.figures.labels import ARROWS
from gnz_track.report.figures.style import HouseFigure, Mark, house_style, marks_of, measure_text, short_names
from gnz_track.store.audits import AuditRecord, ModeRecord
from gnz_track.text import plural

__all__ = ["draw_diversity_plane", "draw_performance", "draw_strips"]

WIDTH, ROW = 300.0, 17.0
PLANE = 190.0
# The widest name of a dataset in the key.
MOST_KEY = 130.0
UNIT = (0.0, 1.0)
# Where grades of diversity change.
BOUNDS = (0.2, 0.4, 0.6, 0.8)
# Spreads dots over a strip without any generator: the fractional parts of its multiples are even.
GOLDEN_RATIO = 0.6180339887498949


def draw_strips(record: AuditRecord) -> HouseFigure:
    """Draw, for each perturbation, the complementarity of the graphs as dots on a strip, and their mean."""
    modes = [mode for mode in record.modes if any(value is not None for value in mode.values)]
    if not modes:
        return draw_words(f"No complementarity of {record.task}: it is undefined for all graphs.", names=[record.task])
    marks = marks_of([mode.name for mode in record.modes])
    left = max(measure_text(mode.name, 7.0).width for mode in modes) + 12.0
    n_shown = max(sum(value is not None for value in mode.values) for mode in modes)
    figure, panels = open_sheet(
        [(WIDTH, ROW * len(modes))],
        margins=Margins(left=left, inner=left, right=12.0, top=18.0, bottom=28.0),
        n_columns=1,
        caption=f"Mode complementarity of {record.task} at t = {record.times[0]} under each perturbation: "
        f"{plural(n_shown, 'graph')} as dots, the mean of all as a line. Near 0 edges and features say the same, near "
        "1 they have nothing to do with one another.",
        names=[record.task],
    )
    (panel,) = panels
    with house_style():
        for place, mode in enumerate(reversed(modes)):
            _draw_strip(panel.axes, mode, place, marks[mode.name])
        panel.axes.set(xlim=widen(*UNIT, by=0.02), ylim=(-0.5, len(modes) - 0.5))
        panel.axes.set_yticks(range(len(modes)), [mode.name for mode in reversed(modes)], parse_math=False)
        panel.axes.tick_params(axis="y", length=0.0)
        set_ticks(panel.axes, "x", spread_ticks(UNIT, WIDTH))
        panel.title(record.task)
        panel.below("mode complementarity", drop=22.0)
    return figure


def draw_performance(record: AuditRecord) -> HouseFigure:
    """Draw the mean score on each version of the graphs against the mean complementarity there."""
    metric = record.samples[0].metric if record.samples else ""
    gammas = {mode.name: mode.means[0] for mode in record.modes}
    points = [
        (sample.mode, gamma, sample.scores, sample.mean)
        for sample in record.samples
        if sample.metric == metric and (gamma := gammas.get(sample.mode)) is not None
    ]
    if not points:
        return draw_words(f"No performance of {record.task}: no model was trained.", names=[record.task])
    marks = marks_of([mode for mode, *_ in points])
    correlation = "" if record.correlation is None else f" Their correlation is {record.correlation:.2f}."
    figure, panels = open_sheet(
        [(WIDTH, 0.6 * WIDTH)],
        margins=Margins(left=44.0, inner=44.0, right=12.0, top=18.0, bottom=28.0),
        n_columns=1,
        caption=f"Scores on each version of {record.task} against its mean complementarity at t = {record.times[0]}: "
        f"the mean of the best model there, and each seed as a small dot.{correlation}",
        key=[Key(text=mode, line=_look(marks[mode])) for mode, *_ in points],
        names=[record.task],
    )
    (panel,) = panels
    xs = widen(min(gamma for _, gamma, *_ in points), max(gamma for _, gamma, *_ in points), by=0.08)
    scores = [score for *_, found, _ in points for score in found]
    ys = widen(min(scores), max(scores), by=0.08)
    with house_style():
        for mode, gamma, found, mean in points:
            colour = marks[mode].colour
            dots: dict[str, Any] = {"color": colour, "alpha": 0.35, "markersize": 2.0, "linestyle": ""}
            panel.axes.plot([gamma] * len(found), found, marker="o", markeredgewidth=0.0, gid="gnz-seed", **dots)
            panel.axes.plot([gamma], [mean], zorder=3, gid="gnz-point", **_look(marks[mode]))
        panel.axes.set(xlim=xs, ylim=ys)
        set_ticks(panel.axes, "x", spread_ticks(xs, WIDTH))
        set_ticks(panel.axes, "y", spread_ticks(ys, 0.6 * WIDTH, is_upright=True))
        panel.title(record.task)
        panel.below("mean mode complementarity", drop=22.0)
        panel.beside(f"{metric} {ARROWS.get(record.direction, '')}".strip(), offset=34.0)
    return figure


def draw_diversity_plane(records: Sequence[AuditRecord]) -> HouseFigure:
    """Draw the mean diversity of features against that of structure, a point for each dataset."""
    known = [one for one in records if one.structure.mean is not None and one.features.mean is not None]
    if not known:
        return draw_words("No diversity: it is undefined for all datasets.")
    marks = marks_of([one.task for one in known])
    shown = short_names([one.task for one in known], MOST_KEY, size=7.0)
    figure, panels = open_sheet(
        [(PLANE, PLANE)],
        margins=Margins(left=44.0, inner=44.0, right=12.0, top=8.0, bottom=28.0),
        n_columns=1,
        caption=f"Mode diversity of {plural(len(known), 'dataset')}: means over graphs, bars one standard deviation to "
        "either side. Lines are the bounds of grades (--, -, o, +, ++); left of 0.4 the structure is not diverse.",
        key=[Key(text=shown[one.task], line=_look(marks[one.task])) for one in known],
        names=[one.task for one in known],
    )
    (panel,) = panels
    with house_style():
        for bound in BOUNDS:
            line: dict[str, Any] = {"color": "0.85" if bound != 0.4 else "0.55", "linewidth": 0.7, "zorder": 1}
            panel.axes.axvline(bound, **line)
            panel.axes.axhline(bound, **{**line, "color": "0.85"})
        for one in known:
            _draw_cross(panel.axes, one, marks)
        panel.axes.set(xlim=widen(*UNIT, by=0.02), ylim=widen(*UNIT, by=0.02))
        for axis in ("x", "y"):
            set_ticks(panel.axes, axis, spread_ticks(UNIT, PLANE, is_upright=axis == "y"))
        panel.below("diversity of structure \u0394S", drop=22.0)
        panel.beside("diversity of features \u0394F", offset=34.0)
    return figure


def _draw_strip(axes: Any, mode: ModeRecord, place: int, mark: Mark) -> None:
    found = [value for value in mode.values if value is not None]
    heights = [place + 0.62 * ((GOLDEN_RATIO * number) % 1.0 - 0.5) for number in range(len(found))]
    dots: dict[str, Any] = {"color": mark.colour, "alpha": 0.45, "markersize": 2.2, "linestyle": "", "marker": "o"}
    axes.plot(found, heights, markeredgewidth=0.0, clip_on=False, gid="gnz-graph", **dots)
    if mode.means[0] is not None:
        ends = [place - 0.42, place + 0.42]
        axes.plot([mode.means[0]] * 2, ends, color="black", linewidth=1.2, zorder=4, gid="gnz-mean")


def _draw_cross(axes: Any, record: AuditRecord, marks: Mapping[str, Mark]) -> None:
    mark = marks[record.task]
    x, y = record.structure.mean or 0.0, record.features.mean or 0.0
    wide, tall = record.structure.sd or 0.0, record.features.sd or 0.0
    bar: dict[str, Any] = {"color": mark.colour, "linewidth": 0.8, "zorder": 2}
    axes.plot([max(0.0, x - wide), min(1.0, x + wide)], [y, y], gid="gnz-bar", **bar)
    axes.plot([x, x], [max(0.0, y - tall), min(1.0, y + tall)], gid="gnz-bar", **bar)
    axes.plot([x], [y], zorder=3, gid="gnz-point", **_look(mark))


def _look(mark: Mark) -> dict[str, Any]:
    return {
        "color": mark.colour,
        "marker": mark.marker,
        "linestyle": "",
        "markersize": 5.5,
        "markeredgecolor": "white",
        "markeredgewidth": 0.6,
    }
