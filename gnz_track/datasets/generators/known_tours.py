"""Round trips that were found before: a file of them, so that none is searched for twice."""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np

__all__ = ["known_tour"]

Array = np.ndarray[Any, Any]

# Seconds to wait where another process writes.
_PATIENCE = 60.0
_TABLE = "create table if not exists tours (points text, solver text, tour blob, primary key (points, solver))"


def known_tour(points: Array, find: Callable[[Array], Array], *, solver: str, folder: Path | None) -> Array:
    """Return the round trip ``[n]`` through points from ``tours.sqlite`` in a folder, or find and keep it.

    Trips are told apart by the bytes of the points and by the name of the solver. A kept row that is no round trip
    through as many points is found again.

    Parameters
    ----------
    points
        ``[n, 2]``.
    find, solver
    folder
        Without one nothing is kept.
    """
    if folder is None:
        return find(points)
    folder.mkdir(parents=True, exist_ok=True)
    key = (hashlib.sha256(np.ascontiguousarray(points).tobytes()).hexdigest(), solver)
    path = folder / "tours.sqlite"
    with closing(sqlite3.connect(path, timeout=_PATIENCE)) as connection, connection:
        connection.execute(_TABLE)
        row = connection.execute("select tour from tours where points = ? and solver = ?", key).fetchone()
    kept = np.frombuffer(row[0] if row and len(row[0]) == 4 * len(points) else b"", dtype="<i4").astype(np.int64)
    if np.array_equal(np.sort(kept), np.arange(len(points))):
        return kept
    # Nothing is locked while a trip is searched for, which may take minutes.
    tour = find(points)
    with closing(sqlite3.connect(path, timeout=_PATIENCE)) as connection, connection:
        connection.execute("insert or replace into tours values (?, ?, ?)", (*key, tour.astype("<i4").tobytes()))
    return tour
