"""ALORS (Misir and Sebag, 2017): factors of the scores, and a network from features to the factors of a graph."""

from __future__ import annotations

import warnings

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.neural_network import MLPRegressor

from gnz_track.selection.selectors.factors import factorise
from gnz_track.selection.selectors.lessons import Arrays, Real, Selector, TrainingSet

__all__ = ["ROWS"]

RANK, HIDDEN = 32, (128, 128)


def _fit(data: TrainingSet) -> Arrays:
    low = min(float(np.nanmin(data.scores)), 0.0)
    graphs, settings = factorise(data.scores - low, RANK, np.random.default_rng(data.seed))
    network = MLPRegressor(hidden_layer_sizes=HIDDEN, random_state=data.seed % 2**32)
    with warnings.catch_warnings():
        # 200 rounds are what is published, converged or not.
        warnings.simplefilter("ignore", ConvergenceWarning)
        network.fit(data.features, graphs)
    arrays: Arrays = {"settings": settings, "low": np.array(low)}
    for number, (weight, bias) in enumerate(zip(network.coefs_, network.intercepts_, strict=True)):
        arrays[f"weight{number}"], arrays[f"bias{number}"] = weight, bias
    return arrays


def _predict(arrays: Arrays, features: Real) -> Real:
    hidden, last = features, len(HIDDEN)
    for number in range(last + 1):
        hidden = hidden @ arrays[f"weight{number}"] + arrays[f"bias{number}"]
        hidden = np.maximum(hidden, 0) if number < last else hidden
    return np.asarray(hidden @ arrays["settings"] + arrays["low"])


ROWS = (
    Selector(
        name="alors",
        fit=_fit,
        predict=_predict,
        description="non-negative factors of the scores, predicted by a network (Misir and Sebag, 2017)",
        predicts_scores=True,
    ),
)
