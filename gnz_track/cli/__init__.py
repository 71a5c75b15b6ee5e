"""The command line: arguments in, one verb of a room, a printed result out. No logic.

Heavy rooms are imported inside commands, so that ``gnz --help`` answers at once.
"""

from __future__ import annotations

import os
import sys

import typer

from gnz_track.cli import catalogue, data, doctor, run
from gnz_track.errors import GnzError

__all__ = ["app", "main"]

app = typer.Typer(
    name="gnz",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
    help="Statistically honest benchmarks of graph neural networks.",
)
for _module in (run, catalogue, data, doctor):
    _module.add_to(app)

USER_ERROR = 2


def main() -> None:
    """Run the command line; an error of the user is one line and exit code 2."""
    try:
        app()
    except GnzError as error:
        typer.echo(f"error: {error}", err=True)
        sys.exit(USER_ERROR)
    except BrokenPipeError:
        # The reader of a pipe (head, less) has gone; there is nobody left to tell. What Python would still flush at
        # exit goes nowhere.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(0)
