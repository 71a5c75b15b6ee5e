"""Objectives: the loss and the prediction of each task type.

An objective holds what training may see: features, message edges, and training labels. Held-out labels live in a
:class:`~gnz_track.training.scorers.Scorer`. The model is given graphs whose ``y`` shows training labels only: others
are -1 (classes) or NaN (numbers), and batches of held-out graphs have no ``y``. Each call gets a shallow copy of its
graph, so that a model that sets fields of its input finds it unchanged the next time. What is said of ``y`` holds for
``edge_label`` where edges are classified.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Protocol

import torch
from torch import Generator, Tensor, nn
from torch.nn import functional
from torch_geometric.data import Data

from gnz_track.errors import ModelInvalid
from gnz_track.training.graphs import GraphCollection
from gnz_track.training.losses import choose_loss

__all__ = [
    "EVALUATION",
    "ClassObjective",
    "GraphObjective",
    "LinkObjective",
    "Objective",
    "TripleObjective",
    "check_outputs",
]


class Objective(Protocol):
    """One epoch is one pass over ``batches``; each gives one optimiser step on ``loss``."""

    def batches(self, generator: Generator) -> Iterator[Any]:
        """Yield the batches of one epoch; all order is drawn from the generator."""
        ...

    def loss(self, model: nn.Module, batch: Any) -> tuple[Tensor, int]:
        """Return the mean loss over a batch (a scalar) and the number of examples in it."""
        ...

    def predict(self, model: nn.Module) -> Tensor:
        """Return, in one pass, all that scoring of held-out examples needs."""
        ...

    def predict_training(self, model: nn.Module) -> Tensor:
        """Return all that scoring of training examples needs; asked for once, at the end."""
        ...


@dataclass(frozen=True, eq=False)
class ClassObjective:
    """Cross-entropy over training parts of one graph, nodes or labelled edges: places ``rows [n]``, ``labels [n]``.

    Predicts the logits of all ``n_rows`` of them ``[n_rows, classes]``.
    """

    data: Data
    rows: Tensor
    labels: Tensor
    n_rows: int
    # Columns that the model must return; 0 checks nothing.
    width: int = 0
    # Another loss than the usual one.
    loss_name: str = ""

    def batches(self, generator: Generator) -> Iterator[Data]:
        """Yield the whole graph, once."""
        del generator
        yield copy.copy(self.data)

    def loss(self, model: nn.Module, batch: Data) -> tuple[Tensor, int]:
        """Return the loss of the training parts."""
        logits = check_outputs(model, model(batch), self.n_rows, self.width)
        loss = choose_loss("classes", self.loss_name)
        return loss(logits.index_select(0, self.rows), self.labels), self.rows.numel()

    def predict(self, model: nn.Module) -> Tensor:
        """Return the logits of all nodes, or of all labelled edges ``[n_rows, classes]``."""
        logits: Tensor = model(copy.copy(self.data))
        return logits

    def predict_training(self, model: nn.Module) -> Tensor:
        """Return the same."""
        return self.predict(model)


@dataclass(frozen=True, eq=False)
class GraphObjective:
    """A loss over graphs in shuffled batches; predicts ``[n_held_out, out]`` for the held-out graphs, in their order.

    ``labels`` belong to the ``train`` graphs, one row each. ``kind`` is that of the labels, ``loss_name`` another loss
    than its usual one.
    """

    graphs: GraphCollection
    train: Tensor
    labels: Tensor
    held_out: Tensor
    kind: str
    batch_size: int
    device: str = "cpu"
    # Columns that the model must return; 0 checks nothing.
    width: int = 0
    loss_name: str = ""

    def __post_init__(self) -> None:
        rows = torch.full((len(self.graphs),), -1)
        rows[self.train] = torch.arange(self.train.numel())
        object.__setattr__(self, "_row_of", rows)
        # Held-out graphs are the same at every epoch: joined once.
        held_out = [self._moved(batch) for batch, _ in self.graphs.batches(self.held_out, EVALUATION)]
        object.__setattr__(self, "_held_out_batches", held_out)

    def _moved(self, batch: Data) -> Data:
        # Moving would make new tensors, without the structure that hangs on the edges.
        return batch if self.device == "cpu" else batch.to(self.device)

    def batches(self, generator: Generator) -> Iterator[Data]:
        """Yield shuffled batches of training graphs with their labels as ``y``."""
        order = self.train[torch.randperm(self.train.numel(), generator=generator)]
        for batch, graphs in self.graphs.batches(order, self.batch_size):
            batch.y = self.labels.index_select(0, self._row_of.index_select(0, graphs))  # type: ignore[attr-defined]
            yield self._moved(batch)

    def loss(self, model: nn.Module, batch: Data) -> tuple[Tensor, int]:
        """Return the loss of one batch."""
        n_graphs = batch.ptr.numel() - 1
        labels = batch.y
        outputs = check_outputs(model, model(batch), n_graphs, self.width)
        return choose_loss(self.kind, self.loss_name)(outputs, labels), n_graphs

    def predict(self, model: nn.Module) -> Tensor:
        """Return the outputs for the held-out graphs ``[n_held_out, out]``."""
        return torch.cat([model(copy.copy(batch)) for batch in self._held_out_batches])  # type: ignore[attr-defined]

    def predict_training(self, model: nn.Module) -> Tensor:
        """Return the outputs for the training graphs ``[n_train, out]``."""
        batches = self.graphs.batches(self.train, EVALUATION)
        return torch.cat([model(self._moved(batch)) for batch, _ in batches])


EVALUATION = 4096


@dataclass(frozen=True, eq=False)
class LinkObjective:
    """Binary cross-entropy over training pairs ``[2, n]`` with labels ``[n]``; predicts node codes.

    A step takes ``batch_size`` of the pairs, in random order, and the whole graph; of 0 it takes all.
    """

    data: Data
    pairs: Tensor
    labels: Tensor
    batch_size: int = 0

    def batches(self, generator: Generator) -> Iterator[Data]:
        """Yield the whole graph, once for every batch of pairs, whose places are its ``scored_pairs``."""
        if not self.batch_size:
            yield copy.copy(self.data)
            return
        order = torch.randperm(self.labels.numel(), generator=generator).to(self.labels.device)
        for places in order.split(self.batch_size):
            batch = copy.copy(self.data)
            batch.scored_pairs = places
            yield batch

    def loss(self, model: Any, batch: Data) -> tuple[Tensor, int]:
        """Return the cross-entropy of a batch of training pairs."""
        pairs, labels = self.pairs, self.labels
        if "scored_pairs" in batch:
            pairs, labels = pairs[:, batch.scored_pairs], labels[batch.scored_pairs]
        logits = model.decode(check_outputs(model, model.encode(batch), batch.num_nodes), pairs)
        return functional.binary_cross_entropy_with_logits(logits, labels), labels.numel()

    def predict(self, model: Any) -> Tensor:
        """Return the node codes ``[n_nodes, width]``."""
        codes: Tensor = model.encode(copy.copy(self.data))
        return codes

    def predict_training(self, model: Any) -> Tensor:
        """Return the same."""
        return self.predict(model)


@dataclass(frozen=True, eq=False)
class TripleObjective:
    """Binary cross-entropy over training triples and as many with a false tail, drawn anew every epoch.

    ``triples [3, n]`` are head, relation, tail. A false tail is drawn again while it makes a training triple; after
    :data:`REDRAWS` times it is drawn among the tails that do not, if there are any.
    """

    data: Data
    triples: Tensor
    n_relations: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "_known", self._code(*self.triples).sort().values)
        n = self.triples.size(1)
        object.__setattr__(self, "_labels", torch.cat([torch.ones(n), torch.zeros(n)]).to(self.triples.device))

    def batches(self, generator: Generator) -> Iterator[tuple[Tensor, Tensor]]:
        """Yield all pairs ``[2, 2n]`` and relations ``[2n]`` of an epoch, the true ones first."""
        head, relation, tail = self.triples
        false = self._draw_tails(generator)
        pairs = torch.stack([torch.cat([head, head]), torch.cat([tail, false])])
        yield pairs, torch.cat([relation, relation])

    def loss(self, model: Any, batch: tuple[Tensor, Tensor]) -> tuple[Tensor, int]:
        """Return the cross-entropy of true and false triples."""
        codes = check_outputs(model, model.encode(copy.copy(self.data)), self.data.num_nodes)
        logits = model.decode(codes, *batch)
        return functional.binary_cross_entropy_with_logits(logits, self._labels), logits.numel()  # type: ignore[attr-defined]

    def predict(self, model: Any) -> Tensor:
        """Return the node codes ``[n_nodes, width]``."""
        codes: Tensor = model.encode(copy.copy(self.data))
        return codes

    def predict_training(self, model: Any) -> Tensor:
        """Return the same."""
        return self.predict(model)

    def _code(self, head: Tensor, relation: Tensor, tail: Tensor) -> Tensor:
        n_nodes = self.data.num_nodes
        return (head * self.n_relations + relation) * n_nodes + tail

    def _draw_tails(self, generator: Generator) -> Tensor:
        head, relation, tail = self.triples
        n_nodes = self.data.num_nodes
        # Drawn on the CPU whatever the device, so that a seed means the same numbers everywhere.
        false = torch.randint(n_nodes, tail.shape, generator=generator).to(tail.device)
        suspects = torch.arange(tail.numel(), device=tail.device)
        known: Tensor = self._known  # type: ignore[attr-defined]
        for _ in range(REDRAWS):
            codes = self._code(head[suspects], relation[suspects], false[suspects])
            at = torch.searchsorted(known, codes).clamp_(max=known.numel() - 1)
            suspects = suspects[known[at] == codes]
            if suspects.numel() == 0:
                return false
            false[suspects] = torch.randint(n_nodes, suspects.shape, generator=generator).to(tail.device)
        for suspect in suspects.tolist():
            codes = self._code(head[suspect], relation[suspect], torch.arange(n_nodes, device=tail.device))
            is_false = torch.isin(codes, known, invert=True)
            if is_false.any():
                choices = is_false.nonzero().flatten()
                false[suspect] = choices[torch.randint(choices.numel(), (), generator=generator)]
        return false


REDRAWS = 8


def check_outputs(model: nn.Module, outputs: Any, n_rows: int | None, width: int = 0) -> Tensor:
    """Return the outputs of a model if they have the right shape.

    Parameters
    ----------
    model
        Model, for errors.
    outputs
        What its forward returned.
    n_rows, width
        Shape that is needed; a width of 0 is any.
    """
    has_rows = isinstance(outputs, Tensor) and outputs.dim() == 2 and outputs.size(0) == n_rows
    if has_rows and width in (0, outputs.size(1)):
        return outputs  # type: ignore[no-any-return]
    found = f"shape {tuple(outputs.shape)}" if isinstance(outputs, Tensor) else f"a {type(outputs).__name__}"
    raise ModelInvalid(
        type(getattr(model, "encoder", model)).__name__,
        f"its forward returned {found} where [{n_rows}, {width or 'channels'}] was expected",
        remedy="return one row per node (per graph on graph tasks, per labelled edge on edge_cls; multi_task_factory "
        "adds the head), as wide as the out_channels that the constructor was given",
    )
