"""A report as a folder of files: the page, figures, tables and the results table; and its copy in the store."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gnz_track.errors import UnknownName
from gnz_track.predictions.facts import TaskPredictions
from gnz_track.records import to_json
from gnz_track.report.page.figures import FigureSet, draw_figures
from gnz_track.report.page.page import Reported, write_page
from gnz_track.report.tables.pairs import pair_table
from gnz_track.report.tables.predictions import prediction_frames
from gnz_track.report.tables.scores import score_table
from gnz_track.report.tables.searches import search_table
from gnz_track.report.tables.training import training_facts, training_table
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
TABLE_FORMATS = ("csv", "md", "tex")
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
    drawn = figures or draw_figures(
        report.comparison,
        report.table,
        histories=_curves(report),
        searches=report.search_summary,
        predictions=getattr(report, "predictions", None),
    )
    # First what may fail, so that no page stands over files that are not there.
    files = [*_write_figures(drawn, place / FIGURES), *_write_tables(report, place / TABLES)]
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
        # There are three for each task, and a PDF takes longer than all else about them.
        for kind in FIGURE_FORMATS[:1] if shown.is_of_predictions else FIGURE_FORMATS:
            file = folder / f"{shown.name}.{kind}"
            shown.figure.savefig(file)
            files.append(file)
    return files


def _write_tables(report: Reported, folder: Path) -> list[Path]:
    """Write every table in every form, and every search with all of its trials."""
    comparison, searches = report.comparison, report.search_summary
    trained = training_facts(comparison, report.table)
    tables = {"scores": score_table(comparison), "pairs": pair_table(comparison)}
    tables |= {} if searches is None else {"searches": search_table(searches)}
    tables |= {} if trained is None else {"training": training_table(trained)}
    files = [table.save(folder / f"{name}.{kind}") for name, table in tables.items() for kind in TABLE_FORMATS]
    if searches is not None:
        files.append(folder / "searches.jsonl")
        lines = [f"{to_json(facts.search)}\n" for facts in searches.facts]
        files[-1].write_text("".join(lines), encoding="utf-8", errors="replace")
    return [*files, *_write_predictions(getattr(report, "predictions", {}), folder)]


def _write_predictions(predictions: Mapping[str, TaskPredictions], folder: Path) -> list[Path]:
    """Write what stored predictions say: a table of each kind, and all of it as lines of JSON."""
    files = []
    for name, frame in prediction_frames(predictions).items():
        files.append(folder / f"{name}.csv")
        frame.to_csv(files[-1], index=False, lineterminator="\n", encoding="utf-8", errors="replace")
    if files:
        files.append(folder / "predictions.jsonl")
        lines = [f"{to_json(facts)}\n" for facts in predictions.values()]
        files[-1].write_text("".join(lines), encoding="utf-8", errors="replace")
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
