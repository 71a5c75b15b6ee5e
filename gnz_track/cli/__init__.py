"""The command line: arguments in, one verb of a room, a printed result out. No logic.

Heavy rooms are imported inside commands, so that ``gnz --help`` answers at once.

- `audit`: ``gnz audit``: whether a dataset is worth benchmarking on
- `catalogue`: ``gnz tasks``, ``gnz models``, ``gnz protocols``: what there is
- `commands`: mistakes as one line on standard error: what happened, with the value, and what to type next; exit
  code 2
- `compare`: ``gnz compare``: two sweeps against one another
- `data`: ``gnz data``: datasets are listed, fetched, frozen, checked and shared
- `doctor`: ``gnz doctor``: what this machine has, and what is missing
- `features`: ``gnz features``: a graph as numbers
- `gc`: ``gnz gc``: what dead processes left behind
- `init`: ``gnz init``: a folder with a benchmark of one's own, which runs as it is
- `interrupts`: ctrl-C: the first ends the work in hand and keeps what is done, the second ends everything at
  once
- `ls`: the lists of ``gnz ls --searches`` and ``gnz ls --trials``
- `query`: ``gnz query``: cells of past runs by a condition, as a table or as a file
- `recommend`: ``gnz recommend``: which model for this graph, by what was measured on others
- `report`: ``gnz report``: one page of HTML, figures, tables and LaTeX from past runs
- `reproduce`: ``gnz reproduce``: train a past run again, from its record alone, and say what came out
- `run`: ``gnz run``: train what is left of a benchmark, track it, and print a table of means
- `stage`: ``gnz stage``: the stages of the pipeline, which DVC calls; each can be called by hand as well
- `sync`: ``gnz sync``: what waits on this machine is written into its store
- `terminal`: tables on a terminal, and plain text in a pipe
- `training`: searches with a line of progress, and their findings as tables
- `tune`: ``gnz tune``: search hyperparameters by validation alone, then train default and winner on the seeds
  reported
- `ui`: ``gnz ui``: MLflow's user interface on the store
- `working_folder`: the working folder among the places that modules are imported from: for calls that name
  code, and for no others
"""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from gnz_track import __version__
from gnz_track.cli import (
    audit,
    catalogue,
    compare,
    data,
    doctor,
    features,
    gc,
    init,
    query,
    recommend,
    report,
    reproduce,
    run,
    stage,
    sync,
    tune,
    ui,
)
from gnz_track.cli import ls as runs
from gnz_track.cli.commands import Commands, end_with, show_warnings
from gnz_track.cli.interrupts import INTERRUPTED, leave, listen_for_interrupts
from gnz_track.cli.working_folder import refuse_missing_folder, settle_working_folder
from gnz_track.errors import BadValue

__all__ = ["app", "main"]

EXAMPLES = """
[bold]Examples[/bold]

  gnz run --suite quick --models GCN,MLP --seeds 0-9

  gnz tasks --suite quick

  gnz doctor
"""
app = Commands(
    name="gnz",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
    help="Statistically honest benchmarks of graph neural networks.",
    epilog=EXAMPLES,
)


def _print_version(is_asked: bool) -> None:  # noqa: FBT001  (the shape that Typer calls)
    if is_asked:
        typer.echo(f"gnz_track {__version__}")
        raise typer.Exit


@app.callback()
def _take_options(
    ctx: typer.Context,
    *,
    is_version_asked: Annotated[
        bool, typer.Option("--version", is_eager=True, callback=_print_version, help="Print the version.")
    ] = False,
) -> None:
    del is_version_asked
    settle_working_folder(ctx.invoked_subcommand or "")


_MODULES = (
    init,
    run,
    tune,
    audit,
    runs,
    report,
    compare,
    query,
    reproduce,
    sync,
    gc,
    ui,
    catalogue,
    data,
    stage,
    doctor,
    features,
    recommend,
)
for _module in _MODULES:
    _module.add_to(app)


def main() -> None:
    """Run the command line; a mistake of the user is one line and exit code 2."""
    refuse_missing_folder()
    listen_for_interrupts()
    show_warnings()
    try:
        _refuse_half_characters(sys.argv[1:])
        code = app(prog_name="gnz", standalone_mode=False)
        # What a disk does not take is told here, and not when Python ends.
        sys.stdout.flush()
    except KeyboardInterrupt:
        # Typer, which hears of all others, is about to begin or has ended.
        leave()
    except Exception as error:
        end_with(error)
        raise
    # With this code, and without a word, calls end where somebody pressed Ctrl-C.
    if code == INTERRUPTED:
        typer.echo("interrupted", err=True)
    sys.exit(code)


def _refuse_half_characters(words: list[str]) -> None:
    """Refuse bytes that are no UTF-8: neither a store, nor a table, nor a page can hold them."""
    for word in words:
        if any("\ud800" <= sign <= "\udfff" for sign in word):
            raise BadValue("a word of the call", word, "text in UTF-8", command="gnz --help")
