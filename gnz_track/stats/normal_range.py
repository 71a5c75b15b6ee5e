"""The range of k independent standard normals: its tail and its upper points, which Nemenyi's test reads.

scipy.stats has both as the studentised range with infinitely many degrees of freedom; it takes half a second to import,
and milliseconds a value.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from scipy.special import log_ndtr

from gnz_track.stats.noncentral import FloatArray

__all__ = ["range_quantile", "range_tail"]

# The integrand is smooth and falls off as a normal density, where the trapezoidal rule is exact to rounding.
STEP = 1 / 16
REACH = 9.0
N_HALVINGS = 60


def range_tail(r: npt.ArrayLike, k: int) -> FloatArray:
    """Return P(range of k standard normals > r) for r [n]: k int phi(z) (F(z)^(k-1) - (F(z) - F(z-r))^(k-1)) dz.

    z is the largest of the k. The difference of powers is taken by logarithms, so that small tails keep their digits.
    David and Nagaraja, Order Statistics, 3rd ed., 2003, section 2.3.
    """
    width = np.atleast_1d(np.asarray(r, dtype=np.float64))[:, None]
    z = np.arange(-REACH, REACH + max(0.0, float(width.max(initial=0.0))) + STEP, STEP)
    log_f = log_ndtr(z)
    log_density = -0.5 * z**2 - 0.5 * np.log(2 * np.pi)
    # Share of F(z) below z - r; one at r = 0, whose logarithm of nothing is minus infinity.
    share = np.exp(np.minimum(log_ndtr(z - width) - log_f, 0.0))
    with np.errstate(divide="ignore"):
        lost = -np.expm1((k - 1) * np.log1p(-share))
    tail = k * STEP * (np.exp(log_density + (k - 1) * log_f) * lost).sum(axis=1)
    return np.asarray(np.clip(np.where(width[:, 0] <= 0, 1.0, tail), 0.0, 1.0))


def range_quantile(alpha: float, k: int) -> float:
    """Return the r that the range of k standard normals exceeds with probability alpha, by halving an interval."""
    low, high = 0.0, 2 * REACH + REACH
    for _ in range(N_HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if float(range_tail([middle], k)[0]) > alpha else (low, middle)
    return (low + high) / 2
