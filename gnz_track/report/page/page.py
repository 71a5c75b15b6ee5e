"""One page of HTML: everything that a report says, in one file that asks no network for anything."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Protocol

import pandas as pd

from gnz_track import __version__
from gnz_track.report.figures.labels import clean_name
from gnz_track.report.joining import NotMerged
from gnz_track.report.page.audits import view_audits, warn_of_versions
from gnz_track.report.page.data import (
    NOT_RUN,
    embed_json,
    make_page_data,
    make_sections,
    missing_of,
    order_of,
    rank_rows,
)
from gnz_track.report.page.figures import FigureSet, draw_figures
from gnz_track.report.page.methods import write_methods, write_protocol_terms, write_summary
from gnz_track.report.page.predictions import view_predictions
from gnz_track.report.page.provenance import collect_facts, datasets_of, write_commands
from gnz_track.report.page.searches import make_search_section
from gnz_track.report.page.template import part_of_page, render_template, write_whole
from gnz_track.report.tables.training import training_facts
from gnz_track.report.tuned_models import SearchSummary
from gnz_track.stats.comparison.comparison import Comparison, write_across

__all__ = ["Reported", "render_page", "write_page"]

TEMPLATE, STYLE, SCRIPT = "report.html.j2", "report.css", "report.js"
MOST_MISSING, MOST_REASONS, MOST_TITLE, MOST_SIGNS = 500, 50, 160, 900


class Reported(Protocol):
    """A report as the page needs it: a BenchmarkReport is one."""

    @property
    def table(self) -> pd.DataFrame:
        """One row per cell."""
        ...

    @property
    def config(self) -> Mapping[str, Any]:
        """Its origin."""
        ...

    @property
    def not_merged(self) -> tuple[NotMerged, ...]:
        """Rows that could not be part of it."""
        ...

    @property
    def comparison(self) -> Comparison:
        """The statistics."""
        ...

    @property
    def search_summary(self) -> SearchSummary | None:
        """The searches, None where there were none."""
        ...


def write_page(report: Reported, path: str | Path, *, ui: str = "", figures: FigureSet | None = None) -> Path:
    """Write the page of a report into a file, whole or not at all.

    Parameters
    ----------
    report
        The report to show.
    path
        File to write.
    ui
        Address of MLflow's user interface, for links to runs.
    figures
        Figures that are drawn already.
    """
    return write_whole(path, render_page(report, ui=ui, figures=figures))


def render_page(report: Reported, *, ui: str = "", figures: FigureSet | None = None) -> str:
    """Return the page of a report as HTML.

    Parameters
    ----------
    report
        The report to show.
    ui
        Address of MLflow's user interface, for links to runs; inside of it, the page finds it by itself.
    figures
        Figures that are drawn already.
    """
    comparison, table = report.comparison, report.table
    predictions = getattr(report, "predictions", {})
    drawn = figures or draw_figures(comparison, table, searches=report.search_summary, predictions=predictions)
    data = embed_json(make_page_data(comparison, table, ui=ui))
    others = [(item.task, item.model, f"s{item.seed} not comparable: {item.reason}") for item in report.not_merged]
    missing = [*_left_out(comparison, report.config), *others]
    audits = view_audits(getattr(report, "quality", {}))
    versions = warn_of_versions(table)
    content = {**_results(comparison), **_missing(comparison, table, missing), **_origin(report)}
    name = title_of(table, report.config)
    methods, references = write_methods(comparison, write_protocol_terms(table))
    return render_template(
        TEMPLATE,
        {
            "title": clean_name(name)[:MOST_TITLE],
            "figures": drawn,
            "searches": make_search_section(report.search_summary),
            "training": training_facts(comparison, table),
            "data": data,
            "audits": audits,
            "predictions": view_predictions(predictions),
            "versions": versions,
            "methods": methods,
            "references": references,
            "version": __version__,
            "css": part_of_page(STYLE),
            "script": part_of_page(SCRIPT),
            "script_hash": _digest(part_of_page(SCRIPT)),
            **content,
        },
    )


def title_of(table: pd.DataFrame, config: Mapping[str, Any]) -> str:
    """Return a title that names the sweep, or the suites."""
    # Cells that a sweep wanted may have been trained by others before.
    if config.get("sweep") and not config.get("merged"):
        return f"Sweep {config['sweep']}"
    for column, noun in (("sweep", "Sweep"), ("suite", "Suite")):
        names = sorted(set(table[column]) - {""}) if column in table.columns else []
        if len(names) == 1:
            return f"{noun} {names[0]}"
    return f"Benchmark {config['name']}" if config.get("name") else "Benchmark"


def _results(comparison: Comparison) -> dict[str, Any]:
    across = comparison.across
    ranks = rank_rows(comparison)
    lines = write_across(across)
    # Ranks stand in the table beside.
    shown = [line for line in lines if across.ranks is None or line != str(across.ranks)]
    return {
        "sentence": write_summary(comparison),
        "choices": f"{comparison.choices}.",
        "warnings": [str(finding) for finding in comparison.findings],
        "tasks": make_sections(comparison),
        "models": order_of(comparison),
        "ranks": ranks,
        "across_lines": [_shortened(line) for line in shown],
        "n_pairs_across": len(across.pairs),
        "has_pairs": bool(comparison.pairs),
        "has_margin": comparison.choices.margin is not None,
        "interval_name": f"{100 * (1 - comparison.choices.alpha):g} % interval",
        "aggregates": [str(one) for one in comparison.aggregates],
    }


def _left_out(comparison: Comparison, config: Mapping[str, Any]) -> list[tuple[str, str, str]]:
    """Return (task, model, why) of cells without a score, and of pairs that were left out before training.

    That a pair was not run is not said again where the reason is.
    """
    before = {(task, model): f"left out: {reason}" for task, model, reason in config.get("left_out", ())}
    absent = [item for item in missing_of(comparison) if item[2] != NOT_RUN or item[:2] not in before]
    return [*absent, *((*pair, why) for pair, why in before.items())]


def _missing(comparison: Comparison, table: pd.DataFrame, found: list[tuple[str, str, str]]) -> dict[str, Any]:
    counts = f"{comparison.n_finished} of {comparison.n_cells} cells finished"
    policy = f"; {comparison.n_failed} failed, {comparison.n_missing} missing: {comparison.missing_policy}"
    return {
        "missing_sentence": f"{counts}{policy if comparison.n_finished < comparison.n_cells else ', none is missing'}.",
        "missing": found[:MOST_MISSING],
        "n_missing_hidden": max(0, len(found) - MOST_MISSING),
        "reasons": _reasons(table),
    }


def _origin(report: Reported) -> dict[str, Any]:
    table, config = report.table, report.config
    return {
        "facts": collect_facts(table, config),
        "datasets": datasets_of(table),
        "commands": write_commands(table, config, report.comparison.choices),
    }


def _reasons(table: pd.DataFrame) -> list[tuple[str, int, str]]:
    """Return (reason, how many cells, some of them), the most frequent first."""
    if not {"status", "error"} <= set(table.columns):
        return []
    failed = table[table["status"] == "failed"]
    found = []
    for reason, rows in failed.groupby("error", sort=True):
        cells = [f"{row.task} {row.model} s{row.seed}" for row in rows.head(3).itertuples()]
        more = [f"and {len(rows) - 3} more"] if len(rows) > 3 else []
        found.append((" ".join(str(reason).split()) or "no reason known", len(rows), ", ".join([*cells, *more])))
    return sorted(found, key=lambda item: (-item[1], item[0]))[:MOST_REASONS]


def _shortened(line: str) -> str:
    return line if len(line) <= MOST_SIGNS else f"{line[:MOST_SIGNS]} ..."


def _digest(script: str) -> str:
    """Return what a policy calls a script by: only this one runs, whatever else a page may come to hold."""
    return f"sha256-{base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()}"
