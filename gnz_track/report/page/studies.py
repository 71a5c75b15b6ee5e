"""The page of a study: effects of its factors as tables and figures, in one file, and as files beside it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from gnz_track import __version__
from gnz_track.report.figures.factors import draw_components, draw_factor
from gnz_track.report.page.figures import ShownFigure
from gnz_track.report.page.template import part_of_page, render_template, write_whole
from gnz_track.report.study_effects import FactorEffect, StudyComponents, StudyEffects
from gnz_track.report.tables.factors import component_table, effect_table, interaction_table
from gnz_track.report.tables.table import ReportTable

__all__ = ["write_components_page", "write_study_page"]

TEMPLATE, STYLE = "study.html.j2", "report.css"
KINDS = ("svg", "png", "pdf")
MOST_MISSING = 500


def write_study_page(
    effects: StudyEffects,
    folder: str | Path,
    *,
    title: str,
    description: str = "",
    facts: Sequence[tuple[str, str]] = (),
) -> Path:
    """Write the page of a study into a folder, with its tables and figures as files beside it.

    Parameters
    ----------
    effects
        Effects of its factors.
    folder
        Folder to write into.
    title, description
        Heading of the page, and the sentence below.
    facts
        (name, value) of what was run.
    """
    tables = {"effects": effect_table(effects), "interactions": interaction_table(effects)}
    warnings = [*map(str, effects.findings), *effects.left_out]
    about = {"title": title, "description": description, "facts": facts, "warnings": warnings}
    return _write_page(Path(folder), effects, list(_draw(effects)), tables, about)


def write_components_page(
    components: StudyComponents,
    folder: str | Path,
    *,
    title: str,
    description: str = "",
    facts: Sequence[tuple[str, str]] = (),
) -> Path:
    """Write the page of a study of the spread of scores into a folder, with its table and figure as files beside it.

    Parameters
    ----------
    components
        Components of the spread.
    folder
        Folder to write into.
    title, description
        Heading of the page, and the sentence below.
    facts
        (name, value) of what was run.
    """
    drawn = draw_components(components.spreads)
    shown = ShownFigure(name="components", title="Components of the spread of scores", task="", figure=drawn)
    about = {"title": title, "description": description, "facts": facts, "warnings": []}
    return _write_page(Path(folder), components, [shown], {"components": component_table(components)}, about)


def _write_page(
    target: Path,
    found: StudyEffects | StudyComponents,
    figures: Sequence[ShownFigure],
    tables: Mapping[str, ReportTable],
    about: Mapping[str, Any],
) -> Path:
    for name, table in tables.items():
        if table.rows:
            for kind in ("csv", "md", "tex"):
                table.save(target / f"{name}.{kind}")
    drawn = target / "figures"
    drawn.mkdir(parents=True, exist_ok=True)
    for shown in figures:
        for kind in KINDS:
            shown.figure.savefig(drawn / f"{shown.name}.{kind}")
    content: dict[str, Any] = {
        **about,
        "sentences": found.sentences,
        "tables": [(name, *_shown(table)) for name, table in tables.items() if table.rows],
        "figures": figures,
        "missing": found.missing[:MOST_MISSING],
        "n_hidden": max(0, len(found.missing) - MOST_MISSING),
        "n_cells": found.n_cells,
        "css": part_of_page(STYLE),
        "version": __version__,
    }
    return write_whole(target / "study.html", render_template(TEMPLATE, content))


def _shown(table: ReportTable) -> tuple[tuple[str, ...], tuple[tuple[Any, ...], ...], tuple[str, ...]]:
    return table.columns, table.rows, table.notes


def _draw(effects: StudyEffects) -> Iterator[ShownFigure]:
    for factor in effects.factors:
        yield _figure(f"effects_{factor}", f"Effects of {factor}", _of(effects.main, factor), effects)
    for factor, other in dict.fromkeys((one.factor, one.other) for one in effects.by_level):
        by_level = [one for one in _of(effects.by_level, factor) if one.other == other]
        yield _figure(f"effects_{factor}_by_{other}", f"Effects of {factor} by {other}", by_level, effects)
        changes = [one for one in _of(effects.changes, factor) if one.other == other]
        yield _figure(f"changes_{factor}_by_{other}", f"How effects of {factor} change with {other}", changes, effects)


def _of(effects: Sequence[FactorEffect], factor: str) -> list[FactorEffect]:
    return [one for one in effects if one.factor == factor]


def _figure(name: str, title: str, rows: Sequence[FactorEffect], effects: StudyEffects) -> ShownFigure:
    # Of Python's callers a factor may bear any name.
    name = re.sub(r"\W+", "_", name)
    return ShownFigure(name=name, title=title, task="", figure=draw_factor(rows, effects.choices))
