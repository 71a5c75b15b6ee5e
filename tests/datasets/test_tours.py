"""Tours through points: permutations, short ones, and labels that say what the tour takes."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import torch

from gnz_track.datasets.generators.tours import find_tour, knn_tour


def _lengths(n: int, seed: int) -> np.ndarray:
    points = np.random.default_rng(seed).random((n, 2))
    return np.sqrt(((points[:, None] - points[None]) ** 2).sum(axis=2))


def _total(tour: list[int], length: np.ndarray) -> float:
    return sum(float(length[a, b]) for a, b in zip(tour, [*tour[1:], tour[0]], strict=True))


@pytest.mark.parametrize("seed", range(8))
def test_short_tours_are_nearly_the_shortest(seed: int) -> None:
    length = _lengths(7, seed)
    best = min(_total([0, *rest], length) for rest in itertools.permutations(range(1, 7)))
    tour = find_tour(length).tolist()
    assert sorted(tour) == list(range(7))
    assert best - 1e-9 <= _total(tour, length) <= 1.1 * best


def test_no_exchange_of_two_steps_shortens_a_tour() -> None:
    length = _lengths(30, 1)
    tour = find_tour(length).tolist()
    for first, last in itertools.combinations(range(30), 2):
        other = tour[: first + 1] + tour[first + 1 : last + 1][::-1] + tour[last + 1 :]
        assert _total(other, length) >= _total(tour, length) - 1e-9


def test_labels_are_the_steps_of_the_tour() -> None:
    graphs = knn_tour(n_graphs=3, n_nodes=20, k=19, seed=5)
    for graph in graphs:
        # With all pairs as candidates, each node has two steps.
        steps = graph.edge_label_index[:, graph.edge_label == 1]
        assert torch.bincount(steps.flatten(), minlength=20).tolist() == [2] * 20
        assert graph.edge_label_index.size(1) == 20 * 19 // 2
        assert graph.edge_index.size(1) == 20 * 19
        ends = graph.x[graph.edge_label_index]
        expected = (ends[0] - ends[1]).norm(dim=1) * 20**0.5
        torch.testing.assert_close(graph.edge_label_attr.squeeze(1), expected, atol=1e-5, rtol=1e-5)
    again, other = knn_tour(n_graphs=3, n_nodes=20, k=19, seed=5), knn_tour(n_graphs=3, n_nodes=20, k=19, seed=6)
    assert all(torch.equal(a.x, b.x) for a, b in zip(graphs, again, strict=True))
    assert not torch.equal(graphs[0].x, other[0].x)


def test_few_neighbours_hold_most_of_the_tour() -> None:
    graphs = knn_tour(n_graphs=10, n_nodes=32, k=5, seed=0)
    found = sum(int(graph.edge_label.sum()) for graph in graphs)
    assert 0.9 < found / 320 <= 1.0
