"""Short round trips through many points, by a local search that an optional library brings."""

from __future__ import annotations

import importlib.util
import math
from typing import Any

import numpy as np

from gnz_track.datasets.sources.fetch_errors import ExtraMissing

__all__ = ["find_quick_tour"]

Array = np.ndarray[Any, Any]

# The search reads whole numbers of 16 bits.
_LARGEST = 60_000
_LIBRARY = "fast_tsp"


def find_quick_tour(points: Array) -> Array:
    """Return a round trip ``[n]`` through points ``[n, 2]`` that a local search no longer shortens, starting at 0.

    It is short, and not proven shortest. The library is fast-tsp, under the MIT licence; without it
    :class:`~gnz_track.datasets.sources.fetch_errors.ExtraMissing` says how to install it.
    """
    if importlib.util.find_spec(_LIBRARY) is None:
        raise ExtraMissing("tsp", "tours", _LIBRARY)
    length = np.sqrt(np.square(points[:, None] - points[None]).sum(axis=2))
    scaled = (length * (_LARGEST / max(float(length.max()), 1e-12))).round().astype(np.int64)
    library: Any = importlib.import_module(_LIBRARY)
    # Until nothing has improved for long, not until a time has passed: a slow machine finds as short a trip.
    found = library.find_tour(scaled.tolist(), math.inf, max_threads=1, stop_when_converged=True)
    tour = np.array(found, dtype=np.int64)
    return np.roll(tour, -int((tour == 0).argmax()))
