"""Adamic-Adar index (Adamic and Adar, 2003): common neighbours, those with few links of their own weighing more."""

from __future__ import annotations

import numpy as np

from gnz_track.models.neighbourhood.common_neighbours import CommonNeighbours, Real

__all__ = ["AdamicAdar"]


class AdamicAdar(CommonNeighbours):
    """The sum over common neighbours of one over the logarithm of their degree."""

    def weigh(self, degrees: Real) -> Real:
        """Return what neighbours of some degrees weigh; a common one has at least two links."""
        return 1 / np.log(np.maximum(degrees, 2))
