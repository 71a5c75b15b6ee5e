"""Selectors that do not look at the graph: a random order, and what is best over all past graphs."""

from __future__ import annotations

import numpy as np
from scipy.stats import rankdata

from gnz_track.selection.selectors.lessons import Arrays, Real, Selector, TrainingSet, column_means

__all__ = ["ROWS"]

# The stream of the published random orders, started anew for every fold.
RANDOM_SEED = 127


def _fit_random(data: TrainingSet) -> Arrays:
    return {"n_settings": np.array(data.scores.shape[1])}


def _predict_random(arrays: Arrays, features: Real) -> Real:
    generator = np.random.RandomState(RANDOM_SEED)
    n = int(arrays["n_settings"])
    return np.stack([generator.permutation(n) for _ in features]).astype(np.float64)


def _fit_best_score(data: TrainingSet) -> Arrays:
    return {"means": column_means(data.scores)}


def _fit_best_rank(data: TrainingSet) -> Arrays:
    known = np.isfinite(data.scores)
    ranks = np.full(data.scores.shape, np.nan)
    for row, mask in enumerate(known):
        ranks[row, mask] = rankdata(data.scores[row, mask]) / max(int(mask.sum()), 1)
    return {"means": column_means(ranks)}


def _predict_means(arrays: Arrays, features: Real) -> Real:
    return np.tile(arrays["means"], (len(features), 1))


ROWS = (
    Selector(
        name="random", fit=_fit_random, predict=_predict_random, description="a random order, another for each graph"
    ),
    Selector(
        name="global_best_score",
        fit=_fit_best_score,
        predict=_predict_means,
        description="the mean score over past graphs",
        predicts_scores=True,
    ),
    Selector(
        name="global_best_rank",
        fit=_fit_best_rank,
        predict=_predict_means,
        description="the mean rank over past graphs",
    ),
)
