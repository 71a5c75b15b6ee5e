"""Cross-validation: graphs in folds that no seed changes, and which of them a seed stands for.

Of ``n`` folds, seed ``s`` is repetition ``s // n`` of fold ``s % n``: five folds, each with four seeds of the training,
are the seeds 0 to 19. A fold is tested, the next one validates, the others train. Stone: Cross-validatory choice and
assessment of statistical predictions, 1974.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Generator, Tensor

from gnz_track.datasets.frozen import FrozenDataset
from gnz_track.datasets.policies import FOLDS, check_policy, takes_published
from gnz_track.seeds import derive

__all__ = ["Fold", "draw_folds", "fold_columns", "fold_of"]

_TRAIN, _VAL, _TEST = range(3)


@dataclass(frozen=True)
class Fold:
    """A fold that a seed stands for: its number, that of all folds, and how often it was trained before."""

    number: int
    n_folds: int
    repetition: int


def fold_of(dataset: FrozenDataset, *, policy: str, seed: int) -> Fold | None:
    """Return the fold of graphs that a seed stands for under a policy; None where graphs are not in folds.

    >>> from gnz_track.datasets.preparation import prepare
    >>> fold_of(prepare("csl_generated", seed=0), policy="published", seed=13)
    Fold(number=3, n_folds=5, repetition=2)

    Parameters
    ----------
    dataset, policy, seed
    """
    check_policy(policy)
    n_folds = FOLDS.get(policy, 0)
    if takes_published(policy) and dataset.split is not None:
        n_folds = 0 if dataset.split.dim() == 1 else dataset.split.size(1)
    return Fold(seed % n_folds, n_folds, seed // n_folds) if n_folds else None


def draw_folds(dataset: FrozenDataset, *, n_folds: int) -> Tensor:
    """Return the fold of each graph ``[n_graphs]``: as many of each class in each of them, to within one graph.

    Folds are drawn from the digest of the dataset, and so are the same for all seeds.
    """
    n, y = len(dataset), dataset.tensors.get("y")
    are_classes = y is not None and y.numel() == n and not y.is_floating_point()
    labels = y.flatten() if y is not None and are_classes else torch.zeros(n, dtype=torch.int64)
    order = torch.randperm(n, generator=Generator().manual_seed(derive(n_folds, dataset.digest, "folds")))
    order = order[labels[order].argsort(stable=True)]
    fold = torch.empty(n, dtype=torch.int64)
    fold[order] = torch.arange(n) % n_folds
    return fold


def fold_columns(fold: Tensor, n_folds: int) -> Tensor:
    """Return the part ``[n, n_folds]`` of each graph in each fold, from the fold ``[n]`` that tests it."""
    ahead = (fold[:, None] - torch.arange(n_folds)) % n_folds
    return torch.where(ahead == 0, _TEST, torch.where(ahead == 1, _VAL, _TRAIN))
