"""Mean scores of models on tasks, and which of them are ranked together: those that were planned on the same tasks.

Outcomes decide only where nothing came out.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from gnz_track.stats.comparison.cells import ModelCells, TaskCells
from gnz_track.stats.inputs import Floats
from gnz_track.types import Direction

__all__ = [
    "FEWEST_TASKS",
    "LeftOut",
    "Lost",
    "Means",
    "describe_design",
    "find_lost",
    "largest_block",
    "leave_out_lost",
    "means_of",
    "take",
    "take_design",
]


Places = npt.NDArray[np.intp]
# Fewer tasks in common than these test nothing.
FEWEST_TASKS = 2


@dataclass(frozen=True, kw_only=True, eq=False)
class LeftOut:
    """The places of tasks and models that stay, and of those that go: ``lost`` have no score, ``sparse`` few."""

    rows: Places
    columns: Places
    lost_rows: Places
    lost_columns: Places
    sparse_columns: Places


def find_lost(has_score: npt.NDArray[np.bool_]) -> LeftOut:
    """Find tasks that no model finished, models that finished no task, and those that leave no tasks in common.

    has_score [N, k]. The last are models with few tasks, and go only where fewer than two tasks have all models and
    without them two or more do: :func:`largest_block` then says which.
    """
    rows, columns = np.flatnonzero(has_score.any(axis=1)), np.flatnonzero(has_score.any(axis=0))
    lost = (np.flatnonzero(~has_score.any(axis=1)), np.flatnonzero(~has_score.any(axis=0)))
    left = has_score[np.ix_(rows, columns)]
    kept = np.arange(len(columns))
    if left.all(axis=1).sum() < FEWEST_TASKS:
        tasks, models = largest_block(left)
        kept = models if min(len(tasks), len(models)) >= FEWEST_TASKS else kept
    return LeftOut(
        rows=rows,
        columns=columns[kept],
        lost_rows=lost[0],
        lost_columns=lost[1],
        sparse_columns=np.delete(columns, kept),
    )


def largest_block(planned: npt.NDArray[np.bool_]) -> tuple[Places, Places]:
    """Return tasks and models of a large block in which every model was planned on every task.

    planned [N, k] -> places of tasks, places of models. Models join from the one with most tasks on; of the blocks on
    the way the one with most cells is taken, and of equal ones the one with more models. A block of one task or one
    model ranks nothing, and is taken only where there is no other. A model for graphs alone does not take the
    other tasks from the rest, then.
    """
    n_tasks, n_models = planned.shape
    # The sort is stable: of models with equally many tasks the first stays the first.
    order = np.argsort(-planned.sum(axis=0), kind="stable")
    best: tuple[bool, int, int] = (False, -1, -1)
    found = (np.arange(n_tasks), np.arange(n_models))
    for n in range(1, n_models + 1):
        columns = np.sort(order[:n])
        rows = np.flatnonzero(planned[:, columns].all(axis=1))
        size = (min(len(rows), n) >= 2, len(rows) * n, n)
        if size > best:
            best, found = size, (rows, columns)
    return found


@dataclass(frozen=True, kw_only=True)
class Lost:
    """Tasks and models that are not ranked because of what came out, and why, in words."""

    tasks: tuple[str, ...]
    models: tuple[str, ...]
    notes: tuple[str, ...]


@dataclass(frozen=True, kw_only=True, eq=False)
class Means:
    """Mean scores [tasks, models], NaN where there is none, and the same with larger is better."""

    tasks: tuple[str, ...]
    models: tuple[str, ...]
    directions: tuple[Direction, ...]
    scores: Floats
    signed: Floats


def means_of(layout: Sequence[TaskCells], *, needs_all: bool) -> Means:
    """Return the mean over the seeds of every cell; with ``needs_all``, of those that lack no seed."""
    scores = np.array([[_mean_score(model, needs_all=needs_all) for model in task.models] for task in layout])
    signs = np.array([1.0 if task.direction is Direction.up else -1.0 for task in layout])
    return Means(
        tasks=tuple(task.task for task in layout),
        models=tuple(model.label for model in layout[0].models),
        directions=tuple(task.direction for task in layout),
        scores=scores,
        signed=scores * signs[:, None],
    )


def _mean_score(model: ModelCells, *, needs_all: bool) -> float:
    if not model.cells or (needs_all and not model.is_complete):
        return float("nan")
    return float(np.mean([cell.score for cell in model.cells if cell.score is not None]))


def take_design(layout: Sequence[TaskCells], means: Means) -> tuple[Means, dict[str, str]]:
    """Leave out the models that were planned on few tasks; return the rest, and those with what they were planned on.

    A ranking needs all of its models on each of its tasks.
    """
    planned = np.array([[model.was_run for model in task.models] for task in layout], dtype=np.bool_)
    _, columns = largest_block(planned)
    counts = planned.sum(axis=0).tolist()
    unranked = {
        model: f"{counts[place]} of {len(layout)}" for place, model in enumerate(means.models) if place not in columns
    }
    return take(means, range(len(means.tasks)), columns.tolist()), unranked


def leave_out_lost(means: Means, *, drops_models: bool) -> tuple[Means, Lost]:
    """Leave out and name what has no score at all, so that one model or task does not take the ranking from the rest.

    Models stay where the policy for missing scores says what becomes of them.
    """
    found = find_lost(~np.isnan(means.scores))
    empty, few = ([means.models[place] for place in places] for places in (found.lost_columns, found.sparse_columns))
    tasks = tuple(means.tasks[place] for place in found.lost_rows)
    notes = [f"no model finished {', '.join(tasks)}"] if tasks and found.rows.size else []
    if not drops_models:
        return take(means, found.rows, range(len(means.models))), Lost(tasks=tasks, models=(), notes=tuple(notes))
    counts = (~np.isnan(means.scores)).sum(axis=0)
    told = ", ".join(f"{name} ({counts[means.models.index(name)]} of {len(means.tasks)} tasks)" for name in few)
    notes += [f"not ranked, because they finished no task: {', '.join(empty)}"] if empty and found.rows.size else []
    notes += [f"not ranked, because with them fewer than {FEWEST_TASKS} tasks have all models: {told}"] if few else []
    lost = Lost(tasks=tasks, models=(*empty, *few), notes=tuple(notes))
    return take(means, found.rows, found.columns), lost


def take(means: Means, rows: Iterable[int], columns: Iterable[int]) -> Means:
    """Return the means of some tasks and models.

    Parameters
    ----------
    means
        Means [tasks, models].
    rows, columns
        Places of the tasks and of the models.
    """
    rows, columns = list(rows), list(columns)
    return Means(
        tasks=tuple(means.tasks[row] for row in rows),
        models=tuple(means.models[column] for column in columns),
        directions=tuple(means.directions[row] for row in rows),
        scores=means.scores[np.ix_(rows, columns)],
        signed=means.signed[np.ix_(rows, columns)],
    )


def describe_design(unranked: Mapping[str, str]) -> list[str]:
    """Return a sentence on the models that were planned on too few tasks."""
    told = ", ".join(f"{model} ({tasks} tasks)" for model, tasks in unranked.items())
    return [f"not ranked, because planned on too few tasks: {told}"] if unranked else []
