"""Trips are the shortest: against all trips of few points, and against another program of many."""

from __future__ import annotations

import itertools

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import Bounds, LinearConstraint, milp

from gnz_track.datasets.generators.tours import find_shortest_tour
from gnz_track.errors import BadValue


def _lengths(points: np.ndarray) -> np.ndarray:
    return np.linalg.norm(points[:, None] - points[None], axis=2)


def _total(points: np.ndarray, tour: np.ndarray) -> float:
    return float(np.linalg.norm(points[tour] - points[np.roll(tour, -1)], axis=1).sum())


def _shortest_by_subsets(length: np.ndarray) -> float:
    """Return the length of the shortest trip by the recursion over subsets of Held and Karp, 1962."""
    n = len(length)
    best = {(frozenset([last]), last): length[0, last] for last in range(1, n)}
    for size in range(2, n):
        for chosen in itertools.combinations(range(1, n), size):
            visited = frozenset(chosen)
            for last in chosen:
                rest = visited - {last}
                best[visited, last] = min(best[rest, before] + length[before, last] for before in rest)
    everything = frozenset(range(1, n))
    return float(min(best[everything, last] + length[last, 0] for last in everything))


def _shortest_by_packing(length: np.ndarray) -> float:
    """Return the length of the shortest trip by whole numbers alone, where no circle may take all of its pairs.

    Neither linear programs nor their bounds nor any choice among the pairs: another path to the same number.
    """
    n = len(length)
    pairs = list(itertools.combinations(range(n), 2))
    cost = np.array([length[pair] for pair in pairs])
    degree = np.zeros((n, len(pairs)))
    for column, pair in enumerate(pairs):
        degree[list(pair), column] = 1
    rows = [LinearConstraint(degree, 2, 2)]
    while True:
        options = {"mip_rel_gap": 0}
        found = milp(
            1e4 * cost, integrality=np.ones(len(pairs)), bounds=Bounds(0, 1), constraints=rows, options=options
        )
        steps = [pair for pair, value in zip(pairs, found.x, strict=True) if value > 0.5]
        circles = list(nx.connected_components(nx.Graph(steps)))
        if len(circles) == 1:
            return float(sum(length[step] for step in steps))
        inside = np.array([[float(a in circle and b in circle) for a, b in pairs] for circle in circles])
        rows.append(LinearConstraint(inside, 0, [len(circle) - 1 for circle in circles]))


@settings(deadline=None, max_examples=25)
@given(n=st.integers(3, 9), seed=st.integers(0, 10_000))
def test_no_trip_through_few_points_is_shorter(n: int, seed: int) -> None:
    points = np.random.default_rng(seed).random((n, 2))
    tour = find_shortest_tour(points)
    assert sorted(tour) == list(range(n))
    assert tour[0] == 0
    assert _total(points, tour) == pytest.approx(_shortest_by_subsets(_lengths(points)), abs=1e-9)


def test_trips_through_two_far_towns_are_shortest() -> None:
    """Without cuts, the program would walk around in each of the two and never cross."""
    points = np.random.default_rng(3).random((11, 2)) * 0.1
    points[6:] += 5
    assert _total(points, find_shortest_tour(points)) == pytest.approx(_shortest_by_subsets(_lengths(points)))


@pytest.mark.parametrize("seed", range(3))
def test_trips_are_those_of_another_program(seed: int) -> None:
    points = np.random.default_rng([7, seed]).random((26, 2))
    assert _total(points, find_shortest_tour(points)) == pytest.approx(_shortest_by_packing(_lengths(points)), abs=1e-9)


@pytest.mark.slow
def test_twenty_trips_of_fifty_to_a_hundred_points_are_proven_by_another_program() -> None:
    for seed, n in enumerate(np.linspace(50, 100, 20).astype(int)):
        points = np.random.default_rng([1_234, seed]).random((n, 2))
        length = _total(points, find_shortest_tour(points))
        assert length == pytest.approx(_shortest_by_packing(_lengths(points)), abs=1e-9)


def test_trips_on_a_grid_are_as_long_as_known() -> None:
    """A shortest trip through a 6 x 6 grid has steps of one only; one through a line goes there and back."""
    grid = np.array(list(itertools.product(range(6), range(6))), dtype=float)
    assert _total(grid, find_shortest_tour(grid)) == pytest.approx(36)
    line = np.stack([np.arange(8.0), np.zeros(8)], axis=1)
    assert _total(line, find_shortest_tour(line)) == pytest.approx(14)
    assert sorted(find_shortest_tour(np.ones((5, 2)))) == list(range(5))


def test_moved_and_renumbered_points_have_the_same_trip() -> None:
    rng = np.random.default_rng(0)
    points = rng.random((30, 2))
    name = rng.permutation(30)
    turned = points @ np.array([[0.6, -0.8], [0.8, 0.6]]) * 40 + 7
    steps = {frozenset(step) for step in itertools.pairwise([*find_shortest_tour(points).tolist(), 0])}
    found = find_shortest_tour(turned[name]).tolist()
    assert {frozenset((int(name[a]), int(name[b]))) for a, b in itertools.pairwise([*found, found[0]])} == steps


def test_two_points_are_no_round_trip() -> None:
    with pytest.raises(BadValue, match="2"):
        find_shortest_tour(np.zeros((2, 2)))
