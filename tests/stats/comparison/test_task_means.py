"""Which tasks and models are ranked: what failed everywhere is left out and named, and takes nothing from the rest."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from score_tables import table_of

from gnz_track.stats.comparison.across_tasks import find_ranked
from gnz_track.stats.comparison.choices import MISSING_POLICIES
from gnz_track.stats.comparison.compare import compare
from gnz_track.stats.search.expected_best import rank_by_budget
from gnz_track.types import Direction

POLICIES = sorted(MISSING_POLICIES)


def scores(n_tasks: int = 4, n_models: int = 4, n_seeds: int = 5) -> np.ndarray[Any, Any]:
    return np.random.default_rng(0).normal(0.8, 0.02, (n_tasks, n_models, n_seeds))


def failing(array: np.ndarray[Any, Any]) -> pd.DataFrame:
    table = table_of(array)
    return table.assign(status=np.where(table["score"].isna(), "failed", "finished"))


@pytest.mark.parametrize("missing", [name for name in POLICIES if name != "worst_rank"])
def test_a_model_that_fails_everywhere_is_left_out_and_named(missing: str) -> None:
    array = scores()
    whole = compare(failing(array[:, :3]), missing=missing)
    array[:, 3] = np.nan
    found = compare(failing(array), missing=missing)
    across = found.across
    assert across.ranks is not None
    assert across.ranks.ranks == whole.across.ranks.ranks  # type: ignore[union-attr]
    assert across.ranks.dropped_models == ("m03",)
    assert [pair.p_adjusted for pair in across.pairs] == [pair.p_adjusted for pair in whole.across.pairs]
    assert "m03" in str(found).partition("Within tasks")[0] or "m03" in str(found).partition("Missing")[2]


def test_its_name_and_reason_stand_in_the_notes() -> None:
    array = scores()
    array[:, 3] = np.nan
    assert compare(failing(array)).across.notes == ("not ranked, because they finished no task: m03",)


@pytest.mark.parametrize("missing", POLICIES)
def test_a_task_that_no_model_finished_is_left_out_and_named(missing: str) -> None:
    array = scores()
    array[1] = np.nan
    across = compare(failing(array), missing=missing).across
    assert across.ranks is not None
    assert across.ranks.tasks == ("t00", "t02", "t03")
    assert across.ranks.dropped_tasks == ("t01",)
    assert "no model finished t01" in across.notes
    rest = compare(table_of(np.delete(array, 1, axis=0)), missing=missing).across
    assert across.ranks.mean_ranks == rest.ranks.mean_ranks  # type: ignore[union-attr]


@pytest.mark.parametrize("missing", POLICIES)
def test_a_seed_that_failed_for_all_models_is_no_lack_of_any(missing: str) -> None:
    array = scores()
    array[:, :, 2] = np.nan
    found, rest = (compare(table, missing=missing) for table in (failing(array), table_of(np.delete(array, 2, axis=2))))
    assert found.across.ranks is not None
    assert found.across.ranks.mean_ranks == rest.across.ranks.mean_ranks  # type: ignore[union-attr]
    assert len(found.pairs) == len(rest.pairs) == 24


def test_a_model_with_few_tasks_goes_only_where_nothing_could_be_ranked_with_it() -> None:
    array = scores(n_tasks=5)
    array[:4, 0] = np.nan
    across = compare(failing(array)).across
    assert across.ranks is not None
    assert (across.ranks.n_tasks, across.ranks.dropped_models) == (5, ("m00",))
    assert across.notes == ("not ranked, because with them fewer than 2 tasks have all models: m00 (1 of 5 tasks)",)
    array = scores(n_tasks=5)
    array[:3, 0] = np.nan
    across = compare(failing(array)).across
    assert across.ranks is not None
    assert (across.ranks.tasks, across.ranks.dropped_models) == (("t03", "t04"), ())
    assert across.ranks.dropped_tasks == ("t00", "t01", "t02")


def test_where_nothing_finished_there_is_still_a_word() -> None:
    array = scores(n_tasks=2, n_models=2)
    array[0, 0] = array[1, 1] = np.nan
    across = compare(failing(array)).across
    assert across.ranks is None or across.ranks.n_tasks < 2
    assert across.notes


@settings(max_examples=60, deadline=None)
@given(
    has_score=st.integers(1, 5).flatmap(
        lambda k: st.lists(st.lists(st.booleans(), min_size=k, max_size=k), min_size=1, max_size=6)
    )
)
def test_whatever_fails_the_rest_is_a_part_of_what_came_out(has_score: list[list[bool]]) -> None:
    array = np.array(has_score)
    rows, columns = find_ranked(array)
    assert rows.tolist() == np.flatnonzero(array.any(axis=1)).tolist()
    assert array[:, columns].any(axis=0).all()
    left = array[np.ix_(rows, columns)].all(axis=1).sum()
    if len(columns) < array.any(axis=0).sum():
        assert left >= 2, "models go for a ranking of two tasks, and never for nothing"
    if array.all():
        assert (len(rows), len(columns)) == array.shape


def test_a_model_all_of_whose_trials_failed_takes_no_budget_curve() -> None:
    trials = {task: {"A": [0.1, 0.4], "B": [0.2, 0.3], "C": [np.nan, np.nan]} for task in ("t0", "t1")}
    found = rank_by_budget(trials, dict.fromkeys(trials, Direction.up))
    assert (found.models, found.n_tasks, found.left_out) == (("A", "B"), 2, ("C",))
    assert found.ranks["A"] == (1.5, 1.0) or found.ranks["A"][1] == 1.0
