"""Output on a terminal, in a pipe and for programs, and the folders that a command reads and writes.

Texts of others drive no terminal. A folder is checked before any work, and named where the disk refuses it.
"""

from __future__ import annotations

import contextlib
import os
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from gnz_track import errors
from gnz_track.errors import BadValue
from gnz_track.text import first_names, visible

if TYPE_CHECKING:
    from gnz_track.report.tables.summary import SummaryRow
    from gnz_track.runs.plan import Place, Skipped
    from gnz_track.runs.remaining import RemainingCells
    from gnz_track.store.address import Address
    from gnz_track.types import Cell, CellResult

__all__ = [
    "check_file",
    "check_folder",
    "choose_home",
    "choose_place",
    "hand_over",
    "is_usable",
    "naming",
    "print_failures",
    "print_remaining",
    "print_rows",
    "print_skipped",
    "print_summary",
    "say",
    "say_links",
    "see",
    "takes_files",
]


def choose_home(given: Path | None) -> Path:
    """Return the folder of frozen data, absolute; one that is none, and cannot be made, is refused before any work."""
    from gnz_track.datasets.homes import data_home

    home = (given or data_home()).expanduser().absolute()
    if not is_usable(home):
        allowed = "a folder, or a path where one can be made"
        raise BadValue("the folder of frozen data", str(home), allowed, command="--home FOLDER or GNZ_DATA=FOLDER")
    return home


def choose_place(home: Path | None, mirror: Path | None) -> Place:
    """Return where data lie: frozen ones in the folder chosen, raw files in a mirror."""
    from gnz_track.runs.plan import Place

    return Place(home=choose_home(home), mirror=mirror)


def is_usable(home: Path) -> bool:
    """Tell whether a folder is there, or can be made."""
    nearest = next(place for place in (home, *home.parents) if place.exists())
    return nearest.is_dir() and (nearest == home or os.access(nearest, os.W_OK))


def check_folder(flag: str, folder: Path) -> Path:
    """Return a folder to write into; one that is none, cannot be made or is not writable is refused."""
    whole = folder.expanduser().absolute()
    if not takes_files(whole):
        allowed = "a folder that you can write to, or a path where one can be made"
        raise BadValue(flag, str(folder), allowed, command=f"{flag} FOLDER")
    return folder


def check_file(flag: str, file: Path) -> Path:
    """Return a file to write; a folder, and a path where no file can be made, is refused."""
    whole = file.expanduser().absolute()
    if whole.is_dir() or not takes_files(whole.parent):
        raise BadValue(flag, str(file), "a file in a folder that you can write to", command=f"{flag} FILE")
    return file


@contextlib.contextmanager
def naming(place: Path) -> Iterator[None]:
    """Write to a place that the user chose: what the system says of it then bears its name."""
    try:
        yield
    except OSError as error:
        # A full disk is told of by an open file, which gives no name.
        if not isinstance(error.filename, str | os.PathLike):
            error.filename = str(place)
        raise


def takes_files(folder: Path) -> bool:
    """Tell whether a folder is there and can be written, or can be made."""
    nearest = next(place for place in (folder, *folder.parents) if place.exists())
    return nearest.is_dir() and os.access(nearest, os.W_OK)


def say(text: object = "", *, err: bool = False) -> None:
    """Print lines for people; what a terminal would obey is written so that it can be read."""
    typer.echo(visible(str(text), keeps_lines=True), err=err)


def see(commands: str, address: Address) -> str:
    """Name the commands that show what a store has: a store that is not the usual one has to be named to them too."""
    from gnz_track.store.address import parse_address

    return f"see: {commands}{'' if address == parse_address() else ', with the same --store'}"


# More addresses than these tell nobody more.
MOST_LINKS = 3
# Failed cells that are named of one reason.
MOST_CELLS = 10


def say_links(address: Address, sweep: str, *, url: str = "", err: bool = False) -> None:
    """Print where the cells of a sweep are in MLflow's interface, grouped by model: an address for each task.

    Parameters
    ----------
    address, sweep, url
        Those of :func:`gnz_track.store.ui.links_of_sweep`.
    err
        Whether it goes to standard error.
    """
    from gnz_track.store.ui import links_of_sweep

    links = links_of_sweep(address, sweep, url=url) if sweep else {}
    when = "" if url or not address.is_database else " (while gnz ui runs)"
    for task, link in list(links.items())[:MOST_LINKS]:
        say(f"{task} by model{when}: {link}", err=err)
    if len(links) > MOST_LINKS:
        say(f"{len(links) - MOST_LINKS} more tasks: the view '{sweep} by model' of their experiments", err=err)


def hand_over(text: str) -> None:
    """Print what is for programs (JSON, CSV, Markdown): as it is, but to a terminal as :func:`say` does."""
    # Typer would take what looks like a colour out of a name.
    sys.stdout.write(visible(text, keeps_lines=True) if sys.stdout.isatty() else text)
    sys.stdout.write("" if text.endswith("\n") else "\n")
    sys.stdout.flush()


# A pipe has no width to fit into: cut nothing there.
PIPE_WIDTH = 10_000


def print_rows(title: str, columns: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Print a table; cells are text as it is, never markup, each on one line and none that drives a terminal.

    Parameters
    ----------
    title
        Line above the table.
    columns
        Headings; ``>`` before one aligns it to the right.
    rows
        Cells by row.
    """
    console = Console(width=None if sys.stdout.isatty() else PIPE_WIDTH)
    # As a part of the table it would be folded to its width.
    console.print(Text(visible(title, keeps_lines=True), style="italic"), soft_wrap=True)
    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in columns:
        # Folded and never cut: half a name can be read, half a score must not be.
        side: Literal["left", "right"] = "right" if column.startswith(">") else "left"
        table.add_column(column.removeprefix(">"), justify=side, overflow="fold")
    for row in rows:
        table.add_row(*(Text(visible(str(cell))) for cell in row))
    console.print(table)


def print_summary(rows: Iterable[SummaryRow]) -> None:
    """Print the means of a sweep."""
    arrows = {"up": "higher is better", "down": "lower is better"}
    print_rows(
        "mean scores over seeds",
        ("task", "model", "metric", "", ">mean", ">seeds", ">failed", ">wall s"),
        (
            (
                row.task,
                row.model,
                row.metric,
                arrows[row.direction],
                "-" if row.mean is None else f"{row.mean:.4f}",
                row.n_finished,
                row.n_failed or "",
                f"{row.seconds:.1f}",
            )
            for row in rows
        ),
    )


def print_remaining(remaining: RemainingCells) -> None:
    """Print what of a plan is finished and what is to be trained."""
    from gnz_track.runs.fingerprint import fingerprint
    from gnz_track.runs.variants import label_cells
    from gnz_track.text import format_seconds

    cells = remaining.plan.cells
    pairs = [(cell.task.name, label) for cell, label in zip(cells, label_cells(cells), strict=True)]
    wanted = dict(zip(map(fingerprint, cells), pairs, strict=True))
    finished = Counter(pair for key, pair in wanted.items() if key in remaining.done)
    left: dict[tuple[str, str], list[Cell]] = {}
    for cell in remaining.cells:
        left.setdefault(wanted[fingerprint(cell)], []).append(cell)
    rows = []
    for pair in dict.fromkeys(pairs):
        seconds = remaining.paces.total(left.get(pair, []))
        time = "unknown" if seconds is None else format_seconds(seconds)
        rows.append((*pair, finished[pair], len(left.get(pair, [])), time))
    print_rows("what would be trained", ("task", "model", ">finished", ">to train", ">time"), rows)


def print_skipped(skipped: Sequence[Skipped]) -> None:
    """Print the pairs left out, with reasons."""
    if skipped:
        rows = [(item.task, item.model, item.reason) for item in skipped]
        print_rows("\nleft out before training", ("task", "model", "why"), rows)


def print_failures(failed: Sequence[CellResult]) -> None:
    """Print each different reason once, with the cells that it ended: one of ours as a sentence, others in full."""
    groups: dict[str, list[str]] = {}
    for result in failed:
        groups.setdefault(_reason(result), []).append(result.cell.label)
    for text, cells in groups.items():
        listed = visible(first_names(cells, MOST_CELLS))
        sys.stderr.write(f"\n{len(cells)} failed: {listed}\n{visible(text, keeps_lines=True)}")


def _reason(result: CellResult) -> str:
    failure = result.failure
    if failure is None:
        return ""
    # These are sentences for users; where they were raised says nothing to them, and stands in the run's record.
    return f"{failure.message}\n" if failure.kind in errors.__all__ else failure.traceback
