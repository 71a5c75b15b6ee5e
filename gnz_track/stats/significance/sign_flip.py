"""The sign-flip test of the mean advantage: what the mean would be if every seed's sign were the toss of a coin."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from gnz_track.errors import BadValue
from gnz_track.seeds import derive
from gnz_track.stats.comparison.joins import SeedPairs, stack
from gnz_track.stats.inputs import Floats, number
from gnz_track.stats.magnitude import put_back
from gnz_track.stats.significance.paired import ALL_ZERO, Outcome, PairedTest, unrunnable

__all__ = ["sign_flip", "sign_flip_rows"]

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
