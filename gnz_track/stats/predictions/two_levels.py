"""Both sources of luck: means and differences for new seeds, and for new seeds and new test examples.

An interval over seeds says nothing of other test examples. Here the score of a model on an example is
mu + a_seed + b_example + rest, both drawn at random, whatever is left in the rest.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.special import stdtr, stdtrit

from gnz_track.errors import BadValue
from gnz_track.seeds import derive
from gnz_track.stats.inputs import (
    Floats,
    check_level,
    check_whole,
    number,
    put_back,
    read_direction,
    read_scores,
    take_out,
)
from gnz_track.types import Direction

__all__ = [
    "TWO_LEVEL_METHODS",
    "LevelInterval",
    "TwoLevelEstimate",
    "estimate_rows",
    "resample_means",
    "two_level_differences",
    "two_level_means",
]

N_RESAMPLES = 10_000
# Numbers that are held at once.
ELEMENTS_AT_ONCE = 4_000_000
# A spread below this share of the largest score is rounding.
NOISE = 1e-13
HALVINGS = 60
ONE_SEED = "one seed: nothing is known of other seeds"
ONE_EXAMPLE = "one example: nothing is known of other examples"
NO_SEED = "no example was tested"
NO_SPREAD = "no spread to judge by"


@dataclass(frozen=True, kw_only=True)
class LevelInterval:
    """An interval of level 1 - alpha with the two-sided p-value of zero; None where undefined, and ``note`` says why.

    ``share_of_seeds`` is what seeds alone show of the squared standard error; None of a bootstrap.
    """

    se: float | None = None
    share_of_seeds: float | None = None
    low: float | None = None
    high: float | None = None
    p: float | None = None
    note: str = ""

    @property
    def is_different(self) -> bool | None:
        """Whether zero lies outside: the two-sided verdict on one pair alone, None where there is no interval."""
        return None if self.low is None or self.high is None else not self.low <= 0.0 <= self.high

    def __str__(self) -> str:
        return self.note if self.low is None or self.high is None else f"[{self.low:.4g}, {self.high:.4g}]"


@dataclass(frozen=True, kw_only=True)
class TwoLevelEstimate:
    """The mean score of a model, or the mean advantage of one over another, under one and under both sources of luck.

    ``new_seeds`` holds for new seeds on this test set, ``new_examples`` for new seeds and new test examples.
    """

    method: str
    alpha: float
    n_seeds: int
    n_examples: int
    value: float | None
    new_seeds: LevelInterval
    new_examples: LevelInterval

    def __str__(self) -> str:
        value = "undefined" if self.value is None else f"{self.value:.4g}"
        return f"{value}: new seeds {self.new_seeds}, new seeds and examples {self.new_examples}"


def two_level_means(
    gain: npt.ArrayLike, *, alpha: float = 0.05, method: str = "t", n_resamples: int = N_RESAMPLES, seed: int = 0
) -> tuple[TwoLevelEstimate, ...]:
    """Return for each model its mean score: the mean over seeds of the mean over the examples of the seed.

    ``t``: value +- c sqrt(U). With weights w = 1 / (S n_s), residuals r, and sums over seeds A = sum_s (sum_i wr)^2,
    examples B = sum_i (sum_s wr)^2 and both T = sum (wr)^2, U = (A + B - T) / (1 - 1/S - sum_i w_i^2 + sum w^2) is an
    unbiased estimate of the variance of the mean whichever examples a seed has (the U-statistic of products without a
    common seed or example; where all have all examples, the analysis of variance), here not below what either level
    shows alone. Two-way clusters: Cameron, Gelbach and Miller (2011), J. Bus. Econ. Stat. 29. P-values are those of
    Student's t with S - 1 and with N - 1 degrees of freedom, weighted by the shares of the variance, in the manner of
    Cochran (1964), Biometrics 20; c inverts them: Satterthwaite's degrees of freedom, themselves estimated, cover .92
    to .94 with 3 seeds where seeds differ much. ``bootstrap``: quantiles of :func:`resample_means` with the deviation
    expanded by sqrt(S / (S - 1)), which covers less where seeds differ much and more where they do not. What was
    measured stands in docs/statistics.md. New seeds alone: Student's t over the seeds' means, with either method.
    Seeds that draw splits of their own also share training data; that luck is in neither interval.

    Parameters
    ----------
    gain
        Scores [model, seed, example], NaN where an example is not in the seed's test set; a seed without examples is
        left out.
    alpha
        1 minus the level.
    method
        One of :data:`TWO_LEVEL_METHODS`.
    n_resamples, seed
        Resamples of the bootstrap, and the seed that they derive from.
    """
    scores = read_scores("gain", gain, ndim=3)
    return _estimate_all(scores, [(row, None) for row in range(len(scores))], (alpha, method, n_resamples, seed))


def two_level_differences(
    gain: npt.ArrayLike,
    *,
    pairs: Sequence[tuple[int, int]] | None = None,
    direction: Direction | str = Direction.up,
    alpha: float = 0.05,
    method: str = "t",
    n_resamples: int = N_RESAMPLES,
    seed: int = 0,
) -> tuple[TwoLevelEstimate, ...]:
    """Return for each pair of models the mean advantage of the first, over the seeds and examples that both have.

    Differences are taken on the same seed and example; the rest is as in :func:`two_level_means`. The p-values are of
    single pairs: a family of them is adjusted by :func:`~gnz_track.stats.significance.multiple.holm`.

    Parameters
    ----------
    gain
        Scores [model, seed, example], NaN where an example is not in the seed's test set.
    pairs
        Places of the models; without, all pairs in order.
    direction
        Which scores are better: an advantage is positive where the first model is.
    alpha
        1 minus the level.
    method
        One of :data:`TWO_LEVEL_METHODS`.
    n_resamples, seed
        Resamples of the bootstrap, and the seed that they derive from.
    """
    scores = read_scores("gain", gain, ndim=3)
    wanted = list(itertools.combinations(range(len(scores)), 2)) if pairs is None else list(pairs)
    for place in itertools.chain.from_iterable(wanted):
        if not 0 <= place < len(scores):
            raise BadValue("place of a model", place, f"a whole number from 0 to {len(scores) - 1}")
    signed = scores if read_direction(direction) is Direction.up else -scores
    return _estimate_all(signed, [(a, b) for a, b in wanted], (alpha, method, n_resamples, seed))


def estimate_rows(rows: Floats, *, alpha: float) -> tuple[TwoLevelEstimate, ...]:
    """Return :func:`two_level_means` by ``t`` of rows [row, seed, example]."""
    if not rows.shape[1] * rows.shape[2]:
        return tuple(_nothing("t", alpha) for _ in rows)
    flat, exponents = take_out(rows.reshape(len(rows), -1))
    found = [_estimate(row, alpha, int(e)) for row, e in zip(flat.reshape(rows.shape), exponents[:, 0], strict=True)]
    return tuple(found)


def resample_means(gain: npt.ArrayLike, *, n_resamples: int = N_RESAMPLES, seed: int = 0) -> Floats:
    """Return means [resample, model] of resampled seeds and resampled examples, the same for all models.

    Seeds and examples are drawn apart, both with replacement (the pigeonhole bootstrap): the variance that it finds is
    a little above the true one in the rest, and below it by 1 / S in the seeds. Owen (2007), Ann. Appl. Stat. 1.

    Parameters
    ----------
    gain
        Scores [model, seed, example], NaN where an example is not in the seed's test set; a seed of which no example
        is drawn is left out of that resample.
    n_resamples, seed
        How many, and the seed that they derive from.
    """
    scores = read_scores("gain", gain, ndim=3)
    check_whole("n_resamples", n_resamples, least=1)
    n_models, n_seeds, n_examples = scores.shape
    known = ~np.isnan(scores)
    sizes = np.where(known, np.abs(scores), 0.0).max(axis=(1, 2), initial=0.0)
    units = np.where(sizes > 0, sizes, 1.0)
    scores = scores / units[:, None, None]
    value = _means(scores)
    # Centred and of size 1, single precision rounds in the seventh digit of the deviation, which no quantile notices.
    centred = np.where(known, scores - value[:, None, None], 0.0).astype(np.float32).reshape(-1, n_examples)
    # Models of the same seeds and examples share the sizes of their resamples.
    shown = known[:1] if (known == known[:1]).all() else known
    counted = shown.astype(np.float32).reshape(-1, n_examples)
    # A generator for each level, so that no draw depends on how many are made at once, and so on the other models.
    of_examples, of_seeds = (
        np.random.default_rng(derive(seed, "two levels", level, n_seeds, n_examples)) for level in ("examples", "seeds")
    )
    found = np.empty((n_resamples, n_models))
    step = max(1, ELEMENTS_AT_ONCE // max(n_examples, n_models * n_seeds, 1))
    for start in range(0, n_resamples, step):
        n = min(step, n_resamples - start)
        drawn = _count(of_examples, n, n_examples)
        sums = (centred @ drawn.T).reshape(n_models, n_seeds, n)
        ns = (counted @ drawn.T).reshape(len(shown), n_seeds, n)
        weights = _count(of_seeds, n, n_seeds).T * (ns > 0)
        with np.errstate(invalid="ignore"):
            means = (weights * (sums / np.maximum(ns, 1.0))).sum(axis=1) / weights.sum(axis=1)
        found[start : start + n] = means.T
    return (found + value) * units


def _count(rng: np.random.Generator, n_resamples: int, n: int) -> npt.NDArray[np.float32]:
    """Return how often each of n is drawn [resample, n] in n draws: multinomial, by counting, which is fastest."""
    drawn = rng.integers(n, size=(n_resamples, n), dtype=np.uint32).astype(np.int64) if n else np.zeros((0, 0), int)
    drawn += n * np.arange(len(drawn))[:, None]
    return np.bincount(drawn.ravel(), minlength=n_resamples * n).reshape(n_resamples, n).astype(np.float32)


def _means(scores: Floats) -> Floats:
    """Return the mean over seeds of the mean over examples [row]; NaN where there is none."""
    known = ~np.isnan(scores)
    ns = known.sum(axis=2)
    sums = np.where(known, scores, 0.0).sum(axis=2)
    n_seeds = (ns > 0).sum(axis=1)
    means = (sums / np.maximum(ns, 1)).sum(axis=1) / np.maximum(n_seeds, 1)
    return np.where(n_seeds > 0, means, np.nan)


def _estimate_all(
    scores: Floats, wanted: Sequence[tuple[int, int | None]], how: tuple[float, str, int, int]
) -> tuple[TwoLevelEstimate, ...]:
    alpha, method, n_resamples, seed = how
    check_level("alpha", alpha)
    if method not in TWO_LEVEL_METHODS:
        raise BadValue("interval of two levels", method, ", ".join(TWO_LEVEL_METHODS))
    step = max(1, ELEMENTS_AT_ONCE // max(1, scores[0].size if len(scores) else 1))
    found: list[TwoLevelEstimate] = []
    for start in range(0, len(wanted), step):
        rows = np.stack([scores[a] if b is None else scores[a] - scores[b] for a, b in wanted[start : start + step]])
        exact = estimate_rows(rows, alpha=alpha)
        found += exact if method == "t" else _by_bootstrap(exact, rows, n_resamples, seed)
    return tuple(found)


def _estimate(y: Floats, alpha: float, exponent: int) -> TwoLevelEstimate:
    """Return the estimate of scores [seed, example] without their exponent."""
    y = y[~np.isnan(y).all(axis=1)]
    n_seeds, known = len(y), ~np.isnan(y)
    if not n_seeds:
        return _nothing("t", alpha)
    w = known / (n_seeds * known.sum(axis=1, keepdims=True))
    value = float((w * np.where(known, y, 0.0)).sum())
    r = w * np.where(known, y - value, 0.0)
    by_example = w.sum(axis=0)
    shares = 1.0 / n_seeds, float((by_example**2).sum()), float((w**2).sum())
    a, b, t = (float((part**2).sum()) for part in (r.sum(axis=1), r.sum(axis=0), r))
    noise = (NOISE * float(np.abs(y[known]).max())) ** 2
    of_seeds = a / (1.0 - shares[0]) if n_seeds > 1 else 0.0
    n_examples = int((by_example > 0).sum())
    new_seeds = LevelInterval(note=ONE_SEED)
    new_examples = LevelInterval(note=ONE_SEED if n_seeds < 2 else ONE_EXAMPLE)
    if n_seeds > 1:
        dfs = n_seeds - 1.0, 1.0 / shares[1] - 1.0
        new_seeds = _interval(value, (of_seeds, 0.0), dfs, (alpha, noise, exponent))
        if n_examples > 1:
            further = _add_examples(of_seeds, (a, b, t), shares)
            new_examples = _interval(value, (of_seeds, further), dfs, (alpha, noise, exponent))
    return TwoLevelEstimate(
        method="t",
        alpha=alpha,
        n_seeds=n_seeds,
        n_examples=n_examples,
        value=number(put_back(value, exponent)),
        new_seeds=new_seeds,
        new_examples=new_examples,
    )


def _add_examples(of_seeds: float, squares: tuple[float, float, float], shares: tuple[float, float, float]) -> float:
    """Return what new examples add to the variance of the mean."""
    (a, b, t), (s, e, both) = squares, shares
    of_examples = b / (1.0 - e)
    apart = 1.0 - s - e + both
    # Where no two cells differ in both seed and example, nothing tells the rest apart: it is counted twice.
    joint = (a + b - t) / apart if apart > 1e-12 else of_seeds + of_examples
    return max(joint, of_seeds, of_examples) - of_seeds


def _interval(
    value: float, variances: tuple[float, float], dfs: tuple[float, float], how: tuple[float, float, int]
) -> LevelInterval:
    """Return the interval from what seeds show of the variance and what examples add to it."""
    alpha, noise, exponent = how
    variance = sum(variances)
    if variance <= noise:
        is_zero = value**2 <= noise
        return LevelInterval(low=0.0, high=0.0, p=1.0, se=0.0) if is_zero else LevelInterval(se=0.0, note=NO_SPREAD)
    se, share = float(np.sqrt(variance)), variances[0] / variance
    half = _invert(alpha, share, dfs) * se
    low, high, error = (number(put_back(x, exponent)) for x in (value - half, value + half, se))
    return LevelInterval(se=error, share_of_seeds=share, low=low, high=high, p=_p_of(abs(value) / se, share, dfs))


def _p_of(t: float, share: float, dfs: tuple[float, float]) -> float:
    """Return the two-sided p of t, weighted between both degrees of freedom."""
    p_seeds, p_examples = (2.0 * stdtr(np.array(dfs), -t)).tolist()
    return float(share * p_seeds + (1.0 - share) * p_examples)


def _invert(alpha: float, share: float, dfs: tuple[float, float]) -> float:
    """Return the t whose p is alpha, by halving what lies between the quantiles of both."""
    of_seeds, of_examples = (float(stdtrit(df, 1.0 - alpha / 2.0)) for df in dfs)
    if share in {0.0, 1.0}:
        return of_seeds if share else of_examples
    low, high = min(of_seeds, of_examples), max(of_seeds, of_examples)
    for _ in range(HALVINGS):
        middle = (low + high) / 2.0
        low, high = (middle, high) if _p_of(middle, share, dfs) > alpha else (low, middle)
    return high


def _by_bootstrap(
    exact: Sequence[TwoLevelEstimate], rows: Floats, n_resamples: int, seed: int
) -> list[TwoLevelEstimate]:
    """Return the estimates with intervals of resampled means; where ``t`` has none, the bootstrap has none."""
    means = resample_means(rows, n_resamples=n_resamples, seed=seed)
    return [_bootstrap_one(item, column) for item, column in zip(exact, means.T, strict=True)]


def _bootstrap_one(exact: TwoLevelEstimate, means: Floats) -> TwoLevelEstimate:
    interval = exact.new_examples
    if exact.value is not None and interval.share_of_seeds is not None:
        expanded = exact.value + np.sqrt(exact.n_seeds / (exact.n_seeds - 1.0)) * (means - exact.value)
        expanded = expanded[~np.isnan(expanded)]
        low, high = np.quantile(expanded, [exact.alpha / 2.0, 1.0 - exact.alpha / 2.0]).tolist()
        side = min((expanded <= 0.0).sum(), (expanded >= 0.0).sum())
        p = min(1.0, 2.0 * (float(side) + 1.0) / (expanded.size + 1.0))
        interval = LevelInterval(se=float(expanded.std(ddof=1)), low=low, high=high, p=p)
    return TwoLevelEstimate(
        method="bootstrap",
        alpha=exact.alpha,
        n_seeds=exact.n_seeds,
        n_examples=exact.n_examples,
        value=exact.value,
        new_seeds=exact.new_seeds,
        new_examples=interval,
    )


def _nothing(method: str, alpha: float) -> TwoLevelEstimate:
    none = LevelInterval(note=NO_SEED)
    return TwoLevelEstimate(
        method=method, alpha=alpha, n_seeds=0, n_examples=0, value=None, new_seeds=none, new_examples=none
    )


TWO_LEVEL_METHODS = ("t", "bootstrap")
