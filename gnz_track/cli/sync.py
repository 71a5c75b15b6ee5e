"""``gnz sync``: what waits on this machine is written into its store."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from gnz_track.cli.ls import Store
from gnz_track.cli.terminal.output import say

if TYPE_CHECKING:
    from pathlib import Path

    from gnz_track.store.replay import Replay

__all__ = ["add_to"]

LEFT = 1
EXAMPLES = """
[bold]Examples[/bold]

  gnz sync --list      (what waits, for all stores)

  gnz sync --store http://HOST:5000
"""


def add_to(app: typer.Typer) -> None:
    """Add this command."""
    app.command("sync", epilog=EXAMPLES)(_sync)


def _sync(
    *,
    store: Store = "",
    only_list: Annotated[bool, typer.Option("--list", help="Show what waits, for all stores; write nothing.")] = False,
) -> None:
    """Write records that wait on this machine, refused ones too, into their store; exit code 1 where some are left."""
    if only_list:
        _print_waiting()
        return
    from gnz_track.store.address import parse_address
    from gnz_track.store.outbox import holds_sweeps, outbox_folder
    from gnz_track.store.replay import replay_each
    from gnz_track.store.writer import open_store

    address = parse_address(store)
    folder = outbox_folder(address)
    if not holds_sweeps(folder):
        say(f"nothing waits for {address}{_others(folder)}")
        return
    done: dict[str, Replay] = {}
    with open_store(address) as opened:
        try:
            for sweep, part in replay_each(folder, opened, with_refused=True):
                # What was refused before, and what waits for the first time, are of one sweep.
                done[sweep] = done[sweep].joined(part) if sweep in done else part
        finally:
            _print_replays(done)
    if any(part.is_left_over for part in done.values()):
        raise typer.Exit(LEFT)


def _print_waiting() -> None:
    from gnz_track.cli.terminal.output import print_rows
    from gnz_track.store.outbox import describe_outboxes

    rows = [
        (
            one.store or "-",
            one.sweep,
            one.n_records,
            one.n_unreadable or "",
            one.n_refused or "",
            one.n_files or "",
            "yes" if one.is_unended else "",
            one.folder,
        )
        for one in describe_outboxes()
    ]
    if rows:
        print_rows(
            "records that wait",
            ("store", "sweep", ">records", ">unreadable", ">refused", ">with files", "plan and table", "folder"),
            rows,
        )
    else:
        say("nothing waits for any store")


def _others(folder: Path) -> str:
    """Say that records wait for other stores than that of a folder, where they do."""
    from gnz_track.store.outbox import describe_outboxes

    others = {one.folder for one in describe_outboxes() if one.folder != folder}
    many = f"{len(others)} other stores" if len(others) > 1 else "another store"
    return f"; records wait for {many}, see: gnz sync --list" if others else ""


def _print_replays(done: dict[str, Replay]) -> None:
    from gnz_track.cli.terminal.output import print_rows

    rows = [
        (
            sweep,
            len(part.written),
            len(part.present) or "",
            len(part.refused) or "",
            len(part.corrupted) or "",
            len(part.filed) or "",
            "yes" if part.busy else "",
            "yes" if part.ended else "",
        )
        for sweep, part in done.items()
    ]
    if rows:
        columns = ("sweep", ">written", ">present", ">refused", ">unreadable", ">with files", "busy", "plan and table")
        print_rows("replayed", columns, rows)
    for sweep, part in done.items():
        for said in part.refused:
            say(f"{sweep}: refused: {said}", err=True)
        for said in (*part.unfiled, *part.lost_files):
            say(f"{sweep}: {said}", err=True)
        for place in part.corrupted:
            say(f"{sweep}: no record can be read at {place}; rerun its cell, then remove that file", err=True)
        if part.busy:
            say(f"{sweep}: another process is writing it; wait for it, then type: gnz sync", err=True)
