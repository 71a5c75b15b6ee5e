"""Cells and pairs of a comparison as DataFrames with the columns of the published package, and some more.

``mean_diff`` is model_a minus model_b in units of the metric, so that a negative one is good news for model_a where
smaller is better; ``advantage`` is positive where model_a is better, whatever the metric.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

import pandas as pd

from gnz_track.kinds import Direction
from gnz_track.report.counted_rows import with_score
from gnz_track.report.summary import summarise
from gnz_track.stats.choices import Choices
from gnz_track.stats.comparison import Comparison, PairComparison
from gnz_track.stats.intervals import intervals_of
from gnz_track.stats.planned import compute_by
from gnz_track.stats.power import paired_t_power, seeds_needed_rows

__all__ = ["equivalence_frame", "pairwise_frame", "power_frame", "summary_frame"]

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
