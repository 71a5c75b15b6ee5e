"""Searches with a line of progress, and their findings as tables."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

from gnz_track.cli.interrupts import INTERRUPTED
from gnz_track.cli.saying import say

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gnz_track.request import Request
    from gnz_track.runs.nursery import Nursery
    from gnz_track.runs.sweep import Sweep
    from gnz_track.store.search_record import SearchRecord
    from gnz_track.tuning.searches import SearchPlan

__all__ = ["print_found", "print_gains", "print_plan", "search_and_print"]

FAILED = 1


def search_and_print(request: Request, plan: SearchPlan, nursery: Nursery | None) -> list[SearchRecord]:
    """Do the searches of a plan with a line of progress, and print what they found on validation.

    Parameters
    ----------
    request
        The benchmark that was asked for.
    plan
        Its searches.
    nursery
        Workers that are getting ready.
    """
    from gnz_track.request import search_all
    from gnz_track.tuning.progress import SearchProgress

    progress = SearchProgress(plan)
    try:
        with progress:
            found = search_all(request, plan, listener=progress, nursery=nursery)
    except KeyboardInterrupt:
        kept = f"{progress.count_kept()} and all cells of others that had ended are kept"
        say(f"{kept}; the same command goes on from there", err=True)
        raise typer.Exit(INTERRUPTED) from None
    print_found(plan, found)
    if not any(record.best for record in found):
        raise typer.Exit(FAILED)
    return found


def print_plan(request: Request, plan: SearchPlan) -> None:
    """Print what would be searched, over which space, and at which cost at most."""
    from gnz_track.cli.tables import print_rows, print_skipped
    from gnz_track.seeds import format_seeds

    rows = [
        (
            search.task.name,
            search.model.name,
            "all" if search.seed is None else search.seed,
            format_seeds(cell.seed for cell in search.cells),
            plan.n_trials,
            plan.n_trials * sum(cell.epochs for cell in search.cells),
            ", ".join(search.space),
        )
        for search in plan.searches
    ]
    columns = ("task", "model", ">for seed", ">tuned on", ">trials", ">epochs", "space")
    print_rows("what would be searched", columns, rows)
    print_skipped(plan.skipped)
    n_cells = sum(plan.n_trials * len(search.cells) for search in plan.searches)
    say(f"\nup to {n_cells} cells in {len(plan.searches)} searches with --jobs {request.jobs}")


def print_gains(request: Request, sweep: Sweep, found: Sequence[SearchRecord]) -> None:
    """Print default against tuned on the test parts of the seeds that are reported, and what else came of a sweep.

    Parameters
    ----------
    request
        The benchmark that was asked for.
    sweep
        Its cells.
    found
        Its searches.
    """
    from gnz_track.cli.tables import print_failures, print_rows
    from gnz_track.report.tuned_models import compare_tuned

    rows = [
        (
            row.task,
            row.model,
            row.metric,
            row.n_seeds,
            _write_score(row.default),
            _write_score(row.tuned),
            "-" if row.advantage is None else f"{row.advantage:+.4f}",
            "-" if row.low is None or row.high is None else f"[{row.low:+.4f}, {row.high:+.4f}]",
            _write_score(row.p_adjusted),
            row.verdict or row.note,
        )
        for row in compare_tuned(sweep.table, found)
    ]
    columns = ("task", "model", "metric", ">seeds", ">default", ">tuned", ">gain", ">95 % interval", ">p", "verdict")
    print_rows("\ndefault against tuned on test, paired by seed, p by Holm", columns, rows)
    for notice in sweep.notices:
        say(f"note: {notice}", err=True)
    say(f"tracked as sweep {sweep.name} in {request.address}; see: gnz report, gnz ls", err=True)
    print_failures([result for result in sweep.results if not result.is_finished])


def print_found(plan: SearchPlan, found: Sequence[SearchRecord]) -> None:
    """Print what searches found on validation, what they cost, and what to beware of."""
    from gnz_track.cli.tables import print_rows
    from gnz_track.tuning.searches import changed
    from gnz_track.wording import format_seconds

    rows = []
    for record in found:
        chosen = ", ".join(
            f"{name}={_write_value(value)}" for name, value in changed(record.best, record.default).items()
        )
        default = next((trial.score for trial in record.trials if trial.source == "default"), None)
        rows.append(
            (
                record.task,
                record.model + ("" if record.seed is None else f" s{record.seed}"),
                record.metric,
                len(record.trials),
                sum(trial.state == "failed" for trial in record.trials) or "",
                _write_score(default),
                _write_score(record.best_score),
                chosen or ("the default" if record.best else "all trials failed"),
                sum(trial.epochs for trial in record.trials),
                format_seconds(sum(trial.seconds for trial in record.trials)),
            )
        )
    columns = ("task", "model", "metric", ">trials", ">failed", ">default", ">best", "found", ">epochs", ">wall time")
    print_rows("default and best on validation", columns, rows)
    _print_notes(plan, found)


def _print_notes(plan: SearchPlan, found: Sequence[SearchRecord]) -> None:
    from gnz_track.cli.tables import print_skipped

    print_skipped(plan.skipped)
    for record in found:
        name = f"{record.task} {record.model}"
        for border in record.borders:
            end = f"{border}={_write_value(record.best[border])} is at an end of its range"
            say(f"note: {name}: {end}; a better one may lie beyond", err=True)
        reasons = [trial.reason for trial in record.trials if trial.reason]
        if reasons:
            which = f"{len(reasons)} of" if record.best else "all"
            say(f"note: {name}: {which} {len(record.trials)} trials failed: {reasons[0]}", err=True)


def _write_score(value: float | None) -> str:
    return "-" if value is None else f"{value:.4f}"


def _write_value(value: object) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)
