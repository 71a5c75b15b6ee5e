"""Results of a study as tables: each level against its reference, by levels of other factors, and components."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pandas as pd

from gnz_track.report.figures.labels import ARROWS
from gnz_track.report.study_effects import FactorEffect, ScoreSpread, StudyComponents, StudyEffects, write_level
from gnz_track.report.tables.latex import LatexLook, Tabular, tex_lines, tex_name, write_document, write_p
from gnz_track.report.tables.table import ReportTable
from gnz_track.stats.comparison.choices import TESTS

__all__ = ["component_table", "effect_table", "interaction_table"]

OF_SPREAD = (
    "sd: standard deviation of scores from one level of a factor to another, in the unit of the metric; share: of the "
    "sum of all variances. The rest is what factors do together, and all else that is random."
)
OF_COMPONENTS = ("task", "model", "mean", "component", "levels", "sd", "share", "remarks")

COLUMNS = (
    "task",
    "model",
    "level",
    "mean",
    "of reference",
    "better by",
    "interval",
    "adjusted p",
    "seeds",
    "verdict",
    "remarks",
)
BY_LEVEL = (
    "task",
    "model",
    "level",
    "at",
    "better by",
    "interval",
    "verdict",
    "changes by",
    "interval",
    "adjusted p",
    "verdict",
)
CHANGES = (
    "changes by: how much better the effect is there than at the reference of the other factor; effects and changes of "
    "two factors are a family each."
)
_REALS = (
    "mean",
    "mean_of_reference",
    "advantage",
    "low",
    "high",
    "p",
    "p_adjusted",
    "simultaneous_low",
    "simultaneous_high",
)


def effect_table(effects: StudyEffects) -> ReportTable:
    """Return a row for each level of a factor but the reference, task and model."""
    rows = effects.main
    return ReportTable(
        columns=COLUMNS,
        rows=tuple(map(_row_of, rows)),
        empty="no effect to compare: no level and its reference have a score",
        notes=tuple(_write_notes(effects)),
        numbers=lambda: _frame(rows),
        latex=lambda look: _write_latex(rows, effects, look),
    )


def interaction_table(effects: StudyEffects) -> ReportTable:
    """Return a row for each level of a factor at each level of another one: the effect there, and how it changes."""
    rows = (*effects.by_level, *effects.changes)
    changes = {_place(one): one for one in effects.changes}
    return ReportTable(
        columns=BY_LEVEL,
        rows=tuple((*_row_at(one), *_row_of_change(changes.get(_place(one)))) for one in effects.by_level),
        empty="no interaction: the study has one factor, or no scores to compare",
        notes=(CHANGES,),
        numbers=lambda: _frame(rows),
        latex=lambda look: _write_latex(rows, effects, look),
    )


def component_table(components: StudyComponents) -> ReportTable:
    """Return a row for each component of the spread of each model's scores on each task."""
    return ReportTable(
        columns=OF_COMPONENTS,
        rows=tuple(row for one in components.spreads for row in _rows_of_spread(one)),
        empty="no spread to decompose: no cell has a score",
        notes=(
            OF_SPREAD,
            *(f"Method: {method}." for method in dict.fromkeys(one.found.method for one in components.spreads)),
        ),
        numbers=lambda: pd.DataFrame([fact for one in components.spreads for fact in _facts_of_spread(one)]),
        latex=lambda look: _write_spreads(components, look),
    )


def _facts_of_spread(one: ScoreSpread) -> Iterator[dict[str, Any]]:
    about = {"task": one.task, "model": one.model, "metric": one.metric, "mean": one.found.mean}
    for part in one.found.components:
        yield {**about, **vars(part), "n_runs": one.found.n_runs}


def _rows_of_spread(one: ScoreSpread) -> Iterator[tuple[str, ...]]:
    head = (f"{one.task} ({one.metric} {ARROWS[one.direction]})", one.model, _write_number(one.found.mean))
    if not one.found.components:
        yield (*head, "", "", "", "", one.found.note)
    for place, part in enumerate(one.found.components):
        share = "" if part.share is None else f"{part.share:.0%}"
        note = one.found.note if not place else ""
        yield (*head, part.factor, str(part.n_levels), _write_number(part.sd, ".3g"), share, note)


def _write_spreads(components: StudyComponents, look: LatexLook) -> str:
    head = r"Task & Model & Component & Levels & SD & Share \\"
    lines = []
    for one in components.spreads:
        for part in one.found.components:
            sd, share = _write_number(part.sd, ".3g"), "" if part.share is None else f"{part.share:.0%}"
            names = [tex_name(name, longest=20) for name in (one.task, one.model, part.factor)]
            cells = (*names, str(part.n_levels), sd, share.replace("%", r"\,\%"))
            lines.append((1, " & ".join(cells) + r" \\"))
    tabular = Tabular(columns="lllrrr@{}", head=(head,), rows=tuple(lines or [(1, r"\multicolumn{6}{l}{none} \\")]))
    return write_document([tabular], [OF_SPREAD], look)


def _row_of(one: FactorEffect) -> tuple[str, ...]:
    return (
        f"{one.task} ({one.metric} {ARROWS[one.direction]})",
        one.model,
        f"{write_level(one.factor, one.level)} against {one.reference}",
        _write_number(one.mean),
        _write_number(one.mean_of_reference),
        *_write_advantage(one),
        _write_number(one.pair.p_adjusted, ".3g"),
        str(one.pair.n_pairs),
        one.outcome,
        "; ".join(one.remarks),
    )


def _row_at(one: FactorEffect) -> tuple[str, ...]:
    level = f"{write_level(one.factor, one.level)} against {one.reference}"
    return (one.task, one.model, level, write_level(one.other, one.at), *_write_advantage(one), one.outcome)


def _row_of_change(one: FactorEffect | None) -> tuple[str, ...]:
    if one is None:
        return ("", "", "", "")
    return (*_write_advantage(one), _write_number(one.pair.p_adjusted, ".3g"), one.outcome)


def _write_advantage(one: FactorEffect) -> tuple[str, str]:
    found = one.pair.effects.mean
    is_bounded = found.low is not None and found.high is not None
    interval = f"{_write_number(found.low, '+.4g')} to {_write_number(found.high, '+.4g')}" if is_bounded else "n.a."
    # What rounding leaves of sums that are equal is nothing.
    mean = 0.0 if found.mean is not None and abs(found.mean) < one.pair.quantum else found.mean
    return _write_number(mean, "+.4g"), interval


def _place(one: FactorEffect) -> tuple[str, ...]:
    return (one.task, one.model, one.factor, repr(one.level), one.other, repr(one.at))


def _write_notes(effects: StudyEffects) -> Iterator[str]:
    yield from (f"{sentence}." for sentence in effects.sentences)
    yield (
        "Positive is better. A level is paired with the reference by task, model, seed and the levels of all other "
        "factors; means over those are paired by seed. The effects of one factor are a family."
    )
    choices = effects.choices
    margin = "" if choices.margin is None else f", margin {choices.margin}"
    yield f"Level {choices.alpha:g}, {TESTS[choices.test]}, adjusted by {choices.adjustment} within a family{margin}."


def _frame(rows: Sequence[FactorEffect]) -> pd.DataFrame:
    """Return a row for each effect with all of its numbers."""
    found: list[dict[str, Any]] = [
        {
            "factor": one.factor,
            "level": str(one.level),
            "reference": str(one.reference),
            "other": one.other,
            "at": str(one.at),
            "kind": "change" if one.is_change else "effect",
            "task": one.task,
            "model": one.model,
            "metric": one.metric,
            "direction": str(one.direction),
            "mean": one.mean,
            "mean_of_reference": one.mean_of_reference,
            "advantage": one.pair.effects.mean.mean,
            "low": one.pair.effects.mean.low,
            "high": one.pair.effects.mean.high,
            "simultaneous_low": one.pair.simultaneous.low,
            "simultaneous_high": one.pair.simultaneous.high,
            "p": one.pair.p,
            "p_adjusted": one.pair.p_adjusted,
            "n_seeds": one.pair.n_pairs,
            "n_combinations": one.n_combinations,
            "n_missing": one.n_missing,
            "verdict": str(one.pair.verdict),
            "outcome": one.outcome,
            "remarks": "; ".join(one.remarks),
        }
        for one in rows
    ]
    frame = pd.DataFrame(found)
    return frame.astype(dict.fromkeys(_REALS, "float64")) if found else frame


def _write_latex(rows: Sequence[FactorEffect], effects: StudyEffects, look: LatexLook) -> str:
    head = r"Task & Model & Level & Better by & $p_{\mathrm{adj}}$ & Outcome \\"
    lines = [_tex_row(one) for one in rows] or [(1, r"\multicolumn{6}{l}{no effect} \\")]
    tabular = Tabular(columns="lllrrl@{}", head=(head,), rows=tuple(lines))
    level = f"{100 * (1 - effects.choices.alpha):.4g} %"
    note = f"advantage of the level over the reference, positive where it is better, with its {level} interval"
    return write_document([tabular], [note], look)


def _tex_row(one: FactorEffect) -> tuple[int, str]:
    found = one.pair.effects.mean
    advantage = "--" if found.mean is None else f"${found.mean:+.3g}$"
    if found.mean is not None and found.high is not None:
        advantage = f"${found.mean:+.3g} \\pm {found.high - found.mean:.2g}$"
    at = f" at {write_level(one.other, one.at)}" if one.other else ""
    names = (one.task, one.model, f"{'change of ' if one.is_change else ''}{write_level(one.factor, one.level)}{at}")
    p = "--" if one.pair.p_adjusted is None else write_p(one.pair.p_adjusted)
    cells = (*(tex_name(name, longest=20) for name in names), advantage, p, tex_name(one.outcome, longest=16))
    return max(tex_lines(name, longest=20) for name in (*names, one.outcome)), " & ".join(cells) + r" \\"


def _write_number(value: float | None, form: str = ".4g") -> str:
    return "" if value is None else format(value, form)
