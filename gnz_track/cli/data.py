"""``gnz data``: datasets are listed, fetched, frozen, checked and shared."""

from __future__ import annotations

import typer

from gnz_track.cli.calls import Commands
from gnz_track.cli.data_card import add_card
from gnz_track.cli.data_check import add_check
from gnz_track.cli.data_get import add_get
from gnz_track.cli.data_list import add_list
from gnz_track.cli.data_remote import add_remote

__all__ = ["add_to"]


def add_to(app: typer.Typer) -> None:
    """Add this group of commands."""
    group = Commands(
        no_args_is_help=True,
        help="Fetch and freeze datasets, check frozen ones, and share them.",
        epilog="[bold]Example[/bold]  gnz data get --suite ten",
    )
    for add in (add_list, add_get, add_check, add_card, add_remote):
        add(group)
    app.add_typer(group, name="data")
