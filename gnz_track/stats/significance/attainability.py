"""Smallest p that an exact sign-based test reaches after correction: whether it can reject at all."""

from __future__ import annotations

from dataclasses import dataclass

from gnz_track.errors import BadValue
from gnz_track.stats.inputs import check_level

__all__ = ["Attainability", "attainability", "smallest_p", "smallest_seeds"]

MOST_SEEDS = 10_000


@dataclass(frozen=True, kw_only=True)
class Attainability:
    """The smallest p, alone and adjusted for m comparisons, that n pairs of seeds (or of tasks) allow an exact test."""

    n_pairs: int
    m: int
    alpha: float
    smallest_p: float | None
    smallest_adjusted_p: float | None
    can_reject: bool
    seeds_to_reject: int | None
    unit: str = "seed"

    def __str__(self) -> str:
        pairs = "1 pair" if self.m == 1 else f"{self.m} pairs"
        seeds = f"1 {self.unit}" if self.n_pairs == 1 else f"{self.n_pairs} {self.unit}s"
        if self.smallest_adjusted_p is None:
            return f"with {seeds} and {pairs} no paired test can be run: at least 2 {self.unit}s are needed"
        found = f"{self.smallest_adjusted_p:.3g}".removeprefix("0")
        if self.can_reject:
            return f"with {seeds} and {pairs} the smallest adjusted p is {found}: this test can reject"
        return f"with {seeds} and {pairs} the smallest adjusted p is {found}: this test cannot reject"


def smallest_p(n_pairs: int) -> float | None:
    """Return 2 / 2^n, the smallest two-sided p of a signed-rank or sign-flip test; None below 2 pairs.

    With zero differences, n counts the non-zero ones.
    """
    return 2.0 ** (1 - n_pairs) if n_pairs >= 2 else None


def smallest_seeds(m: int, *, alpha: float = 0.05) -> int:
    """Return the fewest seeds at which an exact test among m comparisons can reject after Holm or Bonferroni."""
    check_level("alpha", alpha)
    _check_m(m)
    return next(n for n in range(2, MOST_SEEDS) if m * 2.0 ** (1 - n) <= alpha)


def attainability(n_pairs: int, m: int, *, alpha: float = 0.05, unit: str = "seed") -> Attainability:
    """Return what n pairs of seeds allow an exact test among m comparisons; the first step multiplies p by m.

    Where the test cannot reject, its verdict is undetermined whatever the data say.

    Parameters
    ----------
    n_pairs
        Pairs whose difference is not zero.
    m, alpha
        Size and level of the family of tests.
    unit
        The word for one pair: ``seed`` or ``task``.
    """
    check_level("alpha", alpha)
    _check_m(m)
    alone = smallest_p(n_pairs)
    adjusted = None if alone is None else min(1.0, m * alone)
    return Attainability(
        n_pairs=n_pairs,
        m=m,
        alpha=alpha,
        smallest_p=alone,
        smallest_adjusted_p=adjusted,
        can_reject=adjusted is not None and adjusted <= alpha,
        seeds_to_reject=smallest_seeds(m, alpha=alpha),
        unit=unit,
    )


def _check_m(m: int) -> None:
    if m < 1:
        raise BadValue("m", m, "a number of comparisons from 1 upwards")
