"""The published rules by which numbers become grades, as data.

C. Coupette et al., No metric to rule them all (2025): Table 1 (how much models make of both modes), Table 2 (mode
diversity), Table 18 (correlation of complementarity and performance).
"""

from __future__ import annotations

import bisect
import math
from dataclasses import dataclass

__all__ = [
    "ALPHA",
    "CORRELATION",
    "DIVERSITY_MEAN",
    "DIVERSITY_SD",
    "GRADES",
    "HIGH",
    "PERFORMANCE",
    "GradeScale",
    "rate_informativeness",
    "score_performance",
]

GRADES = ("--", "-", "o", "+", "++")
HIGH = frozenset({"o", "+", "++"})
# Of the pairwise tests, before Bonferroni.
ALPHA = 0.01


@dataclass(frozen=True, kw_only=True)
class GradeScale:
    """Bounds between grades; ``bound_is_below`` says that a bound belongs to the grade below it."""

    bounds: tuple[float, float, float, float]
    bound_is_below: bool = False

    def grade(self, value: float) -> str:
        """Return the grade of a value; nothing where there is no value."""
        if math.isnan(value):
            return ""
        find = bisect.bisect_left if self.bound_is_below else bisect.bisect_right
        return GRADES[find(self.bounds, value)]


PERFORMANCE = GradeScale(bounds=(1.0, 2.0, 3.0, 4.0), bound_is_below=True)
DIVERSITY_MEAN = GradeScale(bounds=(0.2, 0.4, 0.6, 0.8))
DIVERSITY_SD = GradeScale(bounds=(0.05, 0.1, 0.15, 0.2))
CORRELATION = GradeScale(bounds=(-0.6, -0.2, 0.2, 0.6))


def rate_informativeness(n_metrics: int, n_informative: int) -> int:
    """Return 2 where all metrics say that a mode is informative, 1 where some do, 0 where none does."""
    return 0 if n_informative == 0 else 2 if n_informative == n_metrics else 1


def score_performance(structure: int, features: int) -> float:
    """Return 1.5 S + F, from 0 to 5: structure counts more, for without it no graph would be needed."""
    return 1.5 * structure + features
