"""Ranks, pairs and power of a comparison as data frames with the columns of the published package, and some more.

``mean_diff`` is model_a minus model_b in units of the metric, so that a negative one is good news for model_a where
smaller is better; ``advantage`` is positive where model_a is better, whatever the metric.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from gnz_track.errors import BadValue, UnknownName
from gnz_track.report.sources import with_score
from gnz_track.report.tables.summary import summarise
from gnz_track.stats.comparison.choices import Choices, choose
from gnz_track.stats.comparison.comparison import AcrossTasks, Comparison, PairComparison
from gnz_track.stats.comparison.task_pairs import compute_by
from gnz_track.stats.design.power import paired_t_power, seeds_needed_rows
from gnz_track.stats.estimates.intervals import intervals_of
from gnz_track.stats.ranking.stability import bootstrap_ranks
from gnz_track.types import Direction

__all__ = [
    "ChoiceName",
    "describe_stability",
    "equivalence_frame",
    "friedman_facts",
    "level_of",
    "pairwise_frame",
    "power_frame",
    "rank_frame",
    "summary_frame",
    "translate",
    "weigh_ranks",
]


# Field of the choices -> published words for its values.
PUBLISHED = {"interval": {"bootstrap": "percentile"}}


class ChoiceName:
    """A choice of the report under its published name; reading and setting it reads and sets ``report.choices``."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._words = {ours: word for word, ours in PUBLISHED.get(name, {}).items()}

    def __get__(self, report: Any, owner: type | None = None) -> Any:
        if report is None:
            return self
        value = getattr(report.choices, self._name)
        return self._words.get(value, value)

    def __set__(self, report: Any, value: Any) -> None:
        report.choices = choose(report.choices, translate({self._name: value}))


def translate(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return choices in the words of :class:`Choices`; those that are None are left out."""
    return {
        name: PUBLISHED.get(name, {}).get(value, value) if isinstance(value, str) else value
        for name, value in given.items()
        if value is not None
    }


def level_of(ci: float) -> float:
    """Return alpha of an interval of level ``ci``, without the noise of the subtraction."""
    return round(1 - ci, 12)


SUMMARY = ("metric", "n_seeds", "n_failed", "n_missing", "mean", "std", "sem", "ci_low", "ci_high")
PAIR = ("task", "model_a", "model_b", "mean_diff")
PAIRWISE = (
    *PAIR,
    "sigma_d",
    "cohens_dz",
    "p_raw",
    "p_holm",
    "significant",
    "n_seeds",
    "advantage",
    "ci_low",
    "ci_high",
    "verdict",
    "note",
)
POWER = (*PAIR, "sigma_d", "n_seeds", "mde", "mde_alone", "observed_power", "detectable")
EQUIVALENCE = (*PAIR, "margin", "p_tost_raw", "p_tost_holm", "p_difference_holm", "verdict")


def summary_frame(rows: pd.DataFrame, choices: Choices) -> pd.DataFrame:
    """Return a row per (task, model) of counted rows, in their order: seeds, mean, deviation, error, interval."""
    n_planned = rows.groupby("task")["seed"].nunique()
    failures = Counter(zip(*(rows.loc[rows["status"] == "failed", name] for name in ("task", "label")), strict=True))
    groups = summarise(rows.assign(model=rows["label"]))
    scores: dict[tuple[str, str], list[float]] = {}
    for row in with_score(rows).itertuples():
        scores.setdefault((row.task, row.label), []).append(float(row.score))
    intervals = intervals_of(
        [scores.get((row.task, row.model), []) for row in groups],
        method=choices.interval,
        alpha=choices.alpha,
        n_resamples=choices.n_resamples,
        seed=choices.seed,
    )
    found = []
    for row, interval in zip(groups, intervals, strict=True):
        n_failed = failures[row.task, row.model]
        n_missing = int(n_planned[row.task]) - interval.n - n_failed
        moments = (interval.mean, interval.sd, interval.sem, interval.low, interval.high)
        found.append((row.task, row.model, row.metric, interval.n, n_failed, n_missing, *map(_or_nan, moments)))
    return pd.DataFrame(found, columns=["task", "model", *SUMMARY]).set_index(["task", "model"])


def pairwise_frame(comparison: Comparison) -> pd.DataFrame:
    """Return a row per pair of models within a task: difference, effect size, raw and adjusted p, verdict."""
    return _frame(PAIRWISE, comparison, _pairwise)


def power_frame(comparison: Comparison, targets: Sequence[float]) -> pd.DataFrame:
    """Return what the design of each pair can detect, exact and at the level that its family of tests leaves it.

    ``mde`` is at alpha / m, ``mde_alone`` at alpha, ``seeds_for_x`` how many seeds an advantage of x needs at alpha /
    m. ``observed_power`` is a function of the p-value and no evidence of anything.
    """
    found = _frame(POWER, comparison, _power)
    pairs = comparison.pairs
    for target in targets:
        sizes = [target / sd if (sd := pair.effects.mean.sd) else math.nan for pair in pairs]
        levels = [(pair.design.alpha / pair.design.m, pair.design.power) for pair in pairs]
        seeds = compute_by(levels, sizes, lambda part, level: seeds_needed_rows(part, alpha=level[0], power=level[1]))
        found[f"seeds_for_{target:g}"] = pd.array(seeds, dtype="Int64")
    return found


def equivalence_frame(comparison: Comparison) -> pd.DataFrame:
    """Return the two one-sided tests of each pair for which a margin was chosen, and its verdict."""
    return _frame(EQUIVALENCE, comparison, _equivalence)


def _frame(columns: Sequence[str], comparison: Comparison, write: Any) -> pd.DataFrame:
    rows: Iterable[tuple[Any, ...]] = (
        (pair.task, pair.first, pair.second, *write(pair, 1.0 if task.direction is Direction.up else -1.0))
        for task in comparison.tasks
        for pair in task.pairs
    )
    return pd.DataFrame(rows, columns=list(columns))


def _pairwise(pair: PairComparison, sign: float) -> tuple[Any, ...]:
    mean, size = pair.effects.mean, pair.effects.standardised
    return (
        _signed(mean.mean, sign),
        _or_nan(mean.sd),
        _signed(size.d_z, sign),
        _or_nan(pair.p),
        _or_nan(pair.p_adjusted),
        pair.is_rejected and pair.can_reject,
        pair.n_pairs,
        *map(_or_nan, (mean.mean, mean.low, mean.high)),
        str(pair.verdict),
        "; ".join(pair.remarks),
    )


def _power(pair: PairComparison, sign: float) -> tuple[Any, ...]:
    mean, design = pair.effects.mean, pair.design
    d_z, mde = pair.effects.standardised.d_z, design.advantage_in_family
    power = None if d_z is None else paired_t_power(d_z, pair.n_pairs, alpha=design.alpha / design.m)
    return (
        _signed(mean.mean, sign),
        _or_nan(mean.sd),
        pair.n_pairs,
        _or_nan(mde),
        _or_nan(design.advantage),
        _or_nan(power),
        mde is not None and mean.mean is not None and abs(mean.mean) >= mde,
    )


def _equivalence(pair: PairComparison, sign: float) -> tuple[Any, ...]:
    found = pair.equivalence
    return (
        _signed(pair.effects.mean.mean, sign),
        math.nan if found is None else found.margin,
        math.nan if found is None else _or_nan(found.p),
        _or_nan(pair.equivalence_adjusted),
        _or_nan(pair.p_adjusted),
        str(pair.verdict),
    )


def _or_nan(value: float | None) -> float:
    return math.nan if value is None else float(value)


def _signed(value: float | None, sign: float) -> float:
    # A zero has no sign.
    return math.nan if value is None else 0.0 + sign * value


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
