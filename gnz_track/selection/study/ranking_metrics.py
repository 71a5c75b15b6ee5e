"""Quality of a ranking of settings, per graph: against the true scores of those settings that are known for it.

All take ``true [graphs, settings]``, higher is better and NaN where unknown, and ``predicted`` of the same shape, and
return one number per graph; NaN where fewer than two settings are known. Ties of predicted scores count against a
selector in ``mrr``, by half in ``auc``, and by their mean in ``ndcg`` and ``regret``.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

__all__ = ["RANKING_METRICS", "area_under_curve", "gain_at_one", "hit_rate", "reciprocal_rank", "regret"]

Real = NDArray[np.float64]
Metric = Callable[[Real, Real], Real]


def area_under_curve(true: Real, predicted: Real) -> Real:
    """Return the share of the other settings that are ranked below the truly best one, ties counting half."""

    def score(t: Real, p: Real) -> float:
        own = p[_place_of_best(t)]
        return float((np.sum(p < own) + 0.5 * (np.sum(p == own) - 1)) / (len(t) - 1))

    return _per_graph(score, true, predicted)


def reciprocal_rank(true: Real, predicted: Real) -> Real:
    """Return one over the rank of the truly best setting (MRR where averaged)."""
    return _per_graph(lambda t, p: 1.0 / float(np.sum(p >= p[_place_of_best(t)])), true, predicted)


def gain_at_one(true: Real, predicted: Real) -> Real:
    """Return the true score of the setting ranked first over that of the best one (NDCG@1 with linear gain).

    Scores below 0 have no such ratio: NaN.
    """

    def score(t: Real, p: Real) -> float:
        return float(t[p == p.max()].mean() / t.max()) if t.min() >= 0 and t.max() > 0 else float("nan")

    return _per_graph(score, true, predicted)


def regret(true: Real, predicted: Real) -> Real:
    """Return what is lost by taking the setting ranked first in place of the best one, in units of the score."""
    return _per_graph(lambda t, p: float(t.max() - t[p == p.max()].mean()), true, predicted)


def hit_rate(true: Real, predicted: Real, *, k: int) -> Real:
    """Return the share of the truly best settings among those ranked first; ties go by position.

    Parameters
    ----------
    true, predicted
        Scores [graphs, settings], NaN where unknown.
    k
        Settings that are looked at.
    """

    def score(t: Real, p: Real) -> float:
        most = min(k, len(t))
        best, first = (set(np.argsort(-x, kind="stable")[:most].tolist()) for x in (t, p))
        return len(best & first) / most

    return _per_graph(score, true, predicted)


def _place_of_best(true: Real) -> int:
    """Return the place of the best score; among those that tie, the one that published tables took."""
    return int(np.argpartition(true, -1)[-1])


def _per_graph(score: Callable[[Real, Real], float], true: Real, predicted: Real) -> Real:
    found = np.full(len(true), np.nan)
    for row, (t, p) in enumerate(zip(true, predicted, strict=True)):
        known = np.isfinite(t)
        if known.sum() > 1:
            found[row] = score(t[known], p[known])
    return found


# Name -> (function, whether more is better).
RANKING_METRICS: dict[str, tuple[Metric, bool]] = {
    "auc": (area_under_curve, True),
    "mrr": (reciprocal_rank, True),
    "ndcg@1": (gain_at_one, True),
    "hr@1": (lambda true, predicted: hit_rate(true, predicted, k=1), True),
    "hr@5": (lambda true, predicted: hit_rate(true, predicted, k=5), True),
    "hr@30": (lambda true, predicted: hit_rate(true, predicted, k=30), True),
    "regret": (regret, False),
}
