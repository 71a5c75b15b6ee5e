"""Power of a design of so many seeds: of the paired t, detectable effects, seeds needed.

Power at the observed effect is a function of the p-value and no evidence; print the smallest detectable effect and the
interval instead. All effects are d_z, in standard deviations of the seed-wise difference, whose own estimate is
uncertain (at 5 seeds it lies between .42 and 1.54 times the truth in 90 % of cases).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt
from scipy.special import ndtr, stdtrit

from gnz_track.errors import BadValue
from gnz_track.stats.design.noncentral import (
    Floats,
    nodes_between,
    noncentral_t_cdf,
    noncentrality_at,
    scale_bounds,
    scale_density,
)
from gnz_track.stats.inputs import check_level, number

__all__ = [
    "DesignPower",
    "design_power",
    "margin_needed",
    "paired_t_power",
    "seeds_needed",
    "seeds_needed_rows",
    "smallest_effect",
    "tost_power",
]

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
    size = np.abs(np.asarray(d_z, dtype=np.float64))
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
