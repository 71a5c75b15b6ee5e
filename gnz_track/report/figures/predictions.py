"""Figures of stored predictions: slices of a win, reliability, confusions, predicted against true, ROC, ranks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from matplotlib.colors import LinearSegmentedColormap

from gnz_track.predictions.facts import BestExplained, ReliabilityFacts, SlicePart, TaskPredictions
from gnz_track.report.figures.axes import (
    Key,
    Margins,
    Panel,
    decimals_for,
    draw_words,
    line_key,
    model_marks,
    open_sheet,
    put_text,
    set_ticks,
    signed,
    spread_ticks,
    widen,
)
from gnz_track.report.figures.style import HouseFigure, house_style, measure_text, short_names

__all__ = [
    "draw_confusion",
    "draw_points",
    "draw_prediction_figures",
    "draw_ranks",
    "draw_reliability",
    "draw_roc",
    "draw_slices",
]

WIDTH, ROW, NAME_SIZE = 250.0, 10.0, 7.0
SQUARE = 170.0
UNIT = (0.0, 1.0)
# More rows than these are read by nobody.
MOST_SLICES, MOST_OF_ONE = 24, 12
MOST_NUMBERED, MOST_CELL, NUMBER_SIZE = 12, 26.0, 5.8
SHADES = LinearSegmentedColormap.from_list("gnz-share", ["#FFFFFF", "#CFE3F3", "#0072B2"])
BEFORE, AFTER = "#D55E00", "#0072B2"
MOST_RANKED = 4
# (name of its files, title, figure).
Drawn = tuple[str, str, Any]


def draw_prediction_figures(facts: TaskPredictions) -> list[Drawn]:
    """Return the figures that a task has, three at most."""
    drawn: list[Drawn] = []
    if facts.explained:
        # The pair that is told apart, where there is one.
        drawn.append(("slices", "Where the best model wins", draw_slices(facts, facts.explained[-1])))
    if facts.reliability is not None:
        drawn.append(("reliability", "Reliability", draw_reliability(facts)))
    if facts.confusion is not None:
        drawn.append(("confusion", "Confusions", draw_confusion(facts)))
    if facts.points:
        drawn.append(("points", "Predicted against true", draw_points(facts)))
    if facts.curves:
        drawn.append(("roc", "ROC curves", draw_roc(facts)))
    if facts.ranks:
        drawn.append(("ranks", "Ranks of true triples", draw_ranks(facts)))
    return drawn


def draw_slices(facts: TaskPredictions, explained: BestExplained) -> HouseFigure:
    """Draw the part of each slice in the advantage of the best model as a bar, with its interval."""
    rows = _choose_slices(explained.slices)
    labels = short_names([f"{one.descriptor} {one.slice}" for one in rows], 150.0, size=NAME_SIZE)
    longest = max(measure_text(label, NAME_SIZE).width for label in labels.values()) + 6.0
    level = f"{100 * (1 - facts.alpha):g} %"
    figure, panels = open_sheet(
        [(WIDTH, ROW * len(rows) + 2.0)],
        margins=Margins(left=longest, inner=longest, right=34.0, top=18.0, bottom=28.0),
        n_columns=1,
        caption=f"Parts of slices in the {signed(explained.advantage, decimals_for(abs(explained.advantage)))} "
        f"{facts.score} by which {explained.first} is ahead of {explained.second}; those of one descriptor sum to it. "
        f"Lines are {level} intervals for new seeds and new examples that hold for all slices at once (Bonferroni); "
        "where a bar ends beyond its tick, the slice gives more than its share of the examples, whose number is on the "
        "right.",
        key=[
            Key(text="part of the difference", patch={"facecolor": "#A6CEE6", "edgecolor": AFTER}),
            Key(text="its share of the examples", line={"color": BEFORE, "marker": "|", "linestyle": ""}),
        ],
        names=[facts.task, explained.first, explained.second],
    )
    (panel,) = panels
    ends = [0.0]
    for one in rows:
        ends += [value for value in (one.part, one.expected, one.low, one.high) if value is not None]
    limits = widen(min(ends), max(ends), by=0.04)
    with house_style():
        panel.axes.set(xlim=limits, ylim=(len(rows) - 0.4, -0.6), yticks=[])
        panel.axes.axvline(0.0, color="0.6", linewidth=0.6, zorder=1)
        for place, one in enumerate(rows):
            _draw_slice(figure, panel, place, one)
            y = panel.box.top - 1.0 - ROW * (place + 0.5) - 0.36 * NAME_SIZE
            label = labels[f"{one.descriptor} {one.slice}"]
            put_text(figure, panel.box.left - 4.0, y, label, size=NAME_SIZE, align="right", role="slice")
        set_ticks(panel.axes, "x", spread_ticks(limits, WIDTH))
        panel.title(facts.task)
        panel.below(f"{explained.first} is better by ({facts.score})", drop=22.0)
    return figure


def _choose_slices(slices: Sequence[SlicePart]) -> list[SlicePart]:
    """Return the slices of the first descriptors, those of one together and in their order."""
    found: list[SlicePart] = []
    for name in dict.fromkeys(one.descriptor for one in slices):
        group = [one for one in slices if one.descriptor == name][:MOST_OF_ONE]
        if found and len(found) + len(group) > MOST_SLICES:
            continue
        found += sorted(group, key=lambda one: (one.place < 0, one.place))
    return found


def _draw_slice(figure: HouseFigure, panel: Panel, place: int, one: SlicePart) -> None:
    panel.axes.barh(place, one.part, height=0.7, linewidth=0.6, facecolor="#A6CEE6", edgecolor=AFTER, gid="gnz-part")
    tick: dict[str, Any] = {"color": BEFORE, "marker": "|", "markersize": 6.0, "markeredgewidth": 1.2}
    panel.axes.plot([one.expected], [place], linestyle="", zorder=4, gid="gnz-expected", **tick)
    if one.low is not None and one.high is not None:
        look: dict[str, Any] = {"color": "0", "linewidth": 0.8, "marker": "|", "markersize": 3.5}
        panel.axes.plot([one.low, one.high], [place, place], zorder=3, gid="gnz-interval", **look)
    y = panel.box.top - 1.0 - ROW * (place + 0.5) - 0.36 * 6.0
    put_text(figure, panel.box.right + 5.0, y, f"{one.n_examples:,}", size=6.0, role="axis")


def draw_reliability(facts: TaskPredictions) -> HouseFigure:
    """Draw the accuracy of the best model against its confidence, before and after a temperature."""
    shown = [
        ("as trained", facts.reliability, BEFORE, "o"),
        ("after the temperature", facts.reliability_after, AFTER, "s"),
    ]
    drawn = [(name, found, colour, marker) for name, found, colour, marker in shown if found is not None and found.n]
    if not drawn:
        return draw_words(f"No reliability of {facts.task}: no cell has an example.", names=[facts.task])
    figure, panels = open_sheet(
        [(SQUARE, SQUARE)],
        margins=Margins(left=44.0, inner=44.0, right=12.0, top=18.0, bottom=28.0),
        n_columns=1,
        caption=f"Share of right decisions of {facts.best} among examples of like confidence, all seeds together, with "
        "95 % Wilson bounds; on the grey line confidence is what it says. The temperature was fitted on validation.",
        key=[Key(text=name, line=_line(colour, marker)) for name, _, colour, marker in drawn],
        names=[facts.task, facts.best],
    )
    (panel,) = panels
    with house_style():
        panel.axes.plot(UNIT, UNIT, color="0.7", linewidth=0.8, zorder=1)
        for _, found, colour, marker in drawn:
            _draw_bins(panel, found, _line(colour, marker))
        _set_unit(panel)
        panel.title(facts.task)
        panel.below("confidence in the decision", drop=22.0)
        panel.beside("share of right decisions", offset=34.0)
    return figure


def _draw_bins(panel: Panel, found: ReliabilityFacts, look: Mapping[str, Any]) -> None:
    for x, low, high in zip(found.confidence, found.lows, found.highs, strict=True):
        panel.axes.plot([x, x], [low, high], color=look["color"], linewidth=0.7, zorder=2, gid="gnz-bound")
    panel.axes.plot(found.confidence, found.accuracy, zorder=3, gid="gnz-bins", **look)


def draw_confusion(facts: TaskPredictions) -> HouseFigure:
    """Draw which class the best model decides for, by the class that it is."""
    confusion = facts.confusion
    if confusion is None:
        return draw_words(f"No confusions of {facts.task}.", names=[facts.task])
    n = len(confusion.counts)
    cell = min(MOST_CELL, max(4.0, 200.0 / n))
    figure, panels = open_sheet(
        [(cell * n, cell * n)],
        margins=Margins(left=40.0, inner=40.0, right=12.0, top=18.0, bottom=28.0),
        n_columns=1,
        caption=f"Decisions of {confusion.model} by class, mean counts over {len(facts.seeds)} seeds; shaded by their "
        "share of the row.",
        names=[facts.task, confusion.model],
    )
    (panel,) = panels
    with house_style():
        shares = confusion.shares
        panel.axes.pcolormesh(shares, cmap=SHADES, vmin=0.0, vmax=1.0, edgecolor="0.85", linewidth=0.4)
        panel.axes.set(xlim=(0, n), ylim=(n, 0))
        if n <= MOST_NUMBERED:
            _print_counts(panel, confusion.counts, shares)
        step = 1 if n <= MOST_NUMBERED else -(-n // 8)
        ticks = [place + 0.5 for place in range(0, n, step)], [str(place) for place in range(0, n, step)]
        set_ticks(panel.axes, "x", ticks)
        set_ticks(panel.axes, "y", ticks)
        panel.title(facts.task, room=60.0)
        panel.below("decided", drop=22.0)
        panel.beside("class", offset=26.0)
    return figure


def _print_counts(panel: Panel, counts: Sequence[Sequence[float]], shares: Sequence[Sequence[float]]) -> None:
    for row, line in enumerate(counts):
        for column, count in enumerate(line):
            text = f"{count:.0f}" if count >= 10 or count == int(count) else f"{count:.1f}"
            colour = "1" if shares[row][column] > 0.7 else "0"
            middle: dict[str, Any] = {"ha": "center", "va": "center_baseline", "fontsize": NUMBER_SIZE}
            panel.axes.text(column + 0.5, row + 0.5, text, color=colour, parse_math=False, gid="gnz-count", **middle)


def draw_points(facts: TaskPredictions) -> HouseFigure:
    """Draw predicted against true numbers of the best model."""
    if not facts.points:
        return draw_words(f"No predicted numbers of {facts.task}.", names=[facts.task])
    figure, panels = open_sheet(
        [(SQUARE, SQUARE)],
        margins=Margins(left=48.0, inner=48.0, right=12.0, top=18.0, bottom=28.0),
        n_columns=1,
        caption=f"{len(facts.points):,} of {facts.n_examples:,} tested examples: what {facts.best} predicts, mean over "
        "the seeds that were tested on it, against what is true.",
        names=[facts.task, facts.best],
    )
    (panel,) = panels
    values = [value for point in facts.points for value in point]
    limits = widen(min(values), max(values))
    xs, ys = zip(*facts.points, strict=True)
    with house_style():
        panel.axes.plot(limits, limits, color="0.7", linewidth=0.8, zorder=1)
        dots: dict[str, Any] = {
            "linestyle": "",
            "marker": "o",
            "markersize": 2.0,
            "markeredgewidth": 0.0,
            "alpha": 0.45,
        }
        panel.axes.plot(xs, ys, color=AFTER, gid="gnz-example", **dots)
        panel.axes.set(xlim=limits, ylim=limits)
        set_ticks(panel.axes, "x", spread_ticks(limits, SQUARE))
        set_ticks(panel.axes, "y", spread_ticks(limits, SQUARE, is_upright=True))
        panel.title(facts.task)
        panel.below("true", drop=22.0)
        panel.beside("predicted", offset=38.0)
    return figure


def draw_roc(facts: TaskPredictions) -> HouseFigure:
    """Draw the ROC curves of the best models, each under its first seed."""
    if not facts.curves:
        return draw_words(f"No ROC curve of {facts.task}.", names=[facts.task])
    marks = model_marks([one.model for one in facts.models])
    names = [one.model for one in facts.curves]
    figure, panels = open_sheet(
        [(SQUARE, SQUARE)],
        margins=Margins(left=44.0, inner=44.0, right=12.0, top=18.0, bottom=28.0),
        n_columns=1,
        caption=f"Links found against other pairs taken for links, seed {facts.curves[0].seed}; areas: "
        + ", ".join(f"{one.model} {one.area:.3f}" for one in facts.curves)
        + ".",
        key=line_key(names, marks, has_lines=True),
        names=[facts.task, *names],
    )
    (panel,) = panels
    with house_style():
        panel.axes.plot(UNIT, UNIT, color="0.7", linewidth=0.8, zorder=1)
        for one in facts.curves:
            look = {**marks[one.model].point, "linestyle": marks[one.model].line, "linewidth": 1.0, "markersize": 3.5}
            panel.axes.plot(one.false_positive, one.true_positive, markevery=0.2, gid="gnz-roc", **look)
        _set_unit(panel)
        panel.title(facts.task)
        panel.below("share of other pairs", drop=22.0)
        panel.beside("share of links", offset=34.0)
    return figure


def draw_ranks(facts: TaskPredictions) -> HouseFigure:
    """Draw the share of the ranks in each bin, for the models with the best mean reciprocal rank."""
    if not facts.ranks:
        return draw_words(f"No ranks of {facts.task}.", names=[facts.task])
    shown = facts.ranks[:MOST_RANKED]
    marks, names = model_marks([one.model for one in facts.ranks]), [one.model for one in shown]
    uppers = shown[0].uppers
    figure, panels = open_sheet(
        [(WIDTH, SQUARE)],
        margins=Margins(left=44.0, inner=44.0, right=12.0, top=18.0, bottom=28.0),
        n_columns=1,
        caption="Ranks of true triples among their candidates, by tail and by head, 1 being the best: the share of "
        "them in each bin, which its largest rank names, means over seeds. Mean reciprocal ranks: "
        + ", ".join(f"{one.model} {one.reciprocal:.3f}" for one in shown)
        + ".",
        key=line_key(names, marks, has_lines=True),
        names=[facts.task, *names],
    )
    (panel,) = panels
    limits = widen(0.0, max(max(one.shares) for one in shown), by=0.04)
    with house_style():
        panel.axes.set(xlim=(-0.5, len(uppers) - 0.5), ylim=limits)
        for one in shown:
            look = {**marks[one.model].point, "linestyle": marks[one.model].line, "linewidth": 1.0, "markersize": 3.5}
            panel.axes.plot(range(len(uppers)), one.shares, gid="gnz-ranks", **look)
        words = ["more" if upper is None else f"{upper / 1000:g}k" if upper >= 1000 else str(upper) for upper in uppers]
        set_ticks(panel.axes, "x", (list(range(len(uppers))), words))
        set_ticks(panel.axes, "y", spread_ticks(limits, SQUARE, is_upright=True))
        panel.title(facts.task)
        panel.below("rank up to", drop=22.0)
        panel.beside("share of the ranks", offset=34.0)
    return figure


def _line(colour: str, marker: str) -> dict[str, Any]:
    return {"color": colour, "marker": marker, "markersize": 3.5, "linewidth": 1.0}


def _set_unit(panel: Panel) -> None:
    panel.axes.set(xlim=widen(*UNIT, by=0.02), ylim=widen(*UNIT, by=0.02))
    for axis in ("x", "y"):
        set_ticks(panel.axes, axis, spread_ticks(UNIT, SQUARE, is_upright=axis == "y"))
