"""``gnz rescore``: metrics of past runs, from their stored predictions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from gnz_track.cli.ls import RUN_ID_SHOWN, Store
from gnz_track.cli.terminal.output import print_rows, say, see
from gnz_track.cli.training import split
from gnz_track.errors import BadValue
from gnz_track.text import REMAKE_SWEEP, remake_command

if TYPE_CHECKING:
    from gnz_track.predictions.rescoring import Rescoring
    from gnz_track.store.address import Address

__all__ = ["add_to"]

EXAMPLES = """
[bold]Examples[/bold]

  gnz rescore --metric balanced_accuracy,nll

  gnz rescore --metric mcc --sweep NAME

  gnz report --sweep NAME --metric mcc      (what these scores say)

Nothing is trained, and a score that a run has is never changed. Exit code 0: every cell has every metric that serves
it; 1: some were left out, and why.
"""
METRIC = (
    "Metrics by commas: balanced_accuracy, nll, brier, mcc, rmse, r2, ...; one that does not fit is told with those."
)
LEFT_OUT, MOST_SHOWN = 1, 5


def add_to(app: typer.Typer) -> None:
    """Add this command."""
    app.command("rescore", epilog=EXAMPLES)(_rescore)


def _rescore(
    *,
    metric: Annotated[str, typer.Option(help=METRIC)],
    sweep: Annotated[str, typer.Option(help="Only the cells of a sweep.")] = "",
    task: Annotated[str, typer.Option(help="Only the cells of a task.")] = "",
    store: Store = "",
) -> None:
    """Compute metrics of past runs from their stored predictions, and keep them beside their scores."""
    from gnz_track.predictions.rescoring import rescore
    from gnz_track.runs.progress import count_aloud
    from gnz_track.store.address import parse_address

    names = split(metric)
    if not names:
        raise BadValue("--metric", metric, "names of metrics by commas", command="gnz rescore --help")
    address = parse_address(store)
    with count_aloud() as tell:
        found = rescore(names, address, sweep=sweep, task=task, tell=tell)
    _print_found(found, address)
    if not found.is_whole:
        raise typer.Exit(LEFT_OUT)


def _print_found(found: Rescoring, address: Address) -> None:
    tests = found.scores[found.scores["part"] == "test"]
    rows = [
        (task, model, metric, f"{of['score'].mean():.4f}", len(of), int(of["is_new"].sum()))
        for (task, model, metric), of in tests.groupby(["task", "model", "metric"], sort=False)
    ]
    if rows:
        print_rows("mean test scores over runs", ("task", "model", "metric", ">mean", ">runs", ">new"), rows)
    written = f"{found.n_written} scores written, those of validation included; nothing was trained"
    say(f"{written}; {see('gnz query --metric NAME', address)}")
    for task, sentence in found.refused.items():
        say(f"note: does not serve {task}: {sentence}", err=True)
    if found.missing:
        command = remake_command(found.missing[0], address)
        more = f"; {REMAKE_SWEEP}" if len(found.missing) > 1 else ""
        say(f"{len(found.missing)} runs have no predictions: {_shorten(found.missing)}. Try: {command}{more}", err=True)
    for run_id, reason in list(found.changed.items())[:MOST_SHOWN]:
        say(f"left out: {run_id[:RUN_ID_SHOWN]}: {reason}", err=True)
    if len(found.changed) > MOST_SHOWN:
        say(f"... and {len(found.changed) - MOST_SHOWN} more: {_shorten(list(found.changed)[MOST_SHOWN:])}", err=True)
    for metric in dict.fromkeys(name for _, name in found.undefined):
        runs = list(dict.fromkeys(run_id for run_id, name in found.undefined if name == metric))
        say(f"left out: {metric} is not defined on the examples of {len(runs)} runs: {_shorten(runs)}", err=True)


def _shorten(run_ids: list[str] | tuple[str, ...]) -> str:
    return ", ".join(run_id[:RUN_ID_SHOWN] for run_id in run_ids[:MOST_SHOWN]) + (
        ", ..." if run_ids[MOST_SHOWN:] else ""
    )
