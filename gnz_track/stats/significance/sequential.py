"""Adding seeds until the answer is clear, without paying for it in false alarms.

Looking after every seed at the usual p rejects a true null in a quarter of all cases. An e-process may be looked at
after every seed; fixed looks may be looked at where they were declared. Both assume what the t-test assumes, and fail
as it does under strong skew.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from gnz_track.errors import BadValue
from gnz_track.stats.inputs import Floats, check_level, check_whole, read_array, read_finite, take_out

__all__ = [
    "LOOKS",
    "AnytimeTest",
    "FixedLooks",
    "Look",
    "anytime_p",
    "look_at_every_seed",
    "look_at_fixed_seeds",
    "paired_t_log_e",
    "t_at_looks",
]

LOOKS: tuple[int, ...] = (3, 5, 10, 20, 30)


@dataclass(frozen=True, kw_only=True)
class Look:
    """One look at the first ``n`` pairs: ``p`` is valid in the way of the test that looked; None where degenerate."""

    n: int
    mean: float
    log_e: float | None
    p: float | None
    stops: bool

    def __str__(self) -> str:
        value = "undefined" if self.p is None else f"{self.p:.4g}"
        return f"n = {self.n}: mean {self.mean:.4g}, p = {value}{', stop' if self.stops else ''}"


@dataclass(frozen=True, kw_only=True)
class AnytimeTest:
    """The e-process of one pair, looked at after every seed; ``p`` goes into Holm as any other."""

    alpha: float
    m: int
    g: float
    threshold: float
    n_pairs: int
    looks: tuple[Look, ...]
    p: float | None
    n_at_stop: int | None
    method: str
    note: str = ""

    def __str__(self) -> str:
        if self.p is None:
            return f"anytime-valid test not run: {self.note}"
        stop = f"stop at {self.n_at_stop}" if self.n_at_stop else "go on"
        return f"anytime-valid p = {self.p:.4g} after {self.n_pairs} seeds (e >= {self.threshold:g} stops): {stop}"


@dataclass(frozen=True, kw_only=True)
class FixedLooks:
    """Paired t-tests at the declared numbers of seeds; ``p`` = min(1, looks declared x smallest p), ready for Holm."""

    alpha: float
    m: int
    planned: tuple[int, ...]
    alpha_per_look: float
    n_pairs: int
    looks: tuple[Look, ...]
    p: float | None
    n_at_stop: int | None
    next_look: int | None
    method: str
    note: str = ""

    def __str__(self) -> str:
        if self.p is None:
            return f"fixed looks not run: {self.note}"
        following = f"stop at {self.n_at_stop}" if self.n_at_stop else f"next look at {self.next_look or 'no seed'}"
        return f"p = {self.p:.4g} after {len(self.looks)} of {len(self.planned)} looks: {following}"


def paired_t_log_e(advantages: npt.ArrayLike, *, g: float = 1.0) -> Floats:
    """Return log e after 1, 2, ..., n pairs, for any number of sequences at once; [..., n] -> [..., n].

    log e_n = -.5 log(1 + n g) + (n / 2) [log(1 + t^2 / nu) - log(1 + t^2 / ((1 + n g) nu))], nu = n - 1: the Bayes
    factor of a normal prior of variance ``g`` on the standardised mean against 0, right-Haar on sigma. Under the null
    P(some e_n >= 1 / alpha) <= alpha. While all differences are the same there is no evidence: log e = 0.
    """
    if not 0.0 < g < np.inf:
        raise BadValue("g", g, "a finite number above 0: the prior variance of the standardised mean")
    d = read_array("advantages", advantages)
    if d.ndim < 1 or not np.isfinite(d).all():
        raise BadValue(
            "advantages", f"{d.ndim} dimensions or not finite", "finite differences, the pairs along the last axis"
        )
    n = np.arange(1, d.shape[-1] + 1, dtype=np.float64)
    squares, between = _sums(take_out(d)[0], n)
    has_spread = squares > 0.0
    # t^2 / nu is between / squares; so written it needs no division.
    whole = np.where(has_spread, squares + between, 1.0)
    shrunk = np.where(has_spread, squares + between / (1.0 + n * g), 1.0)
    found: Floats = np.where(has_spread, n / 2.0 * (np.log(whole) - np.log(shrunk)) - 0.5 * np.log1p(n * g), 0.0)
    return found


def anytime_p(log_e: npt.ArrayLike) -> Floats:
    """Return min(1, 1 / max over looks so far of e); [..., n] -> [..., n], never rising along the last axis."""
    largest = np.maximum.accumulate(np.asarray(log_e, dtype=np.float64), axis=-1)
    found: Floats = np.exp(-np.maximum(largest, 0.0))
    return found


def t_at_looks(advantages: npt.ArrayLike, looks: Sequence[int] = LOOKS) -> Floats:
    """Return the two-sided p of the paired t-test on the first 3, 5, ... pairs; [..., n] -> [..., looks <= n].

    1 while all differences are 0; NaN while all are the same number but 0: the t-test has no answer there.
    """
    # It takes as long to import as NumPy, and nothing else here needs it.
    from scipy import special

    d = read_array("advantages", advantages)
    sizes = np.array([look for look in looks if look <= d.shape[-1]], dtype=np.intp)
    n = np.arange(1, d.shape[-1] + 1, dtype=np.float64)
    squares, between = (item[..., sizes - 1] for item in _sums(take_out(d)[0], n))
    has_spread = squares > 0.0
    t = np.sqrt(between * (sizes - 1) / np.where(has_spread, squares, 1.0))
    without_spread = np.where(between > 0.0, np.nan, 1.0)
    found: Floats = np.where(has_spread, 2.0 * special.stdtr(sizes - 1.0, -t), without_spread)
    return found


def look_at_every_seed(advantages: npt.ArrayLike, *, alpha: float = 0.05, m: int = 1, g: float = 1.0) -> AnytimeTest:
    """Look at one pair of models after every seed.

    The pair is decided once e >= m / alpha (Bonferroni over the family of ``m``); ``p`` = min(1, 1 / max e).

    Parameters
    ----------
    advantages
        Quantised differences [n], in the order in which seeds were run.
    alpha, m
        Level and size of the family of tests.
    g
        Variance of the normal prior on the standardised mean.
    """
    d = read_finite("advantages", advantages, ndim=1)
    threshold = check_whole("m", m, least=1) / check_level("alpha", alpha)
    log_e = paired_t_log_e(d, g=g)
    p = anytime_p(log_e)
    stops = log_e >= np.log(threshold)
    reason = _why_not(d)
    looks = tuple(
        Look(n=n, mean=float(d[:n].mean()), log_e=float(log_e[n - 1]), p=float(p[n - 1]), stops=bool(stops[n - 1]))
        for n in range(2, d.size + 1)
    )
    return AnytimeTest(
        alpha=alpha,
        m=m,
        g=float(g),
        threshold=threshold,
        n_pairs=d.size,
        looks=looks,
        p=None if reason else float(p[-1]),
        n_at_stop=next((look.n for look in looks if look.stops), None),
        method="e-process of the paired t, normal prior on the standardised mean",
        note=reason,
    )


def look_at_fixed_seeds(
    advantages: npt.ArrayLike, *, alpha: float = 0.05, m: int = 1, planned: Sequence[int] = LOOKS
) -> FixedLooks:
    """Look at one pair of models at declared numbers of seeds, each at alpha / looks.

    Parameters
    ----------
    advantages
        Quantised differences [n], in the order in which seeds were run.
    alpha, m
        Level and size of the family of tests.
    planned
        Numbers of seeds at which one looks.
    """
    d = read_finite("advantages", advantages, ndim=1)
    check_level("alpha", alpha)
    check_whole("m", m, least=1)
    sizes = tuple(planned)
    if not sizes or sizes[0] < 2 or any(a >= b for a, b in pairwise(sizes)):
        raise BadValue("planned", sizes, "rising numbers of seeds from 2 on, such as (3, 5, 10, 20, 30)")
    level = alpha / len(sizes)
    p = t_at_looks(d, sizes)
    looks = tuple(
        Look(
            n=n,
            mean=float(d[:n].mean()),
            log_e=None,
            p=None if np.isnan(value) else float(value),
            stops=bool(value <= level / m),
        )
        for n, value in zip(sizes, p, strict=False)
    )
    known = [look.p for look in looks if look.p is not None]
    reason = f"fewer pairs than the first look: {d.size} of {sizes[0]}" if not looks else _why_not(d)
    return FixedLooks(
        alpha=alpha,
        m=m,
        planned=sizes,
        alpha_per_look=level,
        n_pairs=d.size,
        looks=looks,
        p=None if reason or not known else min(1.0, len(sizes) * min(known)),
        n_at_stop=next((look.n for look in looks if look.stops), None),
        next_look=next((size for size in sizes if size > d.size), None),
        method=f"paired t-test at {len(sizes)} declared looks, Bonferroni over looks",
        note=reason if reason or known else "degenerate: all differences are the same at every look",
    )


def _sums(d: Floats, n: Floats) -> tuple[Floats, Floats]:
    """Return the sum of squares about the mean and n mean^2 after 1, 2, ... pairs; float noise counts as 0."""
    # Moved to the first value, so that a large mean does not swallow a small spread.
    moved = d - d[..., :1]
    squares = np.cumsum(moved**2, axis=-1) - np.cumsum(moved, axis=-1) ** 2 / n
    noise = n * (1e-12 * np.maximum.accumulate(np.abs(d), axis=-1)) ** 2
    return np.where(squares > noise, squares, 0.0), np.cumsum(d, axis=-1) ** 2 / n


def _why_not(d: Floats) -> str:
    if d.size < 2:
        return "fewer than two pairs"
    is_constant = float(np.ptp(d)) <= 1e-12 * float(np.abs(d).max())
    return "degenerate: all differences are the same" if is_constant and d[0] != 0.0 else ""
