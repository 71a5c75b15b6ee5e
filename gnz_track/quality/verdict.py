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
from dataclasses import dataclass

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
    "PERFORMANCE",
    "DatasetVerdict",
    "Decision",
    "GradeScale",
    "Informativeness",
    "decide",
    "find_informativeness",
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


# A mode is informative where the graphs as they are do better than without it, however it is taken away.
OF_STRUCTURE = ("empty-graph", "complete-graph", "random-graph")
OF_FEATURES = ("complete-features", "random-features")


class Decision(enum.StrEnum):
    """Decision on a dataset."""

    keep = "keep"
    realign = "realign"
    deprecate = "deprecate"
    undecided = "undecided"


@dataclass(frozen=True, kw_only=True)
class Informativeness:
    """Informativeness of structure and features for models: 0, 1 or 2 each, their score and its grade."""

    structure: int
    features: int

    @property
    def score(self) -> float:
        """1.5 S + F, from 0 to 5."""
        return score_performance(self.structure, self.features)

    @property
    def grade(self) -> str:
        """The grade of the score."""
        return PERFORMANCE.grade(self.score)


@dataclass(frozen=True, kw_only=True)
class DatasetVerdict:
    """A decision and the rule that led to it, in words."""

    decision: Decision
    rule: str


# (performance is high, diversity of structure is high) -> what to do. None: not known.
RULES: dict[tuple[bool | None, bool], DatasetVerdict] = {
    (True, True): DatasetVerdict(
        decision=Decision.keep,
        rule="models make use of both modes (evaluation high), and the structure is diverse (Delta_S high)",
    ),
    (False, True): DatasetVerdict(
        decision=Decision.realign,
        rule="the structure is diverse (Delta_S high), but models do as well without a mode (evaluation low): "
        "the labels, or the features, do not go with the structure",
    ),
    (True, False): DatasetVerdict(
        decision=Decision.deprecate,
        rule="models make use of both modes (evaluation high), but the structure is not diverse (Delta_S low): "
        "not to be used to compare models by what they make of structure",
    ),
    (False, False): DatasetVerdict(
        decision=Decision.deprecate,
        rule="models do as well without a mode (evaluation low), and the structure is not diverse (Delta_S low)",
    ),
    (None, True): DatasetVerdict(
        decision=Decision.undecided,
        rule="the structure is diverse (Delta_S high): to be kept or realigned, which only separability tells",
    ),
    (None, False): DatasetVerdict(
        decision=Decision.deprecate,
        rule="the structure is not diverse (Delta_S low), which is enough; separability was not tested",
    ),
}
UNKNOWN = DatasetVerdict(
    decision=Decision.undecided, rule="complementarity is undefined: no graph has features that are numbers"
)


def decide(*, performance: str, diversity: str) -> DatasetVerdict:
    """Return the verdict for the grades of performance and of the mean diversity of structure; nothing: not known."""
    if not diversity:
        return UNKNOWN
    is_high = performance in HIGH if performance else None
    return RULES[is_high, diversity in HIGH]


def find_informativeness(pairs: Mapping[str, Sequence[PairRecord]]) -> Informativeness:
    """Return how informative both modes are, from the pairs of each metric; pairs are of the original and the others.

    A mode is informative under a metric where the original outperforms every version that lacks it; of versions that
    could not be trained, nothing is asked.
    """
    found = {}
    for mode, names in (("structure", OF_STRUCTURE), ("features", OF_FEATURES)):
        votes = [_is_informative(of_metric, names) for of_metric in pairs.values()]
        found[mode] = rate_informativeness(len(votes), sum(votes))
    return Informativeness(**found)


def _is_informative(pairs: Sequence[PairRecord], names: Sequence[str]) -> bool:
    against = [pair for pair in pairs if pair.first == ORIGINAL and pair.second in names]
    return bool(against) and all(pair.outperforms for pair in against)
