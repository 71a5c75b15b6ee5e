"""Adjusted p-values: laws, and independent implementations where SciPy has one."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import false_discovery_control

from gnz_track import stats
from gnz_track.errors import BadValue, UnknownName
from gnz_track.records import to_json
from gnz_track.stats.significance.multiple import ADJUSTMENTS, adjust, shaffer_multipliers, simultaneous_level

# The first call imports what is imported late; a machine may be busy.
LAW = settings(deadline=None)

PROBABILITY = st.floats(0.0, 1.0, allow_nan=False, width=32)
TRIANGULAR = st.sampled_from([1, 3, 6, 10, 15, 21])


@st.composite
def families(draw: st.DrawFn) -> list[float]:
    return draw(st.lists(PROBABILITY, min_size=(m := draw(TRIANGULAR)), max_size=m))


def values(p: list[float | None], method: str) -> np.ndarray:
    return np.array([item for item in adjust(p, method=method).p_adjusted if item is not None])


@LAW
@given(families(), st.sampled_from(sorted(ADJUSTMENTS)))
def test_adjusted_is_monotone_and_never_below_raw(p: list[float], method: str) -> None:
    found, raw = values(list(p), method), np.array(p)
    assert (found >= raw).all()
    assert (found <= 1.0).all()
    assert (np.diff(found[np.argsort(raw, kind="stable")]) >= 0.0).all()


@LAW
@given(families())
def test_methods_are_ordered_by_power(p: list[float]) -> None:
    bonferroni, holm, shaffer, fdr = (
        values(list(p), name) for name in ("bonferroni", "holm", "shaffer", "benjamini_hochberg")
    )
    assert (shaffer <= holm).all()
    assert (holm <= bonferroni).all()
    assert (fdr <= holm + 1e-15).all()


@LAW
@given(families())
def test_benjamini_hochberg_is_scipy_s(p: list[float]) -> None:
    assert values(list(p), "benjamini_hochberg") == pytest.approx(false_discovery_control(p), rel=1e-12)


@LAW
@given(st.lists(PROBABILITY, min_size=1, max_size=7))
def test_holm_closes_bonferroni(p: list[float]) -> None:
    # Holm's value is the largest Bonferroni p over all intersections that hold the hypothesis.
    subsets = [c for size in range(1, len(p) + 1) for c in combinations(range(len(p)), size)]
    closed = [max(min(1.0, len(c) * min(p[i] for i in c)) for c in subsets if place in c) for place in range(len(p))]
    assert values(list(p), "holm") == pytest.approx(closed, rel=1e-12)


@LAW
@given(families(), st.sampled_from(sorted(ADJUSTMENTS)), st.randoms(use_true_random=False))
def test_order_of_the_family_does_not_matter(p: list[float], method: str, random: object) -> None:
    places = list(range(len(p)))
    random.shuffle(places)  # type: ignore[attr-defined]
    shuffled = values([p[place] for place in places], method)
    assert shuffled == pytest.approx(values(list(p), method)[places], rel=1e-12)


def test_shaffer_multipliers() -> None:
    assert shaffer_multipliers(4).tolist() == [6, 3, 3, 3, 2, 1]
    assert shaffer_multipliers(3).tolist() == [3, 1, 1]
    assert shaffer_multipliers(5).tolist() == [10, 6, 6, 6, 6, 4, 4, 3, 2, 1]


@pytest.mark.parametrize("k", [3, 4, 5])
def test_shaffer_multipliers_by_enumerating_partitions(k: int) -> None:
    counts = set()
    for code in range(k**k):
        block = [code // k**model % k for model in range(k)]
        counts.add(sum(block[a] == block[b] for a, b in combinations(range(k), 2)))
    m = k * (k - 1) // 2
    assert shaffer_multipliers(k).tolist() == [max(c for c in counts if c <= m - r) for r in range(m)]


def test_what_was_not_run_leaves_the_family_and_is_counted() -> None:
    found = adjust([0.01, None, 0.03, 0.2, None, 0.9])
    assert found.p_adjusted == pytest.approx((0.04, None, 0.09, 0.4, None, 0.9))
    assert (found.m, found.n_planned, found.n_not_run) == (4, 6, 2)
    assert found.rejected == (True, None, False, False, None, False)
    assert "m = 4 (2 of 6 not run): 1 rejected" in str(found)
    assert '"n_not_run": 2' in to_json(found)


def test_shaffer_with_pairs_that_were_not_run() -> None:
    # Four models, five pairs run: 5 at most are true, then 3, 3, 2, 1.
    found = adjust([0.001, 0.002, 0.003, 0.004, 0.005, None], method="shaffer")
    assert found.p_adjusted == pytest.approx((0.005, 0.006, 0.009, 0.009, 0.009, None))


def test_nothing_to_adjust() -> None:
    found = adjust([None, None])
    assert (found.m, found.p_adjusted, found.simultaneous_level) == (0, (None, None), None)
    assert found.note


def test_simultaneous_level() -> None:
    assert simultaneous_level(0.05, 6) == pytest.approx(0.05 / 6)
    assert adjust([0.5] * 6).simultaneous_level == pytest.approx(0.05 / 6)


@pytest.mark.parametrize("wrong", [float("nan"), -0.1, 1.1, float("inf")])
def test_what_is_no_probability_is_refused(wrong: float) -> None:
    with pytest.raises(BadValue, match="a number from 0 to 1"):
        adjust([0.1, wrong])


def test_shaffer_is_for_all_pairs_only() -> None:
    with pytest.raises(BadValue, match="all pairs"):
        adjust([0.1, 0.2], method="shaffer")


def test_unknown_method_and_level() -> None:
    with pytest.raises(UnknownName, match="did you mean 'holm'"):
        adjust([0.1], method="holms")
    with pytest.raises(BadValue, match="strictly between 0 and 1"):
        adjust([0.1], alpha=5)


def test_functions_take_numbers_as_they_come_and_refuse_what_is_no_probability() -> None:
    assert stats.holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])
    # Three models: once one pair differs, at most one other pair can be equal.
    assert stats.shaffer([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.04, 0.03])
    assert stats.bonferroni([0.01, 0.4]) == pytest.approx([0.02, 0.8])
    assert stats.benjamini_hochberg([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.04, 0.04])
    for function in (stats.holm, stats.shaffer, stats.bonferroni, stats.benjamini_hochberg):
        with pytest.raises(BadValue, match="p-value is 2"):
            function([0.1, 2.0, 0.3])
