"""Learning curves of several seeds as one: the mean at each epoch, with an interval while all seeds are there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from gnz_track.stats.estimates.intervals import intervals_of
from gnz_track.stats.inputs import check_level, check_whole

__all__ = ["MeanCurve", "mean_curve"]


@dataclass(frozen=True, kw_only=True)
class MeanCurve:
    """Means by epoch, which count from 0; low and high are None where there is no interval.

    ``n_whole`` of the epochs were reached by all ``n_seeds`` seeds. Behind them the mean is that of the seeds still in
    training, which are not drawn at random, so that it has no interval.
    """

    alpha: float
    n_seeds: int
    n_whole: int
    epochs: tuple[int, ...]
    means: tuple[float | None, ...]
    lows: tuple[float | None, ...]
    highs: tuple[float | None, ...]


def mean_curve(curves: Sequence[Sequence[float]], *, alpha: float = 0.05, most: int = 120) -> MeanCurve:
    """Return the mean of curves with Student t intervals of level 1 - alpha.

    Parameters
    ----------
    curves
        Values per epoch [any length], one curve per seed; a value that is no finite number is left out.
    alpha
        1 minus the level of the intervals.
    most
        Epochs that are kept of longer curves: evenly spread, with the first, the last, and the last that all reached.
    """
    check_level("alpha", alpha)
    check_whole("most", most, least=2)
    lengths = [len(curve) for curve in curves if len(curve)]
    rows = [np.asarray(curve, dtype=np.float64) for curve in curves if len(curve)]
    n_whole, longest = min(lengths, default=0), max(lengths, default=0)
    chosen = _spread(longest, n_whole, most)
    cells = [np.array([row[epoch] for row in rows if epoch < len(row)]) for epoch in chosen]
    intervals = intervals_of(cells, alpha=alpha)
    # Where a seed has no number, the rest of them is no sample of all.
    is_whole = [len(cell) == len(rows) and bool(np.isfinite(cell).all()) for cell in cells]
    known = list(zip(intervals, is_whole, strict=True))
    return MeanCurve(
        alpha=alpha,
        n_seeds=len(rows),
        n_whole=n_whole,
        epochs=chosen,
        means=tuple(interval.mean for interval in intervals),
        lows=tuple(interval.low if whole else None for interval, whole in known),
        highs=tuple(interval.high if whole else None for interval, whole in known),
    )


def _spread(longest: int, n_whole: int, most: int) -> tuple[int, ...]:
    if longest <= most:
        return tuple(range(longest))
    even = np.linspace(0, longest - 1, most).round().astype(int).tolist()
    return tuple(sorted({*even, n_whole - 1}))
