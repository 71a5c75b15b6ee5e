"""A direction may be given as a word wherever one is asked for, and a word that is none is refused."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import pytest

from gnz_track import stats
from gnz_track.errors import BadValue
from gnz_track.types import Direction

SCORES = [[0.1, 0.4, 0.2], [0.3, 0.3, 0.5]]
RISING = [float(n) for n in range(20)]
# Two models with two seeds on three examples.
GAINS = [[[1.0, 0.0, 1.0], [1.0, 1.0, 0.0]], [[0.0, 0.0, 1.0], [0.0, 1.0, 0.0]]]
CALLS: dict[str, Callable[[Any], object]] = {
    "check_border": lambda way: stats.check_border("lr", [n / 19 for n in range(20)], RISING, way, winner=1.0),
    "check_printed_ranks": lambda way: stats.check_printed_ranks(SCORES, way, decimals=1),
    "explain_difference": lambda way: stats.explain_difference(GAINS, [0, 0, 1], first=0, second=1, direction=way),
    "expected_best": lambda way: stats.expected_best([0.1, 0.4, 0.2], way),
    "join": lambda way: stats.join({0: 0.1}, {0: 0.2}, direction=way),
    "join_all": lambda way: stats.join_all([({0: 0.1}, {0: 0.2})], direction=way),
    "pareto_front": lambda way: stats.pareto_front([1.0, 2.0], [0.1, 0.2], way),
    "rank_by_budget": lambda way: stats.rank_by_budget({"t": {"a": [0.1, 0.3], "b": [0.2, 0.4]}}, {"t": way}),
    "rank_hyperparameters": lambda way: stats.rank_hyperparameters([{"lr": n % 4} for n in range(20)], RISING, way),
    "rank_rows": lambda way: stats.rank_rows(SCORES, way).tolist(),
    "rank_table": lambda way: stats.rank_table(SCORES, models=["a", "b", "c"], tasks=["s", "t"], directions=way),
    "read_direction": stats.read_direction,
    "two_level_differences": lambda way: stats.two_level_differences(GAINS, direction=way),
}


def test_every_function_with_a_direction_is_called_here() -> None:
    functions = {name: getattr(stats, name) for name in stats.__all__ if inspect.isfunction(getattr(stats, name))}
    assert {
        name for name, one in functions.items() if {"direction", "directions"} & {*inspect.signature(one).parameters}
    } == {*CALLS}


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_a_word_is_the_direction_that_it_names(call: Callable[[Any], object]) -> None:
    found = {way: repr(call(way)) for way in Direction}
    assert {way: repr(call(way)) for way in ("up", "down")} == found
    with pytest.raises(BadValue, match=r"'max'; allowed: up .* or down"):
        call("max")


@pytest.mark.parametrize("name", sorted(CALLS.keys() - {"check_printed_ranks"}))
def test_the_direction_changes_the_answer(name: str) -> None:
    assert repr(CALLS[name]("up")) != repr(CALLS[name]("down"))
