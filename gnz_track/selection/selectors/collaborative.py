"""NCF, neural collaborative filtering (He et al., 2017): a network of a graph's features and a setting's embedding."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from gnz_track.selection.selectors.lessons import Arrays, Real, Selector, TrainingSet
from gnz_track.selection.selectors.networks import predict_with, seeded_network, train_by_hits

__all__ = ["ROWS"]

WIDTH, RANK, EPOCHS, PATIENCE, FIRST = 128, 32, 500, 30, 30
LEARNING_RATE, WEIGHT_DECAY, DROPOUT = 1e-3, 1e-4, 0.2


class _Pairs(nn.Module):  # type: ignore[misc]
    """Scores of all settings for a batch of graphs: a joint network beside an elementwise product."""

    def __init__(self, n_features: int, n_settings: int) -> None:
        super().__init__()
        self.graph = _narrow(n_features)
        self.settings = nn.Embedding(n_settings, WIDTH)
        self.setting = _narrow(WIDTH)
        self.joint = nn.Sequential(nn.Linear(2 * RANK, RANK), nn.ReLU(), nn.Dropout(DROPOUT), nn.Linear(RANK, RANK))
        self.score = nn.Linear(2 * RANK, 1)

    def forward(self, x: Tensor) -> Tensor:
        """Return ``[graphs, settings]`` from features ``[graphs, d]``.

        Linear maps of a pair side by side are sums over both, and two linear maps in a row are one: so the pairs
        themselves are held once, after the activation.
        """
        graphs, settings = self.graph(x), self.setting(self.settings.weight)
        first, _, drop, second = self.joint
        of_graph, of_setting = first.weight.split(RANK, dim=1)
        both = (graphs @ of_graph.T + first.bias)[:, None] + settings @ of_setting.T
        of_joint, of_product = self.score.weight[0].split(RANK)
        deep = drop(both.relu()) @ (second.weight.T @ of_joint)
        return deep + (graphs * of_product) @ settings.T + second.bias @ of_joint + self.score.bias


def _narrow(n_inputs: int) -> nn.Sequential:
    return nn.Sequential(nn.Linear(n_inputs, WIDTH), nn.ReLU(), nn.Dropout(DROPOUT), nn.Linear(WIDTH, RANK))


def _fit(data: TrainingSet) -> Arrays:
    network = seeded_network(lambda: _Pairs(data.features.shape[1], data.scores.shape[1]), data.seed)
    optimiser = torch.optim.Adam(network.parameters(), lr=LEARNING_RATE, weight_decay=WEIGHT_DECAY)
    return train_by_hits(network, data, optimiser, epochs=EPOCHS, patience=PATIENCE, after=FIRST)


def _predict(arrays: Arrays, features: Real) -> Real:
    sizes = (arrays["graph.0.weight"].shape[1], len(arrays["settings.weight"]))
    return predict_with(lambda: _Pairs(*sizes), arrays, features)


ROWS = (
    Selector(
        name="ncf",
        fit=_fit,
        predict=_predict,
        description="a network of a graph's features and a setting's embedding (He et al., 2017)",
        predicts_scores=True,
    ),
)
