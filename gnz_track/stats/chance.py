"""Comparison of a model with its baseline, whoever has learnt nothing, seed by seed."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from gnz_track.stats.cells import ModelCells, TaskCells
from gnz_track.stats.choices import Choices, value_for
from gnz_track.stats.effects import mean_advantage
from gnz_track.stats.joins import join

__all__ = ["find_at_chance"]

BASELINE = "baseline"


def _baselines_of(model: ModelCells) -> dict[int, float | None]:
    """Return seed -> baseline, as far as the cells tell it."""
    return {cell.seed: _number(cell.facts.get(BASELINE, "")) for cell in model.cells}


def _is_at_chance(task: TaskCells, model: ModelCells, *, alpha: float, margin: float | None = None) -> bool | None:
    """Tell whether a model has not been shown to be better than its baseline; None where that is not known.

    So it is where the interval of its advantage over the baseline reaches down to 0, and moreover some seed is no
    better, or the mean is within the margin: with few seeds an interval alone is too wide to say that nothing was
    learnt. What is worse than the baseline has learnt nothing either.
    """
    baselines = _baselines_of(model)
    if len(model.cells) < 2 or any(value is None for value in baselines.values()):
        return None
    joined = join(model.scores, baselines, direction=task.direction)
    found = mean_advantage(joined, alpha=alpha)
    if found.mean is None or joined.n_pairs < 2:
        return None
    low = found.mean if found.low is None else found.low
    return low <= 0 and (min(joined.quantised) <= 0 or (margin is not None and found.mean < margin))


def find_at_chance(
    entrants: Iterable[tuple[TaskCells, Sequence[ModelCells]]], choices: Choices
) -> dict[str, frozenset[str]]:
    """Return the labels of the models that are at chance, by task."""
    found = {}
    for task, models in entrants:
        margin = value_for(choices.margin, task.task, task.metric)
        at_chance = (model for model in models if _is_at_chance(task, model, alpha=choices.alpha, margin=margin))
        found[task.task] = frozenset(model.label for model in at_chance)
    return found


def _number(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if math.isfinite(value) else None
