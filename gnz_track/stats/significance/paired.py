"""Tests of the advantage of one model over another, over seed pairs: whether it is more than the seeds explain.

The t test asks whether the mean advantage is zero, the signed-rank test whether the advantages lie symmetrically around
zero, the sign-flip test both at once. All p-values are two-sided.

The exact Wilcoxon signed-rank test takes any number of seeds, with ties and zeros. Its null distribution is conditional
on the ranks as they are: every rank gets its sign by the toss of a coin. Midranks are doubled, so that they are whole
numbers and the distribution is a product of (1 + x^r), built term by term. No continuity correction and no
approximation anywhere. One distribution serves all pairs with the same ranks.
"""

from __future__ import annotations

import enum
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np
import numpy.typing as npt
from scipy.special import stdtr

from gnz_track.errors import BadValue
from gnz_track.records import FrozenMapping, freeze_mappings
from gnz_track.seeds import derive
from gnz_track.stats.comparison.joins import SeedPairs, StackedPairs, stack
from gnz_track.stats.inputs import Floats, centre_and_spread, number, put_back, read_array

__all__ = [
    "ZERO_METHODS",
    "Outcome",
    "PairedTest",
    "SignedRanks",
    "moments",
    "nadeau_bengio",
    "nadeau_bengio_rows",
    "paired_t",
    "paired_t_rows",
    "sign_flip",
    "sign_flip_rows",
    "signed_rank_p",
    "signed_ranks",
    "unrunnable",
    "wilcoxon",
    "wilcoxon_rows",
]


TOO_FEW = "fewer than 2 seeds in common"
ALL_ZERO = "all differences zero"
NO_SPREAD = "the difference is the same on every seed: no spread to test against"


class Outcome(enum.StrEnum):
    """Outcome of a test."""

    run = "run"
    not_run = "not run"
    degenerate = "degenerate"


@dataclass(frozen=True, kw_only=True)
class PairedTest:
    """One test of one pair of models.

    ``p`` is ``None`` where the outcome is ``not run`` (the pair leaves its family) or ``degenerate`` (no verdict), and
    ``note`` says why. ``n_effective`` counts the pairs that the test used; ``choices`` holds its options.
    """

    test: str
    outcome: Outcome
    p: float | None
    statistic: float | None
    n_pairs: int
    n_effective: int
    df: int | None = None
    choices: Mapping[str, str | int | float | bool] = field(default_factory=dict)
    note: str = ""

    def __post_init__(self) -> None:
        freeze_mappings(self, "choices")

    def __str__(self) -> str:
        if self.p is None:
            return f"{self.test}: {self.outcome} ({self.note}), {self.n_pairs} pairs"
        choices = "".join(f", {name} {value}" for name, value in self.choices.items())
        note = f" ({self.note})" if self.note else ""
        statistic = "" if self.statistic is None else f"statistic {self.statistic:.4g}, "
        return f"{self.test}: p = {self.p:.4g}, {statistic}{self.n_pairs} pairs{choices}{note}"


def unrunnable(test: str, rows: StackedPairs, row: int, choices: Mapping[str, str | int | float | bool]) -> PairedTest:
    """Return the result of a test that fewer than two pairs of seeds forbid.

    Parameters
    ----------
    test
        Name of the test.
    rows, row
        Pairs of models, and the place of the one that cannot be tested.
    choices
        The test's options, for the record.
    """
    n = int(rows.n_pairs[row])
    return PairedTest(
        test=test,
        outcome=Outcome.not_run,
        p=None,
        statistic=None,
        n_pairs=n,
        n_effective=n,
        choices=choices,
        note=TOO_FEW,
    )


def moments(rows: StackedPairs) -> tuple[Floats, Floats]:
    """Return mean [pairs] and standard deviation (n - 1) [pairs] of the advantages, both without ``rows.exponents``.

    Pairs of all-zero and of constant differences have standard deviation 0, whatever float noise says; undefined
    entries are NaN.
    """
    mean, sd = (np.full(len(rows.n_pairs), np.nan) for _ in range(2))
    # By number of pairs, because a sum over padding rounds differently, and a result must not depend on its company.
    for n in np.unique(rows.n_pairs[rows.n_pairs > 0]).tolist():
        chosen = np.flatnonzero(rows.n_pairs == n)
        d = np.ascontiguousarray(rows.advantages[chosen, :n])
        mean[chosen], sd[chosen] = centre_and_spread(d) if n > 1 else (d[:, 0], np.nan)
    is_flat = rows.is_all_zero | rows.is_degenerate
    return np.where(rows.is_all_zero, 0.0, mean), np.where(is_flat & (rows.n_pairs > 1), 0.0, sd)


def paired_t(pair: SeedPairs) -> PairedTest:
    """Test whether the mean advantage is zero: t = mean / (sd / sqrt(n)) on n - 1 degrees of freedom.

    All-zero differences have p = 1 and stay in their family; constant non-zero ones are degenerate. Student (1908).
    """
    return paired_t_rows([pair])[0]


def paired_t_rows(pairs: Sequence[SeedPairs]) -> tuple[PairedTest, ...]:
    """Return :func:`paired_t` of many pairs at once."""
    return _t_tests("paired t", stack(pairs), variance_factors=None, choices={})


def nadeau_bengio(pair: SeedPairs, *, n_train: int, n_test: int) -> PairedTest:
    """Test the mean advantage over overlapping train/test splits: t with variance s^2 (1/J + n_test/n_train).

    The J replicates share training data, so they are correlated and the plain t test rejects far too often (49 % at
    J = 30 and correlation .2 instead of 5 %). Nadeau and Bengio (2003), Machine Learning 52.

    Parameters
    ----------
    pair
        Joined scores of two models, one per split.
    n_train, n_test
        Examples of the training and the test part.
    """
    return nadeau_bengio_rows([pair], n_train=n_train, n_test=n_test)[0]


def nadeau_bengio_rows(pairs: Sequence[SeedPairs], *, n_train: int, n_test: int) -> tuple[PairedTest, ...]:
    """Return :func:`nadeau_bengio` of many pairs at once.

    Parameters
    ----------
    pairs, n_train, n_test
        As in :func:`nadeau_bengio`, of each.
    """
    for name, value in (("n_train", n_train), ("n_test", n_test)):
        if value < 1:
            raise BadValue(name, value, "a whole number from 1 upwards")
    rows = stack(pairs)
    factors = 1 / np.maximum(rows.n_pairs, 1) + n_test / n_train
    return _t_tests("Nadeau-Bengio t", rows, variance_factors=factors, choices={"n_train": n_train, "n_test": n_test})


def _t_tests(
    test: str,
    rows: StackedPairs,
    *,
    variance_factors: Floats | None,
    choices: Mapping[str, str | int | float | bool],
) -> tuple[PairedTest, ...]:
    mean, sd = moments(rows)
    factors = 1 / np.maximum(rows.n_pairs, 1) if variance_factors is None else variance_factors
    with np.errstate(invalid="ignore", divide="ignore"):
        t = np.where(rows.is_all_zero, 0.0, mean / np.sqrt(sd**2 * factors))
    p = 2 * stdtr(np.maximum(rows.n_pairs - 1, 1), -np.abs(t))
    choices = FrozenMapping(choices)
    columns = (t.tolist(), p.tolist(), rows.n_pairs.tolist(), rows.is_all_zero.tolist(), rows.is_degenerate.tolist())
    found = []
    for row, (statistic, p_value, n, is_all_zero, is_degenerate) in enumerate(zip(*columns, strict=True)):
        if n < 2:
            found.append(unrunnable(test, rows, row, choices))
            continue
        found.append(
            PairedTest(
                test=test,
                outcome=Outcome.degenerate if is_degenerate else Outcome.run,
                p=None if is_degenerate else p_value,
                statistic=statistic if math.isfinite(statistic) else None,
                n_pairs=n,
                n_effective=n,
                df=n - 1,
                choices=choices,
                note=NO_SPREAD if is_degenerate else ALL_ZERO if is_all_zero else "",
            )
        )
    return tuple(found)


IntArray = npt.NDArray[np.int64]

# Elements of the [rows, n, n] comparison that are held at once.
ELEMENTS_AT_ONCE = 4_000_000
# Sum of doubled ranks (about the square of the seeds) up to which many distributions are kept in memory.
LARGEST_KEPT = 4_096


@dataclass(frozen=True, kw_only=True, eq=False)
class SignedRanks:
    """Doubled midranks of |d| [rows, n], 0 where dropped; their sums over d > 0 and d < 0, and their number [rows]."""

    doubled: IntArray
    plus: IntArray
    minus: IntArray
    n_effective: IntArray


def signed_ranks(differences: npt.ArrayLike, *, zero_method: str = "wilcox") -> SignedRanks:
    """Rank the sizes of quantised differences [rows, n], NaN where there is none.

    ``wilcox`` drops zeros before ranking; ``pratt`` ranks them and drops them then (Pratt 1959).
    """
    if zero_method not in ZERO_METHODS:
        raise BadValue("zero method", zero_method, ", ".join(ZERO_METHODS))
    d = np.atleast_2d(read_array("differences", differences))
    is_counted = ~np.isnan(d) & (d != 0)
    is_ranked = ZERO_METHODS[zero_method](d)
    doubled = np.where(is_counted, _doubled_midranks(np.abs(d), is_ranked), 0)
    return SignedRanks(
        doubled=doubled,
        plus=np.where(d > 0, doubled, 0).sum(axis=1),
        minus=np.where(d < 0, doubled, 0).sum(axis=1),
        n_effective=is_counted.sum(axis=1),
    )


def signed_rank_p(ranks: SignedRanks) -> Floats:
    """Return the exact two-sided p [rows]: the share of sign patterns with |W+ - W-| at least as large."""
    apart = np.abs(ranks.plus - ranks.minus).tolist()
    keys = np.sort(ranks.doubled, axis=1)[:, ::-1].tolist()
    found = np.empty(len(keys))
    for row, (key, n, size) in enumerate(zip(keys, ranks.n_effective.tolist(), apart, strict=True)):
        held = tuple(key[:n])
        unit, tails = (_kept_tails if sum(held) <= LARGEST_KEPT else _large_tails)(held)
        found[row] = tails[size // unit]
    return found


def wilcoxon(pair: SeedPairs, *, zero_method: str = "wilcox") -> PairedTest:
    """Test whether the advantages lie symmetrically around zero; exact, statistic W+ - W-. Wilcoxon (1945).

    It tests symmetry, not means: under asymmetric skew it rejects the more often the more seeds there are.
    """
    return wilcoxon_rows([pair], zero_method=zero_method)[0]


def wilcoxon_rows(pairs: Sequence[SeedPairs], *, zero_method: str = "wilcox") -> tuple[PairedTest, ...]:
    """Return :func:`wilcoxon` of many pairs at once."""
    rows = stack(pairs)
    ranks = signed_ranks(rows.quantised, zero_method=zero_method)
    return _make_tests(rows, ranks, signed_rank_p(ranks), zero_method)


def _make_tests(rows: StackedPairs, ranks: SignedRanks, p: Floats, zero_method: str) -> tuple[PairedTest, ...]:
    choices = FrozenMapping(zero_method=zero_method, null="exact")
    columns = zip(
        p.tolist(),
        ((ranks.plus - ranks.minus) / 2).tolist(),
        rows.n_pairs.tolist(),
        ranks.n_effective.tolist(),
        strict=True,
    )
    return tuple(
        PairedTest(
            test="Wilcoxon signed-rank",
            outcome=Outcome.run,
            p=p_value,
            statistic=statistic,
            n_pairs=n,
            n_effective=n_effective,
            choices=choices,
            note="" if n_effective else ALL_ZERO,
        )
        if n >= 2
        else unrunnable("Wilcoxon signed-rank", rows, row, choices)
        for row, (p_value, statistic, n, n_effective) in enumerate(columns)
    )


def _without_zeros(d: Floats) -> npt.NDArray[np.bool_]:
    return np.asarray(~np.isnan(d) & (d != 0), dtype=np.bool_)


def _with_zeros(d: Floats) -> npt.NDArray[np.bool_]:
    return ~np.isnan(d)


# Which differences are ranked, by zero method.
ZERO_METHODS = {"wilcox": _without_zeros, "pratt": _with_zeros}


def _doubled_midranks(sizes: Floats, is_ranked: npt.NDArray[np.bool_]) -> IntArray:
    """Return twice the midranks [rows, n]: 2 #smaller + #equal + 1 among those ranked."""
    n_rows, width = sizes.shape
    # What is not ranked is larger than all, and in nobody's count.
    sizes = np.where(is_ranked, sizes, np.inf)
    ranks = np.zeros(sizes.shape, dtype=np.int64)
    step = max(1, ELEMENTS_AT_ONCE // max(1, width * width))
    for start in range(0, n_rows, step):
        part = sizes[start : start + step]
        mine, others = part[:, :, None], part[:, None, :]
        ranks[start : start + step] = (others < mine).sum(axis=2) + (others <= mine).sum(axis=2) + 1
    return ranks


def _tails(ranks: tuple[int, ...]) -> tuple[int, Floats]:
    """Return a unit and P(|sum of signed ranks| >= unit * i) for i = 0, 1, ..., up to the sum of the ranks."""
    unit = int(np.gcd.reduce(ranks)) if ranks else 1
    steps = [rank // unit for rank in ranks]
    chances = np.ones(1)
    for step in sorted(steps):
        longer = np.zeros(len(chances) + step)
        longer[: len(chances)] = chances
        longer[step:] += chances
        chances = longer / 2
    total = sum(steps)
    # chances[w] is the probability of W+ = w; the sum of signed ranks is 2 w - total.
    by_size = np.zeros(total + 1)
    np.add.at(by_size, np.abs(2 * np.arange(total + 1) - total), chances)
    return unit, np.minimum(by_size[::-1].cumsum()[::-1], 1.0)


_kept_tails = lru_cache(maxsize=2048)(_tails)
_large_tails = lru_cache(maxsize=16)(_tails)


TEST = "sign flip of the mean"
MOST_EXACT = 16
DRAWS_AT_ONCE = 10_000


def sign_flip(pair: SeedPairs, *, n_resamples: int = 99_999, seed: int = 0) -> PairedTest:
    """Test the mean advantage against all sign patterns: p = share with a sum at least as far from zero.

    Exact up to 16 non-zero differences; beyond, p = (b + 1) / (B + 1) over B drawn patterns. Fisher (1935), Phipson and
    Smyth (2010) for the ones. Sums closer than the quantum of the differences count as equal.

    Parameters
    ----------
    pair
        Joined scores of two models.
    n_resamples
        B, the patterns that are drawn where there are too many.
    seed
        Seed that they derive from.
    """
    return sign_flip_rows([pair], n_resamples=n_resamples, seed=seed)[0]


def sign_flip_rows(pairs: Sequence[SeedPairs], *, n_resamples: int = 99_999, seed: int = 0) -> tuple[PairedTest, ...]:
    """Return :func:`sign_flip` of many pairs; the drawn patterns are the same for all pairs of equal length.

    Parameters
    ----------
    pairs, n_resamples, seed
        As in :func:`sign_flip`, of each.
    """
    if n_resamples < 1:
        raise BadValue("n_resamples", n_resamples, "a whole number from 1 upwards")
    rows = stack(pairs)
    found = []
    for row, n in enumerate(rows.n_pairs.tolist()):
        d = rows.quantised[row, :n]
        d = d[d != 0]
        is_exact = len(d) <= MOST_EXACT
        choices: dict[str, str | int | float | bool] = {"null": "exact"}
        if not is_exact:
            choices = {"null": "drawn", "n_resamples": n_resamples, "seed": seed}
        if n < 2:
            found.append(unrunnable(TEST, rows, row, choices))
            continue
        slack = n * float(rows.quantum[row]) if pairs[row].resolution is None else 0.5 * float(rows.quantum[row])
        p = _exact_p(d, slack) if is_exact else _drawn_p(d, slack, n_resamples, seed)
        found.append(
            PairedTest(
                test=TEST,
                outcome=Outcome.run,
                p=p,
                statistic=number(put_back(float(d.sum()) / n, rows.exponents[row])),
                n_pairs=n,
                n_effective=len(d),
                choices=choices,
                note="" if len(d) else ALL_ZERO,
            )
        )
    return tuple(found)


def _exact_p(d: Floats, slack: float) -> float:
    if not len(d):
        return 1.0
    # The first sign is fixed: a pattern and its opposite are equally far from zero.
    sums = d[:1].copy()
    for value in d[1:]:
        sums = np.concatenate([sums + value, sums - value])
    return float(np.mean(np.abs(sums) >= abs(d.sum()) - slack))


def _drawn_p(d: Floats, slack: float, n_resamples: int, seed: int) -> float:
    rng = np.random.default_rng(derive(seed, "sign_flip", len(d)))
    least = abs(float(d.sum())) - slack
    n_far = 0
    for start in range(0, n_resamples, DRAWS_AT_ONCE):
        n_draws = min(DRAWS_AT_ONCE, n_resamples - start)
        signs = rng.integers(0, 2, size=(n_draws, len(d)), dtype=np.int8)
        n_far += int((np.abs(2 * (signs @ d) - d.sum()) >= least).sum())
    return (n_far + 1) / (n_resamples + 1)
