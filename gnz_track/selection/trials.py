"""Selectors on a testbed: fitted anew on every fold, scored per graph, and compared over graphs."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gnz_track.errors import BadValue
from gnz_track.kinds import Direction
from gnz_track.selection.ranking_metrics import RANKING_METRICS
from gnz_track.selection.selectors.catalogue import fit_selector
from gnz_track.selection.testbeds import SelectorFold
from gnz_track.stats.effects import MeanAdvantage, mean_advantage
from gnz_track.stats.joins import join
from gnz_track.stats.multiple import adjust
from gnz_track.stats.sign_flip import sign_flip

__all__ = ["Advantage", "SelectorScores", "compare_selectors", "try_selector", "try_selectors"]

Real = NDArray[np.float64]


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
