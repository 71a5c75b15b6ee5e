"""Contents of a dataset beside its edges, as features see it: attributes of nodes, labels, parts of a collection."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

__all__ = ["Contents"]


@dataclass(frozen=True, eq=False)
class Contents:
    """Attributes ``[n, d]``, labels, and the first node of each graph ``[n_graphs + 1]``; all may be missing.

    ``labels`` are of nodes ``[n]`` or of graphs ``[n_graphs]``; NaN says that there is none. Numbers to predict have
    ``are_classes`` False. ``n_edge_attributes`` counts the attributes of an edge. Labels that must stay unseen are to
    be NaN here: nothing below knows of parts.
    """

    attributes: NDArray[np.float32] | None = None
    labels: NDArray[np.float64] | None = None
    are_classes: bool = True
    node_ptr: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    n_edge_attributes: int = 0
    is_directed: bool = False
