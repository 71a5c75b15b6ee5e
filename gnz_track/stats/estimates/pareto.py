"""Models that cost less for what they score: mean costs of cells, and the front that no other model dominates."""

from __future__ import annotations

import math
from collections.abc import Sequence

from gnz_track.errors import BadValue
from gnz_track.stats.comparison.cells import ScoreFrame
from gnz_track.stats.comparison.comparison import Comparison
from gnz_track.stats.inputs import read_direction, read_number
from gnz_track.types import Direction

__all__ = ["costs_by_seed", "mean_costs", "pareto_front"]


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
