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


def trained_table(direction: str = "up") -> pd.DataFrame:
    """Return a table in which A and B are level, C is behind both, and D behind all."""
    rng, sign = np.random.default_rng(0), 1 if direction == "up" else -1
    base = sign * 0.8 + rng.normal(0, 0.01, 8)
    behind = [sign * shift + rng.normal(0, 0.01, 8) for shift in (0.1, 0.2)]
    level = base + 0.01 * (-1.0) ** np.arange(8) + 1e-4 * np.arange(8)
    scores = [[base, level, *(base - each for each in behind)]]
    table = table_of(scores, models=("A", "B", "C", "D"), direction=direction)
    seeds = table["seed"].to_numpy()
    return table.assign(
        n_parameters=np.where(table["model"] == "D", 120_000, 100_000),
        seconds=10.0 + seeds,
        seconds_per_epoch=0.5,
        n_epochs=60 + seeds,
        selected_epoch=54 + seeds,
        score_on_training=0.9 + seeds / 100,
        score_at_best_validation=table["score"] - 0.01,
        cpu_seconds=9.0 + seeds,
        peak_rss_mib=512.0,
        memory_mib=64.0,
    )
