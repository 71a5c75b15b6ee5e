"""Scores as an array over tasks, models and seeds, and the label that tells variants of a model apart."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from gnz_track.errors import BadValue
from gnz_track.variants import label_variants

__all__ = ["ResultsTensor", "labels_of", "tensor_of"]


@dataclass(frozen=True, eq=False)
class ResultsTensor:
    """Scores as an array: ``X [tasks, models, seeds]``, NaN where ``mask`` is False, and the run behind each number."""

    X: NDArray[np.float64]
    mask: NDArray[np.bool_]
    run_ids: NDArray[np.object_]
    tasks: tuple[str, ...]
    models: tuple[str, ...]
    seeds: tuple[int, ...]


def tensor_of(table: pd.DataFrame) -> ResultsTensor:
    """Return the scores of the finished cells of a results table as ``X [tasks, models, seeds]``; axes are sorted.

    A model that was run with several hyperparameters or protocols stands for one model each, told apart by its label.
    Cells of one task with other numbers of epochs are refused, where the table has them.
    """
    finished = table[(table["status"] == "finished") & table["score"].notna()]
    names = labels_of(finished)
    columns = (finished["task"], names, finished["seed"].astype("int64"))
    axes = tuple(tuple(sorted(set(values))) for values in columns)
    at = tuple(
        pd.Index(axis, dtype=object).get_indexer(values.to_numpy(dtype=object))
        for axis, values in zip(axes, columns, strict=True)
    )
    _refuse_several_epochs(finished)
    shape = tuple(len(axis) for axis in axes)
    counts = np.zeros(shape, dtype=np.int64)
    np.add.at(counts, at, 1)
    if (counts > 1).any():
        task, model, seed = (axis[int(place[0])] for axis, place in zip(axes, np.nonzero(counts > 1), strict=True))
        raise BadValue("results table", f"{counts.max()} rows for {task} {model} s{seed}", "one row per cell")
    X, run_ids = np.full(shape, np.nan), np.full(shape, "", dtype=object)  # noqa: N806  (the array's name everywhere)
    X[at], run_ids[at] = finished["score"].to_numpy(), finished["run_id"].to_numpy(dtype=object)
    return ResultsTensor(X, counts == 1, run_ids, *axes)


def labels_of(table: pd.DataFrame) -> pd.Series:
    """Return the label of each row, as a comparison has it: the model, and what sets it apart from its variants."""
    tasks, protocols, changes = (table[name].tolist() for name in ("task", "protocol", "hyperparameters"))
    labels = label_variants(table["model"].tolist(), tasks=tasks, protocols=protocols, hyperparameters=changes)
    return pd.Series(labels, index=table.index, dtype=object)


def _refuse_several_epochs(table: pd.DataFrame) -> None:
    """Refuse scores after other numbers of epochs, which would be taken for a difference between models or seeds.

    So does a comparison. Under another protocol a model has a label of its own.
    """
    if "epochs" not in table:
        return
    counts = table.groupby(["task", "protocol"])["epochs"].nunique()
    for task, protocol in counts.index[counts > 1]:
        rows = table[(table["task"] == task) & (table["protocol"] == protocol)]
        n_cells = rows["epochs"].value_counts()
        shown = ", ".join(
            f"{epochs} ({n_cells[epochs]} cell{'' if n_cells[epochs] == 1 else 's'})"
            for epochs in sorted(n_cells.index)
        )
        most = n_cells.sort_index(ascending=False).idxmax()
        raise BadValue(
            f"epochs of {task!r}",
            shown,
            "one number for all cells of a task",
            command=f"where={{'epochs': {most}}}, or the cells of one sweep: sweep=NAME",
        )
