"""Sizes of the advantage of one model over another, with intervals; signs are advantages of the first model."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import betaincinv, gammaln, ndtri, stdtrit

from gnz_track.errors import BadValue
from gnz_track.records import make_records
from gnz_track.stats.comparison.joins import SeedPairs, StackedPairs, stack
from gnz_track.stats.design.power import noncentrality_at
from gnz_track.stats.inputs import Floats, check_level, plain_numbers, put_back
from gnz_track.stats.significance.paired import NO_SPREAD, TOO_FEW, moments, signed_ranks

__all__ = [
    "SHARE_INTERVALS",
    "Effects",
    "MeanAdvantage",
    "StandardisedAdvantage",
    "Superiority",
    "clopper_pearson",
    "effects",
    "effects_rows",
    "hedges_factor",
    "mean_advantage",
    "mean_advantage_rows",
    "widen_for_overlap",
    "wilson",
]

# Walsh averages that are held at once.
ELEMENTS_AT_ONCE = 2_000_000


@dataclass(frozen=True, kw_only=True)
class MeanAdvantage:
    """The mean advantage in units of the metric, with a paired Student t interval of level 1 - alpha."""

    n_pairs: int
    alpha: float
    mean: float | None
    sd: float | None
    low: float | None
    high: float | None
    note: str = ""

    def __str__(self) -> str:
        return (
            f"mean advantage {_write_estimate(self.mean, self.low, self.high, self.alpha)}, {self.n_pairs} pairs"
            + _write_note(self.note)
        )


@dataclass(frozen=True, kw_only=True)
class StandardisedAdvantage:
    """d_z = mean / sd with its noncentral-t interval, and the same times Hedges' factor J for few pairs."""

    n_pairs: int
    alpha: float
    d_z: float | None
    low: float | None
    high: float | None
    factor: float | None
    hedges: float | None
    hedges_low: float | None
    hedges_high: float | None
    note: str = ""

    def __str__(self) -> str:
        hedged = _write_estimate(self.hedges, self.hedges_low, self.hedges_high, self.alpha)
        return f"d_z {_write_estimate(self.d_z, self.low, self.high, self.alpha)}, Hedges {hedged}" + _write_note(
            self.note
        )


@dataclass(frozen=True, kw_only=True)
class Superiority:
    """The share of seeds on which the first model is better, ties counted half: an estimate of P(A > B)."""

    n_pairs: int
    alpha: float
    method: str
    share: float | None
    low: float | None
    high: float | None
    note: str = ""

    def __str__(self) -> str:
        return f"P(A>B) {_write_estimate(self.share, self.low, self.high, self.alpha)} ({self.method})" + _write_note(
            self.note
        )


@dataclass(frozen=True, kw_only=True)
class Effects:
    """All effect sizes of one pair of models; rank-biserial and Hodges-Lehmann from the quantised differences."""

    n_pairs: int
    mean: MeanAdvantage
    standardised: StandardisedAdvantage
    superiority: Superiority
    rank_biserial: float | None
    hodges_lehmann: float | None

    def __str__(self) -> str:
        return f"{self.mean}; {self.standardised}; {self.superiority}"


def effects(pair: SeedPairs, *, alpha: float = 0.05, share_interval: str = "wilson") -> Effects:
    """Return all effect sizes of one pair of models.

    Rank-biserial is (W+ - W-) / (W+ + W-) with zeros dropped, 0 where all are zero (Kerby 2014); Hodges-Lehmann is the
    median of the Walsh averages (d_i + d_j) / 2, i <= j (Hodges and Lehmann 1963).

    Parameters
    ----------
    pair
        Joined scores of two models.
    alpha
        1 minus the level of the intervals.
    share_interval
        Interval of the share of wins: ``wilson`` or ``clopper_pearson``.
    """
    return effects_rows([pair], alpha=alpha, share_interval=share_interval)[0]


def effects_rows(
    pairs: Sequence[SeedPairs], *, alpha: float = 0.05, share_interval: str = "wilson"
) -> tuple[Effects, ...]:
    """Return :func:`effects` of many pairs at once.

    Parameters
    ----------
    pairs, alpha, share_interval
        As in :func:`effects`, of each.
    """
    check_level("alpha", alpha)
    rows = stack(pairs)
    columns = {
        "n_pairs": rows.n_pairs.tolist(),
        "mean": _means(rows, alpha),
        "standardised": _standardised(rows, alpha),
        "superiority": _superiorities(rows, alpha, share_interval),
        "rank_biserial": plain_numbers(_rank_biserial(rows)),
        "hodges_lehmann": plain_numbers(_hodges_lehmann(rows)),
    }
    return tuple(make_records(Effects, columns))


def mean_advantage(pair: SeedPairs, *, alpha: float = 0.05) -> MeanAdvantage:
    """Return mean +- t_{n-1, 1-alpha/2} sd / sqrt(n) of the advantages; Student (1908).

    For intervals that hold together over a family of m pairs, call it with alpha / m (Bonferroni).
    """
    return mean_advantage_rows([pair], alpha=alpha)[0]


def mean_advantage_rows(pairs: Sequence[SeedPairs], *, alpha: float = 0.05) -> tuple[MeanAdvantage, ...]:
    """Return :func:`mean_advantage` of many pairs at once."""
    check_level("alpha", alpha)
    return tuple(_means(stack(pairs), alpha))


def widen_for_overlap(found: MeanAdvantage, *, n_train: int, n_test: int) -> MeanAdvantage:
    """Return the interval over overlapping splits: mean +- t_{J-1, 1-alpha/2} sd sqrt(1/J + n_test/n_train).

    It excludes zero where :func:`~gnz_track.stats.significance.paired.nadeau_bengio` rejects. Nadeau and Bengio (2003).

    Parameters
    ----------
    found
        The mean advantage with its interval over independent seeds.
    n_train, n_test
        Examples of the training and the test part.
    """
    if found.mean is None or found.low is None or found.high is None:
        return found
    factor = math.sqrt(1 + found.n_pairs * n_test / n_train)
    return replace(
        found,
        low=found.mean - factor * (found.mean - found.low),
        high=found.mean + factor * (found.high - found.mean),
    )


def hedges_factor(n_pairs: Floats) -> Floats:
    """Return J [n] = G(nu/2) / (sqrt(nu/2) G((nu-1)/2)), nu = n - 1; NaN below 3 pairs. Hedges (1981)."""
    nu = np.asarray(n_pairs, dtype=np.float64) - 1
    safe = np.maximum(nu, 2)
    factor = np.exp(gammaln(safe / 2) - gammaln((safe - 1) / 2)) / np.sqrt(safe / 2)
    return np.where(nu >= 2, factor, np.nan)


def wilson(share: Floats, n: Floats, alpha: float) -> tuple[Floats, Floats]:
    """Return Wilson's score interval: lows [n], highs [n]. Wilson (1927).

    Parameters
    ----------
    share, n
        Shares of successes [n], and trials [n].
    alpha
        1 minus the level.
    """
    z = float(ndtri(1 - alpha / 2))
    centre = (share + z**2 / (2 * n)) / (1 + z**2 / n)
    half = z / (1 + z**2 / n) * np.sqrt(share * (1 - share) / n + z**2 / (4 * n**2))
    return np.clip(centre - half, 0.0, share), np.clip(centre + half, share, 1.0)


def clopper_pearson(share: Floats, n: Floats, alpha: float) -> tuple[Floats, Floats]:
    """Return Clopper and Pearson's exact interval: lows [n], highs [n]. Clopper and Pearson (1934).

    Parameters
    ----------
    share, n
        Shares of successes [n], and trials [n].
    alpha
        1 minus the level.
    """
    won = share * n
    low = np.where(won > 0, betaincinv(np.maximum(won, 1e-9), n - won + 1, alpha / 2), 0.0)
    high = np.where(won < n, betaincinv(won + 1, np.maximum(n - won, 1e-9), 1 - alpha / 2), 1.0)
    return low, high


# Intervals of P(A > B), by name.
SHARE_INTERVALS: dict[str, Callable[[Floats, Floats, float], tuple[Floats, Floats]]] = {
    "wilson": wilson,
    "clopper_pearson": clopper_pearson,
}


def _means(rows: StackedPairs, alpha: float) -> list[MeanAdvantage]:
    mean, sd = moments(rows)
    n, is_degenerate = rows.n_pairs, rows.is_degenerate
    half = stdtrit(np.maximum(n - 1, 1), 1 - alpha / 2) * sd / np.sqrt(np.maximum(n, 1))
    # A constant difference would get an interval of no width, which is certainty that nobody has.
    low, high = (np.where(is_degenerate, np.nan, end) for end in (mean - half, mean + half))
    mean, sd, low, high = (put_back(x, rows.exponents) for x in (mean, sd, low, high))
    notes = np.where(n < 2, TOO_FEW, np.where(is_degenerate, NO_SPREAD, "")).tolist()
    known = {name: plain_numbers(x) for name, x in (("mean", mean), ("sd", sd), ("low", low), ("high", high))}
    return make_records(MeanAdvantage, {"n_pairs": n.tolist(), "alpha": [alpha] * len(n), **known, "note": notes})


def _standardised(rows: StackedPairs, alpha: float) -> list[StandardisedAdvantage]:
    mean, sd = moments(rows)
    n = rows.n_pairs.astype(np.float64)
    is_known = (rows.n_pairs >= 2) & (np.nan_to_num(sd) > 0)
    d_z, low, high = (np.full(len(n), np.nan) for _ in range(3))
    d_z[is_known] = mean[is_known] / sd[is_known]
    low[is_known], high[is_known] = _d_z_interval(d_z[is_known], n[is_known], alpha)
    factor = np.where(is_known, hedges_factor(n), np.nan)
    numbers = {"d_z": d_z, "low": low, "high": high, "factor": factor}
    hedged = {"hedges": factor * d_z, "hedges_low": factor * low, "hedges_high": factor * high}
    columns = {name: plain_numbers(x) for name, x in {**numbers, **hedged}.items()}
    n_pairs = rows.n_pairs.tolist()
    states = zip(n_pairs, rows.is_all_zero.tolist(), columns["d_z"], strict=True)
    notes = [_why_not_standardised(size, is_zero=is_zero, is_known=d is not None) for size, is_zero, d in states]
    constant = {"n_pairs": n_pairs, "alpha": [alpha] * len(n)}
    return make_records(StandardisedAdvantage, {**constant, **columns, "note": notes})


def _why_not_standardised(n_pairs: int, *, is_zero: bool, is_known: bool) -> str:
    if n_pairs < 2:
        return TOO_FEW
    if not is_known:
        return "all differences are zero: 0 / 0" if is_zero else NO_SPREAD
    return "Hedges' factor needs 3 pairs" if n_pairs < 3 else ""


def _d_z_interval(d_z: Floats, n: Floats, alpha: float) -> tuple[Floats, Floats]:
    """Invert the noncentral t at t = d_z sqrt(n); that of -t is that of t mirrored. Steiger and Fouladi (1997)."""
    root = np.sqrt(n)
    size = np.abs(d_z) * root
    near = noncentrality_at(size, n - 1, 1 - alpha / 2) / root
    far = noncentrality_at(size, n - 1, alpha / 2) / root
    return np.where(d_z < 0, -far, near), np.where(d_z < 0, -near, far)


def _superiorities(rows: StackedPairs, alpha: float, method: str) -> list[Superiority]:
    if method not in SHARE_INTERVALS:
        raise BadValue("share interval", method, ", ".join(SHARE_INTERVALS))
    n = rows.n_pairs
    d = rows.quantised
    with np.errstate(invalid="ignore"):
        share = ((d > 0).sum(axis=1) + 0.5 * (d == 0).sum(axis=1)) / np.where(n > 0, n, np.nan)
    trials = np.maximum(n, 1).astype(np.float64)
    low, high = SHARE_INTERVALS[method](np.nan_to_num(share), trials, alpha)
    known = {"share": share, "low": low, "high": high}
    columns = {name: plain_numbers(np.where(n > 0, x, np.nan)) for name, x in known.items()}
    notes = np.where(n > 0, "", "no seeds in common").tolist()
    constant = {"n_pairs": n.tolist(), "alpha": [alpha] * len(n), "method": [method] * len(n)}
    return make_records(Superiority, {**constant, **columns, "note": notes})


def _rank_biserial(rows: StackedPairs) -> Floats:
    ranks = signed_ranks(rows.quantised)
    total = ranks.plus + ranks.minus
    found = np.where(total > 0, (ranks.plus - ranks.minus) / np.maximum(total, 1), 0.0)
    return np.where(rows.n_pairs > 0, found, np.nan)


def _hodges_lehmann(rows: StackedPairs) -> Floats:
    found = np.full(len(rows.n_pairs), np.nan)
    for n in np.unique(rows.n_pairs[rows.n_pairs > 0]).tolist():
        one, other = np.triu_indices(n)
        chosen = np.flatnonzero(rows.n_pairs == n)
        step = max(1, ELEMENTS_AT_ONCE // len(one))
        for start in range(0, len(chosen), step):
            part = chosen[start : start + step]
            d = rows.quantised[part, :n]
            found[part] = np.median((d[:, one] + d[:, other]) / 2, axis=1)
    return put_back(found, rows.exponents)


def _write_estimate(value: float | None, low: float | None, high: float | None, alpha: float) -> str:
    if value is None:
        return "undefined"
    interval = "no interval" if low is None or high is None else f"[{low:.4g}, {high:.4g}]"
    return f"{value:+.4g} ({1 - alpha:.4g} interval {interval})"


def _write_note(note: str) -> str:
    return f" ({note})" if note else ""
