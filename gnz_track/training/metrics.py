"""Metrics: small functions of arrays, each a row with its direction, its bounds and the kinds of problem it serves.

A row of :data:`ROWS` is all there is to a metric: scorers compute what serves the kind of problem that they score. What
its function is given is the form that the row names (:data:`FORMS`). Every function returns one float; NaN says that
the metric is not defined there (one class only, no observed label).
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from gnz_track.errors import BadValue
from gnz_track.registry import Registry
from gnz_track.types import Direction, Metric, Task, TaskType

__all__ = [
    "DEFAULT_METRICS",
    "FORMS",
    "METRICS",
    "Form",
    "Kind",
    "MetricRow",
    "accuracy",
    "auc",
    "average_precision",
    "balanced_accuracy",
    "brier",
    "f1",
    "f1_macro",
    "f1_micro",
    "find_metric",
    "hits_at",
    "log10_of",
    "mae",
    "mcc",
    "metric_of",
    "metrics_of",
    "mrr",
    "mse",
    "nll",
    "presumed_metric",
    "r2",
    "rank_links",
    "rmse",
]

Array = NDArray[np.generic]
Score = Callable[[Array, Array], float]

Kind = Literal["classes", "two classes", "labels", "numbers", "links", "published links", "triples", "levels"]
Form = Literal["decisions", "scores", "logits", "numbers", "ranks", "error"]

# Kind of problem -> the forms in which its answers can be had. ``decisions``: the true classes [n], and those decided
# for (of labels 0 and 1 [n, labels]); ``scores``: what is true, as 0 and 1 ([n] or [n, labels]), and a score for each;
# ``logits``: the true classes [n] with a logit for each class [n, classes], or 0 and 1 with a logit for each;
# ``numbers``: true ones and predicted ones; ``ranks``: those of the true answers [n], from 1; ``error``: the mean of
# all squared errors.
FORMS: Mapping[Kind, tuple[Form, ...]] = {
    "classes": ("decisions", "logits"),
    "two classes": ("decisions", "scores", "logits"),
    "labels": ("decisions", "scores", "logits"),
    "numbers": ("numbers",),
    "links": ("scores", "ranks", "logits"),
    "published links": ("scores", "ranks", "logits"),
    "triples": ("scores", "ranks", "logits"),
    "levels": ("error",),
}
# Kinds whose answers can be read as probabilities.
LIKELY: tuple[Kind, ...] = ("classes", "two classes", "labels", "links", "published links", "triples")


@dataclass(frozen=True, kw_only=True)
class MetricRow(Metric):
    """A metric with its function, the form of what this ``takes``, and the kinds of problem that it serves.

    On those of ``usual`` it is always computed, on those of ``asked`` where a task asks for it. Of numbers,
    ``best_constant`` says which one answer to all examples it scores best.
    """

    function: Callable[..., float]
    takes: Form
    usual: tuple[Kind, ...] = ()
    asked: tuple[Kind, ...] = ()
    best_constant: Literal["mean", "median"] = "mean"

    def __post_init__(self) -> None:
        for kind in (*self.usual, *self.asked):
            if kind not in FORMS:
                raise BadValue(f"a kind of problem that metric {self.name!r} serves", kind, ", ".join(FORMS))
            if self.takes not in FORMS[kind]:
                raise BadValue(f"what metric {self.name!r} takes of {kind}", self.takes, ", ".join(FORMS[kind]))


METRICS: Registry[MetricRow] = Registry("metric")
DEFAULT_METRICS: dict[TaskType, str] = {
    TaskType.node_cls: "accuracy",
    TaskType.graph_cls: "accuracy",
    TaskType.graph_reg: "mae",
    TaskType.link_pred: "auc",
    TaskType.edge_cls: "accuracy",
    TaskType.multi_task: "log10_mse",
    TaskType.node_reg: "mae",
    TaskType.edge_reg: "mae",
}
# The same where an example has several labels: classes of graphs and of nodes alone come so.
MULTI_LABEL_METRICS: dict[TaskType, str] = {
    TaskType.graph_cls: "average_precision",
    TaskType.node_cls: "f1_micro",
}
# The logarithm of less than this says nothing.
SMALLEST = 1e-30


def metrics_of(kind: Kind, *, is_full: bool = False) -> list[MetricRow]:
    """Return the usual metrics of a kind of problem, and then those a task may ask for where the list is to be full."""
    rows = METRICS.rows()
    asked = [row for row in rows if kind in row.asked] if is_full else []
    return [row for row in rows if kind in row.usual] + asked


def find_metric(kind: Kind, name: str) -> MetricRow:
    """Return a metric of a kind of problem by name; one that does not serve it is refused with those that do."""
    # Asked for at every epoch, and in every part.
    row = METRICS.get(name) if name in METRICS else None
    if row is not None and (kind in row.usual or kind in row.asked):
        return row
    raise BadValue("metric of the task", name, ", ".join(row.name for row in metrics_of(kind, is_full=True)))


def metric_of(task: Task, *, is_multi_label: bool) -> MetricRow:
    """Return the metric of a task: the one it names, or the usual one of its task type."""
    # Several numbers to predict may be 0 and 1 by chance.
    has_labels = is_multi_label and task.task_type in MULTI_LABEL_METRICS
    usual = (MULTI_LABEL_METRICS if has_labels else DEFAULT_METRICS).get(task.task_type, "")
    return METRICS.get(task.metric or usual)


def presumed_metric(task: Task) -> Metric:
    """Return the metric of a cell before its data have said more; it may name one that does not exist."""
    name = task.metric or DEFAULT_METRICS.get(task.task_type, "")
    return METRICS.get(name) if name in METRICS else Metric(name=name, direction=Direction.up, description="unknown")


def accuracy(truth: Array, prediction: Array) -> float:
    """Return the share of ``prediction [n]`` (classes) equal to ``truth [n]``.

    As exact as a float64 is: in float32, differences of one example would differ from seed to seed by rounding, and
    tests would take that for spread.
    """
    return float(np.count_nonzero(truth == prediction) / truth.size) if truth.size else float("nan")


def f1_macro(truth: Array, prediction: Array) -> float:
    """Return the mean F1 over the classes that ``truth [n]`` or ``prediction [n]`` (classes) has.

    F1 is ``2 * hits / (true + predicted)``; a class without a hit counts 0 (van Rijsbergen, 1979). Of several labels of
    each example ``[n, labels]`` it is the mean over labels that are true or predicted anywhere.

    >>> f1_macro(np.array([0, 0, 1]), np.array([0, 1, 1]))
    0.6666666666666666
    """
    if truth.ndim > 1:
        hits, counts = _count_hits(truth, prediction)
        return float((2 * hits[counts > 0] / counts[counts > 0]).mean()) if counts.any() else float("nan")
    classes, codes = np.unique(np.concatenate([truth, prediction]), return_inverse=True)
    wanted, found = codes[: truth.size], codes[truth.size :]
    hits = np.bincount(wanted[wanted == found], minlength=classes.size)
    counts = np.bincount(wanted, minlength=classes.size) + np.bincount(found, minlength=classes.size)
    return float((2 * hits / counts).mean()) if truth.size else float("nan")


def f1_micro(truth: Array, prediction: Array) -> float:
    """Return the F1 of all labels ``[n, labels]`` together: twice the hits over all that is true and all predicted.

    NaN where nothing is true and nothing predicted; NaN in ``truth`` is a label not observed.

    >>> f1_micro(np.array([[1, 0], [1, 1]]), np.array([[1, 1], [1, 0]]))
    0.6666666666666666
    """
    hits, counts = _count_hits(truth, prediction)
    return float(2 * hits.sum() / counts.sum()) if counts.any() else float("nan")


def _count_hits(truth: Array, prediction: Array) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return, of each label, how often it is both true and predicted, and how often either, the first twice."""
    is_true, is_found = truth == 1, (prediction == 1) & ~np.isnan(np.asarray(truth, dtype=np.float64))
    return (is_true & is_found).sum(axis=0), is_true.sum(axis=0) + is_found.sum(axis=0)


def balanced_accuracy(truth: Array, prediction: Array) -> float:
    """Return the mean recall over the classes that ``truth [n]`` or ``prediction [n]`` (classes) has.

    A class that is predicted and never true counts 0, as in the published benchmark of deep graph networks (Dwivedi et
    al., JMLR 2023); where every class is true somewhere it is the usual one (Brodersen et al., 2010).

    >>> balanced_accuracy(np.array([0, 0, 0, 1]), np.array([0, 0, 1, 1]))
    0.8333333333333333
    """
    classes, codes = np.unique(np.concatenate([truth, prediction]), return_inverse=True)
    wanted, found = codes[: truth.size], codes[truth.size :]
    hits = np.bincount(wanted[wanted == found], minlength=classes.size)
    counts = np.bincount(wanted, minlength=classes.size)
    return float((hits / np.maximum(counts, 1)).mean()) if truth.size else float("nan")


def f1(truth: Array, prediction: Array) -> float:
    """Return the F1 of class 1 of ``prediction [n]`` against ``truth [n]``: ``2 hits / (true + predicted)``.

    NaN where class 1 is neither true nor predicted anywhere (van Rijsbergen, 1979).

    >>> f1(np.array([0, 1, 1, 0]), np.array([1, 1, 0, 0]))
    0.5
    """
    n_either = np.count_nonzero(truth == 1) + np.count_nonzero(prediction == 1)
    hits = np.count_nonzero((truth == 1) & (prediction == 1))
    return float(2 * hits / n_either) if n_either else float("nan")


def mcc(truth: Array, prediction: Array) -> float:
    """Return the correlation of ``prediction [n]`` (classes) with ``truth [n]`` (Matthews, 1975; Gorodkin, 2004).

    0 where either has one class only, as by chance.

    >>> round(mcc(np.array([0, 0, 1, 1]), np.array([0, 0, 1, 0])), 4)
    0.5774
    """
    if not truth.size:
        return float("nan")
    classes, codes = np.unique(np.concatenate([truth, prediction]), return_inverse=True)
    wanted = np.bincount(codes[: truth.size], minlength=classes.size)
    found = np.bincount(codes[truth.size :], minlength=classes.size)
    n, hits = truth.size, np.count_nonzero(truth == prediction)
    spreads = (n * n - int(wanted @ wanted)) * (n * n - int(found @ found))
    return float((n * hits - int(wanted @ found)) / math.sqrt(spreads)) if spreads else 0.0


def nll(truth: Array, prediction: Array) -> float:
    """Return the mean of -log p, p the probability of what is true.

    Of classes ``[n]`` probabilities are the softmax of logits ``[n, classes]``; of 0/1 ``truth`` of the shape of the
    logits they are logistic, and NaN in ``truth`` is a label not observed.

    >>> round(nll(np.array([0, 1]), np.array([[2.0, 0.0], [0.0, 0.0]])), 4)
    0.41
    """
    if truth.ndim < prediction.ndim:
        losses = -_log_softmax(prediction)[np.arange(truth.size), truth]
    else:
        y, z = _observed_logits(truth, prediction)
        losses = _softplus(np.where(y > 0, -z, z))
    return float(losses.mean()) if losses.size else float("nan")


def brier(truth: Array, prediction: Array) -> float:
    """Return the mean squared error of probabilities (Brier, 1950), which are those of :func:`nll`.

    Of classes it is the sum over all classes, so from 0 to 2, and for two classes twice what 0/1 labels would give.

    >>> brier(np.array([0, 1]), np.array([[0.0, 0.0], [0.0, 0.0]])), brier(np.array([0, 1]), np.array([0.0, 0.0]))
    (0.5, 0.25)
    """
    if truth.ndim < prediction.ndim:
        p = np.exp(_log_softmax(prediction))
        p[np.arange(truth.size), truth] -= 1.0
        errors = np.square(p).sum(axis=1)
    else:
        y, z = _observed_logits(truth, prediction)
        errors = np.square(np.exp(-_softplus(-z)) - y)
    return float(errors.mean()) if errors.size else float("nan")


def _log_softmax(logits: Array) -> NDArray[np.float64]:
    """Return the logarithm of the probability of each class ``[n, classes]``."""
    shifted: NDArray[np.float64] = logits.astype(np.float64)
    # Of infinite logits, as a model that diverges has, nothing is known.
    with np.errstate(invalid="ignore"):
        shifted -= shifted.max(axis=1, keepdims=True, initial=-math.inf)
        shifted -= np.log(np.exp(shifted).sum(axis=1, keepdims=True))
    return shifted


def _softplus(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return log(1 + exp) of values, whatever their size."""
    found: NDArray[np.float64] = np.maximum(values, 0.0) + np.log1p(np.exp(-np.abs(values)))
    return found


def _observed_logits(truth: Array, logits: Array) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the labels that are observed, and their logits."""
    y, z = truth.astype(np.float64), logits.astype(np.float64)
    return y[~np.isnan(y)], z[~np.isnan(y)]


def auc(truth: Array, prediction: Array) -> float:
    """Return the area under the ROC curve of scores ``[n]`` or ``[n, labels]`` against 0/1 ``truth`` of that shape.

    Ties count a half (Mann and Whitney, 1947). With several labels: the mean over labels that have both classes;
    NaN in ``truth`` is a label not observed.

    >>> auc(np.array([0, 1, 1]), np.array([0.1, 0.9, 0.1]))
    0.75
    """
    return _over_labels(_auc_of_label, truth, prediction)


def average_precision(truth: Array, prediction: Array) -> float:
    """Return the average precision of scores ``[n]`` or ``[n, labels]`` against 0/1 ``truth`` of that shape.

    ``sum((recall_k - recall_{k-1}) * precision_k)`` over distinct thresholds, without interpolation.

    >>> average_precision(np.array([0, 1, 1]), np.array([0.8, 0.9, 0.1]))
    0.8333333333333333
    """
    return _over_labels(_average_precision_of_label, truth, prediction)


def mae(truth: Array, prediction: Array) -> float:
    """Return the mean absolute error of ``prediction`` against ``truth``, any shape, NaN in truth left out."""
    error = np.abs(_observed_error(truth, prediction))
    return float(error.mean()) if error.size else float("nan")


def mse(truth: Array, prediction: Array) -> float:
    """Return the mean squared error of ``prediction`` against ``truth``, any shape, NaN in truth left out."""
    error = np.square(_observed_error(truth, prediction))
    return float(error.mean()) if error.size else float("nan")


def rmse(truth: Array, prediction: Array) -> float:
    """Return the root of the mean squared error, over all that is observed."""
    return math.sqrt(mse(truth, prediction))


def r2(truth: Array, prediction: Array) -> float:
    """Return the share of the variance of ``truth`` that is explained: 1 - squared error / squares around the mean.

    Of several columns the mean over those that have a variance; NaN in ``truth`` is left out.

    >>> r2(np.array([1.0, 2.0, 3.0]), np.array([1.0, 2.0, 4.0]))
    0.5
    """
    values = []
    for wanted, found in zip(_as_columns(truth), _as_columns(prediction), strict=True):
        known = wanted[~np.isnan(wanted)].astype(np.float64)
        squares = float(np.square(known - known.mean()).sum()) if known.size else 0.0
        if squares > 0.0:
            values.append(1.0 - float(np.square(_observed_error(wanted, found)).sum()) / squares)
    return float(np.mean(values)) if values else float("nan")


def rank_links(truth: Array, prediction: Array) -> NDArray[np.float64]:
    """Return the rank ``[n_links]`` of each link among the non-links, from 1; of equal scores the worst.

    ``truth [n]`` is 1 for a link and 0 for a non-link, ``prediction [n]`` are scores. Where one of them is no number no
    rank is.
    """
    links, non_links = prediction[truth > 0], np.sort(prediction[truth <= 0])
    if np.isnan(prediction).any():
        return np.full(links.size, math.nan)
    ranks: NDArray[np.float64] = 1.0 + non_links.size - np.searchsorted(non_links, links, side="left")
    return ranks


def hits_at(ranks: Array, *, k: int) -> float:
    """Return the share of ranks ``[n]``, which count from 1, that are at most ``k``.

    Of links, where there are fewer non-links than that, all of them count (Hu et al., NeurIPS 2020).

    >>> hits_at(rank_links(np.array([1, 1, 0, 0]), np.array([0.9, 0.5, 0.5, 0.1])), k=1)
    0.5
    """
    if ranks.size == 0 or np.isnan(ranks).any():
        return float("nan")
    return float(np.count_nonzero(ranks <= k) / ranks.size)


def mrr(ranks: Array) -> float:
    """Return the mean of one over the rank, of ranks ``[n]`` that count from 1."""
    return float((1.0 / ranks.astype(np.float64)).mean())


def log10_of(error: float) -> float:
    """Return the decimal logarithm of an error; one that is no number stays what it is."""
    return math.log10(max(error, SMALLEST)) if math.isfinite(error) else error


def _observed_error(truth: Array, prediction: Array) -> NDArray[np.float64]:
    error = np.asarray(prediction, dtype=np.float64) - np.asarray(truth, dtype=np.float64)
    observed: NDArray[np.float64] = error[~np.isnan(np.asarray(truth, dtype=np.float64))]
    return observed


def _over_labels(score: Score, truth: Array, prediction: Array) -> float:
    """Return the mean of a score over the labels that define it; the score takes the predictions of either class."""
    columns = zip(_as_columns(truth), _as_columns(prediction), strict=True)
    # An unobserved label is neither above zero nor at most zero. Sorted numbers are found faster, and NaN is last.
    by_class = [(np.sort(found[wanted > 0]), np.sort(found[wanted <= 0])) for wanted, found in columns]
    values = [score(positive, negative) for positive, negative in by_class]
    defined = [value for value in values if not math.isnan(value)]
    if len(defined) == 1:
        return defined[0]
    return float(np.mean(defined)) if defined else float("nan")


def _as_columns(array: Array) -> Array:
    return array[np.newaxis] if array.ndim == 1 else array.T


def _auc_of_label(positive: Array, negative: Array) -> float:
    if positive.size == 0 or negative.size == 0 or np.isnan(positive[-1]) or np.isnan(negative[-1]):
        return float("nan")
    below = np.searchsorted(negative, positive, side="left").sum()
    not_above = np.searchsorted(negative, positive, side="right").sum()
    return float((below + not_above) / (2 * positive.size * negative.size))


def _average_precision_of_label(positive: Array, negative: Array) -> float:
    if positive.size == 0 or np.isnan(positive[-1]) or (negative.size > 0 and np.isnan(negative[-1])):
        return float("nan")
    # The sum over recall steps is the mean over positives of the precision at their own threshold.
    hits = positive.size - np.searchsorted(positive, positive, side="left")
    false_alarms = negative.size - np.searchsorted(negative, positive, side="left")
    return float((hits / (hits + false_alarms)).mean())


ROWS: tuple[MetricRow, ...] = (
    MetricRow(
        name="accuracy",
        direction=Direction.up,
        low=0.0,
        high=1.0,
        description="share of right classes",
        function=accuracy,
        takes="decisions",
        usual=("classes", "two classes"),
    ),
    MetricRow(
        name="f1_macro",
        direction=Direction.up,
        low=0.0,
        high=1.0,
        description="mean over classes of the harmonic mean of precision and recall",
        function=f1_macro,
        takes="decisions",
        usual=("classes", "two classes", "labels"),
    ),
    MetricRow(
        name="f1_micro",
        direction=Direction.up,
        low=0.0,
        high=1.0,
        description="harmonic mean of precision and recall of all labels together",
        function=f1_micro,
        takes="decisions",
        usual=("labels",),
    ),
    MetricRow(
        name="balanced_accuracy",
        direction=Direction.up,
        low=0.0,
        high=1.0,
        description="mean over classes of the share of the class that is found",
        function=balanced_accuracy,
        takes="decisions",
        asked=("classes", "two classes"),
    ),
    MetricRow(
        name="f1",
        direction=Direction.up,
        low=0.0,
        high=1.0,
        description="harmonic mean of precision and recall of the second of two classes",
        function=f1,
        takes="decisions",
        asked=("two classes",),
    ),
    MetricRow(
        name="mcc",
        direction=Direction.up,
        low=-1.0,
        high=1.0,
        description="correlation of classes found with true ones (Matthews)",
        function=mcc,
        takes="decisions",
        asked=("classes", "two classes"),
    ),
    MetricRow(
        name="nll",
        direction=Direction.down,
        low=0.0,
        description="mean of -log of the probability of what is true (log loss)",
        function=nll,
        takes="logits",
        asked=LIKELY,
    ),
    MetricRow(
        name="brier",
        direction=Direction.down,
        low=0.0,
        high=2.0,
        description="mean squared error of probabilities, summed over classes",
        function=brier,
        takes="logits",
        asked=LIKELY,
    ),
    MetricRow(
        name="auc",
        direction=Direction.up,
        low=0.0,
        high=1.0,
        description="area under the ROC curve; mean over labels where there are several",
        function=auc,
        takes="scores",
        usual=("two classes", "labels", "links", "published links", "triples"),
    ),
    MetricRow(
        name="average_precision",
        direction=Direction.up,
        low=0.0,
        high=1.0,
        description="area under the precision-recall steps; mean over labels",
        function=average_precision,
        takes="scores",
        usual=("two classes", "labels", "links", "published links", "triples"),
    ),
    MetricRow(
        name="mae",
        direction=Direction.down,
        low=0.0,
        description="mean absolute error",
        function=mae,
        takes="numbers",
        usual=("numbers",),
        best_constant="median",
    ),
    MetricRow(
        name="mse",
        direction=Direction.down,
        low=0.0,
        description="mean squared error",
        function=mse,
        takes="numbers",
        usual=("numbers",),
    ),
    MetricRow(
        name="rmse",
        direction=Direction.down,
        low=0.0,
        description="root of the mean squared error",
        function=rmse,
        takes="numbers",
        asked=("numbers",),
    ),
    MetricRow(
        name="r2",
        direction=Direction.up,
        high=1.0,
        description="share of the variance that is explained; mean over targets",
        function=r2,
        takes="numbers",
        asked=("numbers",),
    ),
    MetricRow(
        name="log10_mse",
        direction=Direction.down,
        description="decimal logarithm of the mean squared error over several targets",
        function=log10_of,
        takes="error",
        usual=("levels",),
    ),
    MetricRow(
        name="mrr",
        direction=Direction.up,
        low=0.0,
        high=1.0,
        description="filtered mean reciprocal rank, heads and tails",
        function=mrr,
        takes="ranks",
        usual=("triples",),
    ),
    MetricRow(
        name="hits_at_1",
        direction=Direction.up,
        low=0.0,
        high=1.0,
        description="share of filtered ranks of 1",
        function=functools.partial(hits_at, k=1),
        takes="ranks",
        usual=("triples",),
    ),
    MetricRow(
        name="hits_at_3",
        direction=Direction.up,
        low=0.0,
        high=1.0,
        description="share of filtered ranks up to 3",
        function=functools.partial(hits_at, k=3),
        takes="ranks",
        usual=("triples",),
    ),
    MetricRow(
        name="hits_at_10",
        direction=Direction.up,
        low=0.0,
        high=1.0,
        description="share of filtered ranks up to 10; of links with fewer than 10 non-links at or above their score",
        function=functools.partial(hits_at, k=10),
        takes="ranks",
        usual=("triples", "published links"),
        asked=("links",),
    ),
    MetricRow(
        name="hits_at_50",
        direction=Direction.up,
        low=0.0,
        high=1.0,
        description="share of links with fewer than 50 non-links at or above their score",
        function=functools.partial(hits_at, k=50),
        takes="ranks",
        usual=("published links",),
        asked=("links",),
    ),
    MetricRow(
        name="hits_at_100",
        direction=Direction.up,
        low=0.0,
        high=1.0,
        description="share of links with fewer than 100 non-links at or above their score",
        function=functools.partial(hits_at, k=100),
        takes="ranks",
        usual=("published links",),
        asked=("links",),
    ),
)
for _row in ROWS:
    METRICS.add(_row.name, _row)
