"""The verdicts on a pair of models."""

from __future__ import annotations

import enum

__all__ = ["EXACT_TESTS", "Verdict", "judge", "judge_sameness"]

# Tests whose smallest p-value is bounded by the number of pairs; the t test's is not.
EXACT_TESTS = frozenset({"wilcoxon", "sign_flip"})


class Verdict(enum.StrEnum):
    """Verdict of a test of difference and one of equivalence together; and what is plain without a test.

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
    """Return the verdict; a test that could not have rejected leaves the pair undetermined whatever else was found.

    Parameters
    ----------
    is_rejected
        Whether the test of difference rejects.
    is_within_margin
        Whether the test of equivalence does.
    can_reject
        Whether the design lets the test of difference reject.
    """
    return VERDICTS[is_rejected, is_within_margin] if can_reject else Verdict.undetermined


def judge_sameness(verdict: Verdict, *, is_identical: bool, are_at_chance: bool) -> Verdict:
    """Return the verdict on two models, where both may score the same, or both be at chance level.

    Parameters
    ----------
    verdict
        Verdict of the tests.
    is_identical
        Whether both have the same scores on all seeds.
    are_at_chance
        Whether both are at chance level.
    """
    if is_identical:
        verdict = Verdict.identical
    return Verdict.nothing if are_at_chance and verdict in {Verdict.identical, Verdict.equivalent} else verdict
