"""The rows of a results table that count, and the name that each stands for in a comparison."""

from __future__ import annotations

import pandas as pd

from gnz_track.stats.cells import REQUIRED, read_cells

__all__ = ["count_rows", "with_score"]

# What a comparison tells variants of a model apart by, and attempts from results.
TOLD_BY = ("status", "hyperparameters", "protocol")


def count_rows(table: pd.DataFrame) -> pd.DataFrame:
    """Return the rows that count, in their order, with the column ``label``: the model and what sets it apart.

    Labels are those of a comparison, and as there a scored cell replaces attempts at it that have no score.
    """
    if table.empty:
        return table.assign(label=pd.Series(dtype="str"))
    names = [*REQUIRED, *(name for name in TOLD_BY if name in table)]
    # The place of a row travels as the id of its run.
    cells = read_cells(table[names].assign(run_id=range(len(table))))
    labels = dict(sorted((int(cell.run_id), cell.label) for cell in cells))
    return table.iloc[list(labels)].assign(label=list(labels.values()))


def with_score(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the rows that finished with a score, seeds rising."""
    return rows[(rows["status"] == "finished") & rows["score"].notna()].sort_values("seed", kind="stable")
