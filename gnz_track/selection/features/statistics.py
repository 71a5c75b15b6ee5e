"""Sixty-three statistics of a vector, in the order of the GLEMOS meta-graph features (Park et al., 2023)."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import entr

__all__ = ["STATISTICS", "describe_vector"]

Real = NDArray[np.float64]
_SIDES = ("all", "low", "high")

STATISTICS: tuple[str, ...] = (
    *("mean", "median", "min", "max", "var", "std", "entropy", "norm_entropy", "gini", "coeff_variation", "mad"),
    *("avg_abs_dev", "quartile_dispersion", "snr", "efficiency_ratio", "var_to_mean", "skew"),
    *("kurt_fisher_biased", "kurt_pearson_biased", "kurt_fisher_unbiased", "kurt_pearson_unbiased"),
    *("geometric_mean", "harmonic_mean"),
    *(f"iqr{k}_out_{what}_{side}" for k in ("1.5", "3") for what in ("frac", "count") for side in _SIDES),
    *("iqr3_lower_bound", "iqr3_upper_bound", "iqr", "q1", "q3", "iqr1.5_lower_bound", "iqr1.5_upper_bound"),
    *(f"std{k}_out_{what}_{side}" for k in (1, 2, 3) for what in ("count", "frac") for side in _SIDES),
    *("mode", "mode_count", "mode_frac"),
)
_LEAST_FOR_UNBIASED = 4


def describe_vector(values: ArrayLike) -> Real:
    """Return the :data:`STATISTICS` of a vector ``[n]``, in their order ``[63]``.

    What is undefined is 0: moments of a constant, ratios to a mean of zero, everything of an empty vector. Quartiles
    are the published ones, entries ``n // 2 -+ n // 4`` of the sorted vector.
    """
    x = np.sort(np.asarray(values, dtype=np.float64))
    if not len(x):
        return np.zeros(len(STATISTICS))
    with np.errstate(all="ignore"):
        found = np.array(
            [
                *_location_statistics(x),
                *_share_statistics(x),
                *_spread_statistics(x),
                *_shape_statistics(x),
                *_other_means(x),
                *_outliers(x),
                *_mode_statistics(x),
            ]
        )
    return np.where(np.isfinite(found), found, 0.0)


def _location_statistics(x: Real) -> Iterator[np.float64]:
    yield from (x.mean(), np.median(x), x[0], x[-1], x.var(), x.std())


def _share_statistics(x: Real) -> Iterator[np.float64]:
    """Entropy of the shares of the total, the same over its bound, and the Gini coefficient."""
    shares = x / x.sum()
    entropy = entr(shares).sum()
    shifted = (x - x[0] if x[0] < 0 else x) + 1e-7
    n = len(x)
    gini = np.sum((2 * np.arange(1, n + 1) - n - 1) * shifted) / (n * shifted.sum())
    yield from (entropy, entropy / np.log2(n), gini)


def _spread_statistics(x: Real) -> Iterator[np.float64]:
    mean, var, std = x.mean(), x.var(), x.std()
    q1, q3 = _quartiles(x)
    yield from (std / mean, np.median(np.abs(x - np.median(x))), np.abs(x - mean).mean(), (q3 - q1) / (q3 + q1))
    yield from (mean**2 / std**2, std**2 / mean**2, var / mean)


def _shape_statistics(x: Real) -> Iterator[np.float64]:
    """Skewness and kurtosis; of a constant both are undefined."""
    n, centred = len(x), x - x.mean()
    m2, m3, m4 = (np.mean(centred**power) for power in (2, 3, 4))
    if m2 <= (np.finfo(np.float64).resolution * x.mean()) ** 2:
        yield from np.full(5, np.nan)
        return
    biased = m4 / m2**2 - 3
    is_large = n >= _LEAST_FOR_UNBIASED
    unbiased = (n - 1) / ((n - 2) * (n - 3)) * ((n + 1) * biased + 6) if is_large else biased
    yield from (m3 / m2**1.5, biased, biased + 3, unbiased, unbiased + 3)


def _other_means(x: Real) -> Iterator[np.float64]:
    yield from (np.exp(np.mean(np.log(x))), len(x) / np.sum(1 / (x + 1e-10)))


def _outliers(x: Real) -> Iterator[np.float64]:
    """Fractions and counts outside of fences, all, below and above them; strictly."""
    q1, q3 = _quartiles(x)
    iqr = q3 - q1
    for width in (1.5, 3.0):
        counts = _count_outside(x, q1 - width * iqr, q3 + width * iqr)
        yield from (*(counts / len(x)), *counts)
    yield from (q1 - 3 * iqr, q3 + 3 * iqr, iqr, q1, q3, q1 - 1.5 * iqr, q3 + 1.5 * iqr)
    for width in (1, 2, 3):
        counts = _count_outside(x, x.mean() - width * x.std(), x.mean() + width * x.std())
        yield from (*counts, *(counts / len(x)))


def _count_outside(x: Real, low: np.float64, high: np.float64) -> Real:
    n_low, n_high = np.searchsorted(x, low, "left"), len(x) - np.searchsorted(x, high, "right")
    return np.array([n_low + n_high, n_low, n_high], dtype=np.float64)


def _quartiles(x: Real) -> tuple[np.float64, np.float64]:
    half, quarter = len(x) // 2, len(x) // 4
    return x[half - quarter], x[half + quarter]


def _mode_statistics(x: Real) -> Iterator[np.float64]:
    """Find the most frequent value, the smallest of those that tie."""
    starts = np.flatnonzero(np.concatenate([[True], x[1:] != x[:-1]]))
    counts = np.diff(np.append(starts, len(x)))
    most = int(counts.argmax())
    yield from (x[starts[most]], np.float64(counts[most]), counts[most] / len(x))
