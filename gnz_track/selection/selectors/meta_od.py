"""MetaOD (Zhao et al., 2021): factors that rank the settings of each graph, and a forest from features to them.

The published code overwrites what the forest is fitted on with what it is to predict; here both are kept apart.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit
from sklearn.decomposition import PCA
from sklearn.ensemble import RandomForestRegressor

from gnz_track.selection.selectors.forests import forest_arrays, predict_forest
from gnz_track.selection.selectors.lessons import Arrays, Real, Selector, TrainingSet
from gnz_track.selection.selectors.networks import hold_out

__all__ = ["ROWS"]

Whole = NDArray[np.int64]
RANK, EPOCHS, PATIENCE, GAIN = 32, 10, 5, 1e-3
SLOWEST, FASTEST, OFFSET = 0.1, 1.05, 1.5
N_TREES, DEPTH = 100, 10


@dataclass(eq=False)
class _Factors:
    """Vectors of graphs ``[n, rank]`` and of settings ``[m, rank]``."""

    graphs: Real
    settings: Real

    def learn(self, row: int, scores: Real, rate: float) -> None:
        """Move the factors of one graph and of its known settings towards its ranking.

        Parameters
        ----------
        row
            Place of the graph.
        scores
            Its scores [m], NaN where unknown.
        rate
            Learning rate.
        """
        known = np.flatnonzero(np.isfinite(scores))
        own, others = self.graphs[row].copy(), self.settings[known]
        wins = expit(others @ own - (others @ own)[:, None])
        np.fill_diagonal(wins, 0)
        slopes = wins * (1 - wins)
        ranks = wins.sum(axis=1) + OFFSET
        weights = (10 ** scores[known] - 1) / (ranks * np.log(ranks) ** 2)
        totals = slopes.sum(axis=1)
        self.graphs[row] -= rate * (weights @ (slopes @ others) - (weights * totals) @ others)
        self.settings[known] += rate * (weights * totals)[:, None] * own


def _fit(data: TrainingSet) -> Arrays:
    generator = np.random.default_rng(data.seed)
    rank = min(RANK, *data.features.shape)
    pca = PCA(rank, random_state=data.seed % 2**32).fit(data.features)
    reduced = pca.transform(data.features)
    spread = np.where(reduced.std(axis=0) > 0, reduced.std(axis=0), 1)
    inputs = (reduced - reduced.mean(axis=0)) / spread
    settings = generator.normal(0, np.sqrt(1 / rank), (data.scores.shape[1], rank))
    factors = _Factors(inputs.copy(), settings)
    train, held = hold_out(len(inputs), 0.2, data.seed)
    arrays = _learn(factors, inputs, TrainingSet(data.features, _unit(data.scores), data.seed), (train, held))
    return arrays | {
        "components": pca.components_,
        "centre": pca.mean_ + pca.components_.T @ reduced.mean(axis=0),
        "spread": spread,
    }


def _unit(scores: Real) -> Real:
    """Return scores from 0 to 1, of which gains are powers of ten; those that are between are left as they are."""
    low, high = float(np.nanmin(scores)), float(np.nanmax(scores))
    return scores if low >= 0 and high <= 1 else (scores - low) / (high - low if high > low else 1)


def _learn(factors: _Factors, inputs: Real, data: TrainingSet, rows: tuple[Whole, Whole]) -> Arrays:
    train, held = rows
    generator = np.random.default_rng([data.seed, 1])
    best, idle = -np.inf, 0
    arrays: Arrays = {}
    for epoch in range(EPOCHS):
        rate = SLOWEST + (FASTEST - SLOWEST) * (1 - abs(2 * epoch / EPOCHS - 1))
        for row in generator.permutation(train):
            factors.learn(int(row), data.scores[row], rate)
        forest = RandomForestRegressor(N_TREES, max_depth=DEPTH, random_state=data.seed % 2**32)
        # What the last epoch leaves is the answer, as published, be it the best one on what was held out or not.
        arrays = forest_arrays(forest.fit(inputs[train], factors.graphs[train]))
        gain = _gain(data.scores[held], predict_forest(arrays, inputs[held]) @ factors.settings.T)
        idle = idle + 1 if gain <= best * (1 + GAIN) else 0
        best = max(best, gain)
        if idle >= PATIENCE:
            break
    return arrays | {"settings": factors.settings}


def _gain(true: Real, predicted: Real) -> float:
    """Return the mean NDCG over the known settings of each graph, all ranks counted; NaN where there is none."""
    found = []
    for t, p in zip(true, predicted, strict=True):
        known = np.isfinite(t)
        discounts = 1 / np.log2(np.arange(known.sum()) + 2)
        ideal = float(np.sort(t[known])[::-1] @ discounts)
        if ideal > 0:
            found.append(float(t[known][np.argsort(-p[known], kind="stable")] @ discounts) / ideal)
    return float(np.mean(found)) if found else float("nan")


def _predict(arrays: Arrays, features: Real) -> Real:
    inputs = (features - arrays["centre"]) @ arrays["components"].T / arrays["spread"]
    return np.asarray(predict_forest(arrays, inputs) @ arrays["settings"].T)


ROWS = (
    Selector(
        name="meta_od",
        fit=_fit,
        predict=_predict,
        description="factors that rank settings, predicted by a forest (Zhao et al., 2021)",
    ),
)
