"""Measures of graphs: the fixed modes by name, and how distances are taken and compared."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from gnz_track.quality.comparators import L11, Norm

__all__ = [
    "ALONG_EDGES",
    "COMPLETE_FEATURES",
    "COMPLETE_GRAPH",
    "EMPTY_FEATURES",
    "EMPTY_GRAPH",
    "FIXED_MODES",
    "OF_FEATURES",
    "ORIGINAL",
    "Measure",
]

ORIGINAL, EMPTY_FEATURES, COMPLETE_FEATURES = "original", "empty-features", "complete-features"
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
