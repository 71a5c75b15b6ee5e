"""Distances between two spaces over the same nodes: norms of the difference of their distances."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gnz_track.errors import BadValue

__all__ = ["FROBENIUS", "L11", "NORMS", "Norm"]

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
