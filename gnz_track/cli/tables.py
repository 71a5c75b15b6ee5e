"""Tables on a terminal, and plain text in a pipe."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Literal

from rich.console import Console
from rich.table import Table
from rich.text import Text

from gnz_track import errors
from gnz_track.wording import visible

if TYPE_CHECKING:
    from gnz_track.report.summary import SummaryRow
    from gnz_track.runs.agenda import Agenda
    from gnz_track.runs.compatibility import Skipped
    from gnz_track.types import Cell, CellResult

__all__ = ["print_agenda", "print_failures", "print_rows", "print_skipped", "print_summary"]

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


def print_agenda(agenda: Agenda) -> None:
    """Print what of a plan is finished and what is to be trained."""
    from gnz_track.runs.fingerprint import fingerprint
    from gnz_track.wording import format_seconds

    wanted = {fingerprint(cell): (cell.task.name, cell.model.name) for cell in agenda.plan.cells}
    finished = Counter(pair for key, pair in wanted.items() if key in agenda.done)
    left: dict[tuple[str, str], list[Cell]] = {}
    for cell in agenda.cells:
        left.setdefault((cell.task.name, cell.model.name), []).append(cell)
    rows = []
    for pair in dict.fromkeys((cell.task.name, cell.model.name) for cell in agenda.plan.cells):
        seconds = agenda.paces.total(left.get(pair, []))
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
        sys.stderr.write(f"\n{len(cells)} failed: {visible(', '.join(cells))}\n{visible(text, keeps_lines=True)}")


def _reason(result: CellResult) -> str:
    failure = result.failure
    if failure is None:
        return ""
    # These are sentences for users; where they were raised says nothing to them, and stands in the run's record.
    return f"{failure.message}\n" if failure.kind in errors.__all__ else failure.traceback
