"""Who is given up, against counts by hand."""

from __future__ import annotations

import statistics

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gnz_track.tuning.pruners import PRUNERS, Standing
from gnz_track.types import Direction

SCORES = st.lists(st.floats(0, 1, allow_nan=False), max_size=30)


def standing(value: float, rivals: list[float], *, direction: Direction = Direction.up, **changes: int) -> Standing:
    """Return where a trial stands after its first of three steps."""
    given = {"number": 0, "n_steps": 3, "step": 1, **changes}
    step = given.pop("step")
    earlier = [{step: rival} for rival in rivals]
    return Standing(steps={step: value}, earlier=earlier, direction=direction, **given)


@given(st.floats(0, 1), SCORES, st.sampled_from(list(Direction)))
def test_median_gives_up_what_is_worse_than_it(value: float, rivals: list[float], direction: Direction) -> None:
    expected = len(rivals) >= 5 and direction.better(statistics.median(rivals or [0.0]), value)
    assert PRUNERS.get("median")(standing(value, rivals, direction=direction)) is expected
    assert not PRUNERS.get("none")(standing(value, rivals, direction=direction))


@given(st.floats(0, 1), SCORES, st.sampled_from(list(Direction)))
def test_hyperband_lets_one_in_three_go_on_from_a_rung(value: float, rivals: list[float], direction: Direction) -> None:
    everyone = sorted([*rivals, value], reverse=direction is Direction.up)
    # Of those that tie with it, none stands before it.
    place = everyone.index(value)
    expected = len(rivals) >= 3 and place >= max(1, len(everyone) // 3)
    assert PRUNERS.get("hyperband")(standing(value, rivals, direction=direction)) is expected


@pytest.mark.parametrize(
    ("number", "n_steps", "rungs"),
    # Up to 2 seeds there is one bracket, up to 8 two, from 9 on three; the last seed is no rung.
    [(0, 2, [1]), (0, 3, [1]), (1, 3, []), (2, 3, [1]), (0, 9, [1, 3]), (1, 9, [3]), (2, 9, []), (3, 9, [1, 3])],
)
def test_brackets_of_hyperband_have_rungs_at_powers_of_three(number: int, n_steps: int, rungs: list[int]) -> None:
    worst = [
        step
        for step in range(1, n_steps)
        if PRUNERS.get("hyperband")(standing(0.0, [0.5] * 9, number=number, n_steps=n_steps, step=step))
    ]
    assert worst == rungs
