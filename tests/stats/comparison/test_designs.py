"""Which models are ranked together: the whole plan where it is whole, the largest block else, whatever the scores."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from score_tables import table_of

from gnz_track.stats.comparison.across_tasks import largest_block
from gnz_track.stats.comparison.compare import compare

PLANS = arrays(np.bool_, st.tuples(st.integers(1, 7), st.integers(1, 7)))


@given(PLANS)
def test_a_block_is_whole_and_no_task_of_it_is_missed(planned: np.ndarray) -> None:
    rows, columns = largest_block(planned)
    assert planned[np.ix_(rows, columns)].all()
    others = np.setdiff1d(np.arange(len(planned)), rows)
    assert not planned[np.ix_(others, columns)].all(axis=1).any()


@given(st.integers(1, 6), st.integers(1, 6))
def test_a_whole_plan_is_its_own_block(n_tasks: int, n_models: int) -> None:
    rows, columns = largest_block(np.ones((n_tasks, n_models), dtype=bool))
    assert (list(rows), list(columns)) == (list(range(n_tasks)), list(range(n_models)))


def test_one_model_for_few_tasks_does_not_cost_the_others_theirs() -> None:
    planned = np.ones((8, 4), dtype=bool)
    planned[2:, 3] = False
    rows, columns = largest_block(planned)
    assert (list(rows), list(columns)) == (list(range(8)), [0, 1, 2])


@pytest.fixture
def table() -> pd.DataFrame:
    """Return four models on six tasks, of which m03 was planned on two."""
    whole = table_of(np.random.default_rng(5).normal(0.8, 0.02, (6, 4, 5)))
    return whole[(whole["model"] != "m03") | whole["task"].isin(["t00", "t01"])]


def test_the_rest_is_ranked_on_all_tasks_and_the_model_is_named(table: pd.DataFrame) -> None:
    found = compare(table)
    assert found.across.ranks is not None
    assert set(found.across.ranks.models) == {"m00", "m01", "m02"}
    assert (found.across.ranks.n_tasks, found.across.ranks.dropped_models) == (6, ("m03",))
    assert found.across.friedman is not None
    assert "not ranked, because planned on too few tasks: m03 (2 of 6 tasks)" in str(found)
    alone = compare(table[table["model"] != "m03"])
    assert found.across.ranks.mean_ranks == alone.across.ranks.mean_ranks  # type: ignore[union-attr]
    assert {pair.task for pair in found.pairs if "m03" in (pair.first, pair.second)} == {"t00", "t01"}


def test_a_model_that_failed_where_it_was_planned_is_not_left_out_by_design() -> None:
    whole = table_of(np.random.default_rng(5).normal(0.8, 0.02, (6, 4, 5)))
    lost = (whole["model"] == "m03") & ~whole["task"].isin(["t00", "t01"])
    whole["status"] = np.where(lost, "failed", "finished")
    whole.loc[lost, "score"] = np.nan
    ranks = compare(whole).across.ranks
    assert ranks is not None
    assert set(ranks.models) == {"m00", "m01", "m02", "m03"}
    assert ranks.n_tasks == 2
