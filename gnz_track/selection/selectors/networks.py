"""Parts of selectors that are Torch networks: drawing, stopping early, and turning into arrays and back."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from gnz_track.selection.ranking_metrics import hit_rate
from gnz_track.selection.selectors.lessons import Arrays, Real, TrainingSet

__all__ = ["Stopping", "arrays_of", "hold_out", "load_arrays", "masked_squares", "seeded_network", "train_by_hits"]

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
