"""Short round trips through many points, by a local search that an optional library brings."""

from __future__ import annotations

import importlib
import math
from typing import Any

import numpy as np

__all__ = ["find_quick_tour"]

Array = np.ndarray[Any, Any]

# The search reads whole numbers of 16 bits.
_LARGEST = 60_000


def find_quick_tour(points: Array) -> Array:
    """Return a round trip ``[n]`` through points ``[n, 2]`` that a local search no longer shortens, starting at 0.

    It is short, and not proven shortest. The library is fast-tsp, under the MIT licence.
    """
    length = np.sqrt(np.square(points[:, None] - points[None]).sum(axis=2))
    scaled = (length * (_LARGEST / max(float(length.max()), 1e-12))).round().astype(np.int64)
    library: Any = importlib.import_module("fast_tsp")
    # Until nothing has improved for long, not until a time has passed: a slow machine finds as short a trip.
    found = library.find_tour(scaled.tolist(), math.inf, max_threads=1, stop_when_converged=True)
    tour = np.array(found, dtype=np.int64)
    return np.roll(tour, -int((tour == 0).argmax()))
