"""Measures of graphs: the fixed modes by name, how distances are taken, and the norms that compare them."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gnz_track.datasets.perturbations import ORIGINAL
from gnz_track.errors import BadValue

__all__ = [
    "ALONG_EDGES",
    "COMPLETE_FEATURES",
    "COMPLETE_GRAPH",
    "EMPTY_FEATURES",
    "EMPTY_GRAPH",
    "FIXED_MODES",
    "FROBENIUS",
    "L11",
    "NORMS",
    "OF_FEATURES",
    "Measure",
    "Norm",
]


Numbers = NDArray[np.float64]
Whole = NDArray[np.int64]


@dataclass(frozen=True)
class Norm:
    """The norm L_{p,q} of a difference, as a share of that of a matrix with ones off its diagonal.

    (sum_j (sum_i |a_ij|^p)^(q/p))^(1/q) / (n (n - 1)^(q/p))^(1/q): from 0 to 1 for distances from 0 to 1.
    """

    p: float = 1.0
    q: float = 1.0

    def __post_init__(self) -> None:
        if not all(math.isfinite(value) and value >= 1 for value in (self.p, self.q)):
            raise BadValue("p and q of a norm", (self.p, self.q), "finite numbers from 1 upwards")

    def columns(self, differences: Numbers) -> Numbers:
        """Return, for the columns of absolute differences ``[..., m, m]``, what is to be added up: ``[..., m]``."""
        inner: Numbers = (differences if self.p == 1 else differences**self.p).sum(axis=-2)
        return inner if self.p == self.q else inner ** (self.q / self.p)

    def share(self, total: Numbers, sizes: Whole) -> Numbers:
        """Return the norm as a share, from the sum over all columns ``[...]`` and the numbers of nodes."""
        n = np.maximum(sizes, 1).astype(np.float64)
        largest = n * np.maximum(n - 1, 1) ** (self.q / self.p)
        found: Numbers = (total / largest) ** (1.0 / self.q)
        return found


L11, FROBENIUS = Norm(1.0, 1.0), Norm(2.0, 2.0)
NORMS = {"L11": L11, "frobenius": FROBENIUS}


EMPTY_FEATURES, COMPLETE_FEATURES = "empty-features", "complete-features"
EMPTY_GRAPH, COMPLETE_GRAPH = "empty-graph", "complete-graph"
ALONG_EDGES, OF_FEATURES = (ORIGINAL, EMPTY_FEATURES, COMPLETE_FEATURES), (EMPTY_GRAPH, COMPLETE_GRAPH)
# Those whose value needs no perturbed graph: a complete one has the distance 1 everywhere, an empty one 0.
FIXED_MODES = (*ALONG_EDGES, *OF_FEATURES)


@dataclass(frozen=True, kw_only=True)
class Measure:
    """Distances of a measure, and their comparison.

    ``graph`` is a row of GRAPH_METRICS; ``features`` euclidean, cosine, manhattan, a name of scikit-learn, or a
    function of two rows. ``is_normalised`` divides distances by the largest one of their space. ``uses_weights`` takes
    the length of an edge's attribute for its weight.
    """

    graph: str = "diffusion"
    features: str | Callable[..., float] = "euclidean"
    norm: Norm = L11
    is_normalised: bool = True
    uses_weights: bool = False
