"""The Pareto front holds what nothing dominates, and costs are those of the runs that count."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from score_tables import table_of

from gnz_track.errors import BadValue
from gnz_track.stats.comparison.compare import compare
from gnz_track.stats.comparison.costs import costs_by_seed, mean_costs, pareto_front
from gnz_track.types import Direction

POINTS = st.lists(st.tuples(st.integers(0, 6), st.integers(0, 6)), max_size=12)


@given(points=POINTS, direction=st.sampled_from(Direction))
def test_the_front_is_what_nothing_dominates(points: list[tuple[int, int]], direction: Direction) -> None:
    sign = 1 if direction is Direction.up else -1

    def dominates(one: tuple[int, int], other: tuple[int, int]) -> bool:
        return one != other and one[0] <= other[0] and sign * one[1] >= sign * other[1]

    wanted = {n for n, point in enumerate(points) if not any(dominates(other, point) for other in points)}
    found = pareto_front([cost for cost, _ in points], [score for _, score in points], direction)
    assert set(found) == wanted
    assert [points[n][0] for n in found] == sorted(points[n][0] for n in wanted)


def test_what_is_no_number_is_refused() -> None:
    with pytest.raises(BadValue, match="finite"):
        pareto_front([1.0, float("nan")], [1.0, 2.0], Direction.up)
    with pytest.raises(BadValue, match="one for each"):
        pareto_front([1.0], [1.0, 2.0], Direction.up)


@pytest.mark.parametrize("has_ids", [True, False])
def test_costs_are_those_of_the_scored_runs(*, has_ids: bool) -> None:
    table = table_of([[[0.1, 0.2, np.nan], [0.3, 0.4, 0.5]]], models=["a", "b"], seconds=1.0)
    table["seconds"] = [1.0, 3.0, 100.0, 5.0, 7.0, None]
    if has_ids:
        table["run_id"] = [f"r{n}" for n in range(6)]
    assert mean_costs(compare(table), table, "seconds") == {("t00", "a"): 2.0, ("t00", "b"): 6.0}
    assert costs_by_seed(compare(table), table, "seconds") == {("t00", "a"): (1.0, 3.0), ("t00", "b"): (5.0, 7.0)}


def test_an_absent_column_is_refused() -> None:
    table = table_of([[[0.1], [0.3]]])
    with pytest.raises(BadValue, match="watts"):
        mean_costs(compare(table), table, "watts")
