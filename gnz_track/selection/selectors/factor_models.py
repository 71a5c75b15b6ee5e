"""Selectors by factors of the matrix of scores, which they predict from the features of a graph.

ALORS (Misir and Sebag, 2017) predicts them by a network. MetaOD (Zhao et al., 2021) learns factors that rank the
settings of each graph, and predicts them by a forest; its published code overwrites what the forest is fitted on with
what it is to predict, and here both are kept apart. Only some entries of the matrix are known. Forests
are grown by scikit-learn, and kept and read as arrays, so that they are saved without pickle.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit
from sklearn.decomposition import PCA
from sklearn.ensemble import RandomForestRegressor
from sklearn.exceptions import ConvergenceWarning
from sklearn.neural_network import MLPRegressor

from gnz_track.selection.selectors.neural import hold_out
from gnz_track.selection.selectors.training_set import Arrays, Real, Selector, TrainingSet

__all__ = ["ALORS", "META_OD", "complete", "factorise", "find_leaves", "forest_arrays", "predict_forest"]


def forest_arrays(forest: Any, *, with_values: bool = True) -> Arrays:
    """Return a fitted forest as arrays over all nodes of all trees; ``roots [trees]`` are the first node of each.

    A leaf has feature -1. ``values [nodes, outputs]`` are means of the outputs, where asked for.
    """
    trees = [tree.tree_ for tree in forest.estimators_]
    sizes = np.array([tree.node_count for tree in trees])
    roots = np.cumsum(sizes) - sizes
    arrays: Arrays = {
        "roots": roots,
        "feature": np.concatenate([np.where(tree.children_left < 0, -1, tree.feature) for tree in trees]),
        "threshold": np.concatenate([tree.threshold for tree in trees]),
        "left": np.concatenate([tree.children_left + root for tree, root in zip(trees, roots, strict=True)]),
        "right": np.concatenate([tree.children_right + root for tree, root in zip(trees, roots, strict=True)]),
    }
    if with_values:
        arrays["values"] = np.concatenate([tree.value[:, :, 0] for tree in trees]).astype(np.float32)
    return arrays


def find_leaves(arrays: Arrays, features: Real) -> NDArray[np.int64]:
    """Return the leaf of each row in each tree ``[n, trees]``."""
    # scikit-learn grows and reads trees in single precision.
    rounded = features.astype(np.float32)
    nodes = np.tile(arrays["roots"], (len(features), 1)).astype(np.int64)
    rows = np.arange(len(features))[:, None]
    while True:
        feature = arrays["feature"][nodes]
        is_inner = feature >= 0
        if not is_inner.any():
            return nodes
        goes_left = rounded[rows, feature] <= arrays["threshold"][nodes]
        following = np.where(goes_left, arrays["left"][nodes], arrays["right"][nodes])
        nodes = np.where(is_inner, following, nodes)


def predict_forest(arrays: Arrays, features: Real) -> Real:
    """Return the mean over trees of the values of leaves ``[n, outputs]``."""
    leaves = find_leaves(arrays, features)
    return np.asarray(arrays["values"][leaves].mean(axis=1), dtype=np.float64)


N_STEPS, FLOOR = 100, 1e-5
N_ROUNDS, SHRINKAGE, CHANGE, N_SWEEPS = 60, 1.0, 1e-4, 10


def factorise(scores: Real, rank: int, generator: np.random.Generator) -> tuple[Real, Real]:
    """Return factors [n, rank] and [rank, m] whose product is near the known scores.

    Multiplicative updates for weighted squares (Lee and Seung, 2001; Blondel et al., 2007), 100 steps from random
    factors of graphs and the settings' factors that fit these best.

    Parameters
    ----------
    scores
        Scores [n, m], at least 0, NaN where unknown.
    rank
        Number of factors.
    generator
        Source of the random factors.
    """
    known: NDArray[np.float64] = np.isfinite(scores).astype(np.float64)
    filled = np.where(known > 0, scores, 0.0)
    graphs = generator.uniform(0, 1, (len(scores), rank))
    settings = np.maximum(np.linalg.lstsq(graphs, filled, rcond=None)[0], FLOOR)
    for _ in range(N_STEPS):
        graphs *= (filled @ settings.T) / ((known * (graphs @ settings)) @ settings.T + FLOOR)
        graphs = np.maximum(graphs, FLOOR)
        settings *= (graphs.T @ filled) / (graphs.T @ (known * (graphs @ settings)) + FLOOR)
        settings = np.maximum(settings, FLOOR)
    return graphs, settings


def complete(scores: Real) -> Real:
    """Return scores ``[n, m]`` with unknown ones filled in: graph and setting means, and a matrix of low rank.

    Singular values of what the means leave are shrunk towards 0 until what is filled in stays (Mazumder et al., 2010),
    after the spread of every graph is made one: graphs differ in how much the choice of a setting matters. Nothing is
    filled in beyond the range of what is known.
    """
    known = np.isfinite(scores)
    if known.all() or not known.any():
        return scores.copy()
    spread = _row_spreads(scores, known)
    centres, columns = _two_ways(scores, known, spread)
    left = np.where(known, (scores - centres) / spread - columns, 0.0)
    filled, weight = left, SHRINKAGE * np.sqrt(known.sum(axis=1).mean() / known.shape[1])
    for _ in range(N_ROUNDS):
        u, sizes, v = np.linalg.svd(filled, full_matrices=False)
        low = (u * np.maximum(sizes - weight, 0)) @ v
        following = np.where(known, left, low)
        is_settled = np.abs(following - filled).max() < CHANGE
        filled = following
        if is_settled:
            break
    whole = (filled + columns) * spread + centres
    return np.where(known, scores, np.clip(whole, scores[known].min(), scores[known].max()))


def _row_spreads(scores: Real, known: NDArray[np.bool_]) -> Real:
    """Return how much scores vary on each graph ``[n, 1]``; where one is known, as much as on the graphs at large."""
    counts = known.sum(axis=1, keepdims=True)
    squares = np.where(known, (scores - _row_means(scores, known)) ** 2, 0.0).sum(axis=1, keepdims=True)
    told = squares[(counts > 1) & (squares > 0)] / counts[(counts > 1) & (squares > 0)]
    usual = float(np.median(told)) if len(told) else 1.0
    # One number says nothing of a spread; what is usual counts as one more.
    return np.asarray(np.sqrt((squares + usual) / np.maximum(counts, 1)))


def _two_ways(scores: Real, known: NDArray[np.bool_], spread: Real) -> tuple[Real, Real]:
    """Return centres of graphs ``[n, 1]`` and of settings ``[m]``, the latter in units of the graph's spread.

    A graph on which good settings alone were run is not a graph that is easy: its centre allows for which they are.
    """
    centres = _row_means(scores, known)
    columns = np.zeros(scores.shape[1])
    for _ in range(N_SWEEPS):
        # Few observations pull a setting's mean towards 0.
        columns = np.where(known, (scores - centres) / spread, 0.0).sum(axis=0) / (known.sum(axis=0) + 1)
        centres = _row_means(scores - spread * columns, known)
    return centres, columns


def _row_means(scores: Real, known: NDArray[np.bool_]) -> Real:
    totals = np.where(known, scores, 0).sum(axis=1, keepdims=True)
    return np.asarray(totals / np.maximum(known.sum(axis=1, keepdims=True), 1))


ALORS_RANK, HIDDEN = 32, (128, 128)


def _fit_alors(data: TrainingSet) -> Arrays:
    low = min(float(np.nanmin(data.scores)), 0.0)
    graphs, settings = factorise(data.scores - low, ALORS_RANK, np.random.default_rng(data.seed))
    network = MLPRegressor(hidden_layer_sizes=HIDDEN, random_state=data.seed % 2**32)
    with warnings.catch_warnings():
        # 200 rounds are what is published, converged or not.
        warnings.simplefilter("ignore", ConvergenceWarning)
        network.fit(data.features, graphs)
    arrays: Arrays = {"settings": settings, "low": np.array(low)}
    for number, (weight, bias) in enumerate(zip(network.coefs_, network.intercepts_, strict=True)):
        arrays[f"weight{number}"], arrays[f"bias{number}"] = weight, bias
    return arrays


def _predict_alors(arrays: Arrays, features: Real) -> Real:
    hidden, last = features, len(HIDDEN)
    for number in range(last + 1):
        hidden = hidden @ arrays[f"weight{number}"] + arrays[f"bias{number}"]
        hidden = np.maximum(hidden, 0) if number < last else hidden
    return np.asarray(hidden @ arrays["settings"] + arrays["low"])


ALORS = Selector(
    name="alors",
    fit=_fit_alors,
    predict=_predict_alors,
    description="non-negative factors of the scores, predicted by a network (Misir and Sebag, 2017)",
    predicts_scores=True,
)


Whole = NDArray[np.int64]
RANK, EPOCHS, PATIENCE, GAIN = 32, 10, 5, 1e-3
SLOWEST, FASTEST, OFFSET = 0.1, 1.05, 1.5
N_TREES, DEPTH = 100, 10


def _move_factors(graphs: Real, settings: Real, row: int, scores: Real, rate: float) -> None:
    """Move the factors of one graph ``[n, rank]`` and of its known settings ``[m, rank]`` towards its ranking.

    Its ``scores [m]`` are NaN where unknown.
    """
    known = np.flatnonzero(np.isfinite(scores))
    own, others = graphs[row].copy(), settings[known]
    wins = expit(others @ own - (others @ own)[:, None])
    np.fill_diagonal(wins, 0)
    slopes = wins * (1 - wins)
    ranks = wins.sum(axis=1) + OFFSET
    weights = (10 ** scores[known] - 1) / (ranks * np.log(ranks) ** 2)
    totals = slopes.sum(axis=1)
    graphs[row] -= rate * (weights @ (slopes @ others) - (weights * totals) @ others)
    settings[known] += rate * (weights * totals)[:, None] * own


def _fit_meta_od(data: TrainingSet) -> Arrays:
    generator = np.random.default_rng(data.seed)
    rank = min(RANK, *data.features.shape)
    pca = PCA(rank, random_state=data.seed % 2**32).fit(data.features)
    reduced = pca.transform(data.features)
    spread = np.where(reduced.std(axis=0) > 0, reduced.std(axis=0), 1)
    inputs = (reduced - reduced.mean(axis=0)) / spread
    settings = generator.normal(0, np.sqrt(1 / rank), (data.scores.shape[1], rank))
    train, held = hold_out(len(inputs), 0.2, data.seed)
    arrays = _learn_factors(
        settings, inputs, TrainingSet(data.features, _scale_to_unit(data.scores), data.seed), (train, held)
    )
    return arrays | {
        "components": pca.components_,
        "centre": pca.mean_ + pca.components_.T @ reduced.mean(axis=0),
        "spread": spread,
    }


def _scale_to_unit(scores: Real) -> Real:
    """Return scores from 0 to 1, of which gains are powers of ten; those that are between are left as they are."""
    low, high = float(np.nanmin(scores)), float(np.nanmax(scores))
    return scores if low >= 0 and high <= 1 else (scores - low) / (high - low if high > low else 1)


def _learn_factors(settings: Real, inputs: Real, data: TrainingSet, rows: tuple[Whole, Whole]) -> Arrays:
    """Return the arrays of a selector whose factors of settings began as these, which are changed."""
    train, held = rows
    graphs, generator = inputs.copy(), np.random.default_rng([data.seed, 1])
    best, idle = -np.inf, 0
    arrays: Arrays = {}
    for epoch in range(EPOCHS):
        rate = SLOWEST + (FASTEST - SLOWEST) * (1 - abs(2 * epoch / EPOCHS - 1))
        for row in generator.permutation(train):
            _move_factors(graphs, settings, int(row), data.scores[row], rate)
        forest = RandomForestRegressor(N_TREES, max_depth=DEPTH, random_state=data.seed % 2**32)
        # What the last epoch leaves is the answer, as published, be it the best one on what was held out or not.
        arrays = forest_arrays(forest.fit(inputs[train], graphs[train]))
        gain = _ndcg(data.scores[held], predict_forest(arrays, inputs[held]) @ settings.T)
        idle = idle + 1 if gain <= best * (1 + GAIN) else 0
        best = max(best, gain)
        if idle >= PATIENCE:
            break
    return arrays | {"settings": settings}


def _ndcg(true: Real, predicted: Real) -> float:
    """Return the mean NDCG over the known settings of each graph, all ranks counted; NaN where there is none."""
    found = []
    for t, p in zip(true, predicted, strict=True):
        known = np.isfinite(t)
        discounts = 1 / np.log2(np.arange(known.sum()) + 2)
        ideal = float(np.sort(t[known])[::-1] @ discounts)
        if ideal > 0:
            found.append(float(t[known][np.argsort(-p[known], kind="stable")] @ discounts) / ideal)
    return float(np.mean(found)) if found else float("nan")


def _predict_meta_od(arrays: Arrays, features: Real) -> Real:
    inputs = (features - arrays["centre"]) @ arrays["components"].T / arrays["spread"]
    return np.asarray(predict_forest(arrays, inputs) @ arrays["settings"].T)


META_OD = Selector(
    name="meta_od",
    fit=_fit_meta_od,
    predict=_predict_meta_od,
    description="factors that rank settings, predicted by a forest (Zhao et al., 2021)",
)
