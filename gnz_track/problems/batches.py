"""Augmentation of positional encodings in training, batch by batch; evaluation sees them as they are."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import torch
from torch import Generator, Tensor, nn
from torch_geometric.data import Data

from gnz_track.training.loop import Objective

__all__ = ["VARIATIONS", "EncodedObjective", "vary"]


def _turn_signs(encoding: Tensor, generator: Generator) -> Tensor:
    """Turn whole columns: a sign for each, the same for all nodes of a batch."""
    signs = 2.0 * torch.randint(2, (encoding.size(1),), generator=generator) - 1.0
    return encoding * signs.to(encoding)


def _permute_columns(encoding: Tensor, generator: Generator) -> Tensor:
    order = torch.randperm(encoding.size(1), generator=generator)
    return encoding.index_select(1, order.to(encoding.device))


VARIATIONS: dict[str, Callable[[Tensor, Generator], Tensor]] = {"signs": _turn_signs, "columns": _permute_columns}


def vary(objective: Objective, variation: str) -> Objective:
    """Return an objective whose training batches have varied encodings; ``none`` changes nothing."""
    return EncodedObjective(objective, VARIATIONS[variation]) if variation in VARIATIONS else objective


@dataclass(frozen=True, eq=False)
class EncodedObjective:
    """Another objective, whose training batches carry a variation of their ``encoding [n_nodes, n_columns]``."""

    inner: Any
    variation: Callable[[Tensor, Generator], Tensor]

    def batches(self, generator: Generator) -> Iterator[Data]:
        """Yield the batches of the inner objective; what varies is drawn from the same generator."""
        for batch in self.inner.batches(generator):
            varied = copy.copy(batch)
            varied.encoding = self.variation(batch.encoding, generator)
            yield varied

    def loss(self, model: nn.Module, batch: Data) -> tuple[Tensor, int]:
        """Return the loss of the inner objective."""
        loss: tuple[Tensor, int] = self.inner.loss(model, batch)
        return loss

    def predict(self, model: nn.Module) -> Tensor:
        """Return the prediction of the inner objective, of encodings as they are."""
        prediction: Tensor = self.inner.predict(model)
        return prediction

    def predict_training(self, model: nn.Module) -> Tensor:
        """Return that for training examples, of encodings as they are."""
        prediction: Tensor = self.inner.predict_training(model)
        return prediction
