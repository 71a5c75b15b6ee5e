"""``gnz ui`` and ``gnz dash``: MLflow's user interface on the store, and Optuna's on the trials of searches."""

from __future__ import annotations

import contextlib
from importlib import import_module
from importlib.util import find_spec
from typing import Annotated

import typer

from gnz_track.cli.ls import Store
from gnz_track.cli.terminal.output import say, say_links
from gnz_track.errors import BadValue, StoreUnusable

__all__ = ["add_dash", "add_to"]


DASH_EXAMPLES = """
[bold]Examples[/bold]

  gnz dash

  gnz dash --study-store postgresql://USER@HOST/DATABASE --port 8081
"""
PORT = "Port on this machine; where it is taken, another one is chosen."
PLACE = "File or postgresql:// of trials; default beside the store."


def add_dash(app: typer.Typer) -> None:
    """Add this command."""
    app.command("dash", epilog=DASH_EXAMPLES)(_dash)


def _dash(
    *,
    store: Store = "",
    study_store: Annotated[str, typer.Option(help=PLACE)] = "",
    port: Annotated[int, typer.Option(help=PORT, min=1, max=65535)] = 8080,
) -> None:
    """Show the trials of all searches in a browser, for this machine only; Ctrl-C ends it."""
    from gnz_track.store.address import parse_address
    from gnz_track.store.ui import choose_port
    from gnz_track.tuning.study_storage import open_studies, parse_place

    if find_spec("optuna_dashboard") is None:
        raise BadValue("optuna-dashboard", "not installed", "an installed one", command="pip install optuna-dashboard")
    place = parse_place(study_store, parse_address(store))
    if place.file is not None and not place.file.exists():
        say(f"nothing in {place} yet; fill it with: gnz tune", err=True)
        return
    # Nothing here needs it otherwise, and type checks do without it.
    dashboard = import_module("optuna_dashboard")
    chosen = choose_port(port)
    with open_studies(place) as studies:
        say(f"open http://127.0.0.1:{chosen} to see {place}; Ctrl-C ends it")
        dashboard.run_server(studies.storage, host="127.0.0.1", port=chosen)


EXAMPLES = """
[bold]Examples[/bold]

  gnz ui

  gnz ui --store postgresql://USER@HOST/DATABASE --port 5001
"""


def add_to(app: typer.Typer) -> None:
    """Add this command."""
    app.command("ui", epilog=EXAMPLES)(_ui)
    add_dash(app)


def _ui(*, store: Store = "", port: Annotated[int, typer.Option(help=PORT, min=1, max=65535)] = 5000) -> None:
    """Start MLflow's user interface on the store, for this machine only; Ctrl-C ends it."""
    from gnz_track.store.address import parse_address
    from gnz_track.store.ui import choose_port, newest_sweep, serve

    address = parse_address(store)
    if not address.is_database:
        say(f"the store is a server already; open {address}")
        with contextlib.suppress(StoreUnusable):
            # It may start later, and ask who may see it.
            say_links(address, newest_sweep(address))
        return
    chosen = choose_port(port)
    if chosen != port:
        say(f"port {port} is taken; using {chosen}", err=True)
    say("starting MLflow's user interface ...", err=True)
    try:
        with serve(address, port=chosen) as interface:
            say(f"open {interface.url} to see {address}; Ctrl-C ends it")
            say_links(address, newest_sweep(address), url=interface.url)
            interface.wait()
    except KeyboardInterrupt:
        say("ended", err=True)
