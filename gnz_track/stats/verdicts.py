"""The verdicts on a pair of models."""

from __future__ import annotations

import enum

__all__ = ["EXACT_TESTS", "Verdict", "judge", "judge_sameness"]

# Tests whose smallest p-value is bounded by the number of pairs; the t test's is not.
EXACT_TESTS = frozenset({"wilcoxon", "sign_flip"})


class Verdict(enum.StrEnum):
    """What a test of difference and one of equivalence say together; and what is plain without a test.

    Models with the same score on every seed are ``identical``, which is no statistical equivalence: nothing was drawn
    that could have differed. Where two models are the same, identical or equivalent, and neither has been shown to be
    better than its baseline, they have both learnt nothing, and nothing is said of what they could learn.
    """

    different = "different"
    equivalent = "equivalent"
    trivial = "trivial"
    undetermined = "undetermined"
    identical = "identical"
    nothing = "both learnt nothing"


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


def judge_sameness(verdict: Verdict, *, is_identical: bool, are_at_chance: bool) -> Verdict:
    """Return the verdict on two models of which it is known whether they score the same, and whether both at chance."""
    if is_identical:
        verdict = Verdict.identical
    return Verdict.nothing if are_at_chance and verdict in {Verdict.identical, Verdict.equivalent} else verdict
