"""Resource allocation index (Zhou, Lu and Zhang, 2009): common neighbours, each over its degree."""

from __future__ import annotations

import numpy as np

from gnz_track.models.neighbourhood.common_neighbours import CommonNeighbours, Real

__all__ = ["ResourceAllocation"]


class ResourceAllocation(CommonNeighbours):
    """The sum over common neighbours of one over their degree."""

    def weigh(self, degrees: Real) -> Real:
        """Return what neighbours of some degrees weigh."""
        return 1 / np.maximum(degrees, 1)
