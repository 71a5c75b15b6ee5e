"""What is no number, no row of numbers or no pair of models is refused in the words of the house, by every function."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import pytest

from gnz_track import stats
from gnz_track.errors import BadValue, GnzError

NO_NUMBERS: tuple[Any, ...] = ("x", ["a", 0.1], [object()], [[1.0], [1.0, 2.0]], {"a": 1.0})
NO_PAIRS: tuple[Any, ...] = ([0.1, 0.2], None, "x", {0: 0.5}, 1.0)
# Kind of a first argument, as functions annotate it -> values that are not of it.
WRONG = {
    "npt.ArrayLike": NO_NUMBERS,
    "Sequence[npt.ArrayLike]": tuple([value] for value in NO_NUMBERS if value != {"a": 1.0}),
    "Sequence[float | None]": (["x"], [object()], [[0.1]]),
    "SeedPairs": NO_PAIRS,
    "Sequence[SeedPairs]": (*([value] for value in NO_PAIRS), None, 1.0),
    "Scores": ([0.1, 0.2], None, "x", 1.0),
}
# What other arguments are, by name, where there is no default.
USUAL: dict[str, Any] = {
    "direction": "up",
    "directions": "up",
    "margin": 0.1,
    "n_train": 80,
    "n_test": 20,
    "decimals": 2,
    "n_classes": 2,
    "worst": 0.0,
    "best": 1.0,
    "name": "lr",
    "models": ("a", "b"),
    "tasks": ("t",),
    "n_tasks": 3,
    "first": {0: 0.5},
    "thresholds": (0.5,),
    "ids": {"model": ("a",)},
}


def first_of(function: Callable[..., Any]) -> str:
    """Return the annotation of a function's first argument."""
    return next((str(item.annotation) for item in inspect.signature(function).parameters.values()), "")


FUNCTIONS = [
    name
    for name in stats.__all__
    if inspect.isfunction(getattr(stats, name)) and first_of(getattr(stats, name)) in WRONG
]


def test_most_public_functions_are_among_them() -> None:
    assert {"paired_t", "paired_t_rows", "join", "holm", "adjust", "intervals_of", "flag_rows", "tost"} <= {*FUNCTIONS}
    assert len(FUNCTIONS) > 60


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_value_of_a_wrong_kind_is_an_error_of_the_house(name: str) -> None:
    function = getattr(stats, name)
    for wrong in WRONG[first_of(function)]:
        given = [item for item in inspect.signature(function).parameters.values() if item.default is item.empty]
        values = {item.name: USUAL.get(item.name, [[0.5, 0.6]]) for item in given} | {given[0].name: wrong}
        arguments = [values[item.name] for item in given if item.kind is not item.KEYWORD_ONLY]
        named = {item.name: values[item.name] for item in given if item.kind is item.KEYWORD_ONLY}
        with pytest.raises(GnzError):
            function(*arguments, **named)


def test_errors_tell_what_was_given_and_what_is_allowed() -> None:
    with pytest.raises(
        BadValue, match=r"pairs is 0\.1; allowed: pairs of stats\.join\(FIRST, SECOND, direction='up'\)"
    ):
        stats.paired_t_rows([0.1])
    with pytest.raises(BadValue, match=r"scores is \[0\.1\]; allowed: scores by seed, such as \{0: \.81, 1: \.79\}"):
        stats.join([0.1], [0.2], direction="up")
    with pytest.raises(BadValue, match="p-values is 'x'; allowed: numbers, in rows of equal length"):
        stats.holm("x")
    with pytest.raises(BadValue, match="alpha is 'x'; allowed: a number strictly between 0 and 1"):
        stats.adjust([0.1], alpha="x")
    with pytest.raises(BadValue, match="most is None; allowed: a whole number from 2 on"):
        stats.mean_curve([[0.1]], most=None)
