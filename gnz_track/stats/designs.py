"""Which models can be ranked together: decided by what was planned, and never by how it came out."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

__all__ = ["largest_block"]

Places = npt.NDArray[np.intp]


def largest_block(planned: npt.NDArray[np.bool_]) -> tuple[Places, Places]:
    """Return tasks and models of a large block in which every model was planned on every task.

    planned [N, k] -> places of tasks, places of models. Models join from the one with most tasks on; of the blocks on
    the way the one with most cells is taken, and of equal ones the one with more models. A block of one task or one
    model ranks nothing, and is taken only where there is no other. A model for graphs alone does not take the
    other tasks from the rest, then.
    """
    n_tasks, n_models = planned.shape
    # The sort is stable: of models with equally many tasks the first stays the first.
    order = np.argsort(-planned.sum(axis=0), kind="stable")
    best: tuple[bool, int, int] = (False, -1, -1)
    found = (np.arange(n_tasks), np.arange(n_models))
    for n in range(1, n_models + 1):
        columns = np.sort(order[:n])
        rows = np.flatnonzero(planned[:, columns].all(axis=1))
        size = (min(len(rows), n) >= 2, len(rows) * n, n)
        if size > best:
            best, found = size, (rows, columns)
    return found
