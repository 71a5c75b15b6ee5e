"""What is asked of searches is checked before any of them begins."""

from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gnz_track.errors import BadValue, UnknownName
from gnz_track.tuning.settings import SearchSettings, SearchSpace, read_search, seeds_to_tune

SEEDS = st.lists(st.integers(0, 5000), min_size=1, max_size=20, unique=True)


@given(SEEDS)
def test_default_tuning_seeds_are_never_reported(reported: list[int]) -> None:
    [(seed, tuning)] = seeds_to_tune(SearchSettings(), reported).items()
    assert seed is None
    assert len(tuning) == 3
    assert not set(tuning) & set(reported)
    # More seeds of the usual kind do not change what is searched on.
    assert max(reported) >= 1000 or tuning == (1000, 1001, 1002)


def test_tuning_seeds_that_are_reported_are_refused() -> None:
    message = "the tuning seeds is '3-5'; allowed: other seeds than those reported (0-4), at least one"
    with pytest.raises(BadValue, match=re.escape(message)):
        seeds_to_tune(SearchSettings(tuning_seeds=(3, 4, 5)), range(5))


def test_nested_searches_have_the_seed_that_they_are_for() -> None:
    assert list(seeds_to_tune(SearchSettings(kind="nested"), (4, 0)).items()) == [(4, (4,)), (0, (0,))]
    with pytest.raises(BadValue, match="allowed: none: a nested search for a seed is tuned on"):
        seeds_to_tune(SearchSettings(kind="nested", tuning_seeds=(7,)), (0,))


@pytest.mark.parametrize(
    ("wrong", "kind", "message"),
    [
        ({"trials": 0}, BadValue, "the budget of a search is 0; allowed: at least 1 trial"),
        ({"trials": 2.5}, BadValue, "the budget of a search is 2.5"),
        ({"max_epochs": 0}, BadValue, "the epochs of a search is 0"),
        ({"max_seconds": -1.0}, BadValue, "the seconds of a search is -1.0"),
        ({"sampler": "tpee"}, UnknownName, "unknown sampler 'tpee'; did you mean 'tpe'"),
        ({"pruner": "mean"}, UnknownName, "unknown pruner 'mean'; did you mean 'median'"),
        ({"kind": "nest"}, UnknownName, "unknown kind of search 'nest'; did you mean 'nested'"),
        ({"warm_start": -1}, BadValue, "warm start is -1"),
    ],
)
def test_settings_that_make_no_search_are_refused(wrong: dict[str, Any], kind: type, message: str) -> None:
    with pytest.raises(kind, match=re.escape(message)):
        SearchSettings(**wrong)


def test_scripts_hand_over_a_number_a_space_or_a_grid() -> None:
    assert read_search(7) == SearchSettings(trials=7)
    settings = SearchSettings(trials=3, kind="nested")
    assert read_search(settings) is settings
    assert read_search({"lr": [0.1, 0.2]}).spaces["all"]["lr"].choices == (0.1, 0.2)
    grid = read_search(SearchSpace(lr=[0.1, 0.01], weight_decay=[], hidden_channels=(16, 32, 64)))
    assert (grid.sampler, grid.trials, sorted(grid.spaces["all"])) == ("grid", 7, ["hidden_channels", "lr"])
    assert read_search(SearchSpace(n_random=4)).trials == 4
    with pytest.raises(BadValue, match="search is 'many'; allowed: a number of trials, a mapping"):
        read_search("many")
