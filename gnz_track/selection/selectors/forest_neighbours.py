"""Our own selector: past graphs weigh in by how often a forest of random trees puts them beside the new one.

The trees are grown on features to tell apart graphs on which other settings win, so that they find out which features
matter; the answer is a weighted mean over past graphs (Lin and Jeon, 2006), and so are its spread and its reasons. Each
tree leaves out about a third of the graphs; what it says of those is honest, and measures how far answers are off.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata
from sklearn.ensemble import ExtraTreesRegressor

from gnz_track.selection.selectors.factor_models import complete, find_leaves, forest_arrays
from gnz_track.selection.selectors.training_set import Arrays, Real, Selector, TrainingSet

__all__ = ["FOREST_NEIGHBOURS", "weigh_past_graphs", "weigh_themselves"]

N_TREES, SHARE_OF_FEATURES, N_COMPONENTS, PRIOR_GRAPHS = 200, 0.3, 32, 10


def _fit(data: TrainingSet) -> Arrays:
    scores = complete(data.scores)
    wanted = _targets_of(scores)
    forest = ExtraTreesRegressor(
        N_TREES, max_features=SHARE_OF_FEATURES, bootstrap=True, random_state=data.seed % 2**32
    )
    features = _signed_logarithm(data.features)
    forest.fit(
        features, _main_components(np.concatenate([part / max(float(part.std()), 1e-12) for part in wanted], axis=1))
    )
    arrays = forest_arrays(forest, with_values=False)
    n = len(features)
    drawn = np.stack([np.bincount(rows, minlength=n) for rows in forest.estimators_samples_], axis=1)
    return arrays | {
        "leaves": find_leaves(arrays, features),
        "drawn": drawn.astype(np.int16),
        "wanted": wanted[0] + n / (n + PRIOR_GRAPHS) * wanted[1],
        "scores": scores,
    }


def _predict(arrays: Arrays, features: Real) -> Real:
    # Few past graphs cannot tell which of them are alike: what is good on all of them weighs in as ten more would.
    wanted = arrays["wanted"]
    near, anywhere = weigh_past_graphs(arrays, features) @ wanted, wanted.mean(axis=0)
    return np.asarray((len(wanted) * near + PRIOR_GRAPHS * anywhere) / (len(wanted) + PRIOR_GRAPHS))


def weigh_past_graphs(arrays: Arrays, features: Real) -> Real:
    """Return the weight of each past graph for each new one ``[new, past]``; rows sum to 1."""
    leaves = find_leaves(arrays, _signed_logarithm(features))
    used = np.ones((len(leaves), leaves.shape[1]), dtype=bool)
    return _weigh_by_leaves(leaves, arrays, used)


def weigh_themselves(arrays: Arrays) -> Real:
    """Return the same for past graphs, by those trees only that have not seen the graph in question."""
    return _weigh_by_leaves(arrays["leaves"], arrays, arrays["drawn"] == 0)


def _weigh_by_leaves(leaves: NDArray[np.int64], arrays: Arrays, used: NDArray[np.bool_]) -> Real:
    weights = np.zeros((len(leaves), len(arrays["leaves"])))
    for tree in range(leaves.shape[1]):
        beside = (leaves[:, tree, None] == arrays["leaves"][:, tree]) * arrays["drawn"][:, tree]
        weights += used[:, tree, None] * beside / np.maximum(beside.sum(axis=1, keepdims=True), 1)
    totals = weights.sum(axis=1, keepdims=True)
    even = np.full_like(weights, 1 / weights.shape[1])
    return np.where(totals > 0, weights / np.where(totals > 0, totals, 1), even)


def _targets_of(scores: Real) -> tuple[Real, Real]:
    """Return scores from 0 (worst on the graph) to 1 (best), and one over the rank: for the mean, and for the first.

    Settings that tie share the places that they take: one over the rank is its mean over these places.
    """
    low, high = scores.min(axis=1, keepdims=True), scores.max(axis=1, keepdims=True)
    unit = (scores - low) / np.where(high > low, high - low, 1)
    before = np.concatenate([[0.0], np.cumsum(1 / np.arange(1, scores.shape[1] + 1))])
    first, last = (rankdata(-scores, method, axis=1).astype(np.int64) for method in ("min", "max"))
    return unit, (before[last] - before[first - 1]) / (last - first + 1)


def _main_components(wanted: Real) -> Real:
    """Return the main components of what trees are grown on ``[n, at most 32]``.

    Splits are chosen by variance, which a rotation keeps; the time to grow is in proportion to the columns.
    """
    u, sizes, _ = np.linalg.svd(wanted - wanted.mean(axis=0), full_matrices=False)
    return np.asarray((u * sizes)[:, :N_COMPONENTS])


def _signed_logarithm(features: Real) -> Real:
    return np.asarray(np.sign(features) * np.log1p(np.abs(features)))


FOREST_NEIGHBOURS = Selector(
    name="forest_neighbours",
    fit=_fit,
    predict=_predict,
    description="a mean over past graphs, weighted by a forest grown to tell apart which settings win (default)",
    is_scaled=False,
)
