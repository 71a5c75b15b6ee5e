"""A report as a folder of files: the page, figures, tables and the results table.

A report among the artifacts of its sweep's run, where MLflow's user interface shows it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gnz_track.errors import UnknownName
from gnz_track.records import to_json
from gnz_track.report.page.figures import FigureSet, draw_figures
from gnz_track.report.page.page import Reported, write_page
from gnz_track.report.tables.latex import write_scores_latex, write_verdicts_latex
from gnz_track.report.tables.searches import save_searches, write_searches_latex
from gnz_track.report.tables.table import save_scores, save_verdicts
from gnz_track.report.tables.training import TrainingFacts, save_training, training_facts, write_training_latex
from gnz_track.report.tuned_models import SearchSummary
from gnz_track.stats.comparison.comparison import Comparison
from gnz_track.store import schema
from gnz_track.store.address import Address
from gnz_track.store.listings import list_sweeps
from gnz_track.store.past_runs import read_sweep_run
from gnz_track.store.results_table import write_table
from gnz_track.store.writer import open_store

__all__ = ["PAGE", "Bundle", "publish_bundle", "write_bundle"]


PAGE, FIGURES, TABLES = "report.html", "figures", "tables"
# What was written last time, so that the next time can clear it away.
LISTING = "FILES"
FIGURE_FORMATS = ("svg", "pdf")
TABLE_FORMATS = ("csv", "md")
# Runs whose curves are read from a store: more take long, and say nothing in one figure.
MOST_CURVES = 300


@dataclass(frozen=True, kw_only=True)
class Bundle:
    """A folder, its page, and all of its files."""

    folder: Path
    page: Path
    files: tuple[Path, ...]


def write_bundle(report: Reported, folder: str | Path, *, ui: str = "", figures: FigureSet | None = None) -> Bundle:
    """Write everything that a report has into a folder; files of an earlier one are replaced.

    Parameters
    ----------
    report
        The report to write.
    folder
        Folder of the files; it is made where it is missing.
    ui
        Address of MLflow's user interface, for links to runs.
    figures
        Figures that are drawn already.
    """
    place = Path(folder)
    summary = report.search_summary
    drawn = figures or draw_figures(report.comparison, report.table, histories=_curves(report), searches=summary)
    # First what may fail, so that no page stands over files that are not there.
    files = [*_write_figures(drawn, place / FIGURES), *_write_tables(report.comparison, place / TABLES)]
    files += [] if summary is None else _write_searches(summary, place / TABLES)
    trained = training_facts(report.comparison, report.table)
    files += [] if trained is None else _write_training(trained, place / TABLES)
    results = place / schema.TABLE_FILE
    write_table(report.table, results)
    page = write_page(report, place / PAGE, ui=ui, figures=drawn)
    bundle = Bundle(folder=place, page=page, files=(page, results, *files))
    _remove_former(bundle)
    return bundle


def _remove_former(bundle: Bundle) -> None:
    """Remove what the report that stood here before had more of; files of anybody else stay."""
    listing = bundle.folder / LISTING
    names = [file.relative_to(bundle.folder).as_posix() for file in bundle.files]
    former = listing.read_text(encoding="utf-8").splitlines() if listing.is_file() else []
    for name in set(former) - set(names):
        file = (bundle.folder / name).resolve()
        if file.is_relative_to(bundle.folder.resolve()):
            file.unlink(missing_ok=True)
    listing.write_text("".join(f"{name}\n" for name in sorted(names)), encoding="utf-8")


def _curves(report: Reported) -> Mapping[str, Any] | None:
    """Return the learning curves of a report that has them, unless there are more than can be read."""
    return getattr(report, "histories", None) if len(report.table) <= MOST_CURVES else None


def _write_figures(drawn: FigureSet, folder: Path) -> list[Path]:
    folder.mkdir(parents=True, exist_ok=True)
    files = []
    for shown in drawn.figures:
        for kind in FIGURE_FORMATS:
            file = folder / f"{shown.name}.{kind}"
            shown.figure.savefig(file)
            files.append(file)
    return files


def _write_searches(summary: SearchSummary, folder: Path) -> list[Path]:
    """Write default against tuned, and every search with all of its trials."""
    files = [save_searches(summary, folder / f"searches.{kind}") for kind in TABLE_FORMATS]
    texts = {
        "searches.tex": write_searches_latex(summary),
        "searches.jsonl": "".join(f"{to_json(facts.search)}\n" for facts in summary.facts),
    }
    for name, text in texts.items():
        (folder / name).write_text(text, encoding="utf-8", errors="replace")
        files.append(folder / name)
    return files


def _write_training(facts: TrainingFacts, folder: Path) -> list[Path]:
    """Write what was trained: size, scores of both parts, effort."""
    files = [save_training(facts, folder / f"training.{kind}") for kind in TABLE_FORMATS]
    text = folder / "training.tex"
    text.write_text(write_training_latex(facts), encoding="utf-8", errors="replace")
    return [*files, text]


def _write_tables(comparison: Comparison, folder: Path) -> list[Path]:
    files = []
    for kind in TABLE_FORMATS:
        files += [
            save_scores(comparison, folder / f"scores.{kind}"),
            save_verdicts(comparison, folder / f"pairs.{kind}"),
        ]
    for name, write in (("scores.tex", write_scores_latex), ("pairs.tex", write_verdicts_latex)):
        (folder / name).write_text(write(comparison), encoding="utf-8", errors="replace")
        files.append(folder / name)
    return files


def publish_bundle(bundle: Bundle, address: Address, *, suite: str, sweep: str) -> str:
    """Copy the files of a report into the run that stands for a sweep, and return that run's id.

    Parameters
    ----------
    bundle
        Files of the report.
    address
        Store of the sweep.
    suite, sweep
        Names of the sweep and of its suite.
    """
    found = read_sweep_run(address, suite=suite, sweep=sweep)
    if found is None:
        known = [row.sweep for row in list_sweeps(address, suite=suite)]
        raise UnknownName("sweep", sweep, known, command="gnz ls")
    with open_store(address) as store:
        for file in bundle.files:
            name = file.relative_to(bundle.folder).as_posix()
            store.write_artifact(found.run_id, f"{schema.REPORT_FOLDER}/{name}", file)
    return found.run_id
