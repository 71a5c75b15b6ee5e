"""A task made concrete for one seed, and the labels of it that each side may see."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from gnz_track.datasets.frozen import FrozenDataset
from gnz_track.datasets.splits.nodes_and_graphs import Parts
from gnz_track.errors import BadValue
from gnz_track.models.sizes import Sizes
from gnz_track.problems.inputs import ProblemTerms, unfit
from gnz_track.training.loop import TRAINING
from gnz_track.training.objectives import Objective
from gnz_track.training.scorers import Scorer
from gnz_track.types import TaskType

__all__ = [
    "Problem",
    "batches_of",
    "classes_of",
    "graph_labels",
    "held_out_parts",
    "scored",
    "seen",
    "two_level_targets",
    "visible",
    "with_labels",
]


@dataclass(frozen=True, kw_only=True)
class Problem:
    """A task made concrete for one seed; ``part_sizes`` count the examples in training and in test.

    ``constant`` returns what whoever has learnt nothing answers to every example, given a metric.
    """

    objective: Objective
    scorers: Mapping[str, Scorer]
    sizes: Sizes
    split_digest: str
    part_sizes: tuple[int, int]
    constant: Callable[[str], Any] = lambda _: None


def graph_labels(dataset: FrozenDataset, terms: ProblemTerms) -> tuple[str, Tensor]:
    """Return the kind of label and the labels, one row per graph."""
    is_numbers = terms.task_type is TaskType.graph_reg
    if not is_numbers and not dataset.is_multi_label:
        return "classes", classes_of(dataset, terms, "y", len(dataset))
    y = dataset.tensors["y"]
    if y.numel() % len(dataset):
        raise unfit(dataset, terms, f"y has {y.numel()} values for {len(dataset)} graphs")
    y = y.float().view(len(dataset), -1)
    return "numbers" if is_numbers else "labels", y


def classes_of(dataset: FrozenDataset, terms: ProblemTerms, name: str, n: int) -> Tensor:
    """Return the class of each example ``[n]``; several columns or numbers are no classes.

    Parameters
    ----------
    dataset, terms
        Dataset, and what a cell asks of it.
    name
        Tensor of the dataset that holds the classes.
    n
        Number of examples.
    """
    y = dataset.tensors[name]
    if y.numel() != n or y.is_floating_point():
        raise unfit(dataset, terms, f"{name} is {y.dtype} {list(y.shape)}, one whole number for each of {n} is needed")
    return y.flatten().long()


def visible(labels: Tensor, shown: Tensor) -> Tensor:
    """Return labels with all but the shown ones replaced by -1."""
    visible = torch.full_like(labels, -1)
    visible[shown] = labels[shown]
    return visible


def with_labels(index: Tensor, labels: Tensor, device: str) -> tuple[Tensor, Tensor]:
    """Return some places and the labels there, on a device.

    Parameters
    ----------
    index
        Places ``[k]``.
    labels
        Labels of all places ``[n, ...]``.
    device
        Where both go.
    """
    return index.to(device), labels[index].to(device)


def held_out_parts(parts: Parts, terms: ProblemTerms) -> list[tuple[str, Tensor]]:
    """Return the parts that are scored, by the names of their scorers."""
    if terms.is_blind and not parts.val.numel():
        raise BadValue("the validation part", "empty", "one with examples, by which a search can choose")
    return scored(parts, terms)


def scored(split: Any, terms: ProblemTerms) -> list[tuple[str, Any]]:
    """Return the parts of any split that are scored, training first where a protocol wants to know."""
    training = [(TRAINING, split.train)] if TRAINING in terms.protocol.also else []
    return training + [(name, getattr(split, name)) for name in _SCORED[terms.is_blind]]


def seen(labels: Tensor, parts: Parts, terms: ProblemTerms) -> Tensor:
    """Return labels as a problem may see them: a blind one has those of the test part erased.

    Parameters
    ----------
    labels
        Labels ``[n, ...]``: an erased class is -1, an erased number NaN.
    parts
        Split of the examples.
    terms
        What a cell asks of its data; it says whether the problem is blind.
    """
    if not terms.is_blind:
        return labels
    left = labels.clone()
    left[parts.test] = math.nan if labels.is_floating_point() else -1
    return left


# Whether a problem is blind -> the parts that are scored; the last one is reported.
_SCORED = {False: ("val", "test"), True: ("val",)}


def two_level_targets(dataset: FrozenDataset, terms: ProblemTerms) -> tuple[Tensor, Tensor]:
    """Return the numbers of nodes ``[n_nodes, a]`` and those of graphs ``[n_graphs, b]``."""
    found = []
    for name, n in (("y", dataset.n_nodes), ("graph_y", len(dataset))):
        targets = dataset.tensors[name]
        if not targets.is_floating_point() or not targets.numel() or targets.numel() % n:
            reason = f"{name} is {targets.dtype} {list(targets.shape)}, numbers for each of {n} are needed"
            raise unfit(dataset, terms, reason)
        found.append(targets.float().view(n, -1))
    return found[0], found[1]


def batches_of(ranks: Tensor, terms: ProblemTerms) -> Tensor | None:
    """Return the batch in which examples of graphs of these ranks ``[n]`` are scored; None where all are at once."""
    return ranks // terms.batch_of_scores if terms.batch_of_scores else None
