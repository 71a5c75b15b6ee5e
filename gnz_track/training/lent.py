"""Inputs of a model of somebody's own: copies, at every call.

What training holds (graphs, labels, pairs to score, codes) is the same at every epoch and in every part. A model that
writes into its input, by whatever name (``x.mul_``, ``x.data``, ``x.numpy()``), would find it changed the next time,
and be scored on other data than it was trained on. So everything that goes into such a model goes through
:class:`LentInputs`, whoever calls. Models of this package write into nothing, which a test holds them to, and are given
the tensors themselves.
"""

from __future__ import annotations

import copy
from typing import Any

from torch import Tensor, nn
from torch_geometric.data import Data

from gnz_track.training.acceleration import SparseFeatures, lend_edges

__all__ = ["LentInputs", "lend"]


class LentInputs(nn.Module):
    """A model whose every input is a copy of its own; what it returns is as it returns it."""

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.model: Any = model

    @property
    def encoder(self) -> nn.Module:
        """The part of the model that its user wrote, as far as that is known."""
        found: nn.Module = getattr(self.model, "encoder", self.model)
        return found

    def forward(self, *given: Any) -> Any:
        """Call the model."""
        return self.model(*lend(given))

    def encode(self, *given: Any) -> Any:
        """Let the model encode nodes."""
        return self.model.encode(*lend(given))

    def decode(self, *given: Any) -> Any:
        """Let the model score pairs."""
        return self.model.decode(*lend(given))

    def score_tails(self, *given: Any) -> Any:
        """Let the model score every node as tail."""
        return self.model.score_tails(*lend(given))

    def score_heads(self, *given: Any) -> Any:
        """Let the model score every node as head."""
        return self.model.score_heads(*lend(given))


def lend(value: Any) -> Any:
    """Return a deep copy: whatever is done to it, the given one stays as it is.

    What a gradient has to go back through is no data of ours, and is handed on.
    """
    if isinstance(value, SparseFeatures):
        return value.lend()
    if isinstance(value, Tensor):
        return value if value.requires_grad else lend_edges(value)
    if isinstance(value, Data):
        return _lend_graph(value)
    if isinstance(value, dict):
        return {name: lend(item) for name, item in value.items()}
    if type(value) in (list, tuple):
        return type(value)(map(lend, value))
    return copy.deepcopy(value)


def _lend_graph(data: Data) -> Data:
    lent = copy.copy(data)
    for name, value in vars(lent).items():
        if name != "_store":
            vars(lent)[name] = lend(value)
    for store in lent.stores:
        for name, value in list(store.items()):
            store[name] = lend(value)
    return lent
