"""What was found is kept: asked for once, found again where it is spoilt, by any process."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import numpy as np

from gnz_track.datasets.generators.tours import known_tour


def test_a_trip_is_found_once_for_all_equal_points(tmp_path: Path) -> None:
    asked: list[int] = []

    def find(points: np.ndarray) -> np.ndarray:
        asked.append(len(points))
        return np.arange(len(points))[::-1]

    points = np.random.default_rng(0).random((9, 2))
    for given in (points, points.copy(), np.asfortranarray(points)):
        assert known_tour(given, find, solver="exact", folder=tmp_path / "new").tolist() == list(range(9))[::-1]
    assert asked == [9]
    known_tour(points, find, solver="other", folder=tmp_path / "new")
    known_tour(points + 1e-12, find, solver="exact", folder=tmp_path / "new")
    known_tour(points, find, solver="exact", folder=None)
    assert len(asked) == 4


def test_a_spoilt_trip_is_found_again(tmp_path: Path) -> None:
    points = np.random.default_rng(0).random((5, 2))
    known_tour(points, lambda _: np.array([0, 2, 1, 4, 3]), solver="exact", folder=tmp_path)
    for spoilt in (b"short", np.array([0, 0, 1, 2, 3], dtype="<i4").tobytes()):
        with closing(sqlite3.connect(tmp_path / "tours.sqlite")) as connection, connection:
            connection.execute("update tours set tour = ?", (spoilt,))
        found = known_tour(points, lambda _: np.array([4, 3, 2, 1, 0]), solver="exact", folder=tmp_path)
        assert found.tolist() == [4, 3, 2, 1, 0]
    assert known_tour(points, lambda _: np.zeros(5), solver="exact", folder=tmp_path).tolist() == [4, 3, 2, 1, 0]
