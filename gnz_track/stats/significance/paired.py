"""Tests of the advantage of one model over another, over seed pairs: whether it is more than the seeds explain.

The t test asks whether the mean advantage is zero, the signed-rank test (in ``signed_rank``) whether the advantages lie
symmetrically around zero, the sign-flip test (in ``sign_flip``) both at once. All p-values are two-sided.
"""

from __future__ import annotations

import enum
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from scipy.special import stdtr

from gnz_track.errors import BadValue
from gnz_track.records import FrozenMapping, freeze_mappings
from gnz_track.stats.comparison.joins import SeedPairs, StackedPairs, stack
from gnz_track.stats.inputs import Floats
from gnz_track.stats.magnitude import centre_and_spread

__all__ = [
    "Outcome",
    "PairedTest",
    "moments",
    "nadeau_bengio",
    "nadeau_bengio_rows",
    "paired_t",
    "paired_t_rows",
    "unrunnable",
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
