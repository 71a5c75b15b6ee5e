"""Many tests at once: p-values of a family become adjusted p-values.

A family is what was planned to be compared together, by default all pairs of models on one task. Comparisons that
could not be run leave it, so m is what remains; a comparison that ran and found nothing (p = 1) stays.
"""

from __future__ import annotations

import math
import numbers
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from gnz_track.errors import BadValue, UnknownName
from gnz_track.stats.inputs import Floats, check_level, check_whole, read_finite

__all__ = [
    "ADJUSTMENTS",
    "Adjustment",
    "Family",
    "adjust",
    "benjamini_hochberg",
    "bonferroni",
    "holm",
    "shaffer",
    "shaffer_multipliers",
    "simultaneous_level",
]

# p-values [m] and the number of comparisons that were planned -> adjusted p-values [m].
Adjustment = Callable[[Floats, int], Floats]


@dataclass(frozen=True, kw_only=True)
class Family:
    """Adjusted p-values, in the order of the raw ones; None marks a comparison that was not run."""

    method: str
    controls: str
    alpha: float
    m: int
    n_planned: int
    n_not_run: int
    p: tuple[float | None, ...]
    p_adjusted: tuple[float | None, ...]
    rejected: tuple[bool | None, ...]
    simultaneous_level: float | None
    note: str = ""

    def __str__(self) -> str:
        left_out = f" ({self.n_not_run} of {self.n_planned} not run)" if self.n_not_run else ""
        found = sum(1 for item in self.rejected if item)
        return f"{self.method}, m = {self.m}{left_out}: {found} rejected at {self.controls} {self.alpha:g}"


def holm(p: npt.ArrayLike) -> Floats:
    """Adjust by Holm's step-down procedure.

    p [m] -> [m]; adj_(r) = max over r' <= r of min(1, (m - r' + 1) p_(r')). Controls the family-wise error under any
    dependence. S. Holm, Scand. J. Statist. 6 (1979) 65-70.
    """
    raw = _read_family(p)
    return _step_down(raw, np.arange(raw.size, 0, -1, dtype=np.float64))


def shaffer(p: npt.ArrayLike, n_planned: int | None = None) -> Floats:
    """Adjust by Shaffer's static procedure, which knows that equalities of k models come in certain numbers only.

    p [m] -> [m]; as Holm's, with t_r = the most hypotheses that can be true once r - 1 are false, in place of
    m - r + 1; k = 4 gives 6, 3, 3, 3, 2, 1. ``n_planned``, m where none is given, must be the number
    k (k - 1) / 2 of all pairs. J. P. Shaffer, J. Amer. Statist. Assoc. 81 (1986) 826-831.
    """
    raw = _read_family(p)
    n_planned = raw.size if n_planned is None else n_planned
    n_models = (1 + math.isqrt(1 + 8 * n_planned)) // 2
    if n_models * (n_models - 1) // 2 != n_planned:
        raise BadValue(
            "the number of comparisons for 'shaffer'", n_planned, "all pairs of k models: 1, 3, 6, 10, ...; or 'holm'"
        )
    # Pairs that were not run may be true or false: neither bound needs to know which.
    most_true = np.minimum(shaffer_multipliers(n_models)[: raw.size], np.arange(raw.size, 0, -1))
    return _step_down(raw, most_true)


def bonferroni(p: npt.ArrayLike) -> Floats:
    """Adjust by Bonferroni: p [m] -> min(1, m p) [m]."""
    raw = _read_family(p)
    return np.minimum(1.0, raw * raw.size)


def benjamini_hochberg(p: npt.ArrayLike) -> Floats:
    """Adjust for the false discovery rate.

    p [m] -> [m]; adj_(r) = min over r' >= r of min(1, m p_(r') / r').
    Y. Benjamini, Y. Hochberg, J. R. Statist. Soc. B 57 (1995) 289-300.
    """
    raw = _read_family(p)
    order = np.argsort(raw, kind="stable")
    scaled = raw[order] * raw.size / np.arange(1, raw.size + 1)
    adjusted = np.empty_like(raw)
    adjusted[order] = np.minimum(1.0, np.minimum.accumulate(scaled[::-1])[::-1])
    return adjusted


# Name -> (function, what it controls).
ADJUSTMENTS: dict[str, tuple[Adjustment, str]] = {
    "holm": (lambda p, _: holm(p), "family-wise error"),
    "shaffer": (shaffer, "family-wise error"),
    "bonferroni": (lambda p, _: bonferroni(p), "family-wise error"),
    "benjamini_hochberg": (lambda p, _: benjamini_hochberg(p), "false discovery rate"),
}


def adjust(p: Sequence[float | None], *, method: str = "holm", alpha: float = 0.05) -> Family:
    """Adjust the p-values of one family; a hypothesis is rejected where its adjusted p is at most ``alpha``.

    Parameters
    ----------
    p
        P-values [n_planned], None where a comparison could not be run.
    method
        A name of :data:`ADJUSTMENTS`.
    alpha
        Level of the family.
    """
    check_level("alpha", alpha)
    if method not in ADJUSTMENTS:
        raise UnknownName("adjustment", method, ADJUSTMENTS)
    function, controls = ADJUSTMENTS[method]
    places = [n for n, value in enumerate(p) if value is not None]
    raw = np.array([_check_p(value) for value in p if value is not None], dtype=np.float64)
    adjusted: list[float | None] = [None] * len(p)
    if places:
        for place, value in zip(places, function(raw, len(p)), strict=True):
            adjusted[place] = float(value)
    return Family(
        method=method,
        controls=controls,
        alpha=alpha,
        m=len(places),
        n_planned=len(p),
        n_not_run=len(p) - len(places),
        p=tuple(None if value is None else float(value) for value in p),
        p_adjusted=tuple(adjusted),
        rejected=tuple(None if value is None else value <= alpha for value in adjusted),
        simultaneous_level=simultaneous_level(alpha, len(places)) if places else None,
        note="" if places else "no comparison could be run",
    )


def simultaneous_level(alpha: float, m: int) -> float:
    """Return alpha / m: an interval at this error per comparison holds for all m at once (Bonferroni).

    Holm may reject where such an interval touches 0; the intervals compatible with Holm say nothing about the
    rejected pairs.
    """
    return check_level("alpha", alpha) / check_whole("m", m, least=1)


def shaffer_multipliers(n_models: int) -> Floats:
    """Return t_1 .. t_m [k (k - 1) / 2] of Shaffer's static procedure for all pairs of k models."""
    m = n_models * (n_models - 1) // 2
    possible = np.array(sorted(_possible_true_counts(n_models)))
    at_most = np.arange(m, 0, -1)
    found: Floats = possible[np.searchsorted(possible, at_most, side="right") - 1].astype(np.float64)
    return found


@lru_cache(maxsize=256)
def _possible_true_counts(n_models: int) -> frozenset[int]:
    """Return how many equalities can hold at once: one block of j equal models, and the rest likewise."""
    if n_models < 2:
        return frozenset({0})
    return frozenset(
        math.comb(block, 2) + rest
        for block in range(1, n_models + 1)
        for rest in _possible_true_counts(n_models - block)
    )


def _read_family(p: npt.ArrayLike) -> Floats:
    raw = read_finite("p-values", p, ndim=1)
    for value in raw[(raw < 0) | (raw > 1)].tolist()[:1]:
        _check_p(value)
    return raw


def _step_down(p: Floats, multipliers: Floats) -> Floats:
    order = np.argsort(p, kind="stable")
    adjusted = np.empty_like(p)
    adjusted[order] = np.minimum(1.0, np.maximum.accumulate(p[order] * multipliers))
    return adjusted


def _check_p(value: float) -> float:
    # Written so that NaN is refused as well.
    if not isinstance(value, numbers.Real) or not 0.0 <= value <= 1.0:
        raise BadValue("a p-value", value, "a number from 0 to 1, or None for a comparison that was not run")
    return float(value)
