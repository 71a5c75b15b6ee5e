"""Ranks of a comparison in the shapes of the published package, and mean ranks with weighted tasks."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from gnz_track.errors import BadValue, UnknownName
from gnz_track.stats.comparison import AcrossTasks, Comparison
from gnz_track.stats.stability import bootstrap_ranks

__all__ = ["describe_stability", "friedman_facts", "rank_frame", "weigh_ranks"]

QUANTILES = (0.025, 0.25, 0.5, 0.75, 0.975)
Weights = Mapping[str, float]


def rank_frame(across: AcrossTasks) -> pd.DataFrame:
    """Return ranks, a row per task and a column per model; 1 is best, and ties share the mean of their places."""
    ranks = across.ranks
    if ranks is None:
        return pd.DataFrame()
    return pd.DataFrame(list(ranks.ranks), index=pd.Index(ranks.tasks, name="task"), columns=list(ranks.models))


def friedman_facts(across: AcrossTasks) -> dict[str, Any]:
    """Return Friedman's test, corrected for ties, and Nemenyi's critical difference.

    ``n_for_observed_gap`` is the fewest tasks at which the critical difference is no larger than the largest gap.
    """
    test, groups = across.friedman, across.nemenyi
    cd, gap = (None, None) if groups is None else (groups.critical_difference, groups.largest_gap)
    n = 0 if test is None else test.n_tasks
    notes = [one.note for one in (test, across.ranks) if one is not None] + list(across.notes)
    return {
        "chi2": math.nan if test is None else _or_nan(test.chi2),
        "p_value": math.nan if test is None else _or_nan(test.p),
        "k": 0 if test is None else test.n_models,
        "n": n,
        "rejected": bool(test and test.rejects),
        "critical_difference": _or_nan(cd),
        "max_rank_gap": _or_nan(gap),
        "n_for_observed_gap": math.ceil(n * (cd / gap) ** 2) if cd is not None and gap else 0,
        "p_method": "" if test is None else test.p_method,
        "kendall_w": math.nan if test is None else _or_nan(test.kendall_w),
        "note": "; ".join(filter(None, notes)),
    }


def weigh_ranks(
    comparison: Comparison, *, aggregation: str = "uniform", weights: Weights | None = None, groups: Any = None
) -> pd.Series:
    """Return mean ranks, best first, with tasks weighted; only uniform ones may be held against a test of ranks.

    Parameters
    ----------
    comparison
        Comparison of the models.
    aggregation
        ``uniform``; ``reliability`` weighs a task by the inverse of the mean width of its intervals, ``hierarchical``
        gives all groups the same weight, ``custom`` takes weights.
    weights
        Task -> weight.
    groups
        Task -> group.
    """
    if aggregation not in AGGREGATIONS:
        raise UnknownName("aggregation", aggregation, AGGREGATIONS)
    table = rank_frame(comparison.across)
    if table.empty:
        return pd.Series(dtype=float)
    chosen = AGGREGATIONS[aggregation](comparison, list(table.index), {"weights": weights, "groups": groups})
    values = np.array([chosen.get(task, 0.0) for task in table.index], dtype=float)
    if not np.isfinite(values).all() or (values < 0).any() or not values.any():
        raise BadValue("weights of tasks", dict(chosen), "numbers from 0 on, not all of them 0")
    means = values @ table.to_numpy(dtype=float) / values.sum()
    return pd.Series(means, index=table.columns).sort_values(kind="stable")


def describe_stability(comparison: Comparison, *, n_boot: int = 10_000, seed: int = 0) -> dict[str, Any]:
    """Return how mean ranks and their order change with the tasks: drawn anew, and each left out once.

    Parameters
    ----------
    comparison
        Comparison of the models.
    n_boot
        Number of resamples of the tasks.
    seed
        Seed of the bootstrap.
    """
    across = comparison.across
    ranks = across.ranks
    if ranks is None or ranks.n_tasks < 2:
        return {"mean_ranks": pd.Series(dtype=float), "order_stability": math.nan}
    found = bootstrap_ranks(ranks.ranks, models=ranks.models, n_resamples=n_boot, base_seed=seed)
    array, n = np.array(ranks.ranks), ranks.n_tasks
    # The draws of the bootstrap above, by its own seed.
    drawn = np.random.default_rng(found.seed).multinomial(n, np.full(n, 1 / n), size=n_boot) @ array / n
    gaps = drawn.max(axis=1) - drawn.min(axis=1)
    observed = pd.Series(ranks.mean_ranks, index=list(ranks.models))
    cd = math.nan if across.nemenyi is None else _or_nan(across.nemenyi.critical_difference)
    return {
        "mean_ranks": observed.sort_values(kind="stable"),
        "order": list(ranks.order),
        "gap_observed": float(observed.max() - observed.min()),
        "critical_difference": cd,
        "gap_quantiles": {level: float(np.quantile(gaps, level)) for level in QUANTILES},
        "gap_exceeds_cd_frac": float((gaps > cd).mean()),
        "order_stability": _or_nan(found.share_same_order),
        "separation": _separation(ranks.models, observed, drawn, cd),
        "jackknife": _jackknife(ranks.models, ranks.tasks, array),
        "n_boot": n_boot,
    }


def _separation(models: Sequence[str], observed: pd.Series, drawn: Any, cd: float) -> pd.DataFrame:
    rows = [
        (first, second, abs(observed[first] - observed[second]), float((abs(drawn[:, i] - drawn[:, j]) > cd).mean()))
        for (i, first), (j, second) in itertools.combinations(enumerate(models), 2)
    ]
    return pd.DataFrame(rows, columns=["model_a", "model_b", "observed_gap", "separates_frac"])


def _jackknife(models: Sequence[str], tasks: Sequence[str], ranks: Any) -> pd.DataFrame:
    means = ranks.mean(axis=0)
    rows = [
        (task, model, float(value), float(value - before))
        for place, task in enumerate(tasks)
        for model, value, before in zip(models, np.delete(ranks, place, axis=0).mean(axis=0), means, strict=True)
    ]
    return pd.DataFrame(rows, columns=["dropped_task", "model", "mean_rank", "shift"])


def _weigh_alike(_: Comparison, tasks: Sequence[str], __: Mapping[str, Any]) -> Weights:
    return dict.fromkeys(tasks, 1.0)


def _weigh_as_told(_: Comparison, tasks: Sequence[str], given: Mapping[str, Any]) -> Weights:
    weights = given["weights"]
    if not isinstance(weights, Mapping):
        raise BadValue("weights", weights, "{task: weight} for aggregation='custom'")
    unknown = [name for name in weights if name not in tasks]
    if unknown:
        raise UnknownName("task with a weight", unknown[0], tasks)
    return weights


def _weigh_groups(_: Comparison, tasks: Sequence[str], given: Mapping[str, Any]) -> Weights:
    groups = given["groups"]
    if not isinstance(groups, Mapping):
        raise BadValue("groups", groups, "{task: group} for aggregation='hierarchical'")
    names = [groups.get(task, task) for task in tasks]
    return {task: 1.0 / names.count(name) for task, name in zip(tasks, names, strict=True)}


def _weigh_by_width(comparison: Comparison, tasks: Sequence[str], _: Mapping[str, Any]) -> Weights:
    ranked = comparison.across.ranks.models if comparison.across.ranks else ()
    found = {}
    for task in tasks:
        intervals = [cell.interval for cell in comparison[task].cells if cell.model in ranked]
        widths = [one.high - one.low for one in intervals if one.low is not None and one.high is not None]
        if len(widths) < len(ranked) or not sum(widths) > 0:
            allowed = "tasks on which every ranked model has an interval, not all of them of no width"
            raise BadValue("aggregation by reliability", task, allowed)
        found[task] = len(widths) / sum(widths)
    return found


AGGREGATIONS: dict[str, Callable[[Comparison, Sequence[str], Mapping[str, Any]], Weights]] = {
    "uniform": _weigh_alike,
    "reliability": _weigh_by_width,
    "hierarchical": _weigh_groups,
    "custom": _weigh_as_told,
}


def _or_nan(value: float | None) -> float:
    return math.nan if value is None else float(value)
