"""Costs of models: means over runs, what speaks against setting them against one another, and the Pareto front.

Seconds of the wall clock tell how long one waited: they hold all that ran beside. On a processor a cell's own seconds
are those that it computed; on a GPU the wall clock is all there is. Neither is the same on two machines.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterator, Mapping, Sequence

from gnz_track.errors import BadValue
from gnz_track.stats.comparison.cells import ScoreFrame
from gnz_track.stats.comparison.comparison import Comparison
from gnz_track.stats.inputs import read_direction, read_number
from gnz_track.text import first_names
from gnz_track.types import Direction

__all__ = ["BUSY", "CPU_TIME", "WALL_TIME", "cost_doubts", "costs_by_seed", "mean_costs", "pareto_front", "time_column"]


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


def pareto_front(costs: Sequence[float], scores: Sequence[float], direction: Direction | str) -> tuple[int, ...]:
    """Return the places, cheapest first, that no other place dominates.

    One place dominates another where it costs no more and scores no worse, and is better in one of the two; equal
    places are both kept. Pareto (1906); H. T. Kung et al., J. ACM 22 (1975) 469-476.

    Parameters
    ----------
    costs, scores
        Costs [n], lower is better, and scores [n].
    direction
        Which scores are better.
    """
    if len(costs) != len(scores):
        raise BadValue("the number of scores", len(scores), f"one for each of {len(costs)} costs")
    if not all(math.isfinite(value) for value in (*costs, *scores)):
        raise BadValue("costs and scores", "not finite", "finite numbers; leave models without a score out")
    sign = 1.0 if read_direction(direction) is Direction.up else -1.0
    gains = [sign * score for score in scores]
    front: list[int] = []
    for place in sorted(range(len(costs)), key=lambda n: (costs[n], -gains[n], n)):
        last = front[-1] if front else None
        if last is None or gains[place] > gains[last] or (gains[place], costs[place]) == (gains[last], costs[last]):
            front.append(place)
    return tuple(front)


def mean_costs(comparison: Comparison, table: ScoreFrame, column: str) -> dict[tuple[str, str], float]:
    """Return (task, model) -> mean of a column over the runs that the comparison counts; nothing where none has it.

    Parameters
    ----------
    comparison
        The comparison whose runs count.
    table
        The results table that it was made of.
    column
        A column of numbers.
    """
    found = costs_by_seed(comparison, table, column)
    return {key: math.fsum(values) / len(values) for key, values in found.items()}


def costs_by_seed(comparison: Comparison, table: ScoreFrame, column: str) -> dict[tuple[str, str], tuple[float, ...]]:
    """Return (task, model) -> values of a column, one for each run that the comparison counts and that has one.

    Runs are found by their id; in a table without ids by task, model and seed.

    Parameters
    ----------
    comparison, table, column
        As in :func:`mean_costs`.
    """
    names = [str(name) for name in table.columns]
    if column not in names:
        raise BadValue("column of the costs", column, f"one of {', '.join(names)}")
    by_run = _by_key(table, column, "run_id") if "run_id" in names else {}
    by_place = _by_key(table, column, "task", "model", "seed")
    found = {}
    for task in comparison.tasks:
        for cell in task.cells:
            runs = zip(cell.run_ids, cell.seeds, strict=True)
            values = [
                by_run.get((run,)) if run else by_place.get((task.task, cell.model, str(seed))) for run, seed in runs
            ]
            known = tuple(value for value in values if value is not None)
            if known:
                found[task.task, cell.model] = known
    return found


def _by_key(table: ScoreFrame, column: str, *keys: str) -> dict[tuple[str, ...], float | None]:
    """Return the values of a column by the texts of others; None where it is no finite number."""
    columns = [[_key(value) for value in table[key].tolist()] for key in keys]
    values = [read_number(value) for value in table[column].tolist()]
    return dict(zip(zip(*columns, strict=True), values, strict=True))


def _key(value: object) -> str:
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)
