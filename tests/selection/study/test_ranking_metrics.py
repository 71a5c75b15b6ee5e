"""Metrics of a ranking against scikit-learn, and how ties count."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import label_ranking_average_precision_score, ndcg_score, roc_auc_score

from gnz_track.selection.study.ranking_metrics import (
    RANKING_METRICS,
    area_under_curve,
    gain_at_one,
    hit_rate,
    reciprocal_rank,
    regret,
)

NUMBERS = st.integers(0, 20)


@given(st.lists(st.tuples(st.integers(1, 10**6), NUMBERS), min_size=2, max_size=30, unique_by=lambda pair: pair[0]))
def test_metrics_are_those_of_scikit_learn(pairs: list[tuple[int, int]]) -> None:
    true, predicted = (np.array([column], dtype=float) for column in zip(*pairs, strict=True))
    is_best = true == true.max()
    assert area_under_curve(true, predicted)[0] == pytest.approx(roc_auc_score(is_best[0], predicted[0]))
    expected = label_ranking_average_precision_score(is_best, predicted)
    assert reciprocal_rank(true, predicted)[0] == pytest.approx(expected)
    # The ideal order has the best first, so that the ratio is that of linear gains.
    assert gain_at_one(true, predicted)[0] == pytest.approx(ndcg_score(true, predicted, k=1))


def test_ties_count_by_half_in_full_and_by_their_mean() -> None:
    true, predicted = np.array([[0.9, 0.5, 0.1, 0.7]]), np.array([[2.0, 2.0, 1.0, 2.0]])
    assert area_under_curve(true, predicted)[0] == pytest.approx((1 + 0.5 * 2) / 3)
    assert reciprocal_rank(true, predicted)[0] == pytest.approx(1 / 3)
    assert gain_at_one(true, predicted)[0] == pytest.approx((0.9 + 0.5 + 0.7) / 3 / 0.9)
    assert regret(true, predicted)[0] == pytest.approx(0.9 - 0.7)


def test_unknown_scores_leave_the_ranking() -> None:
    true = np.array([[np.nan, 0.5, 0.1], [np.nan, np.nan, 0.3]])
    predicted = np.array([[9.0, 2.0, 1.0], [1.0, 2.0, 3.0]])
    assert area_under_curve(true, predicted)[0] == 1
    assert reciprocal_rank(true, predicted)[0] == 1
    assert all(np.isnan(score(true, predicted)[1]) for score, _ in RANKING_METRICS.values())


def test_hits_are_the_shared_part_of_both_tops() -> None:
    true, predicted = np.array([[5.0, 4.0, 3.0, 2.0, 1.0]]), np.array([[1.0, 5.0, 4.0, 3.0, 2.0]])
    assert hit_rate(true, predicted, k=1)[0] == 0
    assert hit_rate(true, predicted, k=3)[0] == pytest.approx(2 / 3)
    assert hit_rate(true, predicted, k=50)[0] == 1


def test_a_gain_of_scores_below_zero_is_unknown() -> None:
    assert np.isnan(gain_at_one(np.array([[-1.0, -2.0]]), np.array([[1.0, 0.0]]))[0])
    assert regret(np.array([[-1.0, -2.0]]), np.array([[0.0, 1.0]]))[0] == 1
