"""Grades at their bounds, the published tables row by row, verdicts, and agreement of sets."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gnz_track.errors import BadValue
from gnz_track.quality.complementarity import agree
from gnz_track.quality.verdict import (
    CORRELATION,
    DIVERSITY_MEAN,
    DIVERSITY_SD,
    GRADES,
    Bounds,
    Decision,
    decide,
    find_informativeness,
    grade,
    grade_performance,
    rate_informativeness,
    score_performance,
)
from gnz_track.store.audits import PairRecord

# (S, F) -> (score, grade): all nine.
SCORES = {
    (0, 0): (0.0, "--"),
    (0, 1): (1.0, "--"),
    (0, 2): (2.0, "-"),
    (1, 0): (1.5, "-"),
    (1, 1): (2.5, "o"),
    (1, 2): (3.5, "+"),
    (2, 0): (3.0, "o"),
    (2, 1): (4.0, "+"),
    (2, 2): (5.0, "++"),
}


@pytest.mark.parametrize(("rated", "expected"), SCORES.items())
def test_score_of_performance(rated: tuple[int, int], expected: tuple[float, str]) -> None:
    score = score_performance(*rated)
    assert (score, grade_performance(score)) == expected


@pytest.mark.parametrize(
    ("bounds", "value", "expected"),
    [
        (DIVERSITY_MEAN, 0.0, "--"),
        (DIVERSITY_MEAN, 0.2, "-"),
        (DIVERSITY_MEAN, 0.3999, "-"),
        (DIVERSITY_MEAN, 0.4, "o"),
        (DIVERSITY_MEAN, 0.6, "+"),
        (DIVERSITY_MEAN, 0.76, "+"),
        (DIVERSITY_MEAN, 0.8, "++"),
        (DIVERSITY_MEAN, 1.0, "++"),
        (DIVERSITY_SD, 0.0493, "--"),
        (DIVERSITY_SD, 0.05, "-"),
        (DIVERSITY_SD, 0.0973, "-"),
        (DIVERSITY_SD, 0.1, "o"),
        (DIVERSITY_SD, 0.16, "+"),
        (DIVERSITY_SD, 0.2, "++"),
        (CORRELATION, -1.0, "--"),
        (CORRELATION, -0.6, "-"),
        (CORRELATION, 0.0, "o"),
        (CORRELATION, 0.2, "+"),
        (CORRELATION, 1.0, "++"),
        (DIVERSITY_MEAN, float("nan"), ""),
    ],
)
def test_grades_at_their_bounds(bounds: Bounds, value: float, expected: str) -> None:
    assert grade(value, bounds) == expected


@given(a=st.floats(-2, 6), b=st.floats(-2, 6), bounds=st.sampled_from([DIVERSITY_MEAN, CORRELATION]))
def test_a_larger_value_has_no_lower_grade(a: float, b: float, bounds: Bounds) -> None:
    low, high = sorted([a, b])
    assert GRADES.index(grade(low, bounds)) <= GRADES.index(grade(high, bounds))
    assert GRADES.index(grade_performance(low)) <= GRADES.index(grade_performance(high))


def test_metrics_vote() -> None:
    assert [rate_informativeness(2, n) for n in range(3)] == [0, 1, 2]
    assert [rate_informativeness(1, n) for n in range(2)] == [0, 2]


def pair(first: str, second: str, *, wins: bool) -> PairRecord:
    p = 0.001 if wins else 0.5
    facts = {"metric": "accuracy", "statistic": 0.5, "p": p, "p_adjusted": p, "outperforms": wins}
    return PairRecord(first=first, second=second, is_significant=wins, **facts)  # type: ignore[arg-type]


def pairs(*beaten: str) -> list[PairRecord]:
    modes = ["original", "empty-graph", "complete-graph", "random-graph", "complete-features", "random-features"]
    found = itertools.combinations(modes, 2)
    return [pair(a, b, wins=a == "original" and b in beaten) for a, b in found]


STRUCTURE, FEATURES = ("empty-graph", "complete-graph", "random-graph"), ("complete-features", "random-features")


@pytest.mark.parametrize(
    ("of_metrics", "expected"),
    [
        ([(*STRUCTURE, *FEATURES)] * 2, (2, 2)),
        ([(*STRUCTURE, *FEATURES), FEATURES], (1, 2)),
        ([STRUCTURE[:2], ()], (0, 0)),
        ([("random-features",), FEATURES], (0, 1)),
    ],
)
def test_a_mode_is_informative_where_all_versions_without_it_do_worse(
    of_metrics: list[tuple[str, ...]], expected: tuple[int, int]
) -> None:
    found = find_informativeness({str(n): pairs(*beaten) for n, beaten in enumerate(of_metrics)})
    assert found == expected


def test_versions_that_could_not_be_trained_are_not_asked_for() -> None:
    left = [pair("original", name, wins=True) for name in ("empty-graph", "random-graph", "random-features")]
    assert find_informativeness({"accuracy": left}) == (2, 2)
    assert find_informativeness({"accuracy": []}) == (0, 0)


@pytest.mark.parametrize(
    ("performance", "diversity", "decision", "words"),
    [
        ("++", "o", Decision.keep, "make use of both modes"),
        ("o", "++", Decision.keep, "structure is diverse"),
        ("-", "+", Decision.realign, "as well without a mode"),
        ("--", "-", Decision.deprecate, "not diverse"),
        ("+", "-", Decision.deprecate, "make use of both modes"),
        ("", "+", Decision.undecided, "only separability tells"),
        ("", "--", Decision.deprecate, "which is enough"),
        ("++", "", Decision.undecided, "undefined"),
    ],
)
def test_every_rule(performance: str, diversity: str, decision: Decision, words: str) -> None:
    found, rule = decide(performance=performance, diversity=diversity)
    assert found is decision
    assert words in rule


@given(st.lists(st.tuples(st.booleans(), st.booleans())))
def test_agreement_is_that_of_sets(members: list[tuple[bool, bool]]) -> None:
    first, second = ({n for n, item in enumerate(members) if item[side]} for side in (0, 1))
    found = agree([item[0] for item in members], [item[1] for item in members])
    either = first | second
    assert found["jaccard"] == (len(first & second) / len(either) if either else None)
    assert found["of_first"] == (len(first & second) / len(first) if first else None)
    assert found["of_second"] == (len(first & second) / len(second) if second else None)


def test_sets_of_other_graphs_do_not_agree() -> None:
    with pytest.raises(BadValue, match="one entry for each graph"):
        agree([True], [True, False])
