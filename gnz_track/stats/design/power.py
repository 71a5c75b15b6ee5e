"""Power of a design of so many seeds: detectable effects, seeds needed, and whether an exact test can reject at all.

Power at the observed effect is a function of the p-value and no evidence; print the smallest detectable effect and the
interval instead. All effects are d_z, in standard deviations of the seed-wise difference, whose own estimate is
uncertain (at 5 seeds it lies between .42 and 1.54 times the truth in 90 % of cases).

The noncentral t is computed by quadrature, for whole arrays: the library function returns NaN in far tails (a power of
0.43 was published as 1.0 because of that). With ``T = (Z + d) / s``, ``Z`` normal and ``df s^2`` chi-square, the
probability is a smooth integral over ``s`` where ``t`` is small and over ``Z`` where ``t`` is large, so that
Gauss-Legendre nodes give 1e-12 everywhere.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt
from scipy.special import gammaincc, gammaln, ndtr, ndtri, stdtrit

from gnz_track.errors import BadValue
from gnz_track.stats.inputs import check_level, number, read_array

__all__ = [
    "Attainability",
    "DesignPower",
    "Floats",
    "attainability",
    "design_power",
    "margin_needed",
    "nodes_between",
    "noncentral_t_cdf",
    "noncentrality_at",
    "paired_t_power",
    "scale_bounds",
    "scale_density",
    "seeds_needed",
    "seeds_needed_rows",
    "smallest_effect",
    "smallest_p",
    "smallest_seeds",
    "tost_power",
]


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


LARGEST_EFFECT = 1e9
# What an inverted noncentrality may be off by, and more.
BOUND_SLACK = 1e-8


@dataclass(frozen=True, kw_only=True)
class DesignPower:
    """Effects that a paired t over ``n_pairs`` seeds detects with the given power, alone and among m comparisons.

    ``effect`` at alpha and ``effect_in_family`` at alpha / m are in standard deviations of the difference;
    ``advantage`` and ``advantage_in_family`` are the same in units of the metric, where sd is known.
    """

    n_pairs: int
    alpha: float
    m: int
    power: float
    effect: float | None
    effect_in_family: float | None
    sd: float | None = None
    advantage: float | None = None
    advantage_in_family: float | None = None
    note: str = ""

    def __str__(self) -> str:
        if self.effect is None or self.effect_in_family is None:
            return f"no power with {self.n_pairs} pairs ({self.note})"
        return (
            f"{self.n_pairs} pairs detect d_z {self.effect:.4g} with power {self.power:g} at {self.alpha:g}, "
            f"and {self.effect_in_family:.4g} among {self.m} comparisons"
        )


def paired_t_power(d_z: float, n_pairs: int, *, alpha: float = 0.05) -> float | None:
    """Return the exact two-sided power P(|T| > t_{n-1, 1-alpha/2}), T noncentral with d_z sqrt(n); None below 2 pairs.

    Cohen (1988), chapter 2, with both tails and none of them lost far out.

    Parameters
    ----------
    d_z
        Mean difference in sd of the difference.
    n_pairs
        Seeds that both models have.
    alpha
        Level of the test.
    """
    check_level("alpha", alpha)
    if not math.isfinite(d_z):
        raise BadValue("d_z", d_z, "a finite number")
    if n_pairs < 2:
        return None
    df, shift = n_pairs - 1, d_z * math.sqrt(n_pairs)
    critical = float(stdtrit(df, 1 - alpha / 2))
    # P(T > c) is the lower tail of the mirrored distribution.
    above, below = noncentral_t_cdf([-critical, -critical], df, [-shift, shift]).tolist()
    return float(min(1.0, above + below))


@lru_cache(maxsize=4096)
def smallest_effect(n_pairs: int, *, alpha: float = 0.05, power: float = 0.8) -> float | None:
    """Return the smallest d_z that a paired t detects with the given power; None below 2 pairs.

    Parameters
    ----------
    n_pairs
        Seeds that both models have.
    alpha
        Level of the test; alpha / m at the level of a family.
    power
        Chance to reject.
    """
    check_level("alpha", alpha)
    _check_power(power, alpha)
    if n_pairs < 2:
        return None
    return _find_root(lambda d_z: (paired_t_power(d_z, n_pairs, alpha=alpha) or 0.0) - power)


@lru_cache(maxsize=1024)
def seeds_needed(d_z: float, *, alpha: float = 0.05, power: float = 0.8, most: int = 1_000_000) -> int | None:
    """Return the fewest seeds at which a paired t detects d_z with the given power; None if more than ``most``.

    Parameters
    ----------
    d_z
        Mean difference in sd of the difference.
    alpha, power
        Level of the test and chance to reject.
    most
        Seeds beyond which nobody would go.
    """
    check_level("alpha", alpha)
    _check_power(power, alpha)

    def is_enough(n: int) -> bool:
        return (paired_t_power(d_z, n, alpha=alpha) or 0.0) >= power

    enough = 2
    while not is_enough(enough):
        if enough >= most:
            return None
        enough = min(2 * enough, most)
    too_few = enough // 2 if enough > 2 else 1
    while enough - too_few > 1:
        middle = (enough + too_few) // 2
        too_few, enough = (too_few, middle) if is_enough(middle) else (middle, enough)
    return enough


def seeds_needed_rows(
    d_z: npt.ArrayLike, *, alpha: float = 0.05, power: float = 0.8, most: int = 10_000
) -> tuple[int | None, ...]:
    """Return :func:`seeds_needed` of many effects at once; None also for an effect of 0 or NaN.

    Parameters
    ----------
    d_z, alpha, power, most
        As in :func:`seeds_needed`, of each.
    """
    check_level("alpha", alpha)
    _check_power(power, alpha)
    size = np.abs(read_array("d_z", d_z))
    active = np.flatnonzero(np.nan_to_num(size) > 0)
    found = np.full(size.shape, np.inf)
    most = max(most, 2)
    active = active[~_is_below(size[active], np.full(active.shape, float(most)), alpha, power)]
    too_few, found[active] = np.ones_like(size), float(most)
    # All rows halve the same range, so that they share the few numbers of seeds that need an inversion.
    while (active := active[found[active] - too_few[active] > 1]).size:
        middle = np.floor((too_few[active] + found[active]) / 2)
        is_less = _is_below(size[active], middle, alpha, power)
        too_few[active] = np.where(is_less, middle, too_few[active])
        found[active] = np.where(is_less, found[active], middle)
    return tuple(int(n) if math.isfinite(n) else None for n in found.tolist())


def _is_below(size: Floats, n: Floats, alpha: float, power: float) -> npt.NDArray[np.bool_]:
    """Tell the same as :func:`_rejects_less`, which only rows between two bounds of their number of seeds still need.

    The far tail holds between 0 and alpha / 2, so that the power of the near tail alone bounds the effect twice.
    """
    counts, place = np.unique(n, return_inverse=True)
    critical = stdtrit(counts - 1, 1 - alpha / 2)
    low = noncentrality_at(critical, counts - 1, 1 - (power - alpha / 2)) / np.sqrt(counts)
    high = noncentrality_at(critical, counts - 1, 1 - power) / np.sqrt(counts)
    is_less = size < low[place] - BOUND_SLACK
    unsure = np.flatnonzero(~is_less & (size < high[place] + BOUND_SLACK))
    is_less[unsure] = _rejects_less(size[unsure], n[unsure], alpha, power)
    return is_less


def _rejects_less(size: Floats, n: Floats, alpha: float, power: float) -> npt.NDArray[np.bool_]:
    """Tell for effects [rows] and seeds [rows] whether the paired t has less than the wanted power."""
    critical, shift = stdtrit(n - 1, 1 - alpha / 2), size * np.sqrt(n)
    found = noncentral_t_cdf(-critical, n - 1, -shift) + noncentral_t_cdf(-critical, n - 1, shift)
    return np.asarray(found < power, dtype=np.bool_)


def design_power(
    n_pairs: int, m: int, *, alpha: float = 0.05, power: float = 0.8, sd: float | None = None
) -> DesignPower:
    """Return the smallest detectable effects of a design, at alpha and at alpha / m.

    Parameters
    ----------
    n_pairs
        Seeds that both models have.
    m, alpha, power
        Size and level of the family of tests, and chance to reject.
    sd
        Standard deviation of the differences, which brings effects into the metric's unit.
    """
    if m < 1:
        raise BadValue("m", m, "a number of comparisons from 1 upwards")
    alone = smallest_effect(n_pairs, alpha=alpha, power=power)
    in_family = smallest_effect(n_pairs, alpha=alpha / m, power=power)
    return DesignPower(
        n_pairs=n_pairs,
        alpha=alpha,
        m=m,
        power=power,
        effect=alone,
        effect_in_family=in_family,
        sd=sd,
        advantage=None if sd is None or alone is None else number(alone * sd),
        advantage_in_family=None if sd is None or in_family is None else number(in_family * sd),
        note="" if n_pairs >= 2 else "at least 2 seeds in common are needed",
    )


def tost_power(margin: float, n_pairs: int, *, alpha: float = 0.05) -> float | None:
    """Return the exact power of TOST at a true difference of 0; None below 2 pairs.

    Both tests reject where |Z| < margin sqrt(n) - t_{n-1, 1-alpha} s, integrated over the scaled chi s.
    Phillips (1990).

    Parameters
    ----------
    margin
        Margin of equivalence in sd of the difference.
    n_pairs
        Seeds that both models have.
    alpha
        Level of each one-sided test.
    """
    check_level("alpha", alpha)
    if not (math.isfinite(margin) and margin > 0):
        raise BadValue("margin", margin, "a positive number")
    if n_pairs < 2:
        return None
    df = np.array([n_pairs - 1.0])
    critical, reach = float(stdtrit(n_pairs - 1, 1 - alpha)), margin * math.sqrt(n_pairs)
    low, high = scale_bounds(df)
    if reach / critical <= low[0] and critical > 0:
        return 0.0
    high = np.minimum(high, reach / critical) if critical > 0 else high
    # Two halves, because a wide margin makes the integrand steep near its end.
    total = 0.0
    for bottom, top in ((low, (low + high) / 2), ((low + high) / 2, high)):
        s, weights = nodes_between(bottom, top)
        inside = np.maximum(2 * ndtr(reach - critical * s) - 1, 0.0)
        total += float((scale_density(s, df) * inside * weights).sum())
    return min(1.0, total)


@lru_cache(maxsize=1024)
def margin_needed(n_pairs: int, *, alpha: float = 0.05, power: float = 0.8) -> float | None:
    """Return the margin, in sd of the difference, that TOST needs for its power at a true difference of 0.

    Parameters
    ----------
    n_pairs
        Seeds that both models have.
    alpha, power
        Level of each one-sided test and chance to show equivalence.
    """
    check_level("alpha", alpha)
    _check_power(power, alpha)
    if n_pairs < 2:
        return None
    return _find_root(lambda margin: (tost_power(margin, n_pairs, alpha=alpha) or 0.0) - power)


def _check_power(power: float, alpha: float) -> None:
    if not alpha < power < 1:
        raise BadValue("power", power, f"a number between alpha ({alpha:g}) and 1, such as 0.8")


def _find_root(excess: Callable[[float], float]) -> float | None:
    """Return where an increasing function of a positive number crosses zero; None where that is out of all reason."""
    high = 1.0
    while excess(high) < 0:
        if high > LARGEST_EFFECT:
            return None
        high *= 2
    low = high / 2 if high > 1 else 0.0
    f_low, f_high = excess(low) if low else -1.0, excess(high)
    for _ in range(200):
        if high - low <= 1e-13 * high:
            break
        # Regula falsi, and every other time the middle, so that neither end stands still.
        middle = (low + high) / 2
        chord = low - f_low * (high - low) / (f_high - f_low) if f_high > f_low else middle
        for x in (chord, middle):
            if low < x < high:
                value = excess(x)
                low, f_low, high, f_high = (x, value, high, f_high) if value < 0 else (low, f_low, x, value)
    return (low + high) / 2


MOST_SEEDS = 10_000


@dataclass(frozen=True, kw_only=True)
class Attainability:
    """The smallest p, alone and adjusted for m comparisons, that n pairs of seeds (or of tasks) allow an exact test."""

    n_pairs: int
    m: int
    alpha: float
    smallest_p: float | None
    smallest_adjusted_p: float | None
    can_reject: bool
    seeds_to_reject: int | None
    unit: str = "seed"

    def __str__(self) -> str:
        pairs = "1 pair" if self.m == 1 else f"{self.m} pairs"
        seeds = f"1 {self.unit}" if self.n_pairs == 1 else f"{self.n_pairs} {self.unit}s"
        if self.smallest_adjusted_p is None:
            return f"with {seeds} and {pairs} no paired test can be run: at least 2 {self.unit}s are needed"
        found = f"{self.smallest_adjusted_p:.3g}".removeprefix("0")
        if self.can_reject:
            return f"with {seeds} and {pairs} the smallest adjusted p is {found}: this test can reject"
        return f"with {seeds} and {pairs} the smallest adjusted p is {found}: this test cannot reject"


def smallest_p(n_pairs: int) -> float | None:
    """Return 2 / 2^n, the smallest two-sided p of a signed-rank or sign-flip test; None below 2 pairs.

    With zero differences, n counts the non-zero ones.
    """
    return 2.0 ** (1 - n_pairs) if n_pairs >= 2 else None


def smallest_seeds(m: int, *, alpha: float = 0.05) -> int:
    """Return the fewest seeds at which an exact test among m comparisons can reject after Holm or Bonferroni."""
    check_level("alpha", alpha)
    _check_m(m)
    return next(n for n in range(2, MOST_SEEDS) if m * 2.0 ** (1 - n) <= alpha)


def attainability(n_pairs: int, m: int, *, alpha: float = 0.05, unit: str = "seed") -> Attainability:
    """Return what n pairs of seeds allow an exact test among m comparisons; the first step multiplies p by m.

    Where the test cannot reject, its verdict is undetermined whatever the data say.

    Parameters
    ----------
    n_pairs
        Pairs whose difference is not zero.
    m, alpha
        Size and level of the family of tests.
    unit
        The word for one pair: ``seed`` or ``task``.
    """
    check_level("alpha", alpha)
    _check_m(m)
    alone = smallest_p(n_pairs)
    adjusted = None if alone is None else min(1.0, m * alone)
    return Attainability(
        n_pairs=n_pairs,
        m=m,
        alpha=alpha,
        smallest_p=alone,
        smallest_adjusted_p=adjusted,
        can_reject=adjusted is not None and adjusted <= alpha,
        seeds_to_reject=smallest_seeds(m, alpha=alpha),
        unit=unit,
    )


def _check_m(m: int) -> None:
    if m < 1:
        raise BadValue("m", m, "a number of comparisons from 1 upwards")
