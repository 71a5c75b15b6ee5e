"""Selectors that are one Torch network: S2, the supervised surrogate, and NCF, neural collaborative filtering.

S2 goes from features to the scores of all settings (Park et al., 2023); NCF joins a graph's features and a setting's
embedding (He et al., 2017). Drawing, stopping early, and turning into arrays and back serve all networks.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from gnz_track.selection.selectors.training_set import Arrays, Real, Selector, TrainingSet
from gnz_track.selection.study.ranking_metrics import hit_rate

__all__ = [
    "NCF",
    "S2",
    "Stopping",
    "arrays_of",
    "fit_surrogate",
    "hold_out",
    "load_arrays",
    "masked_squares",
    "seeded_network",
    "train_by_hits",
]


# As published. Where so many are all that are known, all are always hit: at most one in three is looked at.
HITS, ONE_IN = 30, 3


def seeded_network(make: Callable[[], nn.Module], seed: int) -> nn.Module:
    """Return a new network whose parameters depend on the seed alone; Torch's own generator is left as it was."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return make()


def arrays_of(network: nn.Module) -> Arrays:
    """Return all parameters by name."""
    return {name: value.detach().numpy().copy() for name, value in network.state_dict().items()}


def load_arrays(network: nn.Module, arrays: Arrays) -> nn.Module:
    """Return the network with these parameters, ready to predict."""
    network.load_state_dict({name: torch.from_numpy(np.array(arrays[name])) for name in network.state_dict()})
    return network.eval()


def hold_out(n: int, share: float, seed: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return rows to learn from and rows to stop by, at least one of each.

    Parameters
    ----------
    n
        Number of rows.
    share
        Share to stop by.
    seed
        Seed of the draw.
    """
    order = np.random.default_rng(seed).permutation(n)
    n_held = min(max(1, round(share * n)), n - 1)
    return np.sort(order[n_held:]), np.sort(order[:n_held])


def masked_squares(predicted: Tensor, scores: Tensor) -> Tensor:
    """Return the mean squared error over known scores."""
    known = torch.isfinite(scores)
    return ((predicted - scores)[known] ** 2).mean()


class Stopping:
    """Whether to stop: after ``patience`` rounds without a better score; the best parameters are kept."""

    def __init__(self, patience: int, *, after: int = 0) -> None:
        self.patience, self.after = patience, after
        self.best, self.left = -np.inf, patience
        self.arrays: Arrays = {}

    def is_over(self, epoch: int, score: float, network: nn.Module) -> bool:
        """Take note of a score; tell whether that was the last round.

        Parameters
        ----------
        epoch, score
            The round, and its score.
        network
            The network, whose parameters are kept where they are the best so far.
        """
        if epoch < self.after:
            return False
        if score > self.best:
            self.best, self.left, self.arrays = score, self.patience, arrays_of(network)
            return False
        self.left -= 1
        return self.left <= 0


def train_by_hits(network: nn.Module, data: TrainingSet, optimiser: torch.optim.Optimizer, **stopping: Any) -> Arrays:
    """Train on the known scores of four graphs in five, full batch, and stop by the best settings of the fifth.

    These are 30, as published, or a third of those that are known there. The parameters returned are the best where
    training stopped early, and the last where it did not, as published.

    Parameters
    ----------
    network, data, optimiser
        The network, past graphs to train on, and the optimiser.
    stopping
        ``epochs``, ``patience`` and ``after``.
    """
    train, held = hold_out(len(data.features), 0.2, data.seed)
    x = torch.from_numpy(data.features).float()
    y = torch.from_numpy(data.scores).float()
    stop = Stopping(stopping["patience"], after=stopping.get("after", 0))
    n_known = np.isfinite(data.scores[held]).sum() / len(held)
    k = min(HITS, max(1, int(n_known // ONE_IN)))
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(data.seed)
        for epoch in range(stopping["epochs"]):
            network.train()
            optimiser.zero_grad()
            masked_squares(network(x[train]), y[train]).backward()
            optimiser.step()
            network.eval()
            with torch.no_grad():
                predicted = network(x[held]).double().numpy()
            hits = np.nanmean(hit_rate(data.scores[held], predicted, k=k))
            if stop.is_over(epoch, float(hits), network):
                return dict(stop.arrays)
    return arrays_of(network)


def predict_with(make: Callable[[], nn.Module], arrays: Arrays, features: Real) -> Real:
    """Return the predictions of a network.

    Parameters
    ----------
    make
        Function that makes the network.
    arrays
        Its parameters.
    features
        Features [n, d].
    """
    with torch.no_grad():
        network = load_arrays(seeded_network(make, 0), arrays)
        found: Real = network(torch.from_numpy(features).float()).double().numpy()
    return found


WIDTH, RANK, COLLABORATIVE_EPOCHS, COLLABORATIVE_PATIENCE, FIRST = 128, 32, 500, 30, 30
COLLABORATIVE_LEARNING_RATE, WEIGHT_DECAY, DROPOUT = 1e-3, 1e-4, 0.2


class _Pairs(nn.Module):  # type: ignore[misc]
    """Scores of all settings for a batch of graphs: a joint network beside an elementwise product."""

    def __init__(self, n_features: int, n_settings: int) -> None:
        super().__init__()
        self.graph = _narrow_for_ncf(n_features)
        self.settings = nn.Embedding(n_settings, WIDTH)
        self.setting = _narrow_for_ncf(WIDTH)
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


def _narrow_for_ncf(n_inputs: int) -> nn.Sequential:
    return nn.Sequential(nn.Linear(n_inputs, WIDTH), nn.ReLU(), nn.Dropout(DROPOUT), nn.Linear(WIDTH, RANK))


def _fit_ncf(data: TrainingSet) -> Arrays:
    network = seeded_network(lambda: _Pairs(data.features.shape[1], data.scores.shape[1]), data.seed)
    optimiser = torch.optim.Adam(network.parameters(), lr=COLLABORATIVE_LEARNING_RATE, weight_decay=WEIGHT_DECAY)
    return train_by_hits(
        network, data, optimiser, epochs=COLLABORATIVE_EPOCHS, patience=COLLABORATIVE_PATIENCE, after=FIRST
    )


def _predict_ncf(arrays: Arrays, features: Real) -> Real:
    sizes = (arrays["graph.0.weight"].shape[1], len(arrays["settings.weight"]))
    return predict_with(lambda: _Pairs(*sizes), arrays, features)


NCF = Selector(
    name="ncf",
    fit=_fit_ncf,
    predict=_predict_ncf,
    description="a network of a graph's features and a setting's embedding (He et al., 2017)",
    predicts_scores=True,
)


HIDDEN, EPOCHS, PATIENCE, LEARNING_RATE = 128, 500, 20, 1e-3


def _make_s2(n_features: int, n_settings: int) -> nn.Module:
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
    network = seeded_network(lambda: _make_s2(data.features.shape[1], data.scores.shape[1]), data.seed)
    if start is not None:
        network.load_state_dict({name: torch.from_numpy(value) for name, value in start.items()})
    optimiser = torch.optim.Adam(network.parameters(), lr=LEARNING_RATE)
    return train_by_hits(network, data, optimiser, epochs=EPOCHS, patience=patience)


def _predict_s2(arrays: Arrays, features: Real) -> Real:
    sizes = (arrays["0.weight"].shape[1], len(arrays["2.bias"]))
    return predict_with(lambda: _make_s2(*sizes), arrays, features)


S2 = Selector(
    name="s2",
    fit=fit_surrogate,
    predict=_predict_s2,
    description="a network from features to scores, weights drawn anew for every fit (Park et al., 2023)",
    predicts_scores=True,
)
