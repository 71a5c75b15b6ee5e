"""Links of points to their nearest, labelled by the shortest trip."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from sklearn.neighbors import NearestNeighbors
from torch_geometric.data import Data

from gnz_track.datasets.generators.tours import find_quick_tour, find_shortest_tour, tour_edges
from gnz_track.errors import BadValue, ExtraMissing


def _drawn(sizes: tuple[int, int, int], nodes: tuple[int, int] = (30, 40), k: int = 25) -> list[Data]:
    return list(tour_edges(nodes=nodes, k=k, solver="exact", sizes=sizes, seed=0).graphs)


def test_links_go_to_the_nearest_and_are_labelled_by_the_trip() -> None:
    for graph in _drawn((3, 1, 1)):
        points = graph.x.double().numpy()
        n = len(points)
        assert 30 <= n <= 40
        nearest = NearestNeighbors(n_neighbors=26).fit(points).kneighbors(points)[1][:, 1:]
        assert torch.equal(graph.edge_index[0], torch.arange(n).repeat_interleave(25))
        assert torch.equal(graph.edge_index[1].view(n, 25), torch.from_numpy(nearest))
        ends = graph.x[graph.edge_index]
        torch.testing.assert_close(graph.edge_attr[:, 0], (ends[0] - ends[1]).norm(dim=1))
        assert torch.equal(graph.edge_label_index, graph.edge_index)
        tour = find_shortest_tour(points).tolist()
        steps = {frozenset(step) for step in zip(tour, [*tour[1:], tour[0]], strict=True)}
        wanted = [frozenset(edge) in steps for edge in graph.edge_index.t().tolist()]
        assert graph.edge_label.tolist() == wanted
        # Each of n steps is a link one way or both, unless it is lost.
        assert n <= sum(wanted) <= 2 * n


def test_fewer_graphs_are_the_first_of_more() -> None:
    few, more = _drawn((2, 1, 0)), _drawn((3, 2, 1))
    for graph, same in zip(few, [more[0], more[1], more[3]], strict=True):
        assert torch.equal(graph.x, same.x)
        assert torch.equal(graph.edge_label, same.edge_label)
    assert not torch.equal(more[0].x, more[3].x[: len(more[0].x)])


def test_trips_are_kept_beside_the_data(tmp_path: Path) -> None:
    options = {"nodes": (30, 30), "k": 3, "solver": "exact", "sizes": (2, 0, 0), "seed": 5}
    first, again = ([graph.edge_label for graph in tour_edges(**options, cache=tmp_path).graphs] for _ in range(2))
    assert (tmp_path / "tours.sqlite").is_file()
    assert all(map(torch.equal, first, again))


def test_too_many_points_for_a_proof_are_refused() -> None:
    with pytest.raises(BadValue, match="fast_tsp"):
        tour_edges(nodes=(50, 500), k=25, solver="exact", sizes=(1, 0, 0), seed=0)
    with pytest.raises(BadValue, match="concorde"):
        tour_edges(nodes=(50, 60), k=25, solver="concorde", sizes=(1, 0, 0), seed=0)


def test_without_the_library_of_the_quick_search_its_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda *_: None)
    with pytest.raises(ExtraMissing, match=r"'tsp' needs fast_tsp.*pip install 'gnz-track\[tours\]'"):
        list(tour_edges(nodes=(210, 220), k=25, solver="fast_tsp", sizes=(1, 0, 0), seed=0).graphs)


def test_the_quick_search_finds_a_trip_that_is_hardly_longer() -> None:
    pytest.importorskip("fast_tsp")
    points = np.random.default_rng(0).random((40, 2))

    def total(tour: np.ndarray) -> float:
        return float(np.linalg.norm(points[tour] - points[np.roll(tour, -1)], axis=1).sum())

    tour, shortest = find_quick_tour(points), total(find_shortest_tour(points))
    assert sorted(tour) == list(range(40))
    assert tour[0] == 0
    assert shortest - 1e-9 <= total(tour) <= 1.01 * shortest


@pytest.mark.slow
def test_trips_through_many_points_are_round_trips() -> None:
    pytest.importorskip("fast_tsp")
    points = np.random.default_rng(1).random((300, 2))
    tour = find_quick_tour(points)
    assert sorted(tour) == list(range(300))
    assert np.array_equal(tour, find_quick_tour(points))
    # Trips through n points are about 0.7124 * sqrt(n) long where n is large (Beardwood et al., 1959), a little more
    # where it is not; going to the nearest again and again takes about a quarter more.
    total = float(np.linalg.norm(points[tour] - points[np.roll(tour, -1)], axis=1).sum())
    assert 0.7 < total / np.sqrt(300) < 0.82
