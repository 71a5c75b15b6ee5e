"""Scores of models on tasks become ranks: 1 is best, ties share the mean of their places."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from gnz_track.errors import BadValue, UnknownName
from gnz_track.stats.inputs import Floats, check_whole, read_direction, read_finite, read_scores
from gnz_track.types import Direction

__all__ = [
    "MISSING",
    "PrintedRanks",
    "RankTable",
    "check_printed_ranks",
    "order_models",
    "quantise_rows",
    "rank_rows",
    "rank_table",
]

# Digits, relative to the largest score of a row, in which two scores must differ to count as different.
DIGITS = 10
MOST_STEPS = 2.0**52


@dataclass(frozen=True, kw_only=True)
class RankTable:
    """Ranks of k models on N tasks, and what was left out to get them."""

    models: tuple[str, ...]
    tasks: tuple[str, ...]
    ranks: tuple[tuple[float, ...], ...]
    mean_ranks: tuple[float, ...]
    order: tuple[str, ...]
    n_models: int
    n_tasks: int
    missing: str
    n_missing: int
    dropped_models: tuple[str, ...]
    dropped_tasks: tuple[str, ...]
    quantum: str
    note: str = ""

    def __str__(self) -> str:
        listed = ", ".join(f"{name} {self.mean_ranks[self.models.index(name)]:.2f}" for name in self.order)
        note = f"; {self.note}" if self.note else ""
        tasks = "1 task" if self.n_tasks == 1 else f"{self.n_tasks} tasks"
        return f"mean ranks over {tasks}: {listed or 'none'}{note}"


@dataclass(frozen=True, kw_only=True)
class PrintedRanks:
    """Whether the ranks can be recomputed from scores printed with so many decimals."""

    decimals: int
    are_reproducible: bool
    decimals_needed: int | None
    tasks_that_differ: tuple[int, ...]

    def __str__(self) -> str:
        if self.are_reproducible:
            return f"the ranks follow from the scores printed with {self.decimals} decimals"
        needed = f"print {self.decimals_needed}" if self.decimals_needed is not None else "print the ranks"
        return (
            f"the ranks do not follow from scores printed with {self.decimals} decimals "
            f"({len(self.tasks_that_differ)} tasks differ): {needed}"
        )


def quantise_rows(scores: npt.ArrayLike, *, resolution: float | None = None) -> Floats:
    """Round away float noise, so that decimals that are equal on paper are ties.

    scores [N, k] -> [N, k]; M = the largest |score| of a row, x := round(x / M, 10) M. A ``resolution`` (such as
    1 / number of test items) rounds to its multiples instead. NaN stays.
    """
    array = read_scores("scores", scores, ndim=2)
    if resolution is not None:
        if not resolution > 0.0 or not np.isfinite(resolution):
            raise BadValue("resolution", resolution, "a finite number above 0, such as 1 / number of test items")
        with np.errstate(over="ignore", invalid="ignore"):
            steps = array / resolution
            # Of so many steps a float knows each, and there is nothing to round.
            return np.where(np.abs(steps) < MOST_STEPS, np.round(steps) * resolution, array)
    largest = np.max(np.abs(np.where(np.isnan(array), 0.0, array)), axis=1, keepdims=True, initial=0.0)
    scale = np.where(largest > 0.0, largest, 1.0)
    return np.round(array / scale, DIGITS) * scale


def rank_rows(
    scores: npt.ArrayLike, directions: Direction | str | Sequence[Direction | str], *, resolution: float | None = None
) -> Floats:
    """Return midranks [N, k] of the models within each task, after quantising its scores; rows sum to k (k + 1) / 2.

    Parameters
    ----------
    scores
        Scores [N, k].
    directions
        One direction for all tasks, or [N].
    resolution
        Step of the metric where it has one.
    """
    array = read_finite("scores", scores, ndim=2)
    return _midranks(quantise_rows(array, resolution=resolution) * _signs_of(directions, array.shape[0]))


def order_models(mean_ranks: Sequence[float], models: Sequence[str]) -> tuple[int, ...]:
    """Return the places of the models from best to worst; equal mean ranks are ordered by name."""
    return tuple(sorted(range(len(models)), key=lambda place: (round(mean_ranks[place], 12), models[place])))


def rank_table(
    scores: npt.ArrayLike,
    directions: Direction | str | Sequence[Direction | str],
    *,
    models: Sequence[str],
    tasks: Sequence[str],
    missing: str = "drop_task",
    resolution: float | None = None,
) -> RankTable:
    """Rank k models on N tasks.

    Parameters
    ----------
    scores
        Means over seeds [N, k], NaN where a cell is missing.
    directions
        One direction for all tasks, or [N].
    models, tasks
        Names [k] and [N].
    missing
        ``drop_task`` and ``drop_model`` leave out what is incomplete, ``worst_rank`` ranks a missing score last.
    resolution
        Step of the metric where it has one.
    """
    array = read_scores("scores", scores, ndim=2)
    if array.shape != (len(tasks), len(models)):
        raise BadValue("the shape of scores", array.shape, f"(tasks, models) = ({len(tasks)}, {len(models)})")
    if missing not in MISSING:
        raise UnknownName("policy for missing scores", missing, MISSING)
    rows, columns = MISSING[missing](np.isnan(array))
    signed = quantise_rows(array, resolution=resolution) * _signs_of(directions, array.shape[0])
    ranks = _midranks(np.where(np.isnan(signed), -np.inf, signed)[np.ix_(rows, columns)])
    kept = tuple(models[place] for place in columns)
    means = tuple(float(value) for value in ranks.mean(axis=0)) if rows.size else ()
    return RankTable(
        models=kept,
        tasks=tuple(tasks[place] for place in rows),
        ranks=tuple(tuple(float(value) for value in row) for row in ranks),
        mean_ranks=means,
        order=tuple(kept[place] for place in order_models(means, kept)) if means else (),
        n_models=len(kept),
        n_tasks=len(rows),
        missing=missing,
        n_missing=int(np.isnan(array).sum()),
        dropped_models=tuple(name for place, name in enumerate(models) if place not in columns),
        dropped_tasks=tuple(name for place, name in enumerate(tasks) if place not in rows),
        quantum=f"{resolution:g}" if resolution is not None else f"1e-{DIGITS} of the largest score of the task",
        note=_say_missing(missing, array, rows, columns),
    )


def check_printed_ranks(
    scores: npt.ArrayLike, directions: Direction | str | Sequence[Direction | str], *, decimals: int, most: int = 9
) -> PrintedRanks:
    """Tell whether printed scores give the same ranks, and how many decimals do.

    A published table must let its readers recompute its ranks.

    Parameters
    ----------
    scores
        Scores [N, k].
    directions
        One direction for all tasks, or [N].
    decimals
        Decimals that are printed.
    most
        Decimals beyond which none are tried.
    """
    array = read_finite("scores", scores, ndim=2)
    true = rank_rows(array, directions)

    def differing(digits: int) -> tuple[int, ...]:
        printed = rank_rows(np.round(array, digits), directions)
        return tuple(int(place) for place in np.flatnonzero((printed != true).any(axis=1)))

    found = differing(check_whole("decimals", decimals, least=0))
    enough = (digits for digits in range(decimals + 1, most + 1) if not differing(digits))
    return PrintedRanks(
        decimals=decimals,
        are_reproducible=not found,
        decimals_needed=decimals if not found else next(enough, None),
        tasks_that_differ=found,
    )


def _midranks(signed: Floats) -> Floats:
    """Rank each row, the largest value first; rows are few and short, so all pairs are compared at once."""
    better = (signed[:, None, :] > signed[:, :, None]).sum(axis=2)
    equal = (signed[:, None, :] == signed[:, :, None]).sum(axis=2)
    ranks: Floats = 1.0 + better + (equal - 1) / 2.0
    return ranks


def _signs_of(directions: Direction | str | Sequence[Direction | str], n_tasks: int) -> Floats:
    listed = [directions] * n_tasks if isinstance(directions, str) else list(directions)
    if len(listed) != n_tasks:
        raise BadValue("the number of directions", len(listed), f"one for each of {n_tasks} tasks")
    return np.array([1.0 if read_direction(item) is Direction.up else -1.0 for item in listed]).reshape(n_tasks, 1)


def _drop_tasks(missing: npt.NDArray[np.bool_]) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]:
    return np.flatnonzero(~missing.any(axis=1)), np.arange(missing.shape[1])


def _drop_models(missing: npt.NDArray[np.bool_]) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]:
    return np.arange(missing.shape[0]), np.flatnonzero(~missing.any(axis=0))


def _drop_nothing(missing: npt.NDArray[np.bool_]) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]:
    return np.arange(missing.shape[0]), np.arange(missing.shape[1])


MISSING: dict[str, Callable[[npt.NDArray[np.bool_]], tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]]] = {
    "drop_task": _drop_tasks,
    "drop_model": _drop_models,
    "worst_rank": _drop_nothing,
}


def _say_missing(policy: str, scores: Floats, rows: npt.NDArray[np.intp], columns: npt.NDArray[np.intp]) -> str:
    n_missing = int(np.isnan(scores).sum())
    if not n_missing:
        return ""
    n_tasks, n_models = scores.shape
    return (
        f"{n_missing} of {scores.size} scores are missing; {policy}: "
        f"{len(rows)} of {n_tasks} tasks and {len(columns)} of {n_models} models are ranked"
    )
