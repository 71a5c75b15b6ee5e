"""Performance separability: tests of scores on the graphs as they are against those on perturbed ones.

Two samples of scores are told apart by a permutation test; the p-values of one dataset are multiplied by the number of
its pairs (Bonferroni). All permutations of a test are one array, and all statistics are whole numbers, so that ties
compare exactly. p = (c + 1) / (B + 1), c counting permutations at least as extreme as what was observed (B. Phipson,
G. Smyth, 2010); ``compat="rings"`` gives c / B, which may be 0, from the same permutations as the published package.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gnz_track.datasets.perturbations import RINGS
from gnz_track.errors import BadValue
from gnz_track.store.audits import PairRecord
from gnz_track.types import Direction

__all__ = ["TESTS", "SeparabilitySettings", "compare_pairs", "compare_samples", "smallest_p"]

Numbers = NDArray[np.float64]
Whole = NDArray[np.int64]
# The statistic of a test, its p, and an interval of the difference where the test has one.
Tested = tuple[float, float, tuple[float, float] | None]
# Labels that are permuted at once.
MOST_LABELS = 1 << 22


@dataclass(frozen=True, kw_only=True)
class SeparabilitySettings:
    """Options of a comparison of samples: ``test`` is ks, rank_sum, signed_rank (paired) or bootstrap.

    ``direction`` is that of the metric. ``compat`` is nothing or ``"rings"``.
    """

    test: str = "ks"
    n_permutations: int = 10_000
    alpha: float = 0.01
    seed: int = 42
    compat: str = ""
    direction: Direction = Direction.up

    def __post_init__(self) -> None:
        if self.test not in TESTS:
            raise BadValue("test", self.test, ", ".join(TESTS))
        if self.n_permutations < 1:
            raise BadValue("n_permutations", self.n_permutations, "a whole number from 1 upwards")
        if not 0 < self.alpha < 1:
            raise BadValue("alpha", self.alpha, "a number between 0 and 1")
        if self.compat not in {"", RINGS}:
            raise BadValue("compat", self.compat, f"{RINGS!r}, or nothing")


def compare_pairs(
    samples: Mapping[str, ArrayLike], settings: SeparabilitySettings | None = None, *, metric: str = ""
) -> list[PairRecord]:
    """Compare all pairs of samples, in order; the family is these pairs.

    Parameters
    ----------
    samples
        Name -> scores [n].
    settings
        Options of the test.
    metric
        Metric of the scores, for the record.
    """
    pairs = list(itertools.combinations(samples, 2))
    return [
        compare_samples(samples[a], samples[b], settings, names=(a, b), n_hypotheses=len(pairs), metric=metric)
        for a, b in pairs
    ]


def compare_samples(
    x: ArrayLike,
    y: ArrayLike,
    settings: SeparabilitySettings | None = None,
    *,
    names: tuple[str, str] = ("first", "second"),
    n_hypotheses: int = 1,
    metric: str = "",
) -> PairRecord:
    """Compare two samples of scores; p_adjusted is min(1, p m).

    The bootstrap alone has an interval of the difference of means, at the level that is left to one of m pairs. The
    first outperforms the second where they are separable and its mean is better in the direction of the metric.

    Parameters
    ----------
    x, y
        Scores [n] and [m].
    settings
        Options of the test.
    names
        Names of the samples.
    n_hypotheses
        Pairs in the family.
    metric
        Metric of the scores, for the record.
    """
    settings = settings or SeparabilitySettings()
    first, second = (_read_sample(values, name) for values, name in zip((x, y), names, strict=True))
    statistic, p, interval = TESTS[settings.test](first, second, settings, n_hypotheses)
    adjusted = min(1.0, p * n_hypotheses)
    low, high = interval or (None, None)
    is_significant = interval[0] > 0 or interval[1] < 0 if interval else adjusted < settings.alpha
    return PairRecord(
        metric=metric,
        first=names[0],
        second=names[1],
        statistic=statistic,
        p=p,
        p_adjusted=adjusted,
        is_significant=is_significant,
        outperforms=is_significant and settings.direction.better(float(first.mean() - second.mean()), 0.0),
        low=low,
        high=high,
    )


def smallest_p(n: int, m: int, settings: SeparabilitySettings, *, n_hypotheses: int = 1) -> float:
    """Return the smallest adjusted p that two samples can have, however far apart they are.

    Of all ways to share them out, two are as extreme as one sample wholly above the other.

    Parameters
    ----------
    n, m
        Scores in each sample.
    settings
        Options of the test.
    n_hypotheses
        Pairs in the family.
    """
    ways = math.comb(n + m, n)
    drawn = 0.0 if settings.compat else 1.0 / (settings.n_permutations + 1)
    return min(1.0, n_hypotheses * max(min(1.0, 2.0 / ways), drawn))


def _read_sample(values: ArrayLike, name: str) -> Numbers:
    try:
        found = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise BadValue(f"the scores of {name}", values, "numbers") from None
    if found.ndim != 1 or not found.size or not np.isfinite(found).all():
        raise BadValue(f"the scores of {name}", values, "one finite number or more, in one dimension")
    return found


def _permutation_p(n_extreme: int, settings: SeparabilitySettings) -> float:
    n = settings.n_permutations
    return n_extreme / n if settings.compat else (n_extreme + 1) / (n + 1)


@lru_cache(maxsize=4)
def _permutations(n: int, n_first: int, n_permutations: int, seed: int) -> Whole:
    """Return the places ``[n_permutations, n_first]`` from which each permutation takes its first sample."""
    # The generator of the published package, so that its p-values are these.
    stream = np.random.RandomState(seed)
    kind = np.int16 if n < np.iinfo(np.int16).max else np.int64
    found = np.empty((n_permutations, n_first), dtype=kind)
    for row in found:
        row[:] = stream.permutation(n)[:n_first]
    found.flags.writeable = False
    return found


def _count_extreme(
    x: Numbers, y: Numbers, settings: SeparabilitySettings, statistic: Callable[[NDArray[np.bool_]], Whole]
) -> tuple[int, int]:
    """Return the statistic observed, and how many permutations have at least as much.

    ``statistic`` takes who is in the first sample, ``[b, n]``, by place in the pooled one.
    """
    n = len(x) + len(y)
    observed = int(statistic(np.arange(n)[None] < len(x))[0])
    drawn = _permutations(n, len(x), settings.n_permutations, settings.seed)
    step = max(1, MOST_LABELS // n)
    n_extreme = 0
    for start in range(0, len(drawn), step):
        places = drawn[start : start + step]
        is_first = np.zeros((len(places), n), dtype=bool)
        is_first[np.arange(len(places))[:, None], places] = True
        n_extreme += int((statistic(is_first) >= observed).sum())
    return observed, n_extreme


def _compare_ks(x: Numbers, y: Numbers, settings: SeparabilitySettings, _: int) -> Tested:
    """Test by the largest distance of two empirical distribution functions (Kolmogorov, Smirnov)."""
    if np.array_equal(x, y):
        return 0.0, 1.0, None
    n, m = len(x), len(y)
    pooled = np.concatenate([x, y])
    order = np.argsort(pooled, kind="stable")
    # Functions are read where a run of equal values ends. (n + m) c - n k is their difference times n m.
    ends = np.flatnonzero(np.append(np.diff(pooled[order]) > 0, [True]))
    kind = np.int32 if (n + m) * n < np.iinfo(np.int32).max else np.int64
    expected = (n * (ends + 1)).astype(kind)

    def largest(is_first: NDArray[np.bool_]) -> Whole:
        counts: NDArray[Any] = np.cumsum(is_first[:, order], axis=1, dtype=kind)[:, ends]
        counts *= n + m
        counts -= expected
        found: Whole = np.abs(counts, out=counts).max(axis=1)
        return found

    observed, n_extreme = _count_extreme(x, y, settings, largest)
    return observed / (n * m), _permutation_p(n_extreme, settings), None


def _compare_rank_sum(x: Numbers, y: Numbers, settings: SeparabilitySettings, _: int) -> Tested:
    """Test by the sum of ranks of the first sample, ties at their middle (Wilcoxon; Mann and Whitney).

    The statistic shown is the share of pairs in which the first one is larger, ties counting half.
    """
    if np.array_equal(x, y):
        return 0.5, 1.0, None
    n, m = len(x), len(y)
    twice = _twice_the_ranks(np.concatenate([x, y]))
    middle = n * (n + m + 1)

    def away(is_first: NDArray[np.bool_]) -> Whole:
        found: Whole = np.abs(is_first @ twice - middle)
        return found

    _, n_extreme = _count_extreme(x, y, settings, away)
    larger = (int(twice[:n].sum()) - n * (n + 1)) / (2 * n * m)
    return larger, _permutation_p(n_extreme, settings), None


def _twice_the_ranks(values: Numbers) -> Whole:
    """Return twice the ranks ``[n]``: those of ties lie halfway between whole numbers."""
    _, codes, counts = np.unique(values, return_inverse=True, return_counts=True)
    found: Whole = (2 * np.cumsum(counts) - counts + 1)[codes]
    return found


def _compare_signed_rank(x: Numbers, y: Numbers, settings: SeparabilitySettings, _: int) -> Tested:
    """Test pairs of scores by their signed ranks, signs turned at random; differences of zero are left out (Wilcoxon).

    The statistic shown is the smaller of the two sums of ranks.
    """
    if len(x) != len(y):
        raise BadValue("the numbers of paired scores", (len(x), len(y)), "equal ones; or the test rank_sum")
    differences = (x - y)[x != y]
    if not differences.size:
        return 0.0, 1.0, None
    twice = _twice_the_ranks(np.abs(differences))
    observed = int(twice[differences > 0].sum())
    stream = np.random.RandomState(settings.seed)
    signs = stream.randint(0, 2, size=(settings.n_permutations, len(twice)))
    away = np.abs(2 * (signs @ twice) - twice.sum())
    n_extreme = int((away >= abs(2 * observed - int(twice.sum()))).sum())
    return min(observed, int(twice.sum()) - observed) / 2, _permutation_p(n_extreme, settings), None


def _compare_bootstrap(x: Numbers, y: Numbers, settings: SeparabilitySettings, n_hypotheses: int) -> Tested:
    """Test by the percentile interval of the difference of means, each sample drawn again from itself (Efron).

    The p shown is the smallest level at which the interval leaves 0 out.
    """
    stream = np.random.default_rng(settings.seed)
    n = settings.n_permutations
    means = [values[stream.integers(len(values), size=(n, len(values)))].mean(axis=1) for values in (x, y)]
    differences = means[0] - means[1]
    level = settings.alpha / n_hypotheses
    low, high = np.quantile(differences, [level / 2, 1 - level / 2])
    n_beyond = 2 * min(int((differences <= 0).sum()), int((differences >= 0).sum()))
    p = min(1.0, _permutation_p(n_beyond, settings))
    return float(x.mean() - y.mean()), p, (float(low), float(high))


TESTS: dict[str, Callable[[Numbers, Numbers, SeparabilitySettings, int], Tested]] = {
    "ks": _compare_ks,
    "rank_sum": _compare_rank_sum,
    "signed_rank": _compare_signed_rank,
    "bootstrap": _compare_bootstrap,
}
