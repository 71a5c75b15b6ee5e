"""S2, the supervised surrogate (Park et al., 2023): one network from features to the scores of all settings."""

from __future__ import annotations

import torch
from torch import nn

from gnz_track.selection.selectors.lessons import Arrays, Real, Selector, TrainingSet
from gnz_track.selection.selectors.networks import predict_with, seeded_network, train_by_hits

__all__ = ["ROWS", "fit_surrogate"]

HIDDEN, EPOCHS, PATIENCE, LEARNING_RATE = 128, 500, 20, 1e-3


def _make(n_features: int, n_settings: int) -> nn.Module:
    return nn.Sequential(nn.Linear(n_features, HIDDEN), nn.ReLU(), nn.Linear(HIDDEN, n_settings))


def fit_surrogate(data: TrainingSet, *, start: Arrays | None = None, patience: int = PATIENCE) -> Arrays:
    """Fit the network.

    Parameters
    ----------
    data
        Past graphs.
    start
        Parameters to go on from, which is how published figures were got: from fold to fold, so that they had learnt
        from test graphs, and had been trained for longer.
    patience
        Rounds without a better score before training stops.
    """
    network = seeded_network(lambda: _make(data.features.shape[1], data.scores.shape[1]), data.seed)
    if start is not None:
        network.load_state_dict({name: torch.from_numpy(value) for name, value in start.items()})
    optimiser = torch.optim.Adam(network.parameters(), lr=LEARNING_RATE)
    return train_by_hits(network, data, optimiser, epochs=EPOCHS, patience=patience)


def _predict(arrays: Arrays, features: Real) -> Real:
    sizes = (arrays["0.weight"].shape[1], len(arrays["2.bias"]))
    return predict_with(lambda: _make(*sizes), arrays, features)


ROWS = (
    Selector(
        name="s2",
        fit=fit_surrogate,
        predict=_predict,
        description="a network from features to scores, weights drawn anew for every fit (Park et al., 2023)",
        predicts_scores=True,
    ),
)
