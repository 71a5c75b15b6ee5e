"""Nodes or labelled edges of many graphs, in batches of graphs."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch import Generator, Tensor, nn
from torch_geometric.data import Data

from gnz_track.training.graphs import GraphCollection, expand
from gnz_track.training.losses import choose_loss
from gnz_track.training.objectives import check_outputs

__all__ = ["PartObjective", "graphs_of"]


def graphs_of(parts: Tensor, pointer: Tensor) -> Tensor:
    """Return the graph of each part ``[n]``, given where each graph begins among the parts ``[n_graphs + 1]``."""
    return torch.searchsorted(pointer, parts, right=True) - 1


@dataclass(frozen=True, eq=False)
class PartObjective:
    """Cross-entropy over the nodes or labelled edges of graphs in shuffled batches.

    The collection carries the training labels as ``y`` of nodes, or ``edge_label`` of labelled edges; all others are
    -1. Parts count through all graphs, ``pointer [n_graphs + 1]`` says where each graph begins among them. Predicts
    ``[n, classes]`` for all parts of the graphs that have one among ``held_out [m]``, whole graphs in their order:
    :meth:`rows_of` says where a part is found.
    """

    graphs: GraphCollection
    train: Tensor
    held_out: Tensor
    pointer: Tensor
    label: str
    batch_size: int
    device: str = "cpu"
    # Columns that the model must return; 0 checks nothing.
    width: int = 0
    loss_name: str = ""

    def __post_init__(self) -> None:
        for name, parts in (("_train_graphs", self.train), ("_held_out_graphs", self.held_out)):
            object.__setattr__(self, name, graphs_of(parts, self.pointer).unique())

    def batches(self, generator: Generator) -> Iterator[Data]:
        """Yield shuffled batches of the graphs that have training labels."""
        graphs: Tensor = self._train_graphs  # type: ignore[attr-defined]
        order = graphs[torch.randperm(graphs.numel(), generator=generator)]
        for batch, _ in self.graphs.batches(order, self.batch_size):
            yield self._moved(batch)

    def loss(self, model: nn.Module, batch: Data) -> tuple[Tensor, int]:
        """Return the loss of the training parts of one batch."""
        labels = batch[self.label]
        rows = (labels >= 0).nonzero().flatten()
        logits = check_outputs(model, model(batch), labels.numel(), self.width)
        loss = choose_loss("classes", self.loss_name)
        return loss(logits.index_select(0, rows), labels.index_select(0, rows)), rows.numel()

    def predict(self, model: nn.Module) -> Tensor:
        """Return the logits of all parts of graphs with held-out ones ``[n, classes]``."""
        return self._predict(model, self._held_out_graphs)  # type: ignore[attr-defined]

    def predict_training(self, model: nn.Module) -> Tensor:
        """Return the logits of all parts of graphs with training ones ``[n, classes]``."""
        return self._predict(model, self._train_graphs)  # type: ignore[attr-defined]

    def rows_of(self, parts: Tensor, *, training: bool = False) -> Tensor:
        """Return the rows ``[n]`` of a prediction where parts ``[n]`` are found."""
        graphs: Tensor = self._train_graphs if training else self._held_out_graphs  # type: ignore[attr-defined]
        starts = expand(self.pointer, graphs)[1]
        graph = graphs_of(parts, self.pointer)
        return parts - self.pointer[graph] + starts[torch.searchsorted(graphs, graph)]

    def _predict(self, model: nn.Module, graphs: Tensor) -> Tensor:
        # In batches as large as those of training: an evaluation must not need more memory than a step.
        batches = self.graphs.batches(graphs, self.batch_size)
        return torch.cat([model(self._moved(_without_label(batch, self.label))) for batch, _ in batches])

    def _moved(self, batch: Data) -> Data:
        # Moving would make new tensors, without the structure that hangs on the edges.
        return batch if self.device == "cpu" else batch.to(self.device)


def _without_label(batch: Data, label: str) -> Data:
    """Return a batch without its labels."""
    shown = copy.copy(batch)
    del shown[label]
    return shown
