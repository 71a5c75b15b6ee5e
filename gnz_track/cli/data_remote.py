"""``gnz data push`` and ``gnz data pull``: frozen datasets in a DVC remote."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from gnz_track.cli.home import choose_home

__all__ = ["add_remote"]

Names = Annotated[list[str] | None, typer.Argument(help="Datasets by name; all without.", show_default=False)]
Remote = Annotated[str, typer.Option(help="A remote of DVC by name; its default without.")]
Home = Annotated[Path | None, typer.Option(help="Folder of frozen data, in a DVC repository.")]


def add_remote(group: typer.Typer) -> None:
    """Add these commands."""
    group.command("push", epilog="[bold]Example[/bold]  gnz data push cora --home data")(_push)
    group.command("pull", epilog="[bold]Example[/bold]  gnz data pull cora --home data")(_pull)


def _push(names: Names = None, *, remote: Remote = "", home: Home = None) -> None:
    """Track frozen datasets with DVC and copy them to a remote; what is to be committed is printed."""
    from gnz_track.cli.tables import print_rows
    from gnz_track.datasets.card import CARD, read_card
    from gnz_track.datasets.sources import dvc_remote

    home = choose_home(home)
    repository = dvc_remote.find_repository(home)
    folders = dvc_remote.frozen_folders(home, names or [])
    dvc_remote.push(folders, repository=repository, remote=remote)
    cards = [(read_card(folder / CARD), folder) for folder in folders]
    rows = [(card.name, card.digest, f"{folder}.dvc") for card, folder in cards]
    print_rows("pushed; commit these files with Git", ("dataset", "digest", "file"), rows)


def _pull(names: Names = None, *, remote: Remote = "", home: Home = None) -> None:
    """Copy frozen datasets that DVC tracks from a remote, and derive their digests again."""
    from gnz_track.cli.tables import print_rows
    from gnz_track.datasets.frozen import open_frozen
    from gnz_track.datasets.sources import dvc_remote

    home = choose_home(home)
    repository = dvc_remote.find_repository(home)
    folders = dvc_remote.tracked_folders(home, names or [])
    dvc_remote.pull(folders, repository=repository, remote=remote)
    datasets = [open_frozen(folder, verify=True) for folder in folders]
    rows = [(dataset.name, "ok", dataset.digest, dataset.folder) for dataset in datasets]
    print_rows("pulled", ("dataset", "", "digest", "folder"), rows)
