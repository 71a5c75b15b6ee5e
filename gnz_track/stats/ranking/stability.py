"""Stability of the order of the models under other tasks: one task left out, or tasks drawn again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from gnz_track.errors import BadValue
from gnz_track.seeds import derive
from gnz_track.stats.inputs import Floats, check_level, check_whole, read_finite
from gnz_track.stats.ranking.ranks import order_models

__all__ = ["ModelStability", "RankBootstrap", "RankJackknife", "bootstrap_ranks", "leave_one_task_out"]


@dataclass(frozen=True, kw_only=True)
class ModelStability:
    """Range of the mean rank and the place of one model."""

    model: str
    mean_rank: float
    lowest_rank: float | None
    highest_rank: float | None
    best_place: int | None
    worst_place: int | None
    share_best: float | None

    def __str__(self) -> str:
        if self.lowest_rank is None or self.highest_rank is None:
            return f"{self.model}: mean rank {self.mean_rank:.2f}"
        return (
            f"{self.model}: mean rank {self.mean_rank:.2f} ({self.lowest_rank:.2f} to {self.highest_rank:.2f}), "
            f"place {self.best_place} to {self.worst_place}"
        )


@dataclass(frozen=True, kw_only=True)
class RankJackknife:
    """The order of the models with each task left out once; ``share_same_order`` counts tasks that change nothing."""

    n_tasks: int
    models: tuple[ModelStability, ...]
    order: tuple[str, ...]
    share_same_order: float | None
    tasks_that_change_the_order: tuple[str, ...]
    tasks_that_change_the_best: tuple[str, ...]
    note: str = ""

    def __str__(self) -> str:
        if self.share_same_order is None:
            return f"leave one task out: {self.note}"
        changed = ", ".join(self.tasks_that_change_the_best) or "no task"
        return f"leave one task out: order kept in {self.share_same_order:.0%} of cases; {changed} changes the best"


@dataclass(frozen=True, kw_only=True)
class RankBootstrap:
    """Mean ranks over tasks drawn with replacement; intervals are percentile intervals at ``level``."""

    n_tasks: int
    level: float
    n_resamples: int
    base_seed: int
    seed: int
    models: tuple[ModelStability, ...]
    order: tuple[str, ...]
    share_same_order: float | None
    note: str = ""

    def __str__(self) -> str:
        if self.share_same_order is None:
            return f"bootstrap over tasks: {self.note}"
        return f"bootstrap over {self.n_tasks} tasks: order kept in {self.share_same_order:.0%} of {self.n_resamples}"


def leave_one_task_out(ranks: npt.ArrayLike, *, models: Sequence[str], tasks: Sequence[str]) -> RankJackknife:
    """Recompute mean ranks N times, each time without one task.

    Parameters
    ----------
    ranks
        Ranks [N, k].
    models, tasks
        Names [k] and [N].
    """
    array = _read_ranks(ranks, models, tasks)
    n_tasks = len(tasks)
    order = _order_by_mean(array, models)
    if n_tasks < 2:
        return RankJackknife(
            n_tasks=n_tasks,
            models=_without_spread(array, models),
            order=tuple(models[place] for place in order),
            share_same_order=None,
            tasks_that_change_the_order=(),
            tasks_that_change_the_best=(),
            note="fewer than two tasks: none can be left out",
        )
    means = (array.sum(axis=0, keepdims=True) - array) / (n_tasks - 1)
    orders = [order_models(row.tolist(), models) for row in means]
    return RankJackknife(
        n_tasks=n_tasks,
        models=_spread_of_models(array, means, orders, models, level=None),
        order=tuple(models[place] for place in order),
        share_same_order=sum(found == order for found in orders) / n_tasks,
        tasks_that_change_the_order=tuple(task for task, found in zip(tasks, orders, strict=True) if found != order),
        tasks_that_change_the_best=tuple(
            task for task, found in zip(tasks, orders, strict=True) if found[:1] != order[:1]
        ),
    )


def bootstrap_ranks(
    ranks: npt.ArrayLike,
    *,
    models: Sequence[str],
    level: float = 0.95,
    n_resamples: int = 2_000,
    base_seed: int = 0,
) -> RankBootstrap:
    """Draw the N rows of ranks with replacement, and look at mean ranks and order.

    Parameters
    ----------
    ranks
        Ranks [N, k].
    models
        Names [k].
    level
        Level of the intervals.
    n_resamples, base_seed
        Draws, and the seed that they derive from.
    """
    array = _read_ranks(ranks, models, None)
    check_level("level", level)
    n_tasks, n_resamples = array.shape[0], check_whole("n_resamples", n_resamples, least=1)
    seed = derive(base_seed, "bootstrap of ranks over tasks", n_tasks, *models)
    order = _order_by_mean(array, models)
    common = {
        "n_tasks": n_tasks,
        "level": level,
        "n_resamples": n_resamples,
        "base_seed": base_seed,
        "seed": seed,
        "order": tuple(models[place] for place in order),
    }
    if n_tasks < 2:
        spread = _without_spread(array, models)
        return RankBootstrap(
            **common, models=spread, share_same_order=None, note="fewer than two tasks: nothing to draw from"
        )
    # How often each task is drawn says all; the mean ranks follow by one product.
    weights = np.random.default_rng(seed).multinomial(n_tasks, np.full(n_tasks, 1 / n_tasks), size=n_resamples)
    means = weights @ array / n_tasks
    orders = [order_models(row, models) for row in means.tolist()]
    note = "percentile intervals over few tasks are too narrow" if n_tasks < 20 else ""
    return RankBootstrap(
        **common,
        models=_spread_of_models(array, means, orders, models, level=level),
        share_same_order=sum(found == order for found in orders) / n_resamples,
        note=note,
    )


def _spread_of_models(
    ranks: Floats, means: Floats, orders: list[tuple[int, ...]], models: Sequence[str], *, level: float | None
) -> tuple[ModelStability, ...]:
    tail = 0.0 if level is None else (1.0 - level) / 2.0
    low, high = np.quantile(means, [tail, 1.0 - tail], axis=0)
    places = np.argsort(np.array(orders), axis=1) + 1
    first, last = np.quantile(places, [tail, 1.0 - tail], axis=0, method="nearest")
    is_best = means <= means.min(axis=1, keepdims=True) + 1e-12
    share = (is_best / is_best.sum(axis=1, keepdims=True)).mean(axis=0)
    return tuple(
        ModelStability(
            model=name,
            mean_rank=float(ranks[:, place].mean()),
            lowest_rank=float(low[place]),
            highest_rank=float(high[place]),
            best_place=int(first[place]),
            worst_place=int(last[place]),
            share_best=float(share[place]),
        )
        for place, name in enumerate(models)
    )


def _without_spread(ranks: Floats, models: Sequence[str]) -> tuple[ModelStability, ...]:
    return tuple(
        ModelStability(
            model=name,
            mean_rank=float(column.mean()),
            lowest_rank=None,
            highest_rank=None,
            best_place=None,
            worst_place=None,
            share_best=None,
        )
        for name, column in zip(models, ranks.T, strict=True)
    )


def _order_by_mean(ranks: Floats, models: Sequence[str]) -> tuple[int, ...]:
    return order_models(ranks.mean(axis=0).tolist(), models)


def _read_ranks(ranks: npt.ArrayLike, models: Sequence[str], tasks: Sequence[str] | None) -> Floats:
    array = read_finite("ranks", ranks, ndim=2)
    n_tasks = array.shape[0] if tasks is None else len(tasks)
    if array.shape != (n_tasks, len(models)) or not n_tasks:
        raise BadValue("the shape of ranks", array.shape, f"(tasks, models) with {len(models)} models, 1 task or more")
    return array
