"""The four verdicts on a pair of models."""

from __future__ import annotations

import enum

__all__ = ["EXACT_TESTS", "Verdict", "judge"]

# Tests whose smallest p-value is bounded by the number of pairs; the t test's is not.
EXACT_TESTS = frozenset({"wilcoxon", "sign_flip"})


class Verdict(enum.StrEnum):
    """What a test of difference and one of equivalence say together."""

    different = "different"
    equivalent = "equivalent"
    trivial = "trivial"
    undetermined = "undetermined"


# (whether the difference is significant, whether it lies within the margin) -> verdict.
VERDICTS = {
    (True, False): Verdict.different,
    (True, True): Verdict.trivial,
    (False, True): Verdict.equivalent,
    (False, False): Verdict.undetermined,
}


def judge(*, is_rejected: bool, is_within_margin: bool, can_reject: bool) -> Verdict:
    """Return the verdict; a test that could not have rejected leaves the pair undetermined whatever else was found."""
    return VERDICTS[is_rejected, is_within_margin] if can_reject else Verdict.undetermined
