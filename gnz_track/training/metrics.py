"""Metrics: small functions of arrays, each with its direction.

Every function takes what the row says (``truth``, ``prediction``) as NumPy arrays and returns one float; NaN says that
the metric is not defined there (one class only, no observed label).
"""

from __future__ import annotations

import functools
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from gnz_track.registry import Registry
from gnz_track.types import Direction, Metric, TaskType

__all__ = [
    "DEFAULT_METRICS",
    "METRICS",
    "accuracy",
    "auc",
    "average_precision",
    "balanced_accuracy",
    "f1",
    "f1_macro",
    "hits_at",
    "mae",
    "mse",
    "rank_metrics",
]

Array = NDArray[np.generic]
Score = Callable[[Array, Array], float]

METRICS: Registry[Metric] = Registry("metric")
DEFAULT_METRICS: dict[TaskType, str] = {
    TaskType.node_cls: "accuracy",
    TaskType.graph_cls: "accuracy",
    TaskType.graph_reg: "mae",
    TaskType.link_pred: "auc",
    TaskType.edge_cls: "accuracy",
    TaskType.multi_task: "log10_mse",
}
MULTI_LABEL_METRIC = "average_precision"

# The least and the largest score: of shares and areas, of errors, of logarithms.
_SHARE, _ERROR, _ANY = (0.0, 1.0), (0.0, None), (None, None)

for _name, _direction, (_low, _high), _description in (
    ("accuracy", Direction.up, _SHARE, "share of right classes"),
    ("f1_macro", Direction.up, _SHARE, "mean over classes of the harmonic mean of precision and recall"),
    ("balanced_accuracy", Direction.up, _SHARE, "mean over classes of the share of the class that is found"),
    ("f1", Direction.up, _SHARE, "harmonic mean of precision and recall of the second of two classes"),
    ("auc", Direction.up, _SHARE, "area under the ROC curve; mean over labels where there are several"),
    ("average_precision", Direction.up, _SHARE, "area under the precision-recall steps; mean over labels"),
    ("mae", Direction.down, _ERROR, "mean absolute error"),
    ("mse", Direction.down, _ERROR, "mean squared error"),
    ("log10_mse", Direction.down, _ANY, "decimal logarithm of the mean squared error over several targets"),
    ("mrr", Direction.up, _SHARE, "filtered mean reciprocal rank, heads and tails"),
    ("hits_at_1", Direction.up, _SHARE, "share of filtered ranks of 1"),
    ("hits_at_3", Direction.up, _SHARE, "share of filtered ranks up to 3"),
    ("hits_at_10", Direction.up, _SHARE, "share of filtered ranks up to 10; of links, as below"),
    ("hits_at_50", Direction.up, _SHARE, "share of links with fewer than 50 non-links at or above their score"),
    ("hits_at_100", Direction.up, _SHARE, "share of links with fewer than 100 non-links at or above their score"),
):
    METRICS.add(_name, Metric(name=_name, direction=_direction, description=_description, low=_low, high=_high))


def accuracy(truth: Array, prediction: Array) -> float:
    """Return the share of ``prediction [n]`` (classes) equal to ``truth [n]``.

    As exact as a float64 is: in float32, differences of one example would differ from seed to seed by rounding, and
    tests would take that for spread.
    """
    return float(np.count_nonzero(truth == prediction) / truth.size) if truth.size else float("nan")


def f1_macro(truth: Array, prediction: Array) -> float:
    """Return the mean F1 over the classes that ``truth [n]`` or ``prediction [n]`` (classes) has.

    F1 is ``2 * hits / (true + predicted)``; a class without a hit counts 0 (van Rijsbergen, 1979).

    >>> f1_macro(np.array([0, 0, 1]), np.array([0, 1, 1]))
    0.6666666666666666
    """
    classes, codes = np.unique(np.concatenate([truth, prediction]), return_inverse=True)
    wanted, found = codes[: truth.size], codes[truth.size :]
    hits = np.bincount(wanted[wanted == found], minlength=classes.size)
    counts = np.bincount(wanted, minlength=classes.size) + np.bincount(found, minlength=classes.size)
    return float((2 * hits / counts).mean()) if truth.size else float("nan")


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


def hits_at(truth: Array, prediction: Array, *, k: int) -> float:
    """Return the share of links that fewer than ``k`` non-links reach.

    Where there are fewer non-links than that, all of them count (Hu et al., NeurIPS 2020).

    >>> hits_at(np.array([1, 1, 0, 0]), np.array([0.9, 0.5, 0.5, 0.1]), k=1)
    0.5

    Parameters
    ----------
    truth
        1 for a link, 0 for a non-link, ``[n]``.
    prediction
        Scores ``[n]``.
    k
        Rank that a link must have among the non-links.
    """
    links, non_links = prediction[truth > 0], np.sort(prediction[truth <= 0])
    if links.size == 0 or np.isnan(prediction).any():
        return float("nan")
    n_reaching = non_links.size - np.searchsorted(non_links, links, side="left")
    return float(np.count_nonzero(n_reaching < k) / links.size)


def rank_metrics(ranks: Array) -> dict[str, float]:
    """Return MRR and Hits@1/3/10 of ranks ``[n]`` that count from 1."""
    hits = {f"hits_at_{k}": float((ranks <= k).mean()) for k in (1, 3, 10)}
    return {"mrr": float((1.0 / ranks.astype(np.float64)).mean()), **hits}


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
    defined = [value for value in values if not np.isnan(value)]
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


# Metric -> function of (truth, prediction); rank metrics are made from ranks and are not here.
FUNCTIONS: dict[str, Score] = {
    "accuracy": accuracy,
    "f1_macro": f1_macro,
    "balanced_accuracy": balanced_accuracy,
    "f1": f1,
    "auc": auc,
    "average_precision": average_precision,
    "mae": mae,
    "mse": mse,
    **{f"hits_at_{k}": functools.partial(hits_at, k=k) for k in (10, 50, 100)},
}
