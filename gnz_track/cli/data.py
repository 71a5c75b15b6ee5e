"""``gnz data``: datasets are listed, fetched, frozen and checked."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from gnz_track.cli import data_get, data_list
from gnz_track.cli.home import choose_home

__all__ = ["add_to", "check"]


def add_to(app: typer.Typer) -> None:
    """Add this group of commands."""
    group = typer.Typer(
        no_args_is_help=True,
        help="Fetch and freeze datasets, and check frozen ones.",
        epilog="[bold]Example[/bold]  gnz data get --suite ten",
    )
    for module in (data_list, data_get):
        module.add_to(group)
    group.command(epilog="[bold]Example[/bold]  gnz data check cora")(check)
    app.add_typer(group, name="data")


def check(
    names: Annotated[list[str], typer.Argument(help="Datasets by name.")],
    *,
    home: Annotated[Path | None, typer.Option(help="Folder of frozen data; default GNZ_DATA or the cache.")] = None,
    seed: Annotated[int, typer.Option(help="For generated data that depend on it.")] = 0,
) -> None:
    """Derive the digest of frozen datasets again from every byte."""
    from gnz_track.cli.tables import print_rows
    from gnz_track.datasets.catalogue import DATASETS
    from gnz_track.datasets.preparation import check_dataset

    rows, home = [], choose_home(home)
    for row in [DATASETS.get(name) for name in names]:
        dataset = check_dataset(row, seed=seed, home=home)
        rows.append((dataset.name, "ok", dataset.digest, dataset.folder))
    print_rows("checked", ("dataset", "", "digest", "folder"), rows)
