"""Jaccard coefficient (Jaccard, 1901): common neighbours over all neighbours of two nodes."""

from __future__ import annotations

import numpy as np

from gnz_track.models.neighbourhood.common_neighbours import CommonNeighbours, Real

__all__ = ["Jaccard"]


class Jaccard(CommonNeighbours):
    """The share of the neighbours of two nodes that both have."""

    def finish(self, sums: Real, degrees: Real) -> Real:
        """Return common neighbours over all neighbours ``[n_pairs]``."""
        union = degrees[0] + degrees[1] - sums
        return np.divide(sums, union, out=np.zeros_like(sums), where=union > 0)
