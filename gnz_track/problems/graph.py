"""Classes, labels and numbers of graphs, as problems."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import torch
from torch import Generator, Tensor, nn
from torch_geometric.data import Data

from gnz_track.datasets.frozen import FrozenDataset
from gnz_track.datasets.splits.nodes_and_graphs import split_graphs
from gnz_track.problems.baselines import constant_answer
from gnz_track.problems.inputs import (
    collection_of,
    complete_sizes,
    count_columns,
    nodes_of,
    sizes_of_classes,
    sizes_of_edges,
)
from gnz_track.problems.problem import (
    Problem,
    ProblemKind,
    batches_of,
    check_outputs,
    has_labels,
    held_out_parts,
    known_classes,
    known_numbers,
    labels_of,
    numbers_of,
    parts_of,
    seen,
)
from gnz_track.problems.rows import RowScorer
from gnz_track.training.answers import Answers, Examples
from gnz_track.training.graphs import GraphCollection
from gnz_track.training.loop import TRAINING
from gnz_track.training.losses import choose_loss
from gnz_track.types import CellSettings

__all__ = ["CLASSES", "NUMBERS", "GraphObjective", "GraphScorer", "pose_graphs"]


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
class GraphScorer(RowScorer):
    """Labels of held-out graphs; ``rows [n]`` are their places in the prediction. Kinds as in the losses."""


def pose_graphs(dataset: FrozenDataset, settings: CellSettings) -> Problem:
    """Pose classes, labels or numbers of graphs."""
    parts = parts_of(split_graphs, dataset, settings)
    kind, labels = labels_of(dataset, settings, "y", len(dataset))
    about = _sizes_of_numbers if kind == "numbers" else sizes_of_classes
    labels, sizes = seen(labels, parts, settings), complete_sizes(dataset, settings, about(dataset, settings))
    # All that is held out is predicted, scored or not: in other batches, sums would differ in the last digits.
    held_out = torch.cat([parts.val, parts.test])
    counts = [parts.val.numel(), parts.test.numel()]
    rows = dict(zip(("val", "test"), torch.arange(held_out.numel()).split(counts), strict=True))
    rows[TRAINING] = torch.arange(parts.train.numel())
    objective = GraphObjective(
        graphs=collection_of(dataset, settings, in_training=nodes_of(dataset, parts.train)),
        train=parts.train,
        labels=labels[parts.train],
        held_out=held_out,
        kind=kind,
        batch_size=settings.optimiser.batch_size or parts.train.numel(),
        device=settings.device,
        width=sizes.out_channels,
        loss_name=settings.optimiser.loss,
    )

    def scorer(name: str, part: Tensor) -> GraphScorer:
        batches = batches_of(torch.arange(part.numel()), settings)
        examples = Examples("graph", {"id": part})
        about = {"loss_name": settings.optimiser.loss, "batches": batches, "examples": examples}
        return GraphScorer(rows[name].to(settings.device), labels[part].to(settings.device), kind, **about)

    return Problem(
        objective=objective,
        scorers={name: scorer(name, part) for name, part in held_out_parts(parts, settings)},
        sizes=sizes,
        split_digest=parts.digest,
        split=partial(numbers_of, parts),
        part_sizes=parts.sizes,
        constant=partial(constant_answer, labels[parts.train], kind, sizes.out_channels),
    )


def _sizes_of_numbers(dataset: FrozenDataset, settings: CellSettings) -> dict[str, Any]:
    return {"out_channels": count_columns(dataset.tensors.get("y"), len(dataset)), **sizes_of_edges(dataset, settings)}


def _ask(model: nn.Module, dataset: FrozenDataset, settings: CellSettings) -> tuple[Answers, ...]:
    graphs, n = collection_of(dataset, settings), len(dataset)
    batches = graphs.batches(torch.arange(n), EVALUATION)
    outputs = torch.cat([model(batch.to(settings.device)) for batch, _ in batches])
    is_classes = not settings.task_type.predicts_numbers and not has_labels(dataset, settings)
    targets = known_classes(dataset, "y", n) if is_classes else known_numbers(dataset, "y", outputs)
    return (Answers(Examples("graph", {"id": torch.arange(n)}), targets, outputs),)


CLASSES = ProblemKind(
    pose=pose_graphs, sizes=sizes_of_classes, ask=_ask, needs=("edge_index", "y"), divide=split_graphs
)
NUMBERS = replace(CLASSES, sizes=_sizes_of_numbers)
