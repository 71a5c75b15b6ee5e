"""Sets of models that can be ranked together: decided by what was planned, by outcomes only where nothing came out."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

__all__ = ["FEWEST_TASKS", "LeftOut", "find_lost", "largest_block"]

Places = npt.NDArray[np.intp]
# Fewer tasks in common than these test nothing.
FEWEST_TASKS = 2


@dataclass(frozen=True, kw_only=True, eq=False)
class LeftOut:
    """The places of tasks and models that stay, and of those that go: ``lost`` have no score, ``sparse`` few."""

    rows: Places
    columns: Places
    lost_rows: Places
    lost_columns: Places
    sparse_columns: Places


def find_lost(has_score: npt.NDArray[np.bool_]) -> LeftOut:
    """Find tasks that no model finished, models that finished no task, and those that leave no tasks in common.

    has_score [N, k]. The last are models with few tasks, and go only where fewer than two tasks have all models and
    without them two or more do: :func:`largest_block` then says which.
    """
    rows, columns = np.flatnonzero(has_score.any(axis=1)), np.flatnonzero(has_score.any(axis=0))
    lost = (np.flatnonzero(~has_score.any(axis=1)), np.flatnonzero(~has_score.any(axis=0)))
    left = has_score[np.ix_(rows, columns)]
    kept = np.arange(len(columns))
    if left.all(axis=1).sum() < FEWEST_TASKS:
        tasks, models = largest_block(left)
        kept = models if min(len(tasks), len(models)) >= FEWEST_TASKS else kept
    return LeftOut(
        rows=rows,
        columns=columns[kept],
        lost_rows=lost[0],
        lost_columns=lost[1],
        sparse_columns=np.delete(columns, kept),
    )


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
