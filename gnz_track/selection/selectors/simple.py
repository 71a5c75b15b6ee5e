"""Selectors without any training: a random order, the best over all past graphs, and over similar ones.

The cluster of a graph is ISAC's, its nearest neighbour ARGOSMART's.
"""

from __future__ import annotations

import numpy as np
from scipy.stats import rankdata
from sklearn.cluster import KMeans

from gnz_track.selection.selectors.training_set import Arrays, Real, Selector, TrainingSet, column_means, fill_rows

__all__ = ["ARGOSMART", "GLOBAL_BEST_RANK", "GLOBAL_BEST_SCORE", "ISAC", "RANDOM"]


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


RANDOM = Selector(
    name="random", fit=_fit_random, predict=_predict_random, description="a random order, another for each graph"
)
GLOBAL_BEST_SCORE = Selector(
    name="global_best_score",
    fit=_fit_best_score,
    predict=_predict_means,
    description="the mean score over past graphs",
    predicts_scores=True,
)
GLOBAL_BEST_RANK = Selector(
    name="global_best_rank",
    fit=_fit_best_rank,
    predict=_predict_means,
    description="the mean rank over past graphs",
)


N_CLUSTERS = 5


def _fit_isac(data: TrainingSet) -> Arrays:
    """Mean scores by cluster of features (Kadioglu et al., 2010)."""
    n_clusters = min(N_CLUSTERS, len(np.unique(data.features, axis=0)))
    clusters = KMeans(n_clusters, n_init="auto", random_state=data.seed % 2**32).fit(data.features)
    means = np.stack([column_means(data.scores[clusters.labels_ == number]) for number in range(n_clusters)])
    return {"centres": clusters.cluster_centers_, "means": means}


def _predict_isac(arrays: Arrays, features: Real) -> Real:
    distances = ((features[:, None] - arrays["centres"]) ** 2).sum(axis=2)
    return np.asarray(arrays["means"][distances.argmin(axis=1)])


def _fit_nearest(data: TrainingSet) -> Arrays:
    """Keep features and scores (ARGOSMART: Nikolic et al., 2013)."""
    return {"features": normalise(data.features), "scores": fill_rows(data.scores)}


def _predict_nearest(arrays: Arrays, features: Real) -> Real:
    likeness = normalise(features) @ arrays["features"].T
    return np.asarray(arrays["scores"][likeness.argmax(axis=1)])


def normalise(features: Real) -> Real:
    """Return rows of length 1; rows of zeros stay."""
    lengths = np.linalg.norm(features, axis=1, keepdims=True)
    return np.asarray(features / np.where(lengths > 0, lengths, 1))


ISAC = Selector(
    name="isac",
    fit=_fit_isac,
    predict=_predict_isac,
    description="the mean score over past graphs of the same cluster, 5 clusters (Kadioglu et al., 2010)",
    predicts_scores=True,
)
ARGOSMART = Selector(
    name="argosmart",
    fit=_fit_nearest,
    predict=_predict_nearest,
    description="the scores of the most similar past graph (Nikolic et al., 2013)",
    predicts_scores=True,
)
