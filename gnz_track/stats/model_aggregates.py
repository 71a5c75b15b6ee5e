"""Scores of all tasks on one declared scale, taken together model by model, and what made scores vary on a task."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from gnz_track.errors import BadValue
from gnz_track.stats.aggregate import (
    Aggregate,
    Resampling,
    improve_probability,
    interquartile_mean,
    normalise,
    optimality_gap,
    performance_profile,
)
from gnz_track.stats.cells import FACTORS, TaskCells
from gnz_track.stats.choices import Choices, value_for
from gnz_track.stats.comparison import ModelAggregates
from gnz_track.stats.inputs import Floats
from gnz_track.stats.variance import Decomposition, decompose_variance

__all__ = ["aggregate_models", "decompose_task"]

THRESHOLDS = tuple(round(0.05 * step, 2) for step in range(21))
N_RESAMPLES = 2_000


def aggregate_models(
    layout: Sequence[TaskCells], tasks: Sequence[str], order: Sequence[str], choices: Choices
) -> tuple[ModelAggregates, ...]:
    """Return the aggregates of models over those tasks on which all of them have scores; none without declared bounds.

    Parameters
    ----------
    layout
        Cells by task.
    tasks
        Tasks that may count.
    order
        Labels of the models, the best one first.
    choices
        Bounds, level and resamples.
    """
    if choices.bounds is None or not tasks or not order:
        return ()
    unknown = [task.task for task in layout if value_for(choices.bounds, task.task, task.metric) is None]
    if unknown:
        raise BadValue("bounds", dict(_items(choices)), f"(worst, best) also for {', '.join(unknown)}")
    # A model that is ranked last for lack of a score has none to aggregate.
    chosen = [
        task
        for task in layout
        if task.task in set(tasks) and all(model.cells for model in task.models if model.label in order)
    ]
    strata = {name: [_normalised(task, name, choices) for task in chosen] for name in order}
    how = Resampling(
        n_resamples=min(choices.n_resamples, N_RESAMPLES), base_seed=choices.seed, level=1.0 - choices.alpha
    )
    return tuple(
        ModelAggregates(
            model=name,
            n_tasks=len(chosen),
            interquartile_mean=interquartile_mean(strata[name], resampling=how),
            optimality_gap=optimality_gap(strata[name], resampling=how),
            profile=performance_profile(strata[name], THRESHOLDS, resampling=how),
            improvement_by_first=_improvement(strata[order[0]], strata[name], how) if name != order[0] else None,
        )
        for name in order
    )


def decompose_task(task: TaskCells) -> Decomposition:
    """Split the variance of the scores of a task among models, seeds and what else the table tells of its runs."""
    cells = [cell for model in task.models for cell in model.cells]
    ids: dict[str, list[object]] = {"model": [cell.label for cell in cells], "seed": [cell.seed for cell in cells]}
    told = [name for name in FACTORS if all(name in cell.facts for cell in cells)]
    for name in told:
        ids[name] = [cell.facts[name] for cell in cells]
    if told:
        # A seed is then no more than the name of a run.
        del ids["seed"]
    return decompose_variance([cell.score for cell in cells if cell.score is not None], ids)


def _improvement(first: Sequence[Floats], other: Sequence[Floats], how: Resampling) -> Aggregate:
    return improve_probability(first, other, resampling=how)


def _normalised(task: TaskCells, name: str, choices: Choices) -> Floats:
    worst, best = value_for(choices.bounds, task.task, task.metric)
    model = next(model for model in task.models if model.label == name)
    return normalise(np.array([cell.score for cell in model.cells], dtype=np.float64), worst=worst, best=best)


def _items(choices: Choices) -> Sequence[tuple[str, object]]:
    return tuple(choices.bounds.items()) if isinstance(choices.bounds, dict) else ()
