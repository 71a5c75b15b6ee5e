"""Training without labels, as a utility: its loss is no score."""

from __future__ import annotations

import math
from typing import Any

from torch_geometric.data import Data

from gnz_track.errors import BadValue, Diverged
from gnz_track.optimisers import Adam
from gnz_track.training.lent import lend

__all__ = ["train_dgi"]


def train_dgi(
    model: Any, data: Data, epochs: int = 100, lr: float = 1e-3, *, device: str = "cpu"
) -> dict[str, list[float]]:
    """Train a ``DGI`` or ``DGIWrapper`` (:mod:`gnz_track.models.embeddings.dgi`); return ``{"dgi_loss": [...]}``.

    There is one graph. Shuffles are drawn from the global Torch generator: seed it first.

    Parameters
    ----------
    model
        Model to train, in place.
    data
        The graph.
    epochs, lr
        Steps, and the learning rate of Adam.
    device
        Where it is trained.
    """
    if epochs < 1:
        raise BadValue("epochs", epochs, "a whole number from 1 upwards")
    model, data = model.to(device), data.to(device)
    optimiser = Adam(model.parameters(), lr=lr)
    losses: list[float] = []
    model.train()
    for epoch in range(epochs):
        optimiser.zero_grad()
        # The caller's graph, which an encoder of anybody's may write into.
        loss = model.loss(*model(lend(data)))
        loss.backward()
        optimiser.step()
        losses.append(loss.item())
        if not math.isfinite(losses[-1]):
            raise Diverged("the training loss", losses[-1], epoch)
    return {"dgi_loss": losses}
