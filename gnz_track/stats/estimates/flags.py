"""Flags on pairs of models that no test should be trusted with: skew, an outlier, one seed that decides, no spread.

No test in this room survives strong asymmetric skew: not the t, whose error rate rises, and not the signed-rank test,
which tests symmetry and gets worse with more seeds. So skew is flagged, and the limits were set by experiment.

A limit is the 99 % point of the statistic under normal differences with as many seeds, so 1 % of normal pairs carry the
skew flag and 5.8 % of normal tasks with six pairs at least one (1 % and 5.8 % for the outlier flag, 9.6 % for either).
Measured at 30 seeds over 2,000 tasks of four models of equal means, the share of tasks with a skewed pair was .75 for
beta scores near a ceiling of different shapes, .77 for lognormal(.5) of mixed signs and scales, .57 where one model
collapses on a tenth of its seeds, .99 for lognormal(1); .06 for normal scores of any spread. At 10 seeds the
same are .27, .25, .18, .64 and .06: a flag that is not raised on few seeds proves nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import stdtr

from gnz_track.records import make_records
from gnz_track.stats.comparison.joins import SeedPairs, StackedPairs, stack
from gnz_track.stats.inputs import Floats, check_level, plain_numbers, take_out
from gnz_track.stats.significance.paired import paired_t_rows

__all__ = ["LIMITS", "PairFlags", "flag_limits", "flag_pair", "flag_rows"]

# Pairs -> 99 % points under normal differences of |skewness| and of max |d - median| / MAD.
LIMITS: dict[int, tuple[float, float]] = {
    5: (1.397, 27.63),
    6: (1.532, 14.96),
    7: (1.589, 15.89),
    8: (1.603, 11.80),
    9: (1.598, 12.15),
    10: (1.579, 10.23),
    12: (1.526, 9.32),
    15: (1.439, 8.85),
    20: (1.308, 7.76),
    25: (1.205, 7.44),
    30: (1.116, 7.10),
    40: (0.986, 6.78),
    50: (0.891, 6.64),
    75: (0.731, 6.45),
    100: (0.635, 6.38),
    200: (0.451, 6.37),
    500: (0.283, 6.46),
}
FEWEST_FOR_SHAPE = min(LIMITS)
# Elements of [rows, left out, seeds] that are held at once.
ELEMENTS_AT_ONCE = 4_000_000


@dataclass(frozen=True, kw_only=True)
class PairFlags:
    """Oddities of one pair of models.

    ``skewness`` is m3 / m2^1.5 of the quantised differences, ``outlier_ratio`` max |d - median| / MAD at
    ``farthest_seed``; each is flagged beyond its limit, and not judged below 5 pairs. ``p_low`` and ``p_high`` span the
    p-values of the paired t with one seed left out; ``hinges_on_one_seed`` says that leaving out one seed moves p to
    the other side of alpha, and ``deciding_seed`` which one moves it most.
    """

    n_pairs: int
    alpha: float
    skewness: float | None
    skewness_limit: float | None
    is_skewed: bool
    outlier_ratio: float | None
    outlier_limit: float | None
    has_outlier: bool
    farthest_seed: int | None
    p: float | None
    p_low: float | None
    p_high: float | None
    hinges_on_one_seed: bool
    deciding_seed: int | None
    is_all_zero: bool
    is_degenerate: bool
    note: str = ""

    @property
    def words(self) -> tuple[str, ...]:
        """The flags that are raised, as words."""
        # Most pairs have none, and there may be a hundred thousand.
        is_odd = self.is_skewed or self.has_outlier or self.hinges_on_one_seed
        if not (is_odd or self.is_all_zero or self.is_degenerate):
            return ()
        raised = {
            "skewed": self.is_skewed,
            "outlier": self.has_outlier,
            "hinges on one seed": self.hinges_on_one_seed,
            "all differences zero": self.is_all_zero,
            "degenerate": self.is_degenerate,
        }
        return tuple(word for word, is_raised in raised.items() if is_raised)

    def __str__(self) -> str:
        note = f" ({self.note})" if self.note else ""
        return f"flags: {', '.join(self.words) or 'none'}, {self.n_pairs} pairs{note}"


def flag_limits(n_pairs: int) -> tuple[float, float] | None:
    """Return the limits of |skewness| and of the outlier ratio for so many pairs; None below 5, where shape is unknown.

    Between the tabulated numbers by interpolation in log n; beyond the last, skewness falls as its standard error.
    """
    if n_pairs < FEWEST_FOR_SHAPE:
        return None
    counts = sorted(LIMITS)
    skewness, ratio = (
        float(np.interp(np.log(n_pairs), np.log(counts), [LIMITS[n][column] for n in counts])) for column in (0, 1)
    )
    return skewness * min(1.0, float(np.sqrt(counts[-1] / n_pairs))), ratio


def flag_pair(pair: SeedPairs, *, alpha: float = 0.05) -> PairFlags:
    """Return the flags of one pair of models; in a family, alpha is the level that its verdict is read at."""
    return flag_rows([pair], alpha=alpha)[0]


def flag_rows(
    pairs: Sequence[SeedPairs],
    *,
    alpha: float | Sequence[float] = 0.05,
    p: Sequence[float | None] | None = None,
) -> tuple[PairFlags, ...]:
    """Return :func:`flag_pair` of many pairs at once.

    Parameters
    ----------
    pairs
        Joined scores of pairs of models.
    alpha
        One level, or one for each pair.
    p
        P-values of the paired t test where they are known already.
    """
    rows = stack(pairs)
    levels = [alpha] * len(pairs) if isinstance(alpha, float | int) else list(alpha)
    for level in set(levels):
        check_level("alpha", level)
    skewness, ratio, farthest = _measure_shapes(rows)
    skews, ratios = plain_numbers(skewness), plain_numbers(ratio)
    tests = [test.p for test in paired_t_rows(pairs)] if p is None else p
    dependence = _dependences(tests, _p_without_each(rows), levels)
    zero, degenerate = rows.is_all_zero.tolist(), rows.is_degenerate.tolist()
    limits = {n: flag_limits(n) or (None, None) for n in set(rows.n_pairs.tolist())}
    n_pairs = rows.n_pairs.tolist()
    skew_limits, ratio_limits = ([limits[n][place] for n in n_pairs] for place in (0, 1))
    deciders = [decider for _, _, decider in dependence]
    seeds = [pair.seeds for pair in pairs]
    columns: dict[str, Sequence[object]] = {
        "n_pairs": n_pairs,
        "alpha": levels,
        "skewness": skews,
        "skewness_limit": skew_limits,
        "is_skewed": _exceed(skews, skew_limits),
        "outlier_ratio": ratios,
        "outlier_limit": ratio_limits,
        "has_outlier": _exceed(ratios, ratio_limits),
        "farthest_seed": _seeds_at(seeds, [None if r is None else at for r, at in zip(ratios, farthest, strict=True)]),
        "p": tests,
        "p_low": [low for low, _, _ in dependence],
        "p_high": [high for _, high, _ in dependence],
        "hinges_on_one_seed": [decider is not None for decider in deciders],
        "deciding_seed": _seeds_at(seeds, deciders),
        "is_all_zero": zero,
        "is_degenerate": degenerate,
        "note": [_note_on_pair(*item) for item in zip(n_pairs, ratios, zero, degenerate, strict=True)],
    }
    return tuple(make_records(PairFlags, columns))


def _exceed(values: Sequence[float | None], limits: Sequence[float | None]) -> list[bool]:
    pairs = zip(values, limits, strict=True)
    return [value is not None and limit is not None and abs(value) > limit for value, limit in pairs]


def _seeds_at(seeds: Sequence[tuple[int, ...]], places: Sequence[int | None]) -> list[int | None]:
    return [None if place is None else known[place] for known, place in zip(seeds, places, strict=True)]


def _note_on_pair(n: int, outlier: float | None, is_all_zero: bool, is_degenerate: bool) -> str:  # noqa: FBT001  (columns)
    if n < FEWEST_FOR_SHAPE:
        return f"too few seeds to judge skew and outliers: {n}, and {FEWEST_FOR_SHAPE} are needed"
    if is_all_zero or is_degenerate:
        return "the differences have no spread"
    return "more than half of the differences are equal: outliers are not judged" if outlier is None else ""


def _measure_shapes(rows: StackedPairs) -> tuple[Floats, Floats, list[int]]:
    """Return skewness, outlier ratio (NaN where undefined) and the place of the farthest seed, each [rows]."""
    skewness, ratio = (np.full(len(rows.n_pairs), np.nan) for _ in range(2))
    farthest = np.zeros(len(rows.n_pairs), dtype=np.int64)
    is_flat = rows.is_all_zero | rows.is_degenerate
    for n in np.unique(rows.n_pairs[rows.n_pairs >= 2]).tolist():
        chosen = np.flatnonzero((rows.n_pairs == n) & ~is_flat)
        d = rows.quantised[chosen, :n]
        centred = d - d.mean(axis=1, keepdims=True)
        squares = (centred**2).mean(axis=1)
        skewness[chosen] = (centred**3).mean(axis=1) / squares**1.5
        far = np.abs(d - np.median(d, axis=1, keepdims=True))
        mad = np.median(far, axis=1)
        ratio[chosen] = np.where(mad > 0, far.max(axis=1) / np.where(mad > 0, mad, 1.0), np.nan)
        farthest[chosen] = far.argmax(axis=1)
    return skewness, ratio, farthest.tolist()


def _p_without_each(rows: StackedPairs) -> Floats:
    """Return the p of the paired t without each seed in turn [rows, seeds]; NaN where it has no spread."""
    found = np.full(rows.quantised.shape, np.nan)
    for n in np.unique(rows.n_pairs[rows.n_pairs >= 3]).tolist():
        chosen = np.flatnonzero(rows.n_pairs == n)
        keeps = np.array([[seed for seed in range(n) if seed != left] for left in range(n)])
        step = max(1, ELEMENTS_AT_ONCE // keeps.size)
        for start in range(0, len(chosen), step):
            part = chosen[start : start + step]
            found[part, :n] = _p_of_rests(rows.advantages[part][:, keeps], rows.quantised[part][:, keeps])
    return found


def _p_of_rests(rest: Floats, quantised: Floats) -> Floats:
    """Return the p of the paired t of rests [rows, left out, n - 1]; flatness is read from the quantised ones."""
    n = rest.shape[2]
    is_flat = (quantised == quantised[:, :, :1]).all(axis=2)
    is_zero = is_flat & (quantised[:, :, 0] == 0)
    # What is left may be far smaller than what was left out.
    rest, _ = take_out(rest)
    sd = np.where(is_flat, 1.0, rest.std(axis=2, ddof=1))
    p = 2 * stdtr(n - 1, -np.abs(rest.mean(axis=2)) / sd * np.sqrt(n))
    return np.where(is_zero, 1.0, np.where(is_flat, np.nan, p))


def _dependences(
    tests: Sequence[float | None], left_out: Floats, levels: Sequence[float]
) -> list[tuple[float | None, float | None, int | None]]:
    """Return for each row the range of p without one seed, and the place of the seed that its decision hinges on."""
    p, alpha = np.array(tests, dtype=np.float64), np.array(levels, dtype=np.float64)
    is_defined = np.isfinite(left_out)
    low = np.where(is_defined, left_out, np.inf).min(axis=1, initial=np.inf)
    high = np.where(is_defined, left_out, -np.inf).max(axis=1, initial=-np.inf)
    is_rejected = p <= alpha
    hinges = is_defined.any(axis=1) & np.isfinite(p) & np.where(is_rejected, high > alpha, low <= alpha)
    decider = np.zeros(len(p), dtype=np.int64)
    moved = np.where(is_rejected[:, None], left_out, -left_out)[hinges]
    decider[hinges] = np.where(is_defined[hinges], moved, -np.inf).argmax(axis=1) if len(moved) else 0
    places = [place if does else None for place, does in zip(decider.tolist(), hinges.tolist(), strict=True)]
    return list(zip(plain_numbers(low), plain_numbers(high), places, strict=True))
