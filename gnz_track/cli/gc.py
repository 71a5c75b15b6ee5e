"""``gnz gc``: what dead processes left behind."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from gnz_track.cli.ls import RUN_ID_SHOWN, Store
from gnz_track.cli.terminal.output import say

if TYPE_CHECKING:
    from gnz_track.store.address import Address
    from gnz_track.store.writer import DeadRun

__all__ = ["add_to"]

EXAMPLES = """
[bold]Examples[/bold]

  gnz gc --dry-run

  gnz gc --stale-after 600

  gnz gc --artifacts --dry-run      (files of cells that did not finish, or were deleted)
"""
STALE_AFTER = "Seconds without a heartbeat after which a run of another machine is dead."
ARTIFACTS = "Remove files that no finished cell names, of a store on this machine."
DRY_RUN = "Only list what would be done."


def add_to(app: typer.Typer) -> None:
    """Add this command."""
    app.command("gc", epilog=EXAMPLES)(_gc)


def _gc(
    *,
    store: Store = "",
    stale_after: Annotated[float, typer.Option(help=STALE_AFTER)] = 3600.0,
    artifacts: Annotated[bool, typer.Option("--artifacts", help=ARTIFACTS)] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help=DRY_RUN)] = False,
) -> None:
    """Mark runs of dead processes as killed, and remove emptied files of the spool; with --artifacts, of cells too."""
    from gnz_track.errors import BadValue
    from gnz_track.store.address import parse_address
    from gnz_track.store.listings import has_tables
    from gnz_track.store.outbox import clear_outbox, outbox_folder
    from gnz_track.store.writer import find_dead_runs, kill_dead_runs, open_store

    if not 0 <= stale_after < float("inf"):
        raise BadValue("the age of a stale run", stale_after, "seconds from 0 upwards", command="--stale-after 3600")
    address = parse_address(store)
    stale: list[DeadRun] = []
    if has_tables(address):
        with open_store(address) as opened:
            stale = (find_dead_runs if dry_run else kill_dead_runs)(opened, stale_after=stale_after)
    files = clear_outbox(outbox_folder(address), removes=not dry_run)
    _print_stale(stale, n_files=len(files), would="would be " if dry_run else "")
    if artifacts:
        _remove_unneeded(address, removes=not dry_run)


def _remove_unneeded(address: Address, *, removes: bool) -> None:
    from gnz_track.errors import BadValue
    from gnz_track.store.cell_files.inventory import find_unneeded

    if address.artifacts is None:
        raise BadValue("the store", str(address), "one whose files lie in a folder of this machine", command="gnz gc")
    n_bytes, unneeded = 0, find_unneeded(address)
    for file in unneeded:
        n_bytes += file.lstat().st_size
        if removes:
            file.unlink()
    would = "" if removes else "would be "
    say(f"{len(unneeded)} files of {n_bytes / 2**20:.1f} MiB that no finished cell names {would}removed")


def _print_stale(stale: list[DeadRun], *, n_files: int, would: str) -> None:
    from gnz_track.cli.terminal.output import print_rows

    if stale:
        rows = [(one.run_id[:RUN_ID_SHOWN], one.name, one.reason) for one in stale]
        print_rows(f"runs that {would or 'were '}marked as killed", ("run", "name", "why"), rows)
    say(f"{len(stale)} runs {would}marked as killed, {n_files} files of the spool {would}removed")
