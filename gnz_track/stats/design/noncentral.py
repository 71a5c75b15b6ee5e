"""Noncentral t: distribution and inversion by quadrature, for whole arrays.

The library function returns NaN in far tails (a power of 0.43 was published as 1.0 because of that). With
``T = (Z + d) / s``, ``Z`` normal and ``df s^2`` chi-square, the probability is a smooth integral over ``s`` where ``t``
is small and over ``Z`` where ``t`` is large, so that Gauss-Legendre nodes give 1e-12 everywhere.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import numpy.typing as npt
from scipy.special import gammaincc, gammaln, ndtr, ndtri

__all__ = ["Floats", "nodes_between", "noncentral_t_cdf", "noncentrality_at", "scale_bounds", "scale_density"]

Floats = npt.NDArray[np.float64]

N_NODES = 80
# Beyond these many standard deviations a normal, or a scaled chi, has less than 1e-17 of its mass.
NORMAL_REACH, SCALE_REACH = 8.5, 12.0
# So few that the nodes of all of them stay in the cache.
ROWS_AT_ONCE = 2_000
MOST_STEPS = 80
# A table of starts: its nodes, its reach in asinh(t / sqrt(2 df)), and from how many rows on it pays.
TABLE_NODES, TABLE_REACH, ROWS_FOR_TABLE = 56, 5.0, 500


def nodes_between(low: Floats, high: Floats) -> tuple[Floats, Floats]:
    """Return Gauss-Legendre nodes and weights between bounds of shape [n]: two arrays [n, nodes]."""
    nodes, weights = _legendre()
    half = (high - low)[:, None] / 2
    return (high + low)[:, None] / 2 + half * nodes, half * weights


def scale_density(s: Floats, df: Floats) -> Floats:
    """Return the density of ``s = sqrt(chi2(df) / df)`` at s [n, nodes] for df [n]."""
    nu = df[:, None]
    constant = np.log(2.0) + nu / 2 * np.log(nu / 2) - gammaln(nu / 2)
    # s = 0 is no node, but underflows to it for tiny intervals.
    log_s = np.log(np.maximum(s, 1e-300))
    return np.asarray(np.exp(constant + (nu - 1) * log_s - nu * s**2 / 2), dtype=np.float64)


def scale_bounds(df: Floats) -> tuple[Floats, Floats]:
    """Return the bounds [n], [n] between which a scaled chi with df [n] has all its mass."""
    reach = SCALE_REACH / np.sqrt(2 * df)
    return np.maximum(1 - reach, 0.0), 1 + reach


def noncentral_t_cdf(t: npt.ArrayLike, df: npt.ArrayLike, noncentrality: npt.ArrayLike) -> Floats:
    """Return P(T <= t) [n] of a noncentral t.

    Johnson, Kotz and Balakrishnan (1995), Continuous Univariate Distributions 2, chapter 31.

    Parameters
    ----------
    t, df, noncentrality
        Values, degrees of freedom and noncentralities, broadcast to [n].
    """
    arguments = np.broadcast_arrays(*(np.atleast_1d(np.asarray(x, dtype=np.float64)) for x in (t, df, noncentrality)))
    parts = [
        _cdf(*(x[start : start + ROWS_AT_ONCE] for x in arguments))
        for start in range(0, len(arguments[0]), ROWS_AT_ONCE)
    ]
    return np.concatenate(parts) if parts else np.empty(0)


def noncentrality_at(t: npt.ArrayLike, df: npt.ArrayLike, probability: float) -> Floats:
    """Return the noncentrality [n] for which P(T <= t) is ``probability``.

    Secant steps on the probit of the probability, which is nearly a straight line, kept inside a bracket.

    Parameters
    ----------
    t, df
        Values, not negative, and degrees of freedom [n].
    probability
        P(T <= t).
    """
    t_row, df_row = (np.atleast_1d(np.asarray(x, dtype=np.float64)) for x in (t, df))
    target = float(ndtri(probability))
    guess, found = _guesses(t_row, df_row, target), np.empty_like(t_row)
    for start in range(0, len(t_row), ROWS_AT_ONCE):
        part = slice(start, start + ROWS_AT_ONCE)
        found[part] = _solve(t_row[part], df_row[part], target, guess[part])
    return found


def _guesses(t: Floats, df: Floats, target: float) -> Floats:
    """Return where to start the search [n]: on a straight line, or near the end where many rows share their df."""
    guess = t - target * np.sqrt(1 + t**2 / (2 * df))
    for value in np.unique(df).tolist():
        width = np.sqrt(2 * value)
        chosen = np.flatnonzero((df == value) & (t < width * np.sinh(TABLE_REACH)))
        if len(chosen) < ROWS_FOR_TABLE:
            continue
        # Over asinh(t / width), and divided by cosh of that, the noncentrality is smooth and bounded.
        angle = TABLE_REACH / 2 * (1 + np.polynomial.chebyshev.chebpts1(TABLE_NODES))
        nodes, nus = width * np.sinh(angle), np.full_like(angle, value)
        start = nodes - target * np.cosh(angle)
        heights = _solve(nodes, nus, target, start) / np.cosh(angle)
        table = np.polynomial.Chebyshev.fit(angle, heights, TABLE_NODES - 1, domain=[0, TABLE_REACH])
        place = np.arcsinh(t[chosen] / width)
        guess[chosen] = table(place) * np.cosh(place)
    return guess


def _solve(t: Floats, df: Floats, target: float, guess: Floats) -> Floats:
    reach = abs(target) + 10
    low, high = np.full_like(t, -reach), reach + t * scale_bounds(df)[1]
    slope = -1 / np.sqrt(1 + t**2 / (2 * df))
    here = np.clip(guess, low, high)
    height = _probit(t, df, here) - target
    active = np.arange(len(t))
    for _ in range(MOST_STEPS):
        x, y = here[active], height[active]
        low[active], high[active] = np.where(y > 0, x, low[active]), np.where(y > 0, high[active], x)
        there = x - y / slope[active]
        is_inside = (there > low[active]) & (there < high[active])
        there = np.where(is_inside | (y == 0), there, (low[active] + high[active]) / 2)
        step = there - x
        here[active] = there
        goes_on = np.abs(step) > 1e-11 * (1 + np.abs(x))
        active, there, step, y = active[goes_on], there[goes_on], step[goes_on], y[goes_on]
        if not active.size:
            break
        height[active] = _probit(t[active], df[active], there) - target
        secant = (height[active] - y) / step
        slope[active] = np.where(secant < -1e-6, secant, slope[active])
    return here


def _probit(t: Floats, df: Floats, noncentrality: Floats) -> Floats:
    """Return the normal quantile of the probability, clipped so that 0 and 1 still point the right way."""
    return np.asarray(np.clip(ndtri(_cdf(t, df, noncentrality)), -38, 38), dtype=np.float64)


@lru_cache(maxsize=1)
def _legendre() -> tuple[Floats, Floats]:
    nodes, weights = np.polynomial.legendre.leggauss(N_NODES)
    return np.asarray(nodes), np.asarray(weights)


def _cdf(t: Floats, df: Floats, noncentrality: Floats) -> Floats:
    is_negative = t < 0
    size, shift = np.abs(t), np.where(is_negative, -noncentrality, noncentrality)
    is_steep = size > np.sqrt(2 * df)
    below = np.empty_like(size)
    for integral, chosen in ((_over_scale, ~is_steep), (_over_normal, is_steep)):
        if chosen.any():
            below[chosen] = integral(size[chosen], df[chosen], shift[chosen])
    below = np.clip(below, 0.0, 1.0)
    return np.where(is_negative, 1 - below, below)


def _over_scale(t: Floats, df: Floats, shift: Floats) -> Floats:
    """Integrate P(Z <= t s - shift) over the density of s."""
    # Rows of one df share their nodes and the density there.
    df = df[:1] if (df == df[0]).all() else df
    s, weights = nodes_between(*scale_bounds(df))
    integrand = scale_density(s, df) * ndtr(t[:, None] * s - shift[:, None])
    return np.asarray((integrand * weights).sum(axis=1), dtype=np.float64)


def _over_normal(t: Floats, df: Floats, shift: Floats) -> Floats:
    """Integrate P(s >= (z + shift) / t) over the normal density of z; below -shift it is 1."""
    low = np.clip(-shift, -NORMAL_REACH, NORMAL_REACH)
    z, weights = nodes_between(low, np.full_like(low, NORMAL_REACH))
    s = (z + shift[:, None]) / t[:, None]
    above = gammaincc(df[:, None] / 2, df[:, None] * s**2 / 2)
    density = np.exp(-(z**2) / 2) / np.sqrt(2 * np.pi)
    return np.asarray(ndtr(-shift) + (density * above * weights).sum(axis=1), dtype=np.float64)
