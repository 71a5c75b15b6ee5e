"""Jaccard coefficient (Jaccard, 1901): common neighbours over all neighbours of two nodes."""

from __future__ import annotations

import numpy as np

from gnz_track.models.neighbourhood.common_neighbours import CommonNeighbours, Real

__all__ = ["Jaccard"]


class Jaccard(CommonNeighbours):
    """The share of the neighbours of two nodes that both have."""

    def __init__(self, in_channels: int, hidden_channels: int, out_channels: int) -> None:
        del in_channels, hidden_channels, out_channels
        super().__init__(np.ones_like, _over_union)


def _over_union(common: Real, first: Real, second: Real) -> Real:
    union = first + second - common
    return np.divide(common, union, out=np.zeros_like(common), where=union > 0)
