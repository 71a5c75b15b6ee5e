"""Winners on the border of their space, and whether scores rise towards it."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.stats
from hypothesis import given, settings
from hypothesis import strategies as st

from gnz_track.errors import BadValue
from gnz_track.stats.search.borders import Border, check_border, place_in_range
from gnz_track.types import Direction


def test_scores_that_rise_towards_the_border_are_told() -> None:
    places = np.linspace(0, 1, 20)
    found = check_border("lr", places.tolist(), places**2, Direction.up, winner=1.0)
    assert found is not None
    assert (found.end, found.trend) == ("high", pytest.approx(1.0))
    assert (found.p or 1.0) < 0.001
    said = "scores get better towards it (+1.00, p = 0.0005): search beyond"
    assert str(found) == f"the winner's lr is at the high end of its range; {said}"
    worse = check_border("lr", places.tolist(), places**2, Direction.down, winner=1.0)
    assert worse is not None
    assert worse.trend == pytest.approx(-1.0)
    assert not worse.goes_on
    assert "no clear trend towards it (-1.00, p = 1)" in str(worse)


@settings(deadline=None, max_examples=40)
@given(st.lists(st.tuples(st.floats(0, 1), st.integers(0, 9)), min_size=6, max_size=30), st.sampled_from([0.0, 1.0]))
def test_trend_is_spearmans(trials: list[tuple[float, int]], winner: float) -> None:
    places, scores = [place for place, _ in trials], [float(score) for _, score in trials]
    found = check_border("lr", places, scores, Direction.up, winner=winner)
    assert found is not None
    if np.ptp(places) == 0 or np.ptp(scores) == 0:
        assert (found.trend, found.p) == (None, None)
    else:
        expected = scipy.stats.spearmanr(places, scores).statistic
        assert found.trend == pytest.approx(expected if winner else -expected, abs=1e-9)
        assert 0 < (found.p or 0.0) <= 1


def test_p_of_no_trend_is_even() -> None:
    rng = np.random.default_rng(0)
    found = [
        check_border("lr", rng.random(12).tolist(), rng.random(12), Direction.up, winner=0.0, seed=seed)
        for seed in range(300)
    ]
    p = np.array([one.p for one in found if one is not None])
    assert scipy.stats.kstest(p, "uniform").pvalue > 0.001


@pytest.mark.parametrize(
    ("winner", "n_choices", "end"),
    [
        (0.5, 0, None),
        (0.05, 0, "low"),
        (0.051, 0, None),
        (0.96, 0, "high"),
        (0.0, 3, "low"),
        (0.5, 3, None),
        (1.0, 3, "high"),
        (0.25, 5, None),
        (0.0, 2, None),
        (0.0, 1, None),
    ],
)
def test_border_is_the_outer_part_or_the_last_choice(winner: float, n_choices: int, end: str | None) -> None:
    found = check_border("a", [0.0, 1.0], [1.0, 2.0], Direction.up, winner=winner, n_choices=n_choices)
    assert (found.end if found else None) == end


def test_few_trials_tell_no_trend() -> None:
    found = check_border("a", [0.0, 1.0], [1.0, 2.0], Direction.up, winner=1.0, n_choices=4)
    assert found == Border(name="a", end="high", position=1.0, chance=0.5, trend=None, p=None)
    assert str(found).endswith("too few trials tell whether better ones lie beyond")


def test_places_are_on_the_scale_of_drawing() -> None:
    assert place_in_range(5.0, 0.0, 20.0) == 0.25
    assert place_in_range(1e-3, 1e-4, 1e-1, is_log=True) == pytest.approx(1 / 3)
    for low, high, is_log in ((1.0, 1.0, False), (0.0, 1.0, True)):
        with pytest.raises(BadValue, match="low < high"):
            place_in_range(1.0, low, high, is_log=is_log)


def test_places_and_scores_must_be_as_many() -> None:
    with pytest.raises(BadValue, match="one for each of 1 places"):
        check_border("a", [0.0], [1.0, 2.0], Direction.up, winner=0.0)
