"""Testbeds of selectors: fitted anew on every fold, scored per graph, and compared over graphs.

The testbeds of GLEMOS (Park et al., 2023): folds drawn or numbered by somebody, scores hidden, small graphs to large
ones, one kind of problem to another. A fold holds everything: a selector is fitted anew on each, so that nothing of one
fold's test graphs can reach another.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.model_selection import StratifiedKFold

from gnz_track.errors import BadValue
from gnz_track.selection.selectors.catalogue import fit_selector
from gnz_track.selection.study.ranking_metrics import RANKING_METRICS
from gnz_track.stats.comparison.joins import join
from gnz_track.stats.estimates.effects import MeanAdvantage, mean_advantage
from gnz_track.stats.significance.multiple import adjust
from gnz_track.stats.significance.paired import sign_flip
from gnz_track.types import Direction

__all__ = [
    "Advantage",
    "ScoredGraphs",
    "SelectorFold",
    "SelectorScores",
    "compare_selectors",
    "cross_task",
    "fold_by_numbers",
    "fold_by_strata",
    "small_to_large",
    "try_selector",
    "try_selectors",
]


Real = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class ScoredGraphs:
    """Graphs with features ``[n, d]`` and scores ``[n, m]``, NaN where unknown, higher is better.

    ``seen`` is what of the scores may be learnt from, all of them where it is None.
    """

    features: Real
    scores: Real
    seen: Real | None = None

    def __post_init__(self) -> None:
        if self.features.ndim != 2 or self.scores.ndim != 2 or len(self.features) != len(self.scores):
            shapes = f"{self.features.shape} and {self.scores.shape}"
            raise BadValue("shapes of features and scores", shapes, "(graphs, features) and (graphs, settings)")
        if self.seen is not None and self.seen.shape != self.scores.shape:
            raise BadValue("shape of the scores seen", self.seen.shape, f"{self.scores.shape}, as all scores have")

    def take(self, rows: NDArray[np.int64]) -> ScoredGraphs:
        """Return some of the graphs."""
        return ScoredGraphs(self.features[rows], self.scores[rows], None if self.seen is None else self.seen[rows])

    def hide(self, share: float, *, seed: int = 1) -> ScoredGraphs:
        """Return the trial where a share of every row may not be learnt from; all of it is still scored on.

        A larger share hides what a smaller one does. The published masks have seed 1: the first ``ceil(share m)``
        entries of one permutation per row.
        """
        if not 0 <= share < 1:
            raise BadValue("the share of hidden scores", share, "from 0 up to but not 1")
        generator = np.random.RandomState(seed)
        seen = self.scores.copy()
        for row in seen:
            row[generator.permutation(len(row))[: int(np.ceil(share * len(row)))]] = np.nan
        return replace(self, seen=seen)


@dataclass(frozen=True, eq=False)
class SelectorFold:
    """Graphs that a selector learns from, and is scored on; ``rows`` says which graphs of the testbed these are."""

    train: ScoredGraphs
    test: ScoredGraphs
    rows: NDArray[np.int64]


def fold_by_strata(trial: ScoredGraphs, strata: ArrayLike, *, n_folds: int = 5, seed: int = 1) -> list[SelectorFold]:
    """Return folds in which each stratum (a domain, say) is spread evenly.

    Parameters
    ----------
    trial
        Graphs with their scores.
    strata
        Stratum of each graph [n].
    n_folds, seed
        Folds and seed of the draw; the published ones have 5 and 1.
    """
    strata = _one_per_graph("strata", strata, trial)
    # As many graphs of some stratum as there are folds, or none could be spread.
    _check_folds(n_folds, max(np.unique(strata, return_counts=True)[1]), "graphs of the largest stratum")
    splitter = StratifiedKFold(n_folds, shuffle=True, random_state=seed)
    pairs = splitter.split(np.zeros(len(trial.scores)), strata)
    return [_make_fold(trial, test) for _, test in pairs]


def fold_by_numbers(trial: ScoredGraphs, numbers: ArrayLike) -> list[SelectorFold]:
    """Return folds as somebody numbered them: graph ``i`` is tested in fold ``numbers[i]``."""
    numbers = _one_per_graph("numbers of folds", numbers, trial)
    _check_folds(2, len(np.unique(numbers)), "folds")
    return [_make_fold(trial, np.flatnonzero(numbers == number)) for number in np.unique(numbers)]


def small_to_large(trial: ScoredGraphs, n_nodes: ArrayLike, *, limit: int = 10_000) -> list[SelectorFold]:
    """Return one fold: learn from small graphs, be scored on large ones.

    Parameters
    ----------
    trial
        Graphs with their scores.
    n_nodes
        Nodes of each graph [n].
    limit
        Nodes from which on a graph is large.
    """
    is_large = _one_per_graph("numbers of nodes", n_nodes, trial) >= limit
    if is_large.all() or not is_large.any():
        raise BadValue("the limit of nodes", limit, "a number with graphs on both sides of it")
    return [_make_fold(trial, np.flatnonzero(is_large))]


def cross_task(source: ScoredGraphs, target: ScoredGraphs) -> list[SelectorFold]:
    """Return one fold: learn from the scores of one kind of problem, be scored on another; settings in one order.

    Features are scaled within each kind of problem.
    """
    if source.scores.shape[1] != target.scores.shape[1]:
        counts = f"{source.scores.shape[1]} and {target.scores.shape[1]}"
        raise BadValue("numbers of settings", counts, "the same settings, in the same order")
    own = ScoredGraphs(scale_to_unit(source.features), source.scores)
    other = ScoredGraphs(scale_to_unit(target.features), target.scores)
    return [SelectorFold(own, other, np.arange(len(other.scores)))]


def scale_to_unit(features: Real) -> Real:
    """Return features with every column from 0 to 1; constants become 0."""
    features = np.nan_to_num(features)
    low, span = features.min(axis=0), np.ptp(features, axis=0)
    return np.asarray((features - low) / np.where(span > 0, span, 1))


def _one_per_graph(what: str, given: ArrayLike, trial: ScoredGraphs) -> NDArray[Any]:
    found = np.asarray(given)
    if found.shape != (len(trial.scores),):
        raise BadValue(f"shape of the {what}", found.shape, f"({len(trial.scores)},), one for each graph")
    return found


def _check_folds(n_folds: int, most: int, of_what: str) -> None:
    if not 2 <= n_folds <= most:
        raise BadValue("number of folds", n_folds, f"from 2 to the number of {of_what}, which is {most}")


def _make_fold(trial: ScoredGraphs, test: NDArray[np.int64]) -> SelectorFold:
    is_test = np.zeros(len(trial.scores), dtype=bool)
    is_test[test] = True
    learnt = trial.scores if trial.seen is None else trial.seen
    train = ScoredGraphs(trial.features[~is_test], learnt[~is_test])
    return SelectorFold(train, ScoredGraphs(trial.features[is_test], trial.scores[is_test]), np.flatnonzero(is_test))


@dataclass(frozen=True, kw_only=True, eq=False)
class SelectorScores:
    """Scores of a selector on the test graphs of all folds: name of a metric -> one number per graph ``[graphs]``.

    ``rows`` says which graphs of the testbed these are, in the same order.
    """

    selector: str
    scores: Mapping[str, Real]
    rows: NDArray[np.int64]
    seconds: float

    def mean(self, metric: str) -> float:
        """Return the mean over graphs, nan where none has a score."""
        found = self._of(metric)
        return float(np.nanmean(found)) if np.isfinite(found).any() else float("nan")

    def standard_error(self, metric: str) -> float:
        """Return the standard error of that mean."""
        found = self._of(metric)
        n = int(np.isfinite(found).sum())
        return float(np.nanstd(found, ddof=1) / np.sqrt(n)) if n > 1 else float("nan")

    def _of(self, metric: str) -> Real:
        if metric not in self.scores:
            raise BadValue("metric of a ranking", metric, ", ".join(self.scores))
        return self.scores[metric]


@dataclass(frozen=True, kw_only=True)
class Advantage:
    """Advantage of one selector over another on the same graphs; p is adjusted for the family."""

    selector: str
    other: str
    metric: str
    advantage: MeanAdvantage
    p: float | None
    p_adjusted: float | None


def try_selector(
    name: str, folds: Sequence[SelectorFold], *, seed: int = 1337, bounds: tuple[Real, Real] | None = None
) -> SelectorScores:
    """Fit a selector anew on each fold and score what it predicts for the fold's test graphs.

    Parameters
    ----------
    name
        Name of the selector.
    folds
        Folds of a testbed.
    seed
        Seed of each fit.
    bounds
        Lowest and highest value of each feature over more graphs than those learnt from, as published figures have it.
    """
    if not folds:
        raise BadValue("number of folds", 0, "at least one")
    started = time.perf_counter()
    found: dict[str, list[Real]] = {metric: [] for metric in RANKING_METRICS}
    for fold in folds:
        fitted = fit_selector(name, fold.train.features, fold.train.scores, seed=seed, bounds=bounds)
        predicted = fitted.predict(fold.test.features)
        for metric, (score, _) in RANKING_METRICS.items():
            found[metric].append(score(fold.test.scores, predicted))
    scores = {metric: np.concatenate(values) for metric, values in found.items()}
    rows = np.concatenate([fold.rows for fold in folds])
    return SelectorScores(selector=name, scores=scores, rows=rows, seconds=time.perf_counter() - started)


def try_selectors(names: Sequence[str], folds: Sequence[SelectorFold], *, seed: int = 1337) -> list[SelectorScores]:
    """Return :func:`try_selector` of several on the same folds.

    Parameters
    ----------
    names
        Names of selectors.
    folds, seed
        As in :func:`try_selector`.
    """
    if isinstance(names, str) or len(set(names)) < len(names):
        raise BadValue("names of selectors", names, "a list of names, each once")
    return [try_selector(name, folds, seed=seed) for name in names]


def compare_selectors(outcomes: Sequence[SelectorScores], against: str, *, metric: str = "mrr") -> list[Advantage]:
    """Compare one selector with each other one, paired over graphs: sign-flip tests, adjusted by Holm.

    Parameters
    ----------
    outcomes
        Scores of the selectors on the same folds.
    against
        Name of the one that all others are compared with.
    metric
        Metric of a ranking.
    """
    if metric not in RANKING_METRICS:
        raise BadValue("metric of a ranking", metric, ", ".join(RANKING_METRICS))
    by_name = {outcome.selector: outcome for outcome in outcomes}
    if len(by_name) < max(len(outcomes), 2):
        raise BadValue("selectors to compare", [one.selector for one in outcomes], "two or more, each once")
    if against not in by_name:
        raise BadValue("the selector to compare with", against, ", ".join(by_name))
    direction = Direction.up if RANKING_METRICS[metric][1] else Direction.down
    first = _scores_by_graph(by_name[against], metric)
    pairs = [
        join(first, _scores_by_graph(other, metric), direction=direction)
        for name, other in by_name.items()
        if name != against
    ]
    p = [sign_flip(pair, n_resamples=9_999).p for pair in pairs]
    adjusted = adjust(p, method="holm").p_adjusted
    others = [name for name in by_name if name != against]
    return [
        Advantage(
            selector=against,
            other=other,
            metric=metric,
            advantage=mean_advantage(pair),
            p=p_value,
            p_adjusted=p_adjusted,
        )
        for other, pair, p_value, p_adjusted in zip(others, pairs, p, adjusted, strict=True)
    ]


def _scores_by_graph(outcome: SelectorScores, metric: str) -> dict[int, float]:
    pairs = zip(outcome.rows.tolist(), outcome.scores[metric].tolist(), strict=True)
    return {row: score for row, score in pairs if np.isfinite(score)}
