"""Mode diversity: how much the distances within one mode differ from having none of them differ."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gnz_track.quality.complementarity import Complementarity
from gnz_track.quality.measures import EMPTY_FEATURES, EMPTY_GRAPH

__all__ = ["Diversity", "diversity_of"]

Numbers = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Diversity:
    """Of each graph ``[n_graphs]``, from 0 to 1: of its structure, and of its features; NaN where undefined."""

    structure: Numbers
    features: Numbers


def diversity_of(found: Complementarity) -> Diversity:
    """Return Delta = 1 - |1 - 2 gamma|, with the complementarity that is left once the other mode is empty.

    The structure is what is left without features, and the other way round. Both are at the first time.
    """
    moment = found.times[0]
    return Diversity(
        structure=1.0 - np.abs(1.0 - 2.0 * found.at(EMPTY_FEATURES, moment)),
        features=1.0 - np.abs(1.0 - 2.0 * found.at(EMPTY_GRAPH, moment)),
    )
