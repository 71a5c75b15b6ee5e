"""Results of a study, a panel for each task: a row for each level and model, or for each component of the spread."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

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
from gnz_track.report.figures.forest import ForestPanel, draw_panels, say_ends
from gnz_track.report.figures.labels import ADJUSTED, say_range, say_unattainable, say_verdicts
from gnz_track.report.figures.pairs import LABEL_WIDTH, MOST_ROWS, NAME_SIZE
from gnz_track.report.figures.style import HouseFigure, Mark, cut_text, house_style, marks_of, measure_text
from gnz_track.report.study_effects import FactorEffect, ScoreSpread, write_level
from gnz_track.stats.comparison.choices import TESTS, Choices, value_for
from gnz_track.stats.estimates.variance import Component
from gnz_track.text import plural

__all__ = ["draw_components", "draw_factor"]

NARROW, WIDE, ROW = 110.0, 220.0, 11.0


def draw_factor(effects: Sequence[FactorEffect], choices: Choices) -> HouseFigure:
    """Draw effects of one factor: the advantage of each level over the reference, with its intervals.

    Parameters
    ----------
    effects
        Effects of one factor, as means over the others, by levels of one other factor, or their changes there.
    choices
        Level, test and margin of the verdicts.
    """
    shown = [one for one in effects if one.pair.n_pairs]
    if not shown:
        return draw_words("There is no pair of scores to draw: no level and its reference have a seed in common.")
    panels = []
    for task in dict.fromkeys(one.task for one in shown):
        rows = [one for one in shown if one.task == task][:MOST_ROWS]
        panels.append(
            ForestPanel(
                title=task,
                metric=rows[0].metric,
                labels=tuple(_label(one) for one in rows),
                pairs=tuple(one.pair for one in rows),
                half=value_for(choices.margin, task, rows[0].metric),
            )
        )
    names = [name for one in shown for name in (one.task, one.model)]
    return draw_panels(panels, caption=_caption(shown, panels, choices), names=names)


def draw_components(spreads: Sequence[ScoreSpread]) -> HouseFigure:
    """Draw the standard deviation that each factor of a study adds to scores, a bar each, from zero."""
    shown = [one for one in spreads if one.found.components]
    if not shown:
        notes = "; ".join(dict.fromkeys(one.found.note for one in spreads if one.found.note))
        return draw_words(f"There is no component to draw: {notes or 'no cell has a score'}.")
    panels = {task: [one for one in shown if one.task == task] for task in dict.fromkeys(one.task for one in shown)}
    rows = {
        task: [(one, part) for one in ones for part in one.found.components][:MOST_ROWS]
        for task, ones in panels.items()
    }
    labels = {
        task: [cut_text(f"{one.model}: {part.factor}", 1.6 * LABEL_WIDTH, size=NAME_SIZE) for one, part in found]
        for task, found in rows.items()
    }
    longest = max(measure_text(label, NAME_SIZE).width for ones in labels.values() for label in ones) + 8.0
    margins = Margins(left=longest, inner=longest + 10.0, right=40.0, top=18.0, bottom=26.0)
    n_columns = max(1, min(len(rows), 3, int((WIDTH - 2 * EDGE) // (longest + NARROW + 40.0))))
    width = min(WIDE, (WIDTH - 2 * EDGE - 40.0 - n_columns * (longest + 10.0)) / n_columns)
    figure, sheets = open_sheet(
        [(width, ROW * len(found) + 4.0) for found in rows.values()],
        margins=margins,
        n_columns=n_columns,
        caption=CAPTION,
        names=[name for one in shown for name in (one.task, one.model)],
    )
    marks = marks_of(list(dict.fromkeys(part.factor for found in rows.values() for _, part in found)))
    with house_style():
        for sheet, (task, found) in zip(sheets, rows.items(), strict=True):
            _draw_bars(sheet, found, marks, width)
            sheet.title(task)
            sheet.below(f"standard deviation in {found[0][0].metric}", drop=20.0)
            for place, label in enumerate(labels[task]):
                y = sheet.box.top - 2.0 - ROW * (place + 0.5) - 0.36 * NAME_SIZE
                put_text(figure, sheet.box.left - 4.0, y, label, size=NAME_SIZE, align="right", role="model")
    return figure


CAPTION = (
    "Standard deviation of scores from one level of a factor to another, all else equal, by the method of moments; an "
    "estimate below zero counts as zero. The rest is what factors do together, and all else that is random."
)


def _draw_bars(
    sheet: Panel, rows: Sequence[tuple[ScoreSpread, Component]], marks: Mapping[str, Mark], width: float
) -> None:
    sizes = [part.sd or 0.0 for _, part in rows]
    ends = (0.0, 1.05 * max(sizes) or 1.0)
    sheet.axes.set(xlim=ends, ylim=(len(rows) - 0.5 + 2.0 / ROW, -0.5 - 2.0 / ROW), yticks=[])
    for place, (_, part) in enumerate(rows):
        sheet.axes.barh(place, sizes[place], height=0.7, color=marks[part.factor].colour, linewidth=0)
        share = "" if part.share is None else f" {part.share:.0%}"
        sheet.axes.annotate(share, (sizes[place], place), fontsize=NAME_SIZE - 1, va="center", annotation_clip=False)
    set_ticks(sheet.axes, "x", spread_ticks(ends, width))


def _label(effect: FactorEffect) -> str:
    at = f" at {write_level(effect.other, effect.at)}" if effect.other else ""
    return cut_text(f"{effect.model}: {effect.level}{at}", 1.6 * LABEL_WIDTH, size=NAME_SIZE)


def _caption(effects: Sequence[FactorEffect], panels: Sequence[ForestPanel], choices: Choices) -> str:
    pairs = [one.pair for one in effects]
    first, level = effects[0], f"{100 * (1 - choices.alpha):g} %"
    if first.is_change:
        said = (
            f"How effects of {first.factor} change from the reference of {first.other} to another level: positive "
            "where they are better there."
        )
    else:
        where = f" at each level of {first.other}" if first.other else ""
        said = f"Effect of each level of {first.factor} against {first.reference}{where}: positive where it is better."
    n_left_out = len(effects) - sum(len(panel.pairs) for panel in panels)
    n_short = sum(one.n_missing > 0 for one in effects)
    adjusted = f"{ADJUSTED.get(choices.adjustment, choices.adjustment)} over {plural(len(pairs), 'effect')}"
    parts = [
        said,
        f"Paired by {say_range(pair.n_pairs for pair in pairs)} seeds.",
        f"Thick: paired t interval, {level}; thin: intervals that hold for all at once (Bonferroni).",
        f"Verdicts: {TESTS[choices.test]}, {adjusted}, \u03b1\u00a0=\u00a0{choices.alpha:g}; {say_verdicts(pairs)}.",
        f"{plural(n_short, 'effect')} without some cells, which have no score." if n_short else "",
        "Shaded: the margin of equivalence." if any(panel.half for panel in panels) else "",
        say_unattainable(pairs, how="Hatched"),
        say_ends(panels),
        f"{plural(n_left_out, 'row')} more stand in the table." if n_left_out else "",
    ]
    return " ".join(part for part in parts if part)
