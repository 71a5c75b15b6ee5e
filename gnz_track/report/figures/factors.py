"""Effects of the factors of a study: a row for each level and model, a panel for each task."""

from __future__ import annotations

from collections.abc import Sequence

from gnz_track.report.figures.axes import draw_words
from gnz_track.report.figures.forest import ForestPanel, draw_panels, say_ends
from gnz_track.report.figures.labels import ADJUSTED, say_range, say_unattainable, say_verdicts
from gnz_track.report.figures.pairs import LABEL_WIDTH, MOST_ROWS, NAME_SIZE
from gnz_track.report.figures.style import HouseFigure, cut_text
from gnz_track.report.study_effects import FactorEffect, write_level
from gnz_track.stats.comparison.choices import TESTS, Choices, value_for
from gnz_track.text import plural

__all__ = ["draw_factor"]


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
