"""The command line: arguments in, one verb of a room, a printed result out. No logic.

Heavy rooms are imported inside commands, so that ``gnz --help`` answers at once. One file a command:

- `init`: ``gnz init``, a benchmark of one's own.
- `run`: ``gnz run``, train and score.
- `tune`: ``gnz tune``, search hyperparameters.
- `audit`: ``gnz audit``, the worth of a dataset.
- `study`: ``gnz study``, factors and their levels, trained and compared.
- `ls`: ``gnz ls``, sweeps, cells, failures, searches and trials of a store.
- `report`: ``gnz report``, the page, figures and tables of past runs.
- `compare`: ``gnz compare``, two sweeps against one another.
- `query`: ``gnz query``, cells by a condition.
- `reproduce`: ``gnz reproduce``, a past run trained again.
- `predict`: ``gnz predict``, the model of a past run on data.
- `rescore`: ``gnz rescore``, metrics of past runs from their stored predictions.
- `sync`: ``gnz sync``, records that wait for a store.
- `gc`: ``gnz gc``, remains of dead processes.
- `ui`: ``gnz ui`` and ``gnz dash``, MLflow's and Optuna's pages.
- `catalogue`: ``gnz tasks``, ``gnz models``, ``gnz protocols``.
- `data`: ``gnz data``, datasets fetched, frozen, listed, checked.
- `own_data`: how files of one's own are read, ``gnz data add`` and ``gnz data remove``.
- `stage`: ``gnz stage``, stages of the pipeline.
- `doctor`: ``gnz doctor``, versions, devices and folders of this machine.
- `features`: ``gnz features``, a graph as numbers.
- `recommend`: ``gnz recommend``, models ranked for a graph.

Shared by them:

- `terminal/`: the words of a call, what is printed, what ends it, and the folder it was typed in.
- `training`: tasks that a call names, and training and searches with a line of progress.
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
    ls,
    predict,
    query,
    recommend,
    report,
    reproduce,
    rescore,
    run,
    stage,
    study,
    sync,
    tune,
    ui,
)
from gnz_track.cli.terminal.commands import Commands, end_with, show_warnings
from gnz_track.cli.terminal.interrupts import INTERRUPTED, leave, listen_for_interrupts
from gnz_track.cli.terminal.working_folder import refuse_missing_folder, settle_working_folder
from gnz_track.errors import BadValue

__all__ = ["main"]

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
    study,
    ls,
    report,
    compare,
    query,
    reproduce,
    predict,
    rescore,
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
