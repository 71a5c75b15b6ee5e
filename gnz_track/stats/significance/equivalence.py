"""Equivalence of two models for all that matters: two one-sided tests against a declared margin."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import stdtr, stdtrit

from gnz_track.errors import BadValue
from gnz_track.stats.comparison.joins import SeedPairs, stack
from gnz_track.stats.inputs import check_level, put_back
from gnz_track.stats.significance.paired import ALL_ZERO, NO_SPREAD, TOO_FEW, Outcome, moments

__all__ = ["Equivalence", "tost", "tost_rows"]


@dataclass(frozen=True, kw_only=True)
class Equivalence:
    """Two one-sided t tests of |mean advantage| < margin, margin in units of the metric.

    ``p`` is the larger of ``p_lower`` (mean <= -margin refuted) and ``p_upper`` (mean >= margin refuted); at most
    alpha exactly where the interval ``low`` to ``high`` of level 1 - 2 alpha lies within the margin.
    """

    outcome: Outcome
    n_pairs: int
    margin: float
    alpha: float
    p: float | None
    p_lower: float | None
    p_upper: float | None
    low: float | None
    high: float | None
    note: str = ""

    def __str__(self) -> str:
        if self.p is None:
            return f"TOST within {self.margin:g}: {self.outcome} ({self.note}), {self.n_pairs} pairs"
        return f"TOST within {self.margin:g}: p = {self.p:.4g}, {self.n_pairs} pairs" + (
            f" ({self.note})" if self.note else ""
        )


def tost(pair: SeedPairs, *, margin: float, alpha: float = 0.05) -> Equivalence:
    """Test that the mean advantage lies within +-margin: t = (mean +- margin) / (sd / sqrt(n)). Schuirmann (1987).

    Parameters
    ----------
    pair
        Joined scores of two models.
    margin
        Largest difference that does not matter, in the metric.
    alpha
        Level of each one-sided test.
    """
    return tost_rows([pair], margin=margin, alpha=alpha)[0]


def tost_rows(pairs: Sequence[SeedPairs], *, margin: float, alpha: float = 0.05) -> tuple[Equivalence, ...]:
    """Return :func:`tost` of many pairs at once.

    Parameters
    ----------
    pairs, margin, alpha
        As in :func:`tost`, of each.
    """
    check_level("alpha", alpha)
    if not (math.isfinite(margin) and margin > 0):
        raise BadValue("margin", margin, "a positive number in units of the metric, declared before looking")
    return tuple(_test_rows(pairs, margin, alpha))


def _test_rows(pairs: Sequence[SeedPairs], margin: float, alpha: float) -> Iterator[Equivalence]:
    rows = stack(pairs)
    mean, sd = moments(rows)
    n, df = rows.n_pairs, np.maximum(rows.n_pairs - 1, 1).astype(np.float64)
    sem = sd / np.sqrt(np.maximum(n, 1))
    limit = put_back(margin, -rows.exponents)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        lower, upper = stdtr(df, -(mean + limit) / sem), stdtr(df, (mean - limit) / sem)
    half = stdtrit(df, 1 - alpha) * sem
    ends = (put_back(end, rows.exponents) for end in (mean - half, mean + half))
    columns = (x.tolist() for x in (n, lower, upper, *ends, rows.is_all_zero, rows.is_degenerate))
    for n_pairs, *values, is_zero, is_degenerate in zip(*columns, strict=True):
        outcome = Outcome.not_run if n_pairs < 2 else Outcome.degenerate if is_degenerate else Outcome.run
        p_lower, p_upper, low, high = values if outcome is Outcome.run else (None,) * 4
        yield Equivalence(
            outcome=outcome,
            n_pairs=n_pairs,
            margin=margin,
            alpha=alpha,
            p=None if p_lower is None else max(p_lower, p_upper),
            p_lower=p_lower,
            p_upper=p_upper,
            low=low,
            high=high,
            note=TOO_FEW if n_pairs < 2 else NO_SPREAD if is_degenerate else ALL_ZERO if is_zero else "",
        )
