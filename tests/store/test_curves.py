from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gnz_track.store.curves import straighten, thin


@given(st.lists(st.floats(-1e6, 1e6), max_size=300), st.integers(0, 299), st.integers(3, 100))
def test_thinned_curve_keeps_its_epochs(values: list[float], keep: int, limit: int) -> None:
    curve = thin(values, keep=keep, limit=limit)
    whole = straighten(curve)
    assert len(whole) == len(values)
    assert all(whole[epoch] == value for epoch, value in curve)


def test_between_kept_epochs_is_a_straight_line() -> None:
    line = [3.0 + 0.5 * epoch for epoch in range(250)]
    assert straighten(thin(line, keep=77)) == pytest.approx(line)


def test_before_the_first_kept_epoch_nothing_is_known() -> None:
    first, *rest = straighten(((1, 5.0), (3, 7.0)))
    assert math.isnan(first)
    assert rest == [5.0, 6.0, 7.0]
    assert straighten(()) == ()
