"""Nodes in five folds, the same for every graph of so many nodes, and a part of the rest for validation.

So GLEMOS splits nodes (Park et al., NeurIPS 2023): fold ``i`` of all is tested, and a fifth of the others validates,
which makes 64/16/20. The order is that of scikit-learn's ``KFold`` and ``train_test_split`` with the published seeds,
so that both draw the same nodes.
"""

from __future__ import annotations

import math

import numpy as np
import torch
from torch import Tensor

__all__ = ["draw_node_fold"]

FOLD_SEED = 101
VALIDATION = 0.2


def draw_node_fold(nodes: Tensor, *, n_folds: int, seed: int) -> tuple[Tensor, Tensor, Tensor]:
    """Return training, validation and test nodes, ascending, of fold ``seed % n_folds`` of some nodes.

    The first ``n % n_folds`` folds are one node larger than the others.

    Parameters
    ----------
    nodes
        ``[n]``.
    n_folds, seed
    """
    fold, n = seed % n_folds, nodes.numel()
    order = np.arange(n)
    # The legacy generator, because its stream is the published one and never changes.
    np.random.RandomState(FOLD_SEED).shuffle(order)
    chosen = np.zeros(n, dtype=bool)
    chosen[np.array_split(order, n_folds)[fold]] = True
    rest = np.flatnonzero(~chosen)
    drawn = np.random.RandomState(fold * FOLD_SEED).permutation(rest.size)
    n_val = math.ceil(VALIDATION * rest.size)
    places = (rest[drawn[n_val:]], rest[drawn[:n_val]], np.flatnonzero(chosen))
    train, val, test = (nodes[torch.from_numpy(np.sort(found))] for found in places)
    return train, val, test
