"""Intervals for the mean score of one cell over its seeds, and for the mean of its learning curves at each epoch.

Student's t is the default: it keeps its level at every number of seeds under normal scores and is no worse than the
bootstrap under skew. The bootstrap intervals are here because readers ask for them; each carries the coverage that was
measured for it where there are fewer than 20 seeds. They are narrower than t because they cover less.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.special import ndtr, ndtri, stdtrit

from gnz_track.errors import BadValue
from gnz_track.seeds import derive
from gnz_track.stats.inputs import Floats, centre_and_spread, check_level, check_whole, put_back, read_array, take_out
from gnz_track.text import plural

__all__ = ["INTERVALS", "MeanCurve", "MeanInterval", "coverage_warning", "intervals_of", "iqm", "mean_curve"]


N_RESAMPLES = 10_000
# Resampled means that are held at once.
ELEMENTS_AT_ONCE = 4_000_000
FEW_SEEDS = 20
# Measured coverage of nominal 95 % intervals: seeds -> (normal scores, lognormal(1) scores where measured).
COVERAGE: dict[str, dict[int, tuple[float, float | None]]] = {
    "percentile": {2: (0.492, None), 3: (0.749, None), 5: (0.832, 0.724), 10: (0.899, 0.799), 30: (0.930, 0.878)},
    "bca": {2: (0.492, None), 3: (0.725, None), 5: (0.836, 0.743), 10: (0.898, 0.824), 30: (0.931, 0.894)},
    "bootstrap_t": {5: (0.949, 0.898), 10: (0.948, 0.906), 30: (0.947, 0.925)},
}


@dataclass(frozen=True, kw_only=True)
class MeanInterval:
    """An interval of level 1 - alpha for the mean of n scores; ``n_missing`` scores were absent or not numbers.

    ``low`` and ``high`` are ``None`` where the interval is not available, and ``note`` says why; ``warning`` states
    the measured coverage of a bootstrap interval of few seeds.
    """

    method: str
    n: int
    n_missing: int
    alpha: float
    mean: float | None
    sd: float | None
    low: float | None
    high: float | None
    n_resamples: int | None = None
    seed: int | None = None
    note: str = ""
    warning: str = ""

    @property
    def sem(self) -> float | None:
        """The standard error of the mean."""
        return None if self.sd is None else self.sd / math.sqrt(self.n)

    def __str__(self) -> str:
        n = f"n = {self.n}/{self.n + self.n_missing}"
        mean = "no mean" if self.mean is None else f"mean {self.mean:.6g}"
        bounds = "not available" if self.low is None or self.high is None else f"[{self.low:.6g}, {self.high:.6g}]"
        remarks = "".join(f"; {text}" for text in (self.note, self.warning) if text)
        return f"{mean}, {1 - self.alpha:.4g} {self.method} interval {bounds}, {n}{remarks}"


def coverage_warning(method: str, n: int) -> str:
    """Return what was measured of a bootstrap interval at the nearest number of seeds; empty from 20 seeds upwards."""
    measured = COVERAGE.get(method, {})
    if n >= FEW_SEEDS or not measured:
        return ""
    nearest = min(measured, key=lambda seeds: (abs(seeds - n), seeds))
    normal, skewed = measured[nearest]
    skew = "" if skewed is None else f" and {_digits(skewed)} on lognormal(1) scores"
    return f"at {nearest} seeds this interval was measured to cover {_digits(normal)} of normal{skew}; nominal .950"


def iqm(values: npt.ArrayLike) -> float | None:
    """Return the interquartile mean of scores [n]: that without the lowest and highest floor(n/4); None if empty."""
    found = np.sort(read_array("values", values).ravel())
    found = found[np.isfinite(found)]
    cut = len(found) // 4
    return float(found[cut : len(found) - cut].mean()) if len(found) else None


def intervals_of(
    cells: Sequence[npt.ArrayLike],
    *,
    method: str = "t",
    alpha: float = 0.05,
    n_resamples: int = N_RESAMPLES,
    seed: int = 0,
) -> tuple[MeanInterval, ...]:
    """Return one interval per cell; cells with equally many scores share resamples.

    ``t``: mean +- t_{n-1, 1-alpha/2} s / sqrt(n), Student (1908). ``percentile``: alpha/2 and 1 - alpha/2 quantiles of
    resampled means, Efron (1979). ``bca``: these corrected for bias, z0 counting resampled means equal to the mean
    half, and for acceleration by the jackknife, Efron (1987), JASA 82. ``bootstrap_t``: mean - t* s / sqrt(n) with t*
    the quantiles of resampled t statistics, Efron (1982); not available where more than alpha/2 of the resamples on one
    side are constant, which is so below 4 seeds.

    Parameters
    ----------
    cells
        One array of scores per cell.
    method
        One of :data:`INTERVALS`.
    alpha
        1 minus the level.
    n_resamples, seed
        Bootstrap resamples, and the seed that they derive from.
    """
    check_level("alpha", alpha)
    if method not in INTERVALS:
        raise BadValue("interval", method, ", ".join(INTERVALS))
    if n_resamples < 1:
        raise BadValue("n_resamples", n_resamples, "a whole number from 1 upwards")
    given = [read_array("scores of a cell", cell).ravel() for cell in cells]
    scores = [cell[np.isfinite(cell)] for cell in given]
    found: list[MeanInterval | None] = [None] * len(cells)
    for n in sorted({len(cell) for cell in scores}):
        chosen = [row for row, cell in enumerate(scores) if len(cell) == n]
        bounds = _bounds(
            np.array([scores[row] for row in chosen]).reshape(len(chosen), n), method, alpha, n_resamples, seed
        )
        for row, (mean, sd, low, high) in zip(chosen, bounds, strict=True):
            found[row] = MeanInterval(
                method=method,
                n=n,
                n_missing=len(given[row]) - n,
                alpha=alpha,
                mean=mean,
                sd=sd,
                low=low,
                high=high,
                n_resamples=None if method == "t" else n_resamples,
                seed=None if method == "t" else seed,
                note=_note(n, sd, low),
                warning="" if low is None else coverage_warning(method, n),
            )
    return tuple(interval for interval in found if interval is not None)


def _note(n: int, sd: float | None, low: float | None) -> str:
    if n < 2:
        return f"not available from {plural(n, 'score')}; at least 2 seeds are needed"
    if low is None:
        return "not available: too many resamples are constant; more seeds are needed"
    return "all scores are equal: the interval has no width" if sd == 0 else ""


def _bounds(
    scores: Floats, method: str, alpha: float, n_resamples: int, seed: int
) -> list[tuple[float | None, float | None, float | None, float | None]]:
    """Return mean, sd, low and high of scores [cells, n]."""
    n_cells, n = scores.shape
    if n < 2:
        return [(mean, None, None, None) for mean in (scores[:, 0].tolist() if n else [None] * n_cells)]
    is_constant = scores.max(axis=1) == scores.min(axis=1)
    scores, exponents = take_out(scores)
    mean, sd = centre_and_spread(scores)
    mean, sd = np.where(is_constant, scores[:, 0], mean), np.where(is_constant, 0.0, sd)
    centred = (scores - mean[:, None]) / np.where(sd > 0, sd, 1.0)[:, None]
    low, high = INTERVALS[method](centred, alpha, n_resamples, seed)
    low, high = (np.where(is_constant, mean, mean + bound * sd) for bound in (low, high))
    mean, sd, low, high = (put_back(part, exponents[:, 0]) for part in (mean, sd, low, high))
    is_known = np.isfinite(low) & np.isfinite(high)
    return [
        (m, s, bottom if known else None, top if known else None)
        for m, s, bottom, top, known in zip(
            mean.tolist(), sd.tolist(), low.tolist(), high.tolist(), is_known.tolist(), strict=True
        )
    ]


# The methods take standardised scores [cells, n] and return bounds [cells] in units of the standard deviation.


def _t_bounds(z: Floats, alpha: float, n_resamples: int, seed: int) -> tuple[Floats, Floats]:
    del n_resamples, seed
    n = z.shape[1]
    half = np.full(len(z), float(stdtrit(n - 1, 1 - alpha / 2)) / math.sqrt(n))
    return -half, half


def _percentile_bounds(z: Floats, alpha: float, n_resamples: int, seed: int) -> tuple[Floats, Floats]:
    return _resampled(z, n_resamples, seed, lambda part, weights: _at(part @ weights.T, alpha / 2, 1 - alpha / 2))


def _bca_bounds(z: Floats, alpha: float, n_resamples: int, seed: int) -> tuple[Floats, Floats]:
    def bounds(part: Floats, weights: Floats) -> tuple[Floats, Floats]:
        means = part @ weights.T
        # Equal up to float noise, which is larger than it looks where scores lie far from 0 and close together.
        below = (means < -1e-9).mean(axis=1) + 0.5 * (np.abs(means) <= 1e-9).mean(axis=1)
        edge = 0.5 / n_resamples
        z0 = ndtri(np.clip(below, edge, 1 - edge))
        cubes, squares = (part**3).sum(axis=1), (part**2).sum(axis=1)
        # The jackknife means of centred scores are -z / (n - 1).
        acceleration = cubes / (6 * np.where(squares > 0, squares, 1.0) ** 1.5)
        shifts = [z0 + float(ndtri(level)) for level in (alpha / 2, 1 - alpha / 2)]
        return _at(means, *(ndtr(z0 + shift / (1 - acceleration * shift)) for shift in shifts))

    return _resampled(z, n_resamples, seed, bounds)


def _bootstrap_t_bounds(z: Floats, alpha: float, n_resamples: int, seed: int) -> tuple[Floats, Floats]:
    n = z.shape[1]

    def bounds(part: Floats, weights: Floats) -> tuple[Floats, Floats]:
        means = part @ weights.T
        variances = np.maximum(part**2 @ weights.T - means**2, 0.0) * n / (n - 1)
        is_spread = variances > 1e-12
        scale = np.sqrt(np.where(is_spread, variances, 1.0) / n)
        # Of scores that are the mean itself, rounding alone would say on which side of it they lie.
        is_off = np.abs(means) > 1e-9
        t = np.where(is_spread, means / scale, np.where(is_off, np.copysign(np.inf, means), 0.0))
        low, high = _at(t, alpha / 2, 1 - alpha / 2)
        return -high / math.sqrt(n), -low / math.sqrt(n)

    return _resampled(z, n_resamples, seed, bounds)


INTERVALS: dict[str, Callable[[Floats, float, int, int], tuple[Floats, Floats]]] = {
    "t": _t_bounds,
    "percentile": _percentile_bounds,
    "bca": _bca_bounds,
    "bootstrap_t": _bootstrap_t_bounds,
}


def _resampled(
    z: Floats,
    n_resamples: int,
    seed: int,
    bounds: Callable[[Floats, Floats], tuple[Floats, Floats]],
) -> tuple[Floats, Floats]:
    """Apply bounds to chunks of cells; weights [resamples, n] are the share that each score has in each resample."""
    n = z.shape[1]
    rng = np.random.default_rng(derive(seed, "bootstrap", n))
    weights = rng.multinomial(n, np.full(n, 1 / n), size=n_resamples) / n
    low, high = np.empty(len(z)), np.empty(len(z))
    step = max(1, ELEMENTS_AT_ONCE // n_resamples)
    for start in range(0, len(z), step):
        low[start : start + step], high[start : start + step] = bounds(z[start : start + step], weights)
    return low, high


def _at(values: Floats, *levels: float | Floats) -> tuple[Floats, Floats]:
    """Return two quantiles [cells] of values [cells, resamples] by the inverse of the distribution function."""
    ordered = np.sort(values, axis=1)
    n = values.shape[1]
    low, high = (
        ordered[
            np.arange(len(ordered)),
            np.clip(np.ceil(np.broadcast_to(level, len(ordered)) * n - 1e-6).astype(int) - 1, 0, n - 1),
        ]
        for level in levels
    )
    return low, high


def _digits(share: float) -> str:
    return f"{share:.3f}".removeprefix("0")


@dataclass(frozen=True, kw_only=True)
class MeanCurve:
    """Means by epoch, which count from 0; low and high are None where there is no interval.

    ``n_whole`` of the epochs were reached by all ``n_seeds`` seeds. Behind them the mean is that of the seeds still in
    training, which are not drawn at random, so that it has no interval.
    """

    alpha: float
    n_seeds: int
    n_whole: int
    epochs: tuple[int, ...]
    means: tuple[float | None, ...]
    lows: tuple[float | None, ...]
    highs: tuple[float | None, ...]


def mean_curve(curves: Sequence[Sequence[float]], *, alpha: float = 0.05, most: int = 120) -> MeanCurve:
    """Return the mean of curves with Student t intervals of level 1 - alpha.

    Parameters
    ----------
    curves
        Values per epoch [any length], one curve per seed; a value that is no finite number is left out.
    alpha
        1 minus the level of the intervals.
    most
        Epochs that are kept of longer curves: evenly spread, with the first, the last, and the last that all reached.
    """
    check_level("alpha", alpha)
    check_whole("most", most, least=2)
    lengths = [len(curve) for curve in curves if len(curve)]
    rows = [read_array("curve", curve) for curve in curves if len(curve)]
    n_whole, longest = min(lengths, default=0), max(lengths, default=0)
    chosen = _spread(longest, n_whole, most)
    cells = [np.array([row[epoch] for row in rows if epoch < len(row)]) for epoch in chosen]
    intervals = intervals_of(cells, alpha=alpha)
    # Where a seed has no number, the rest of them is no sample of all.
    is_whole = [len(cell) == len(rows) and bool(np.isfinite(cell).all()) for cell in cells]
    known = list(zip(intervals, is_whole, strict=True))
    return MeanCurve(
        alpha=alpha,
        n_seeds=len(rows),
        n_whole=n_whole,
        epochs=chosen,
        means=tuple(interval.mean for interval in intervals),
        lows=tuple(interval.low if whole else None for interval, whole in known),
        highs=tuple(interval.high if whole else None for interval, whole in known),
    )


def _spread(longest: int, n_whole: int, most: int) -> tuple[int, ...]:
    if longest <= most:
        return tuple(range(longest))
    even = np.linspace(0, longest - 1, most).round().astype(int).tolist()
    return tuple(sorted({*even, n_whole - 1}))
