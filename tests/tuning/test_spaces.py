from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gnz_track.errors import BadValue
from gnz_track.tuning.spaces import Dimension, digest_of_space, make_space, read_spaces

LR = {"low": 1e-4, "high": 0.1, "log": True}


def test_ranges_and_choices_are_read() -> None:
    space = make_space("GCN", {"lr": LR, "n_layers": {"low": 1, "high": 4}, "norm": ["none", "batch"]})
    assert space["lr"] == Dimension(low=1e-4, high=0.1, is_log=True)
    assert space["n_layers"] == Dimension(low=1, high=4, is_whole=True)
    assert space["norm"] == Dimension(choices=("none", "batch"))
    assert make_space("GCN", space) == space


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({}, "the search space of GCN is {}; allowed: at least one hyperparameter"),
        ({"lr": []}, "lr in the space of GCN is []; allowed: a list of numbers or words, with at least one"),
        ({"lr": [0.1, 0.1]}, "lr in the space of GCN is [0.1, 0.1]; allowed: each choice once"),
        ({"lr": [float("nan")]}, "lr in the space of GCN is [nan]"),
        ({"lr": 0.1}, "lr in the space of GCN is 0.1; allowed: a list of choices, or {low: 0.001, high: 0.1"),
        (
            {"lr": {"low": 0.1}},
            "GCN is {'low': 0.1}; allowed: {low: ..., high: ...} with low < high",
        ),
        ({"lr": {"low": 0.2, "high": 0.1}}, "with low < high"),
        ({"lr": {"low": 0, "high": 0.1, "log": True}}, "log: true where both are above 0"),
        ({"lr": {"low": 0.1, "high": 1, "lo": 3}}, "allowed: {low:"),
        ({"lr": {"low": True, "high": 3}}, "allowed: {low:"),
    ],
)
def test_space_that_is_none_is_refused(wrong: dict[str, Any], message: str) -> None:
    with pytest.raises(BadValue, match=re.escape(message)):
        make_space("GCN", wrong)


def test_spaces_by_model_are_read_from_a_file(tmp_path: Path) -> None:
    file = tmp_path / "spaces.yaml"
    file.write_text("GCN: {lr: [0.001, 0.01]}\nall: {dropout: {low: 0.0, high: 0.7}}\n", "utf-8")
    spaces = read_spaces(file)
    assert (list(spaces), spaces["GCN"]["lr"].choices) == (["GCN", "all"], (0.001, 0.01))
    for text in ("", "- 1", "a: ["):
        file.write_text(text, "utf-8")
        with pytest.raises(BadValue, match="the file of spaces"):
            read_spaces(file)
    with pytest.raises(BadValue, match=r"none.yaml'; allowed: YAML that can be read"):
        read_spaces(tmp_path / "none.yaml")


@given(st.permutations(["lr", "dropout", "norm"]))
def test_digest_does_not_depend_on_the_order_of_names(names: list[str]) -> None:
    whole = {"lr": LR, "dropout": [0.0, 0.5], "norm": ["none", "batch"]}
    turned = make_space("a", {name: whole[name] for name in names})
    assert digest_of_space(turned) == digest_of_space(make_space("b", whole))


@pytest.mark.parametrize("change", [{"lr": [0.1]}, {"lr": {**LR, "high": 0.2}}, {"lr": {"low": 1e-4, "high": 0.1}}])
def test_digest_changes_with_what_is_searched(change: dict[str, Any]) -> None:
    assert digest_of_space(make_space("a", {"lr": LR})) != digest_of_space(make_space("a", change))


@pytest.mark.parametrize(
    ("values", "inside", "outside", "low", "high"),
    [
        ([32, 16, 64], [32], [8, 16.5, True, "16"], [16], [64]),
        (["none", "batch"], ["none"], ["layer"], [], []),
        ([0.0, 0.5], [0.5], [0.25], [], []),
        ({"low": 1, "high": 4}, [2, 3], [0, 5, 2.5, True], [1], [4]),
        # Five hundredths of three orders of magnitude are a factor of 1.41.
        (LR, [1.5e-4, 1e-3, 0.07], [1.0, "x"], [1e-4, 1.4e-4], [0.072, 0.1]),
        ({"low": 0.0, "high": 0.8}, [0.041, 0.759], [-0.1], [0.0, 0.04], [0.761, 0.8]),
    ],
)
def test_what_lies_inside_and_at_the_ends(
    values: Any, inside: list[Any], outside: list[Any], low: list[Any], high: list[Any]
) -> None:
    dimension = make_space("a", {"x": values})["x"]
    assert all(dimension.holds(value) for value in [*inside, *low, *high])
    assert not any(dimension.holds(value) for value in outside)
    for end, found in {"": inside, "low": low, "high": high}.items():
        assert [dimension.end_of(value) for value in found] == [end] * len(found)
