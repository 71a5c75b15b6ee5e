"""``gnz data list``: which datasets there are, and which of them are here."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gnz_track.cli.home import choose_home
from gnz_track.kinds import Category, TaskType

if TYPE_CHECKING:
    from gnz_track.types import DatasetRow

__all__ = ["add_to", "list_datasets", "show_bytes"]

_UNITS = ((1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB"))


def add_to(group: typer.Typer) -> None:
    """Add this command."""
    group.command("list", epilog="[bold]Example[/bold]  gnz data list --category biology")(list_datasets)


def list_datasets(
    *,
    category: Annotated[str, typer.Option(help="Only one research area.")] = "",
    task_type: Annotated[str, typer.Option(help="Only one kind of problem.")] = "",
    mirror: Annotated[str, typer.Option(help="Folder or address of raw files; default GNZ_MIRROR.")] = "",
    home: Annotated[Path | None, typer.Option(help="Folder of frozen data; default GNZ_DATA or the cache.")] = None,
) -> None:
    """List the datasets: area, kinds of problem, licence, download size, and whether they are here."""
    from gnz_track.cli.tables import print_rows
    from gnz_track.datasets.catalogue import DATASETS
    from gnz_track.datasets.sources.fetching import n_bytes_of
    from gnz_track.datasets.sources.raw_folders import parse_mirror

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
            show_bytes(n_bytes_of(row)) if row.raw and not row.retired else "-",
            _state(row, home, found),
        )
        for row in chosen
    ]
    columns = ("dataset", "category", "task types", "licence", ">download", "state")
    print_rows(f"{len(rows)} of {len(DATASETS)} datasets", columns, rows)


def show_bytes(n_bytes: int | None) -> str:
    """Write a size with one unit.

    >>> show_bytes(512), show_bytes(730_295), show_bytes(None)
    ('512 B', '713.2 KiB', 'unknown')
    """
    if n_bytes is None:
        return "unknown"
    return next((f"{n_bytes / size:.1f} {unit}" for size, unit in _UNITS if n_bytes >= size), f"{n_bytes} B")


def _state(row: DatasetRow, home: Path, mirror: Path | str | None) -> str:
    from gnz_track.datasets.homes import folder_name
    from gnz_track.datasets.readers.extras import missing_library
    from gnz_track.datasets.sources.raw_folders import find_complete

    if next(iter((home / folder_name(row.name)).glob("**/card.json")), None):
        return "frozen"
    missing = missing_library(row)
    has_files = bool(row.raw) and find_complete(row, home=home, mirror=mirror) is not None
    states = {
        "retired": bool(row.retired) and not has_files,
        f"needs {missing}: pip install 'gnz-track[{row.extra}]'": bool(missing),
        "raw files here": has_files,
        "generated": not row.raw,
        "to fetch": bool(row.origins),
    }
    return next((state for state, holds in states.items() if holds), "from a mirror only")
