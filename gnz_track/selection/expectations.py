"""Expected score of each setting on a new graph, and how far that was off on past ones."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gnz_track.selection.matrix import PerformanceMatrix
from gnz_track.selection.selectors.forest_neighbours import weigh_themselves
from gnz_track.selection.selectors.training_set import Arrays
from gnz_track.training.metrics import METRICS
from gnz_track.types import Direction

__all__ = ["LEVEL", "Expectation", "expect_scores"]

Real = NDArray[np.float64]
LEVEL = 0.8
# By so much a mean of scores may miss a bound.
ROUNDING = 1e-9


@dataclass(frozen=True, eq=False)
class Expectation:
    """Expected scores ``[m]`` in units of the metric, and how far off ``[m]`` they may be, NaN where nobody knows.

    ``bounds`` are the least and the largest score that the metric can have, infinite where nobody knows.
    """

    scores: Real
    margins: Real
    level: float
    bounds: tuple[float, float]

    def low(self, column: int) -> float | None:
        """Return the lower end of an interval."""
        margin = self.margins[column]
        return None if np.isnan(margin) else max(float(self.scores[column] - margin), self.bounds[0])

    def high(self, column: int) -> float | None:
        """Return the upper end of an interval."""
        margin = self.margins[column]
        return None if np.isnan(margin) else min(float(self.scores[column] + margin), self.bounds[1])


def expect_scores(matrix: PerformanceMatrix, arrays: Arrays, weights: Real, *, level: float = LEVEL) -> Expectation:
    """Return the weighted means of past scores, with margins that held for that share of past graphs.

    A margin is the conformal quantile (Vovk et al., 2005) of how far each past graph was from what the trees that had
    not seen it expected, per setting, or over all settings where too few graphs know it. With n graphs the largest
    level is n / (n + 1).

    Parameters
    ----------
    matrix
        Past scores [graphs, settings].
    arrays
        The fitted selector.
    weights
        Weights [graphs] that it gives to past graphs for the new one.
    level
        Share of past graphs that margins must cover.
    """
    sign = 1.0 if matrix.direction is Direction.up else -1.0
    filled = arrays["scores"]
    errors = np.abs(weigh_themselves(arrays) @ filled - matrix.signed)
    # Graphs count once: the settings of one graph are off together.
    of_graphs = np.array([np.nanquantile(row, level) for row in errors])
    shared = _conformal(of_graphs, level)
    margins = np.array([_conformal(column, level) for column in errors.T])
    margins = np.where(np.isnan(margins), shared, margins)
    return Expectation(sign * (weights @ filled), margins, level, _bounds_of(matrix))


def _bounds_of(matrix: PerformanceMatrix) -> tuple[float, float]:
    """Return the bounds of the metric; a matrix of somebody else may have a metric of its own, or percentages."""
    if matrix.metric not in METRICS:
        return -np.inf, np.inf
    low, high = METRICS.get(matrix.metric).bounds
    known = matrix.scores[np.isfinite(matrix.scores)]
    is_in_them = low - ROUNDING <= known.min() and known.max() <= high + ROUNDING
    return (low, high) if is_in_them else (-np.inf, np.inf)


def _conformal(errors: Real, level: float) -> float:
    """Return the error that a new one exceeds in at most ``1 - level`` of cases; NaN where n is too small to say."""
    known = np.sort(errors[np.isfinite(errors)])
    place = int(np.ceil((len(known) + 1) * level - 1e-9))
    return float(known[place - 1]) if 0 < place <= len(known) else float("nan")
