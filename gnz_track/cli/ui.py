"""``gnz ui``: MLflow's user interface on the store."""

from __future__ import annotations

from typing import Annotated

import typer

from gnz_track.cli.dash import add_dash
from gnz_track.cli.runs import Store
from gnz_track.cli.saying import say

__all__ = ["add_to"]

EXAMPLES = """
[bold]Examples[/bold]

  gnz ui

  gnz ui --store postgresql://USER@HOST/DATABASE --port 5001
"""
PORT = "Port on this machine; where it is taken, another one is chosen."


def add_to(app: typer.Typer) -> None:
    """Add this command."""
    app.command("ui", epilog=EXAMPLES)(_ui)
    add_dash(app)


def _ui(*, store: Store = "", port: Annotated[int, typer.Option(help=PORT, min=1, max=65535)] = 5000) -> None:
    """Start MLflow's user interface on the store, for this machine only; Ctrl-C ends it."""
    from gnz_track.store.address import parse_address
    from gnz_track.store.ui import choose_port, serve

    address = parse_address(store)
    if not address.is_database:
        say(f"the store is a server already; open {address}")
        return
    chosen = choose_port(port)
    if chosen != port:
        say(f"port {port} is taken; using {chosen}", err=True)
    say("starting MLflow's user interface ...", err=True)
    try:
        with serve(address, port=chosen) as interface:
            say(f"open {interface.url} to see {address}; Ctrl-C ends it")
            interface.wait()
    except KeyboardInterrupt:
        say("ended", err=True)
