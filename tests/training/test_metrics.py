"""Metrics against scikit-learn, and the laws they obey."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from sklearn import metrics as reference

from gnz_track.errors import BadValue
from gnz_track.training.metrics import (
    DEFAULT_METRICS,
    FORMS,
    METRICS,
    MULTI_LABEL_METRICS,
    MetricRow,
    accuracy,
    auc,
    average_precision,
    brier,
    f1_macro,
    f1_micro,
    hits_at,
    mae,
    mcc,
    mrr,
    mse,
    nll,
    r2,
    rank_links,
    rmse,
)
from gnz_track.types import Direction, TaskType

Array = Any
SCORES = st.one_of(st.integers(-2, 2).map(float), st.floats(-1e6, 1e6, width=32))
LABELS = st.sampled_from([0.0, 1.0])
QUICK = settings(deadline=None, max_examples=100)


@st.composite
def labelled(draw: st.DrawFn, labels: Any = LABELS) -> tuple[Array, Array]:
    """Draw truth and scores of 1 to 30 examples, with many ties."""
    pairs = draw(st.lists(st.tuples(labels, SCORES), min_size=1, max_size=30))
    truth, scores = np.array(pairs).T
    return truth, scores


@QUICK
@given(labelled())
def test_auc_is_that_of_scikit_learn(case: tuple[Array, Array]) -> None:
    truth, scores = case
    if len(set(truth)) == 1:
        assert math.isnan(auc(truth, scores))
    else:
        assert auc(truth, scores) == pytest.approx(reference.roc_auc_score(truth, scores), abs=1e-12)


@QUICK
@given(labelled())
def test_average_precision_is_that_of_scikit_learn(case: tuple[Array, Array]) -> None:
    truth, scores = case
    if not truth.any():
        assert math.isnan(average_precision(truth, scores))
    else:
        expected = reference.average_precision_score(truth, scores)
        assert average_precision(truth, scores) == pytest.approx(expected, abs=1e-12)


REFERENCES: dict[Callable[..., float], Callable[..., float]] = {
    auc: reference.roc_auc_score,
    average_precision: reference.average_precision_score,
}


@pytest.mark.parametrize("metric", REFERENCES)
@QUICK
@given(st.data())
def test_several_labels_are_averaged_where_they_are_defined(metric: Callable[..., float], data: st.DataObject) -> None:
    n, n_labels = data.draw(st.integers(1, 12)), data.draw(st.integers(1, 4))
    cells = st.sampled_from([0.0, 1.0, math.nan])
    truth = np.array(data.draw(st.lists(cells, min_size=n * n_labels, max_size=n * n_labels))).reshape(n, n_labels)
    scores = np.array(data.draw(st.lists(SCORES, min_size=n * n_labels, max_size=n * n_labels))).reshape(n, n_labels)
    expected = []
    for wanted, found in zip(truth.T, scores.T, strict=True):
        wanted, found = wanted[~np.isnan(wanted)], found[~np.isnan(wanted)]  # noqa: PLW2901
        if 1.0 in wanted and (metric is average_precision or 0.0 in wanted):
            expected.append(REFERENCES[metric](wanted, found))
    result = metric(truth, scores)
    assert math.isnan(result) if not expected else result == pytest.approx(np.mean(expected), abs=1e-12)


@pytest.mark.parametrize("metric", REFERENCES)
@QUICK
@given(labelled(st.sampled_from([0.0, 1.0, math.nan])))
def test_one_label_may_be_unobserved_too(metric: Callable[..., float], case: tuple[Array, Array]) -> None:
    truth, scores = case
    kept = ~np.isnan(truth)
    np.testing.assert_equal(metric(truth, scores), metric(truth[kept], scores[kept]))


@QUICK
@given(labelled())
def test_auc_depends_on_order_only(case: tuple[Array, Array]) -> None:
    truth, scores = case
    assume(len(set(truth)) == 2)
    # Exact in floating point, so that ties stay ties and nothing else becomes one.
    ranks = np.unique(scores, return_inverse=True)[1]
    assert auc(truth, ranks**3 - 7.0) == auc(truth, scores)
    assert average_precision(truth, ranks**3 - 7.0) == average_precision(truth, scores)


@QUICK
@given(labelled())
def test_auc_of_the_opposite_labels_is_the_complement(case: tuple[Array, Array]) -> None:
    truth, scores = case
    assume(len(set(truth)) == 2)
    assert auc(1 - truth, scores) == pytest.approx(1 - auc(truth, scores), abs=1e-12)
    assert auc(truth, -scores) == pytest.approx(1 - auc(truth, scores), abs=1e-12)


@pytest.mark.parametrize(("metric", "expected"), [(auc, 0.5), (average_precision, 0.3)])
def test_scores_that_are_all_equal_say_nothing(metric: Callable[..., float], expected: float) -> None:
    assert metric(np.array([1] * 3 + [0] * 7), np.zeros(10)) == pytest.approx(expected)


@pytest.mark.parametrize("dtype", [np.int64, np.float32, np.bool_])
def test_labels_of_any_type(dtype: Any) -> None:
    truth, scores = np.array([0, 1, 1, 0, 1]), np.array([0.1, 0.4, 0.2, 0.3, 0.3], dtype=np.float32)
    assert auc(truth.astype(dtype), scores) == reference.roc_auc_score(truth, scores)
    assert average_precision(truth.astype(dtype), scores) == pytest.approx(
        reference.average_precision_score(truth, scores)
    )


@pytest.mark.parametrize("metric", REFERENCES)
@pytest.mark.parametrize("place", [0, 1, 2, 3])
def test_scores_that_are_no_numbers_give_no_number(metric: Callable[..., float], place: int) -> None:
    scores = np.array([0.1, 0.4, 0.2, 0.3])
    scores[place] = math.nan
    assert math.isnan(metric(np.array([0, 1, 1, 0]), scores))


@QUICK
@given(labelled(SCORES))
def test_errors_are_those_of_scikit_learn(case: tuple[Array, Array]) -> None:
    truth, prediction = case
    assert mae(truth, prediction) == pytest.approx(reference.mean_absolute_error(truth, prediction))
    assert mse(truth, prediction) == pytest.approx(reference.mean_squared_error(truth, prediction))
    assert mae(truth, truth) == mse(truth, truth) == 0
    assert mae(truth, prediction) == mae(prediction, truth)


def test_errors_leave_out_what_is_not_observed() -> None:
    truth = np.array([[1.0, math.nan], [2.0, 5.0]], dtype=np.float32)
    prediction = np.array([[2.0, 9.0], [2.0, 3.0]], dtype=np.float32)
    assert mae(truth, prediction) == 1.0
    assert mse(truth, prediction) == pytest.approx(5 / 3)


@QUICK
@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=1, max_size=30))
def test_accuracy_is_that_of_scikit_learn(pairs: list[tuple[int, int]]) -> None:
    truth, prediction = np.array(pairs).T
    assert accuracy(truth, prediction) == pytest.approx(reference.accuracy_score(truth, prediction), abs=1e-15)


@pytest.mark.parametrize("metric", [accuracy, auc, average_precision, mae, mse])
@pytest.mark.parametrize("shape", [(0,), (0, 3)])
def test_nothing_observed_gives_no_number(metric: Callable[..., float], shape: tuple[int, ...]) -> None:
    assert math.isnan(metric(np.zeros(shape), np.zeros(shape)))


def test_labels_never_observed_give_no_number() -> None:
    truth = np.full((3, 2), math.nan)
    assert all(math.isnan(metric(truth, np.ones((3, 2)))) for metric in (auc, average_precision, mae, mse))


@QUICK
@given(st.lists(st.integers(1, 30).map(lambda rank: rank / 2 + 0.5), min_size=1, max_size=20))
def test_rank_metrics_are_means_over_ranks(ranks: list[float]) -> None:
    found = np.array(ranks)
    assert mrr(found) == pytest.approx(sum(1 / rank for rank in ranks) / len(ranks))
    for k in (1, 3, 10):
        assert hits_at(found, k=k) == pytest.approx(sum(rank <= k for rank in ranks) / len(ranks))


@QUICK
@given(labelled(), st.integers(1, 6))
def test_hits_are_links_above_the_score_that_so_many_non_links_reach(case: tuple[Array, Array], k: int) -> None:
    truth, scores = case
    links, others = scores[truth == 1], sorted(scores[truth == 0], reverse=True)
    found = hits_at(rank_links(truth, scores), k=k)
    if not links.size:
        assert math.isnan(found)
        return
    # As the published evaluator has it: strictly above the k-th best of the others, and all where these are fewer.
    assert found == (sum(links > others[k - 1]) / links.size if len(others) >= k else 1.0)
    assert found <= hits_at(rank_links(truth, scores), k=k + 1)
    # A product with a power of two rounds nothing.
    assert found == hits_at(rank_links(truth, 2 * scores), k=k)
    assert math.isnan(hits_at(rank_links(truth, np.append(scores[:-1], math.nan)), k=k)) or not truth[:-1].any()


@QUICK
@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), min_size=1, max_size=40))
def test_macro_f1_is_that_of_scikit_learn(pairs: list[tuple[int, int]]) -> None:
    truth, prediction = np.array(pairs).T
    assert f1_macro(truth, prediction) == pytest.approx(reference.f1_score(truth, prediction, average="macro"))
    assert math.isnan(f1_macro(truth[:0], prediction[:0]))


@QUICK
@given(st.lists(st.tuples(*[st.sampled_from([0.0, 1.0])] * 6), min_size=1, max_size=20))
def test_f1_of_several_labels_is_that_of_scikit_learn(rows: list[tuple[float, ...]]) -> None:
    truth, prediction = np.array(rows).reshape(len(rows), 2, 3).transpose(1, 0, 2)
    assume((truth + prediction).any())
    expected = reference.f1_score(truth, prediction, average="micro", zero_division=0)
    assert f1_micro(truth, prediction) == pytest.approx(expected)
    shown = (truth + prediction).any(axis=0)
    columns = zip(truth[:, shown].T, prediction[:, shown].T, strict=True)
    each = [reference.f1_score(*column, zero_division=0) for column in columns]
    assert f1_macro(truth, prediction) == pytest.approx(np.mean(each))


def test_labels_that_are_not_observed_count_neither_way() -> None:
    truth, prediction = np.array([[1.0, np.nan], [0.0, 1.0]]), np.array([[1, 1], [0, 1]])
    assert f1_micro(truth, prediction) == f1_macro(truth, prediction) == 1.0
    assert math.isnan(f1_micro(truth * 0, prediction * 0))
    assert math.isnan(f1_macro(truth * 0, prediction * 0))


@QUICK
@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=1, max_size=40))
def test_correlation_of_classes_is_that_of_scikit_learn(pairs: list[tuple[int, int]]) -> None:
    truth, prediction = np.array(pairs).T
    if len({*truth, *prediction}) > 1:
        assert mcc(truth, prediction) == pytest.approx(reference.matthews_corrcoef(truth, prediction), abs=1e-12)
    else:
        assert mcc(truth, prediction) == 0
    assert math.isnan(mcc(truth[:0], prediction[:0]))


# Within what scikit-learn's log loss does not clip: a probability of 2e-16.
LOGITS = st.one_of(st.integers(-3, 3).map(float), st.floats(-16, 16, width=32))


@QUICK
@given(st.data())
def test_proper_scores_of_classes_are_those_of_scikit_learn(data: st.DataObject) -> None:
    n, n_classes = data.draw(st.integers(1, 12)), data.draw(st.integers(2, 4))
    truth = np.array(data.draw(st.lists(st.integers(0, n_classes - 1), min_size=n, max_size=n)))
    drawn = data.draw(st.lists(LOGITS, min_size=n * n_classes, max_size=n * n_classes))
    logits = np.array(drawn, dtype=np.float32).reshape(n, n_classes)
    p, labels = np.exp(logits.astype(np.float64)), list(range(n_classes))
    p /= p.sum(axis=1, keepdims=True)
    assert nll(truth, logits) == pytest.approx(reference.log_loss(truth, p, labels=labels), abs=1e-9)
    expected = reference.brier_score_loss(truth, p, labels=labels, scale_by_half=False)
    assert brier(truth, logits) == pytest.approx(expected, abs=1e-9)
    # The same for logits that no exponential holds.
    assert nll(truth, logits + 3000) == pytest.approx(nll(truth, logits), abs=1e-2)


@QUICK
@given(st.lists(st.tuples(LABELS, LOGITS), min_size=1, max_size=30), st.lists(st.booleans(), min_size=30, max_size=30))
def test_proper_scores_of_labels_are_those_of_scikit_learn(pairs: list[tuple[float, float]], shown: list[bool]) -> None:
    truth, logits = np.array(pairs).T
    p = 1 / (1 + np.exp(-logits))
    assert nll(truth, logits) == pytest.approx(reference.log_loss(truth, p, labels=[0, 1]), rel=1e-6, abs=1e-9)
    expected = reference.brier_score_loss(truth, p, labels=[0, 1], pos_label=1)
    assert brier(truth, logits) == pytest.approx(expected, abs=1e-12)
    # Two classes say the same; their squares count twice.
    both = np.stack([np.zeros_like(logits), logits], axis=1)
    assert nll(truth.astype(np.int64), both) == pytest.approx(nll(truth, logits))
    assert brier(truth.astype(np.int64), both) == pytest.approx(2 * brier(truth, logits))
    known = np.array(shown[: truth.size])
    for metric in (nll, brier):
        np.testing.assert_equal(metric(np.where(known, truth, math.nan), logits), metric(truth[known], logits[known]))


@pytest.mark.parametrize("metric", [nll, brier])
@pytest.mark.parametrize("shape", [(2,), (2, 2)])
def test_probabilities_that_are_no_numbers_give_no_number(metric: Callable[..., float], shape: tuple[int, ...]) -> None:
    logits = np.zeros(shape)
    logits[0] = math.nan
    assert math.isnan(metric(np.array([0, 1]), logits))
    assert math.isnan(metric(np.zeros(0, dtype=np.int64), logits[:0]))


def test_certainty_that_is_wrong_costs_what_it_should_and_no_warning() -> None:
    with np.errstate(over="raise", divide="raise", invalid="raise"):
        assert nll(np.array([0.0, 1.0]), np.array([1e4, 1e4])) == 5000
        assert brier(np.array([0.0, 1.0]), np.array([800.0, 800.0])) == 0.5
    assert nll(np.array([1, 0]), np.array([[0.0, -math.inf], [0.0, -math.inf]])) == math.inf


@QUICK
@given(labelled(SCORES))
def test_shares_of_variance_and_roots_are_those_of_scikit_learn(case: tuple[Array, Array]) -> None:
    truth, prediction = case
    assert rmse(truth, prediction) == pytest.approx(reference.root_mean_squared_error(truth, prediction))
    if np.ptp(truth) < 1e-3:
        assume(np.ptp(truth) == 0 and np.square(truth - truth.mean()).sum() == 0)
        assert math.isnan(r2(truth, prediction))
    else:
        assert r2(truth, prediction) == pytest.approx(reference.r2_score(truth, prediction), rel=1e-6, abs=1e-6)


def test_shares_of_variance_are_averaged_over_targets_and_leave_out_what_is_not_observed() -> None:
    truth = np.array([[1.0, 4.0, 7.0], [2.0, math.nan, 7.0], [4.0, 1.0, 7.0]])
    prediction = np.array([[1.5, 3.0, 7.0], [2.0, 9.0, 7.0], [3.0, 2.0, 7.0]])
    columns = (truth[:, 0], prediction[:, 0]), (truth[::2, 1], prediction[::2, 1])
    assert r2(truth, prediction) == pytest.approx(np.mean([reference.r2_score(*column) for column in columns]))
    assert math.isnan(rmse(np.full(2, math.nan), np.ones(2)))


def test_every_metric_has_a_row_and_its_direction() -> None:
    down = {name for name in METRICS if METRICS.get(name).direction is Direction.down}
    assert down == {"mae", "mse", "rmse", "log10_mse", "nll", "brier"}
    assert {kind for row in METRICS.rows() for kind in row.usual} == set(FORMS), "a kind of problem has no metric"
    assert all({*row.usual, *row.asked} and not {*row.usual} & {*row.asked} for row in METRICS.rows())
    assert all(METRICS.get(name).name == name for name in METRICS)
    errors, logarithms = {"mae", "mse", "rmse", "nll"}, {"log10_mse"}
    others = {"brier": (0, 2), "mcc": (-1, 1), "r2": (-math.inf, 1)}
    assert {name: METRICS.get(name).bounds for name in METRICS} == {
        **dict.fromkeys(METRICS, (0, 1)),
        **dict.fromkeys(errors, (0, math.inf)),
        **dict.fromkeys(logarithms, (-math.inf, math.inf)),
        **others,
    }
    usual = {*DEFAULT_METRICS.values(), *MULTI_LABEL_METRICS.values()}
    assert usual <= set(METRICS)
    assert set(DEFAULT_METRICS) == set(TaskType)


@pytest.mark.parametrize(
    ("takes", "kind", "words"),
    [
        ("scores", "classes", "takes of classes is 'scores'; allowed: decisions, logits"),
        ("ranks", "numbers", "takes of numbers is 'ranks'; allowed: numbers"),
        ("scores", "nodes", "a kind of problem that metric 'kappa' serves is 'nodes'; allowed: classes, two classes"),
    ],
)
def test_a_row_that_takes_what_its_kind_does_not_give_is_refused(takes: Any, kind: Any, words: str) -> None:
    with pytest.raises(BadValue, match=words):
        MetricRow(name="kappa", direction=Direction.up, description="", function=auc, takes=takes, asked=(kind,))


@pytest.mark.parametrize("n", [19, 188, 1_000])
def test_one_example_more_is_the_same_difference_everywhere(n: int) -> None:
    truth = np.ones(n, dtype=np.int64)
    shares = [accuracy(truth, (np.arange(n) < right).astype(np.int64)) for right in range(n + 1)]
    assert shares == [right / n for right in range(n + 1)]
