"""Curves and counts: against scikit-learn, with ties, one class, and examples that are not there."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import average_precision_score, confusion_matrix, precision_recall_curve, roc_auc_score, roc_curve

from gnz_track.errors import BadValue
from gnz_track.stats.predictions.curves import count_confusions, count_ranks, trace_precision_recall, trace_roc

LAW = settings(deadline=None, max_examples=80)
SCORED = st.lists(st.tuples(st.integers(-4, 4).map(lambda x: x / 4), st.integers(0, 1)), min_size=1, max_size=30)
BOTH = SCORED.filter(lambda rows: {label for _, label in rows} == {0, 1})


@LAW
@given(BOTH)
def test_roc_is_scikit_learn_s(rows: list[tuple[float, int]]) -> None:
    scores, targets = zip(*rows, strict=True)
    found = trace_roc(scores, targets)
    false_positive, true_positive, thresholds = roc_curve(targets, scores, drop_intermediate=False)
    assert found.false_positive == pytest.approx(false_positive)
    assert found.true_positive == pytest.approx(true_positive)
    assert found.thresholds.tolist() == thresholds.tolist()
    assert found.area == pytest.approx(roc_auc_score(targets, scores))


@LAW
@given(SCORED.filter(lambda rows: any(label for _, label in rows)))
def test_precision_and_recall_are_scikit_learn_s(rows: list[tuple[float, int]]) -> None:
    scores, targets = zip(*rows, strict=True)
    found = trace_precision_recall(scores, targets)
    precision, recall, thresholds = precision_recall_curve(targets, scores)
    assert found.precision[::-1] == pytest.approx(precision[:-1])
    assert found.recall[::-1] == pytest.approx(recall[:-1])
    assert found.thresholds[::-1].tolist() == thresholds.tolist()
    assert found.average_precision == pytest.approx(average_precision_score(targets, scores))
    assert found.base_rate == pytest.approx(np.mean(targets))


@LAW
@given(BOTH)
def test_turned_scores_have_the_rest_of_the_area(rows: list[tuple[float, int]]) -> None:
    scores, targets = (np.array(part, dtype=np.float64) for part in zip(*rows, strict=True))
    assert (trace_roc(-scores, targets).area or 0.0) == pytest.approx(1.0 - (trace_roc(scores, targets).area or 0.0))
    gap = np.append(scores, np.nan)
    assert trace_roc(gap, np.append(targets, 1.0)).area == trace_roc(scores, targets).area


def test_one_class_has_no_area() -> None:
    for target in (0, 1):
        found = trace_roc([0.1, 0.9], [target] * 2)
        assert found.area is None
        assert (found.n_positive, found.n_negative) == (2 * target, 2 - 2 * target)
        assert np.isnan(found.false_positive if target else found.true_positive).all()
    nothing = trace_precision_recall([0.1, 0.9], [0, 0])
    assert (nothing.average_precision, nothing.base_rate) == (None, 0.0)
    assert trace_precision_recall([0.1], [1]).average_precision == 1.0
    empty = trace_roc([np.nan], [1])
    assert (empty.area, empty.true_positive.size) == (None, 1)
    assert trace_precision_recall([np.nan], [1]).base_rate is None


def test_confusions_are_scikit_learn_s() -> None:
    rng = np.random.default_rng(0)
    decisions, targets = rng.integers(4, size=(2, 3, 80)).astype(float), rng.integers(3, size=80)
    decisions[1, 2, :30] = np.nan
    found = count_confusions(decisions, targets, n_classes=5)
    for m, s in np.ndindex(2, 3):
        known = ~np.isnan(decisions[m, s])
        expected = confusion_matrix(targets[known], decisions[m, s, known], labels=range(5))
        assert (found[m, s] == expected).all()


@LAW
@given(st.lists(st.one_of(st.integers(1, 2000).map(float), st.just(2.5), st.just(float("nan"))), max_size=20))
def test_ranks_are_counted_up_to_each_edge(ranks: list[float]) -> None:
    found = count_ranks([[ranks]], edges=(1, 3, 10, 100))
    known = np.array([rank for rank in ranks if not np.isnan(rank)])
    assert found.counts.sum() == known.size
    assert found.counts.shape == (1, 1, len(found.edges))
    if known.size:
        assert found.hits[0, 0] == pytest.approx([(known <= edge).mean() for edge in found.edges])
        assert found.counts[0, 0, -1] > 0
        assert found.hits[0, 0, -1] == 1.0
    else:
        assert np.isnan(found.hits).all()


def test_bins_of_ranks_end_at_the_last_that_is_needed() -> None:
    found = count_ranks([[[1.0, 4.0, 12.0]], [[1.0, 1.0, 2.0]]])
    assert found.edges == (1, 2, 3, 5, 10, 20)
    assert found.counts[:, 0].tolist() == [[1, 0, 0, 1, 0, 1], [2, 1, 0, 0, 0, 0]]
    assert count_ranks([[[5.0]]], edges=(1,)).edges == (1, np.inf)


def test_wrong_input_is_refused() -> None:
    with pytest.raises(BadValue, match="0 or 1"):
        trace_roc([0.5], [2])
    with pytest.raises(BadValue, match="one for each of 1 examples"):
        trace_roc([0.5], [1, 0])
    with pytest.raises(BadValue, match="which count from 1"):
        count_ranks([[[0.0]]])
    for edges in ((), (2, 1)):
        with pytest.raises(BadValue, match="ascending"):
            count_ranks([[[1.0]]], edges=edges)
    with pytest.raises(BadValue, match="a class from 0 to 1"):
        count_confusions([[[2.0]]], [1], n_classes=2)
