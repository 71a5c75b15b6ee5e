"""Families of tests in a comparison: which p-values are adjusted together, and at what level each was read."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

from gnz_track.stats.comparison.choices import FAMILIES, TESTS, Choices
from gnz_track.stats.comparison.comparison import FamilySummary
from gnz_track.stats.significance.multiple import adjust
from gnz_track.stats.significance.paired import Outcome

__all__ = ["Adjusted", "adjust_by_scope", "first_factor"]

# By what the smallest of m p-values is multiplied, where all of them are equally small; m itself for all others.
FIRST_FACTORS = {"benjamini_hochberg": 1}


@dataclass(frozen=True, kw_only=True)
class Adjusted:
    """The p-values of one test, adjusted; ``levels`` [pairs] is what each raw p was compared with."""

    p: tuple[float | None, ...]
    rejected: tuple[bool, ...]
    levels: tuple[float, ...]
    families: dict[str, FamilySummary]


def first_factor(method: str, m: int) -> int:
    """Return by what the smallest possible p-value is multiplied at least among m comparisons."""
    return FIRST_FACTORS.get(method, max(1, m))


def adjust_by_scope(
    test: str,
    outcomes: Sequence[tuple[Outcome, float | None]],
    scopes: Sequence[str],
    choices: Choices,
) -> Adjusted:
    """Adjust p-values within each scope (a task, or all of them); pairs of one scope stand together.

    A degenerate pair was planned and has data, but no p: it counts in m as one that found nothing.

    Parameters
    ----------
    test
        Name of the test.
    outcomes
        Outcome and p-value of each pair.
    scopes
        Scope of each pair.
    choices
        Method, level and planned size of the families.
    """
    p: list[float | None] = []
    levels: list[float] = []
    families = {}
    for scope, group in itertools.groupby(range(len(scopes)), key=lambda row: scopes[row]):
        rows = [outcomes[row] for row in group]
        raw = [1.0 if outcome is Outcome.degenerate else value for outcome, value in rows]
        family = adjust(raw, method=choices.adjustment, alpha=choices.alpha)
        found = [
            None if outcome is Outcome.degenerate else value
            for (outcome, _), value in zip(rows, family.p_adjusted, strict=True)
        ]
        p += found
        levels += [_level(*both, family.m, choices.alpha) for both in zip(raw, found, strict=True)]
        families[scope] = FamilySummary(
            test=TESTS[test],
            scope=scope if choices.family == "task" else FAMILIES["all"],
            method=family.method,
            controls=family.controls,
            alpha=family.alpha,
            m=family.m,
            n_planned=family.n_planned,
            n_not_run=family.n_not_run,
            n_degenerate=sum(outcome is Outcome.degenerate for outcome, _ in rows),
            n_rejected=sum(value is not None and value <= choices.alpha for value in found),
            simultaneous_level=family.simultaneous_level,
        )
    rejected = tuple(value is not None and value <= choices.alpha for value in p)
    return Adjusted(p=tuple(p), rejected=rejected, levels=tuple(levels), families=families)


def _level(raw: float | None, adjusted: float | None, m: int, alpha: float) -> float:
    """Return what a raw p was compared with: alpha over the factor that it was adjusted by."""
    if raw and adjusted and adjusted < 1.0:
        return min(alpha, alpha * raw / adjusted)
    return alpha / max(1, m)
