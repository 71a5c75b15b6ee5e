"""Forest of paired differences: the advantage of one model over another on each task, with intervals."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from matplotlib.axes import Axes
from matplotlib.collections import LineCollection

from gnz_track.report.figures.axes import (
    EDGE,
    WIDTH,
    Margins,
    Panel,
    draw_words,
    open_sheet,
    put_text,
    set_ticks,
    spread_ticks,
)
from gnz_track.report.figures.labels import say_seeds, say_test, say_unattainable, say_verdicts
from gnz_track.report.figures.pairs import (
    LOOKS,
    NAME_SIZE,
    PairRows,
    choose_rows,
    find_tasks,
    name_pairs,
    say_left_out,
    verdict_key,
    why_no_pairs,
)
from gnz_track.report.figures.style import HouseFigure, house_style, measure_text
from gnz_track.stats.comparison.choices import PerTask, value_for
from gnz_track.stats.comparison.comparison import Comparison, PairComparison, TaskComparison

__all__ = ["ForestPanel", "draw_forest", "draw_panels", "say_ends"]

ROW = 10.0
NARROW, WIDE = 110.0, 230.0
# Of the typical length of an interval; what is longer ends in an arrow, so that one wild pair squeezes no other.
LONGEST = 2.5
# One scale for all panels of a metric, unless the narrowest would be this many times as wide as what is in it.
MOST_UNEQUAL = 4.0

Limits = tuple[float, float]


def draw_forest(
    comparison: Comparison, *, task: str | None = None, sort_within: bool = True, band: PerTask = None
) -> HouseFigure:
    """Draw the mean advantage of each pair with its intervals, a panel per task and zero at one place in all of them.

    Parameters
    ----------
    comparison
        Comparison of the models.
    task
        Task to draw; all of them without one.
    sort_within
        Sort by advantage; else keep the order of the comparison.
    band
        Half the width of the shaded band, in units of the metric; without it the margin of equivalence.
    """
    tasks = find_tasks(comparison, task)
    rows = choose_rows(tasks, sort_within=sort_within)
    names = [name for one in tasks for name in (one.task, *one.models)]
    if not rows:
        return draw_words(why_no_pairs(comparison, tasks), names=names)
    labels = name_pairs(rows)
    panels = [
        ForestPanel(
            title=one.task,
            metric=one.metric,
            labels=tuple(labels[pair.first, pair.second] for pair in pairs),
            pairs=tuple(pairs),
            half=_band(one, band),
        )
        for one, pairs in rows
    ]
    return draw_panels(panels, caption=_caption(comparison, rows, panels, is_given=band is not None), names=names)


@dataclass(frozen=True, kw_only=True)
class ForestPanel:
    """Pairs under one another with their labels; ``half`` is half the width of the shaded band, in the metric."""

    title: str
    metric: str
    labels: tuple[str, ...]
    pairs: tuple[PairComparison, ...]
    half: float | None = None


def draw_panels(panels: Sequence[ForestPanel], *, caption: str, names: Sequence[str]) -> HouseFigure:
    """Draw panels of pairs, zero at one place in all of them.

    Parameters
    ----------
    panels
        The panels, at least one, each with at least one pair.
    caption
        Sentences below.
    names
        All names that are drawn, to tell of characters that no font draws.
    """
    longest = max(measure_text(label, NAME_SIZE).width for panel in panels for label in panel.labels) + 8.0
    margins = Margins(left=longest, inner=longest + 10.0, right=12.0, top=18.0, bottom=26.0)
    n_columns = max(1, min(len(panels), 3, int((WIDTH - 2 * EDGE) // (longest + NARROW + 12.0))))
    width = min(WIDE, max(NARROW, (WIDTH - 2 * EDGE - 12.0 - n_columns * (longest + 10.0)) / n_columns))
    figure, sheets = open_sheet(
        [(width, ROW * len(panel.pairs) + 4.0) for panel in panels],
        margins=margins,
        n_columns=n_columns,
        caption=caption,
        key=verdict_key([pair for panel in panels for pair in panel.pairs]),
        names=names,
    )
    with house_style():
        for sheet, panel, ends in zip(sheets, panels, _limits(panels), strict=True):
            _draw_panel(sheet.axes, panel.pairs, ends, panel.half)
            set_ticks(sheet.axes, "x", spread_ticks(ends, width))
            sheet.title(panel.title)
            sheet.below(f"advantage in {panel.metric}", drop=20.0)
            _label_rows(figure, sheet, panel.labels)
    return figure


def say_ends(panels: Sequence[ForestPanel]) -> str:
    """Return what a caption says of scales and of intervals that are cut; empty where there is nothing to say."""
    said = [
        "Scales differ between panels." if len(panels) > 1 and len(set(_limits(panels))) > 1 else "",
        "An arrow: the interval goes on." if any(map(_is_cut, panels)) else "",
    ]
    return " ".join(part for part in said if part)


def _draw_panel(axes: Axes, pairs: Sequence[PairComparison], limits: Limits, half: float | None) -> None:
    axes.set(xlim=limits, ylim=(len(pairs) - 0.5 + 2.0 / ROW, -0.5 - 2.0 / ROW), yticks=[])
    axes.spines["left"].set_visible(False)
    axes.axvline(0.0, color="0", linewidth=0.6, zorder=1.5, gid="gnz-zero")
    if half is not None:
        axes.axvspan(-half, half, facecolor="0.9", edgecolor="0.6", linewidth=0.4, zorder=0.5, gid="gnz-band")
    for place, pair in enumerate(pairs):
        if not pair.can_reject:
            axes.axhspan(place - 0.5, place + 0.5, facecolor="none", edgecolor="0.8", hatch="////", linewidth=0.0)
    _draw_intervals(axes, pairs, limits)
    for verdict, look in LOOKS.items():
        found = [(place, pair.effects.mean.mean) for place, pair in enumerate(pairs) if pair.verdict is verdict]
        known = [(place, mean) for place, mean in found if mean is not None]
        if known:
            xs, ys = [mean for _, mean in known], [place for place, _ in known]
            axes.plot(xs, ys, linestyle="", zorder=4, clip_on=False, gid=f"gnz-{verdict}", **look)
    for place, pair in enumerate(pairs):
        if pair.effects.mean.mean is None:
            axes.text(0.0, place, " not run", fontsize=6.0, va="center", color="0.3", gid="gnz-absent")


def _draw_intervals(axes: Axes, pairs: Sequence[PairComparison], limits: Limits) -> None:
    """Draw the interval of each pair thick, the one that holds for the whole family thin, both where they end."""
    for width, gid in ((0.6, "gnz-simultaneous"), (1.5, "gnz-interval")):
        found = [(place, _ends(pair, gid), LOOKS[pair.verdict]["color"]) for place, pair in enumerate(pairs)]
        known = [(place, ends, colour) for place, ends, colour in found if ends is not None]
        lines = [((max(low, limits[0]), y), (min(high, limits[1]), y)) for y, (low, high), _ in known]
        colours = [colour for _, _, colour in known]
        axes.add_collection(LineCollection(lines, linewidths=width, colors=colours, zorder=3, gid=gid), autolim=False)
    for place, pair in enumerate(pairs):
        ends = _ends(pair, "gnz-simultaneous")
        colour = LOOKS[pair.verdict]["color"]
        for is_cut, x, marker in (
            (ends is not None and ends[0] < limits[0], limits[0], "<"),
            (ends is not None and ends[1] > limits[1], limits[1], ">"),
        ):
            if is_cut:
                axes.plot([x], [place], marker=marker, color=colour, markersize=2.5, clip_on=False, gid="gnz-cut")


def _ends(pair: PairComparison, gid: str) -> Limits | None:
    found = pair.effects.mean if gid == "gnz-interval" else pair.simultaneous
    return None if found.low is None or found.high is None else (found.low, found.high)


def _label_rows(figure: HouseFigure, panel: Panel, labels: Sequence[str]) -> None:
    for place, label in enumerate(labels):
        y = panel.box.top - 2.0 - ROW * (place + 0.5) - 0.36 * NAME_SIZE
        put_text(figure, panel.box.left - 6.0, y, label, size=NAME_SIZE, align="right", role="pair")


def _band(task: TaskComparison, band: PerTask) -> float | None:
    given: float | None = value_for(band, task.task, task.metric)
    return task.margin if given is None else given


def _limits(panels: Sequence[ForestPanel]) -> list[Limits]:
    """Return the limits of each panel, with zero at the same place in all of them."""
    extents = [_extent(panel.pairs, panel.half) for panel in panels]
    # The share of the width that lies left of zero.
    left = statistics.fmean(-low / (high - low) for low, high in extents)
    left = min(0.85, max(0.15, left))
    scales = [max(-low / left, high / (1.0 - left)) * 1.04 for low, high in extents]
    for metric in {panel.metric for panel in panels}:
        same = [place for place, panel in enumerate(panels) if panel.metric == metric]
        widest = max(scales[place] for place in same)
        if widest <= MOST_UNEQUAL * min(scales[place] for place in same):
            for place in same:
                scales[place] = widest
    return [(-scale * left, scale * (1.0 - left)) for scale in scales]


def _extent(pairs: Sequence[PairComparison], half: float | None) -> Limits:
    means = [pair.effects.mean.mean or 0.0 for pair in pairs]
    ends = [ends for pair in pairs if (ends := _ends(pair, "gnz-simultaneous")) is not None]
    halves = sorted((high - low) / 2 for low, high in ends) or [0.0]
    # The half of the pairs with the shorter intervals says what is usual.
    typical = statistics.median(halves[: (len(halves) + 1) // 2])
    most = max(max(abs(mean) for mean in means) + LONGEST * typical, half or 0.0)
    values = [*means, *(min(most, max(-most, end)) for both in ends for end in both), 1.1 * (half or 0.0), 0.0]
    values.append(-1.1 * (half or 0.0))
    low, high = min(values), max(values)
    return (low, high) if high > low else (-1.0, 1.0)


def _caption(comparison: Comparison, rows: Sequence[PairRows], panels: Sequence[ForestPanel], *, is_given: bool) -> str:
    tasks = [task for task, _ in rows]
    pairs = [pair for _, pairs in rows for pair in pairs]
    level = f"{100 * (1 - comparison.choices.alpha):g} %"
    widths = sorted({panel.half for panel in panels if panel.half is not None})
    listed = (
        " or ".join(f"\u00b1{half:g}" for half in widths)
        if len(widths) < 4
        else f"\u00b1{widths[0]:g} to {widths[-1]:g}"
    )
    meaning = "as asked for" if is_given else "the margin of equivalence"
    said = [
        f"Mean paired differences over {say_seeds(tasks)}: positive where the first model is better.",
        f"Thick: paired t interval of each pair, {level}; thin: intervals that hold for all m pairs at once",
        "(Bonferroni; Holm may reject where they touch 0).",
        f"Verdicts: {say_test(comparison, tasks)}; {say_verdicts(pairs)}.",
        f"Shaded: {listed}, {meaning}." if widths else "",
        say_unattainable(pairs, how="Hatched"),
        say_ends(panels),
        say_left_out(rows),
    ]
    return " ".join(part for part in said if part)


def _is_cut(panel: ForestPanel) -> bool:
    low, high = _extent(panel.pairs, panel.half)
    ends = (ends for pair in panel.pairs if (ends := _ends(pair, "gnz-simultaneous")) is not None)
    return any(one[0] < low or one[1] > high for one in ends)
