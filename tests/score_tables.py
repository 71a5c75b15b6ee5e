"""Results tables for tests, as someone would type them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd


def table_of(
    scores: npt.ArrayLike,
    *,
    models: Sequence[str] = (),
    metric: str = "accuracy",
    direction: str = "up",
    **columns: Any,
) -> pd.DataFrame:
    """Return a plain table of scores [tasks, models, seeds]; NaN stays, further columns are constant."""
    array = np.asarray(scores, dtype=float)
    names = models or [f"m{place:02}" for place in range(array.shape[1])]
    rows = [
        (f"t{task:02}", names[model], seed, score, metric, direction)
        for (task, model, seed), score in np.ndenumerate(array)
    ]
    return pd.DataFrame(rows, columns=["task", "model", "seed", "score", "metric", "direction"]).assign(**columns)


def with_values(table: pd.DataFrame, column: str, values: Mapping[tuple[Any, ...], Any], *keys: str) -> pd.DataFrame:
    """Return the table with a column set where the keys of a row are among the given ones."""
    changed = table.copy()
    known = list(zip(*(changed[key] for key in keys), strict=True))
    before = changed[column].astype(object).tolist() if column in changed else [""] * len(changed)
    changed[column] = [values.get(key, old) for key, old in zip(known, before, strict=True)]
    return changed
