"""Resource allocation index (Zhou, Lu and Zhang, 2009): common neighbours, each over its degree."""

from __future__ import annotations

import numpy as np

from gnz_track.models.neighbourhood.common_neighbours import CommonNeighbours, Real

__all__ = ["ResourceAllocation"]


class ResourceAllocation(CommonNeighbours):
    """The sum over common neighbours of one over their degree."""

    def __init__(self, in_channels: int, hidden_channels: int, out_channels: int) -> None:
        del in_channels, hidden_channels, out_channels
        super().__init__(_one_over_degree)


def _one_over_degree(degrees: Real) -> Real:
    return 1 / np.maximum(degrees, 1)
