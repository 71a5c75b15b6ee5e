"""Costs of models that may be set against one another, and what speaks against it.

Seconds of the wall clock tell how long one waited: they hold all that ran beside. On a processor a cell's own seconds
are those that it computed; on a GPU the wall clock is all there is. Neither is the same on two machines.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Mapping

from gnz_track.stats.comparison.cells import ScoreFrame
from gnz_track.stats.inputs import read_number
from gnz_track.text import first_names

__all__ = ["BUSY", "CPU_TIME", "WALL_TIME", "cost_doubts", "time_column"]

CPU_TIME, WALL_TIME = "cpu_seconds", "seconds"
# The wall clock may run so many times as long as cells computed before that is told.
BUSY = 1.25
# Column -> what costs come from where it has several values within a task.
SOURCES = {
    "sweep": "several sweeps, whose load may have differed",
    "environment": "several machines or versions of software",
    "device": "several devices",
    "instructions": "several vector levels of a processor",
}
MOST_NAMED = 3


def time_column(table: ScoreFrame) -> str:
    """Return the column of the time that tells models apart: CPU seconds where processors computed every cell."""
    rows = list(_scored(table, "device", CPU_TIME))
    is_known = bool(rows) and all(
        row["device"] in {"", "cpu"} and read_number(row[CPU_TIME]) is not None for row in rows
    )
    return CPU_TIME if is_known else WALL_TIME


def cost_doubts(table: ScoreFrame) -> tuple[str, ...]:
    """Return sentences on why times and memory in a table may differ by more than the models do."""
    return (*_doubt_mixed_sources(table), *_doubt_wall_times(table))


def _doubt_mixed_sources(table: ScoreFrame) -> Iterator[str]:
    rows = list(_scored(table, "task", *SOURCES))
    for column, what in SOURCES.items():
        found: dict[str, set[str]] = {}
        for row in rows:
            # A table that does not tell, and cells of before it was recorded, contradict nobody.
            if row[column]:
                found.setdefault(row["task"], set()).add(row[column])
        mixed = sorted(task for task, values in found.items() if len(values) > 1)
        if mixed:
            yield f"costs are of {what}, on {first_names(mixed, MOST_NAMED)}: they are not those of models alone"


def _doubt_wall_times(table: ScoreFrame) -> Iterator[str]:
    """Say where cells waited for a processor or a disk: their wall time is not theirs."""
    shares: dict[str, list[float]] = {}
    for row in _scored(table, "task", "model", "device", WALL_TIME, CPU_TIME):
        wall, computed = read_number(row[WALL_TIME]), read_number(row[CPU_TIME])
        if row["device"] in {"", "cpu"} and wall and computed:
            shares.setdefault(f"{row['model']} on {row['task']}", []).append(wall / computed)
    waited = {name: statistics.median(found) for name, found in shares.items()}
    longest = max(waited, key=lambda name: waited[name], default="")
    if longest and waited[longest] > BUSY:
        yield (
            f"wall times are up to {waited[longest]:.2g} times what cells computed ({longest}): other work ran beside "
            "them; CPU s is the cost of a model"
        )


def _scored(table: ScoreFrame, *names: str) -> Iterator[Mapping[str, str]]:
    """Yield the texts of columns, row by row, of cells that count; nothing is said by a column that is not there."""
    known = {str(name) for name in table.columns}
    n = len(table)
    columns = [[_text(value) for value in table[name].tolist()] if name in known else [""] * n for name in names]
    states = table["status"].tolist() if "status" in known else ["finished"] * n
    for state, *values in zip(states, *columns, strict=True):
        if state == "finished":
            yield dict(zip(names, values, strict=True))


def _text(value: object) -> str:
    return "" if value is None or value != value else str(value)  # noqa: PLR0124  (NaN is not itself)
