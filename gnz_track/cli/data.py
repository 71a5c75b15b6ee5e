"""``gnz data``: datasets are listed, fetched, frozen, checked and shared."""

from __future__ import annotations

import typer

from gnz_track.cli import data_card, data_check, data_get, data_list, data_remote
from gnz_track.cli.calls import Commands

__all__ = ["add_to"]


def add_to(app: typer.Typer) -> None:
    """Add this group of commands."""
    group = Commands(
        no_args_is_help=True,
        help="Fetch and freeze datasets, check frozen ones, and share them.",
        epilog="[bold]Example[/bold]  gnz data get --suite ten",
    )
    for module in (data_list, data_get, data_check, data_card, data_remote):
        module.add_to(group)
    app.add_typer(group, name="data")
