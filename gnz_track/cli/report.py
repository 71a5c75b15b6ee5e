"""``gnz report``: one page of HTML, figures, tables and LaTeX from past runs."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gnz_track.cli.ls import Store
from gnz_track.cli.terminal.output import check_folder, naming, say, see
from gnz_track.errors import BadValue, NothingToCompare, UnknownName

if TYPE_CHECKING:
    from gnz_track.report.benchmark_report import BenchmarkReport
    from gnz_track.report.bundle import Bundle
    from gnz_track.store.address import Address

__all__ = ["add_to"]

EXAMPLES = """
[bold]Examples[/bold]

  gnz report      (the latest sweep)

  gnz report --sweep NAME --margin 0.005 --publish

  gnz report --where "task = 'cora' and model in ('GCN', 'GAT')" --out cora

  gnz report --sweep NAME --metric balanced_accuracy      (see gnz rescore)

  gnz report --parquet mine.parquet --merge theirs.parquet --merge SWEEP --posthoc nemenyi
"""
MERGE = "Add the runs of another sweep, or of a parquet file, as far as they are comparable; repeat."
METRIC = "Compare by this metric in place of that of each task; metrics of past runs: gnz rescore."
SIZES = "For nadeau_bengio: examples in training and test, as 150,19; default: those of the runs."
PUBLISH = "Copy the report into the sweep's run, where MLflow's user interface shows it."
TRAINING = "Print what was trained too: parameters, scores of both parts, epochs, time, memory, places."
MOST_SHOWN = 10


@dataclass(frozen=True, kw_only=True)
class ReportedRuns:
    """The runs of a report."""

    sweep: str
    suite: str
    task: str
    experiment: str
    where: str

    @property
    def is_empty(self) -> bool:
        """Whether nothing was asked for."""
        return not (self.sweep or self.suite or self.task or self.experiment or self.where)


def add_to(app: typer.Typer) -> None:
    """Add this command."""
    app.command("report", epilog=EXAMPLES)(_report)


def _report(  # noqa: PLR0913  (one parameter per flag)
    *,
    sweep: Annotated[str, typer.Option(help="A sweep; without any selection, the latest one.")] = "",
    suite: Annotated[str, typer.Option(help="All sweeps of a suite.")] = "",
    task: Annotated[str, typer.Option(help="One task.")] = "",
    experiment: Annotated[str, typer.Option(help="An experiment by its name in MLflow.")] = "",
    where: Annotated[str, typer.Option(help="A condition on cells; see gnz query.")] = "",
    parquet: Annotated[Path | None, typer.Option(help="A results table instead of the store.")] = None,
    merge: Annotated[list[str] | None, typer.Option(help=MERGE)] = None,
    metric: Annotated[str, typer.Option(help=METRIC)] = "",
    out: Annotated[Path | None, typer.Option(help="Folder for all files; default reports/NAME.")] = None,
    alpha: Annotated[float, typer.Option(help="Level of tests and intervals.")] = 0.05,
    margin: Annotated[float | None, typer.Option(help="Largest difference that does not matter.")] = None,
    posthoc: Annotated[str, typer.Option(help="Across tasks: wilcoxon-holm or nemenyi.")] = "wilcoxon-holm",
    test: Annotated[
        str, typer.Option(help="Within tasks: t, wilcoxon, sign_flip, nadeau_bengio, anytime or fixed_looks.")
    ] = "t",
    split_sizes: Annotated[str, typer.Option(help=SIZES)] = "",
    training: Annotated[bool, typer.Option("--training", help=TRAINING)] = False,
    store: Store = "",
    ui: Annotated[str, typer.Option(help="Address of MLflow's user interface, for links to runs.")] = "",
    publish: Annotated[bool, typer.Option("--publish", help=PUBLISH)] = False,
    opens: Annotated[bool, typer.Option("--open", help="Open the page in a browser.")] = False,
) -> None:
    """Write a report: report.html, figures, tables, LaTeX and results.parquet; print what it says."""
    from gnz_track.report.bundle import write_bundle
    from gnz_track.report.other_metric import by_metric
    from gnz_track.stats.comparison.choices import Choices
    from gnz_track.store.address import parse_address
    from gnz_track.store.read_sql import keep_open

    # A slip in these is told before anything is read.
    sizes = _read_sizes(split_sizes)
    choices = Choices(alpha=alpha, margin=margin, posthoc=posthoc, test=test, split_sizes=sizes)
    if publish and parquet is not None:
        raise BadValue("--publish", str(parquet), "a report of one sweep of a store", command="gnz report --publish")
    if out is not None:
        check_folder("--out", out)
    address = parse_address(store)
    selection = ReportedRuns(sweep=sweep, suite=suite, task=task, experiment=experiment, where=where)
    with contextlib.nullcontext() if parquet is not None else keep_open(address):
        found = _read_parquet(parquet, selection) if parquet is not None else _read_runs(address, selection)
        found = _merge(found, merge or [], address)
        if metric:
            found = by_metric(found, metric)
        found.choices = choices
        # One sweep, whether it was named or is the latest.
        name = "" if merge else str(found.config.get("sweep", ""))
        if publish and not name:
            raise BadValue("--publish", "several sweeps", "a report of one sweep", command="--sweep NAME --publish")
        target = out or Path("reports") / _folder_name(name or (parquet.stem if parquet else suite) or "report")
        with naming(target):
            bundle = write_bundle(found, target, ui=ui or ("" if address.is_database else address.masked))
    _print_report(found, bundle, has_training=training)
    if publish:
        _publish(bundle, address, name)
    if opens:
        typer.launch(bundle.page.absolute().as_uri())


def _read_sizes(text: str) -> tuple[int, int] | None:
    if not text:
        return None
    parts = text.split(",")
    if len(parts) != 2 or not all(part.strip().isdigit() for part in parts):
        raise BadValue("--split-sizes", text, "two whole numbers, as 150,19: examples in training and in test")
    return int(parts[0]), int(parts[1])


def _read_runs(address: Address, selection: ReportedRuns) -> BenchmarkReport:
    from gnz_track.report.benchmark_report import BenchmarkReport
    from gnz_track.store.listings import has_tables

    if not has_tables(address):
        raise NothingToCompare(f"there is nothing in {address} yet; fill it with: gnz run")
    if selection.where:
        return _read_where(address, selection)
    sweep = _choose_sweep(address, selection) if selection.sweep or selection.is_empty else ""
    suite, task, experiment = selection.suite, selection.task, selection.experiment
    return BenchmarkReport.from_store(address, sweep=sweep, suite=suite, task=task, experiment=experiment)


def _choose_sweep(address: Address, selection: ReportedRuns) -> str:
    """Return the sweep that was named, or the latest one that has a finished cell."""
    from gnz_track.store.listings import list_sweeps
    from gnz_track.store.sweep_manifest import read_wanted_cells

    rows = list_sweeps(address)
    if selection.sweep:
        known = [row.sweep for row in rows]
        if selection.sweep not in known:
            raise UnknownName("sweep", selection.sweep, known, command="gnz ls")
        return selection.sweep
    for row in reversed(rows):
        # What it asked for may have been trained by another one, all of it.
        if row.n_finished or (read_wanted_cells(address, row.sweep).table["status"] == "finished").any():
            return row.sweep
    raise NothingToCompare(f"no sweep in {address} has a finished cell")


def _read_where(address: Address, selection: ReportedRuns) -> BenchmarkReport:
    """Read the cells for which a condition holds: by their runs, so that all else is as without one."""
    from gnz_track.report.benchmark_report import BenchmarkReport
    from gnz_track.store.query import select_rows
    from gnz_track.store.reader import read_table

    sweep, suite, task, experiment = selection.sweep, selection.suite, selection.task, selection.experiment
    cells = read_table(address, sweep=sweep, suite=suite, task=task, experiment=experiment)
    found = select_rows(cells, selection.where)
    if found.empty:
        raise NothingToCompare(f"no cell in {address} meets the condition {selection.where!r}")
    report = BenchmarkReport.from_store(address, where={"run_id": tuple(found["run_id"])})
    report.config.pop("where", None)
    report.config["condition"] = selection.where
    return report


def _read_parquet(file: Path, selection: ReportedRuns) -> BenchmarkReport:
    from gnz_track.report.benchmark_report import BenchmarkReport
    from gnz_track.store.query import select_rows

    report = BenchmarkReport.from_parquet(file)
    if selection.is_empty:
        return report
    table = select_rows(report.table, selection.where) if selection.where else report.table
    for column in ("sweep", "suite", "task"):
        wanted = getattr(selection, column)
        table = table[table[column] == wanted] if wanted else table
    if table.empty:
        raise NothingToCompare(f"no row of {file} is what was asked for")
    return BenchmarkReport.from_frame(table)


def _merge(report: BenchmarkReport, others: list[str], address: Address) -> BenchmarkReport:
    """Return a report with what of other sweeps and files can be set beside it."""
    if not others:
        return report
    from gnz_track.report.benchmark_report import BenchmarkReport

    return report.extend(
        BenchmarkReport.from_parquet(name)
        if Path(name).is_file()
        else BenchmarkReport.from_store(
            address, sweep=_choose_sweep(address, ReportedRuns(sweep=name, suite="", task="", experiment="", where=""))
        )
        for name in others
    )


def _folder_name(name: str) -> str:
    """Return a name that is one folder, whatever it holds."""
    import re

    return re.sub(r"[^\w.\-]+", "_", name).strip("._")[:80] or "report"


def _print_report(report: BenchmarkReport, bundle: Bundle, *, has_training: bool) -> None:
    say(str(report.comparison))
    summary = report.search_summary
    if summary is not None:
        from gnz_track.report.tables.searches import search_table

        say(f"\nSearches\n{search_table(summary).to_text()}")
    if has_training:
        _print_training(report)
    left = report.not_merged
    if left:
        say(f"{len(left)} rows are not part of it, because they cannot be compared:")
        for item in left[:MOST_SHOWN]:
            say(f"  {item}")
        if len(left) > MOST_SHOWN:
            say(f"  ... and {len(left) - MOST_SHOWN} more; the page lists them")
    say(f"\npage     {bundle.page}")
    say(f"files    {len(bundle.files)} in {bundle.folder}")
    if report.config.get("sweep"):
        say(f"sweep    {report.config['sweep']}")


def _print_training(report: BenchmarkReport) -> None:
    from gnz_track.report.tables.training import training_facts, training_table

    facts = training_facts(report.comparison, report.table)
    said = "the table tells nothing of it but scores" if facts is None else training_table(facts).to_text().rstrip()
    say(f"\nWhat was trained\n{said}")


def _publish(bundle: Bundle, address: Address, sweep: str) -> None:
    from gnz_track.report.bundle import publish_bundle
    from gnz_track.store.listings import list_sweeps

    suite = next(row.suite for row in list_sweeps(address) if row.sweep == sweep)
    run_id = publish_bundle(bundle, address, suite=suite, sweep=sweep)
    say(f"run      {run_id} holds it too; {see('gnz ui', address)}")
