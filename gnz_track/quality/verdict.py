"""Keep, realign or deprecate: which rule a dataset meets, and why.

The published rules by which numbers become grades are data: C. Coupette et al., No metric to rule them all (2025),
Table 1 (how much models make of both modes), Table 2 (mode diversity), Table 18 (correlation of complementarity and
performance).
"""

from __future__ import annotations

import bisect
import enum
import math
from collections.abc import Mapping, Sequence

from gnz_track.datasets.perturbations import ORIGINAL
from gnz_track.store.audits import PairRecord

__all__ = [
    "ALPHA",
    "CORRELATION",
    "DIVERSITY_MEAN",
    "DIVERSITY_SD",
    "GRADES",
    "HIGH",
    "OF_FEATURES",
    "OF_STRUCTURE",
    "Decision",
    "decide",
    "find_informativeness",
    "grade",
    "grade_performance",
    "rate_informativeness",
    "score_performance",
]


GRADES = ("--", "-", "o", "+", "++")
HIGH = frozenset({"o", "+", "++"})
# Of the pairwise tests, before Bonferroni.
ALPHA = 0.01


# Bounds between the five grades.
Bounds = tuple[float, float, float, float]
DIVERSITY_MEAN: Bounds = (0.2, 0.4, 0.6, 0.8)
DIVERSITY_SD: Bounds = (0.05, 0.1, 0.15, 0.2)
CORRELATION: Bounds = (-0.6, -0.2, 0.2, 0.6)


def grade(value: float, bounds: Bounds) -> str:
    """Return the grade of a value; nothing where there is no value. A bound belongs to the grade above it."""
    return "" if math.isnan(value) else GRADES[bisect.bisect_right(bounds, value)]


def rate_informativeness(n_metrics: int, n_informative: int) -> int:
    """Return 2 where all metrics say that a mode is informative, 1 where some do, 0 where none does."""
    return 0 if n_informative == 0 else 2 if n_informative == n_metrics else 1


def score_performance(structure: int, features: int) -> float:
    """Return 1.5 S + F, from 0 to 5: structure counts more, for without it no graph would be needed."""
    return 1.5 * structure + features


def grade_performance(score: float) -> str:
    """Return the grade of a score of performance; of these, a bound belongs to the grade below it."""
    return GRADES[bisect.bisect_left((1.0, 2.0, 3.0, 4.0), score)]


# A mode is informative where the graphs as they are do better than without it, however it is taken away.
OF_STRUCTURE = ("empty-graph", "complete-graph", "random-graph")
OF_FEATURES = ("complete-features", "random-features")


class Decision(enum.StrEnum):
    """Decision on a dataset."""

    keep = "keep"
    realign = "realign"
    deprecate = "deprecate"
    undecided = "undecided"


# (performance is high, diversity of structure is high) -> what to do, and the rule that says so. None: not known.
RULES: dict[tuple[bool | None, bool], tuple[Decision, str]] = {
    (True, True): (
        Decision.keep,
        "models make use of both modes (evaluation high), and the structure is diverse (Delta_S high)",
    ),
    (False, True): (
        Decision.realign,
        (
            "the structure is diverse (Delta_S high), but models do as well without a mode (evaluation low): "
            "the labels, or the features, do not go with the structure"
        ),
    ),
    (True, False): (
        Decision.deprecate,
        (
            "models make use of both modes (evaluation high), but the structure is not diverse (Delta_S low): "
            "not to be used to compare models by what they make of structure"
        ),
    ),
    (False, False): (
        Decision.deprecate,
        "models do as well without a mode (evaluation low), and the structure is not diverse (Delta_S low)",
    ),
    (None, True): (
        Decision.undecided,
        "the structure is diverse (Delta_S high): to be kept or realigned, which only separability tells",
    ),
    (None, False): (
        Decision.deprecate,
        "the structure is not diverse (Delta_S low), which is enough; separability was not tested",
    ),
}
UNKNOWN = Decision.undecided, "complementarity is undefined: no graph has features that are numbers"


def decide(*, performance: str, diversity: str) -> tuple[Decision, str]:
    """Return the decision and its rule, for the grades of performance and of the mean diversity of structure.

    A grade that is not known is empty.
    """
    if not diversity:
        return UNKNOWN
    is_high = performance in HIGH if performance else None
    return RULES[is_high, diversity in HIGH]


def find_informativeness(pairs: Mapping[str, Sequence[PairRecord]]) -> tuple[int, int]:
    """Return how informative structure and features are, 0, 1 or 2 each, from the pairs of each metric.

    A mode is informative under a metric where the original outperforms every version that lacks it; of versions that
    could not be trained, nothing is asked. Pairs are of the original and the others.
    """
    of_structure, of_features = (
        sum(_is_informative(of_metric, names) for of_metric in pairs.values()) for names in (OF_STRUCTURE, OF_FEATURES)
    )
    return rate_informativeness(len(pairs), of_structure), rate_informativeness(len(pairs), of_features)


def _is_informative(pairs: Sequence[PairRecord], names: Sequence[str]) -> bool:
    against = [pair for pair in pairs if pair.first == ORIGINAL and pair.second in names]
    return bool(against) and all(pair.outperforms for pair in against)
