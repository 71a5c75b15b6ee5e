"""Overlap of two sets of graphs: those that two modes get right, or that are diverse in both."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from gnz_track.errors import BadValue

__all__ = ["Agreement", "agree"]


@dataclass(frozen=True, kw_only=True)
class Agreement:
    """Sizes of two sets and of what they share; shares are None where there is nothing to divide by."""

    n_first: int
    n_second: int
    n_both: int

    @property
    def jaccard(self) -> float | None:
        """Graphs in both sets, as a share of those in either (P. Jaccard, 1912)."""
        n_either = self.n_first + self.n_second - self.n_both
        return self.n_both / n_either if n_either else None

    @property
    def of_first(self) -> float | None:
        """The share of the first set that the second one has too."""
        return self.n_both / self.n_first if self.n_first else None

    @property
    def of_second(self) -> float | None:
        """The share of the second set that the first one has too."""
        return self.n_both / self.n_second if self.n_second else None


def agree(first: ArrayLike, second: ArrayLike) -> Agreement:
    """Return the agreement of two sets of graphs, each ``[n_graphs]`` of whether a graph is in it.

    >>> agree([True, True, False], [True, False, False]).jaccard
    0.5
    """
    one, two = (np.asarray(item, dtype=bool) for item in (first, second))
    if one.shape != two.shape or one.ndim != 1:
        raise BadValue("the shapes of two sets of graphs", (one.shape, two.shape), "one entry for each graph in both")
    return Agreement(n_first=int(one.sum()), n_second=int(two.sum()), n_both=int((one & two).sum()))
