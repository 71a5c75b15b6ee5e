"""``gnz data list``: which datasets there are, and which of them are here."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gnz_track.cli.home import choose_home
from gnz_track.kinds import Category, TaskType

if TYPE_CHECKING:
    from gnz_track.types import DatasetRow

__all__ = ["add_list", "show_bytes", "show_download"]

_UNITS = ((1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB"))


def add_list(group: typer.Typer) -> None:
    """Add this command."""
    group.command("list", epilog="[bold]Example[/bold]  gnz data list --category biology")(_list_datasets)


def _list_datasets(
    *,
    category: Annotated[str, typer.Option(help="Only one research area.")] = "",
    task_type: Annotated[str, typer.Option(help="Only one kind of problem.")] = "",
    mirror: Annotated[str, typer.Option(help="Folder or address of raw files; default GNZ_MIRROR.")] = "",
    home: Annotated[Path | None, typer.Option(help="Folder of frozen data; default GNZ_DATA or the cache.")] = None,
) -> None:
    """List the datasets: area, kinds of problem, licence, download size, and whether they are here."""
    from gnz_track.cli.tables import print_rows
    from gnz_track.datasets.catalogue import DATASETS
    from gnz_track.datasets.sources.raw_folders import parse_mirror
    from gnz_track.datasets.states import state_of

    home, found = choose_home(home), parse_mirror(mirror)
    areas = {Category(category)} if category else set(Category)
    types = {TaskType(task_type)} if task_type else set(TaskType)
    chosen = [row for row in DATASETS.rows() if row.category in areas and types & set(row.task_types)]
    rows = [
        (
            row.name,
            row.category,
            ", ".join(row.task_types),
            row.licence,
            show_download(row),
            state_of(row, home=home, mirror=found).short,
        )
        for row in chosen
    ]
    columns = ("dataset", "category", "task types", "licence", ">download", "state")
    print_rows(f"{len(rows)} of {len(DATASETS)} datasets", columns, rows)


def show_download(row: DatasetRow) -> str:
    """Write how much is to be fetched for a row; a dash for what is generated, or can be fetched no more."""
    from gnz_track.datasets.sources.fetching import n_bytes_of

    return show_bytes(n_bytes_of(row)) if row.raw and not row.retired else "-"


def show_bytes(n_bytes: int | None) -> str:
    """Write a size with one unit.

    >>> show_bytes(512), show_bytes(730_295), show_bytes(None)
    ('512 B', '713.2 KiB', 'unknown')
    """
    if n_bytes is None:
        return "unknown"
    return next((f"{n_bytes / size:.1f} {unit}" for size, unit in _UNITS if n_bytes >= size), f"{n_bytes} B")
