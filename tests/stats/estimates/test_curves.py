"""The mean of curves of several lengths: intervals only where all seeds are there."""

from __future__ import annotations

import numpy as np
import pytest

from gnz_track.errors import BadValue
from gnz_track.stats.estimates.intervals import intervals_of, mean_curve


def test_means_and_intervals_are_those_of_each_epoch() -> None:
    values = np.random.default_rng(0).normal(size=(5, 7))
    curve = mean_curve(values.tolist(), alpha=0.1)
    for epoch in range(7):
        (found,) = intervals_of([values[:, epoch]], alpha=0.1)
        assert (curve.means[epoch], curve.lows[epoch], curve.highs[epoch]) == (found.mean, found.low, found.high)
    assert (curve.n_seeds, curve.n_whole, curve.epochs) == (5, 7, tuple(range(7)))


def test_behind_the_shortest_there_is_no_interval() -> None:
    curve = mean_curve([[1.0, 2.0, 3.0], [3.0, 4.0], []])
    assert curve.means == (2.0, 3.0, 3.0)
    assert curve.n_seeds == 2
    assert curve.n_whole == 2
    assert curve.lows[2] is curve.highs[2] is None
    assert curve.lows[1] is not None


def test_long_curves_keep_their_first_last_and_last_whole_epoch() -> None:
    curve = mean_curve([[0.0] * 1000, [1.0] * 777], most=50)
    assert len(curve.epochs) <= 51
    assert {0, 776, 999} <= set(curve.epochs)
    with pytest.raises(BadValue, match="most"):
        mean_curve([[1.0]], most=1)


def test_no_curve_is_empty() -> None:
    curve = mean_curve([])
    assert (curve.n_seeds, curve.epochs, curve.means) == (0, (), ())
