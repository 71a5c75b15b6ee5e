"""Past graphs that a selector learns from, and the selector itself."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["Arrays", "Real", "Selector", "TrainingSet", "fill_rows"]

Real = NDArray[np.float64]
Arrays = dict[str, NDArray[Any]]


@dataclass(frozen=True, eq=False)
class TrainingSet:
    """Features ``[n, d]`` and scores ``[n, m]`` of past graphs, NaN where unknown, higher is better; and a seed."""

    features: Real
    scores: Real
    seed: int = 0


@dataclass(frozen=True, kw_only=True)
class Selector:
    """Functions to fit and to predict: ``predict(arrays, features [t, d])`` returns scores ``[t, m]`` to rank by.

    ``is_scaled`` says that features come with every column from 0 to 1 over the graphs learnt from; what a new graph
    has beyond that counts as the edge of it.
    ``predicts_scores`` says that what is returned is in units of the score.
    """

    name: str
    fit: Callable[[TrainingSet], Arrays]
    predict: Callable[[Arrays, Real], Real]
    description: str
    is_scaled: bool = True
    predicts_scores: bool = False


def fill_rows(scores: Real) -> Real:
    """Return scores where what is unknown is the mean of its row; 0 in a row without any."""
    known = np.isfinite(scores)
    counts = known.sum(axis=-1, keepdims=True)
    means = np.where(known, scores, 0).sum(axis=-1, keepdims=True) / np.maximum(counts, 1)
    return np.where(known, scores, means)


def column_means(scores: Real) -> Real:
    """Return the mean of the known scores of each setting ``[m]``; that of all settings where none is known."""
    known = np.isfinite(scores)
    counts = known.sum(axis=0)
    means = np.where(counts > 0, np.where(known, scores, 0).sum(axis=0) / np.maximum(counts, 1), np.nan)
    return fill_rows(means)
