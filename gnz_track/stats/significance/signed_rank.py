"""The exact Wilcoxon signed-rank test at any number of seeds, with ties and zeros.

The null distribution is conditional on the ranks as they are: every rank gets its sign by the toss of a coin. Midranks
are doubled, so that they are whole numbers and the distribution is a product of (1 + x^r), built term by term. No
continuity correction and no approximation anywhere. One distribution serves all pairs with the same ranks.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from gnz_track.errors import BadValue
from gnz_track.records import FrozenMapping
from gnz_track.stats.comparison.joins import SeedPairs, StackedPairs, stack
from gnz_track.stats.inputs import Floats
from gnz_track.stats.significance.paired import ALL_ZERO, Outcome, PairedTest, unrunnable

__all__ = ["ZERO_METHODS", "SignedRanks", "signed_rank_p", "signed_ranks", "wilcoxon", "wilcoxon_rows"]

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
    d = np.atleast_2d(np.asarray(differences, dtype=np.float64))
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
