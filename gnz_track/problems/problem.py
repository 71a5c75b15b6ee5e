"""A task made concrete for one seed, and the labels of it that each side may see."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from gnz_track.datasets.frozen import FrozenDataset
from gnz_track.datasets.splits.nodes_and_graphs import Parts, take_training
from gnz_track.errors import BadValue, ModelInvalid
from gnz_track.models.options import Sizes
from gnz_track.problems.baselines import KnownScorer
from gnz_track.problems.inputs import unfit
from gnz_track.training.answers import Answers
from gnz_track.training.loop import TRAINING, Objective
from gnz_track.training.metrics import MULTI_LABEL_METRICS
from gnz_track.types import CellSettings

__all__ = [
    "SCORINGS",
    "Problem",
    "ProblemKind",
    "batch_of_scores",
    "batches_of",
    "check_outputs",
    "classes_of",
    "has_labels",
    "held_out_parts",
    "known_classes",
    "known_numbers",
    "labels_of",
    "numbers_of",
    "parts_of",
    "scored",
    "seen",
    "visible",
    "with_labels",
]


@dataclass(frozen=True, kw_only=True)
class Problem:
    """A task made concrete for one seed; ``part_sizes`` count the examples in training and in test.

    ``constant`` returns what whoever has learnt nothing answers to every example, given a metric. ``split`` returns,
    by part, the numbers of the examples, and the ends of links and triples.
    """

    objective: Objective
    scorers: Mapping[str, KnownScorer]
    sizes: Sizes
    split_digest: str
    part_sizes: tuple[int, int]
    constant: Callable[[str], Any] = lambda _: None
    split: Callable[[], Mapping[str, Mapping[str, Tensor]]] = dict


def numbers_of(parts: Parts) -> dict[str, dict[str, Tensor]]:
    """Return the numbers of the examples of each part, by the name of their column."""
    return {name: {"id": numbers} for name, numbers in parts.items().items()}


@dataclass(frozen=True, kw_only=True)
class ProblemKind:
    """A kind of problem: how a dataset is posed as one, and the tensors that this needs.

    ``sizes`` returns what a model has to know beside its inputs, ``refuse`` raises where settings mean nothing here.
    ``divide`` splits a dataset into numbered examples; there is none for links, of which the graph itself is made.
    ``ask`` lets a trained model answer every example of a dataset, labelled or not: nothing is split. One that
    ``is_sampled`` may be posed in batches with drawn neighbours.
    """

    pose: Callable[[FrozenDataset, CellSettings], Problem]
    sizes: Callable[[FrozenDataset, CellSettings], dict[str, Any]]
    ask: Callable[[Any, FrozenDataset, CellSettings], tuple[Answers, ...]]
    needs: tuple[str, ...] = ()
    has_one_loss: bool = False
    refuse: Callable[[FrozenDataset, CellSettings], None] | None = None
    divide: Callable[..., Parts] | None = None
    is_sampled: bool = False


def parts_of(divide: Callable[..., Parts], dataset: FrozenDataset, settings: CellSettings) -> Parts:
    """Return the parts of a dataset, training of the size that is asked for.

    Parameters
    ----------
    divide
        Function of a dataset, a policy and a seed that splits it.
    dataset, settings
        Dataset, and the settings of a cell.
    """
    seed = settings.seed_of("split")
    parts = divide(dataset, policy=settings.splits, seed=seed)
    return take_training(parts, settings.train_size, dataset, seed=seed) if settings.train_size else parts


def classes_of(dataset: FrozenDataset, settings: CellSettings, name: str, n: int) -> Tensor:
    """Return the class of each example ``[n]``; several columns or numbers are no classes.

    Parameters
    ----------
    dataset, settings
        Dataset, and the settings of a cell.
    name
        Tensor of the dataset that holds the classes.
    n
        Number of examples.
    """
    y = dataset.tensors[name]
    if y.numel() != n or y.is_floating_point():
        raise unfit(
            dataset, settings, f"{name} is {y.dtype} {list(y.shape)}, one whole number for each of {n} is needed"
        )
    return y.flatten().long()


def labels_of(dataset: FrozenDataset, settings: CellSettings, name: str, n: int) -> tuple[str, Tensor]:
    """Return the kind of label and the labels: classes ``[n]``, several labels or numbers ``[n, k]`` as reals.

    Parameters
    ----------
    dataset, settings
        Dataset, and the settings of a cell.
    name
        Tensor of the dataset that holds the labels.
    n
        Number of examples.
    """
    if not settings.task_type.predicts_numbers and not has_labels(dataset, settings):
        return "classes", classes_of(dataset, settings, name, n)
    y = dataset.tensors[name]
    if not y.numel() or y.numel() % n:
        raise unfit(dataset, settings, f"{name} has {y.numel()} values for {n} {settings.task_type.unit}s")
    return "numbers" if settings.task_type.predicts_numbers else "labels", y.float().view(n, -1)


def has_labels(dataset: FrozenDataset, settings: CellSettings) -> bool:
    """Tell whether examples have several labels each, and not one class."""
    return settings.task_type in MULTI_LABEL_METRICS and dataset.is_multi_label


def known_classes(dataset: FrozenDataset, name: str, n: int) -> Tensor:
    """Return the class of each example ``[n]`` as far as a dataset knows it; -1 is unknown.

    Parameters
    ----------
    dataset
        Dataset, which may have no labels at all.
    name
        Tensor that would hold them.
    n
        Number of examples.
    """
    y = dataset.tensors.get(name)
    if y is None or y.is_floating_point() or y.numel() != n:
        return torch.full((n,), -1)
    return y.flatten().long()


def known_numbers(dataset: FrozenDataset, name: str, outputs: Tensor) -> Tensor:
    """Return what is true of each example as numbers, in the form of ``outputs [n, k]``; NaN is unknown.

    Parameters
    ----------
    dataset
        Dataset, which may have no targets at all.
    name
        Tensor that would hold them.
    outputs
        What a model says of the examples.
    """
    y = dataset.tensors.get(name)
    if y is None or y.numel() != outputs.numel():
        return torch.full_like(outputs, math.nan)
    return y.float().view(outputs.shape)


def visible(labels: Tensor, shown: Tensor) -> Tensor:
    """Return labels with all but the shown ones replaced: classes by -1, numbers by NaN."""
    visible = torch.full_like(labels, math.nan if labels.is_floating_point() else -1)
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


def held_out_parts(parts: Parts, settings: CellSettings) -> list[tuple[str, Tensor]]:
    """Return the parts that are scored, by the names of their scorers."""
    if settings.is_blind and not parts.val.numel():
        raise BadValue("the validation part", "empty", "one with examples, by which a search can choose")
    return scored(parts, settings)


def scored(split: Any, settings: CellSettings) -> list[tuple[str, Any]]:
    """Return the parts of any split that are scored, training first where a protocol wants to know."""
    training = [(TRAINING, split.train)] if TRAINING in settings.also else []
    return training + [(name, getattr(split, name)) for name in _SCORED[settings.is_blind]]


def seen(labels: Tensor, parts: Parts, settings: CellSettings) -> Tensor:
    """Return labels as a problem may see them: a blind one has those of the test part erased.

    Parameters
    ----------
    labels
        Labels ``[n, ...]``: an erased class is -1, an erased number NaN.
    parts
        Split of the examples.
    settings
        Settings of the cell, which say whether the problem is blind.
    """
    if not settings.is_blind:
        return labels
    left = labels.clone()
    left[parts.test] = math.nan if labels.is_floating_point() else -1
    return left


# Whether a problem is blind -> the parts that are scored; the last one is reported.
_SCORED = {False: ("val", "test"), True: ("val",)}


def batches_of(ranks: Tensor, settings: CellSettings) -> Tensor | None:
    """Return the batch in which examples of graphs of these ranks ``[n]`` are scored; None where all are at once."""
    size = batch_of_scores(settings)
    return ranks // size if size else None


def batch_of_scores(settings: CellSettings) -> int:
    """Return the number of graphs that are scored together; 0 where all of a part are."""
    if settings.scoring not in SCORINGS:
        raise BadValue("the scoring of a protocol", settings.scoring, ", ".join(SCORINGS))
    return settings.optimiser.batch_size if SCORINGS[settings.scoring] else 0


# Way of scoring -> whether it is by batches.
SCORINGS = {"whole": False, "per_batch": True}


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
