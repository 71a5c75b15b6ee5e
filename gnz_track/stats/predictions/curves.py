"""Confusion matrices, ROC and precision-recall curves with their areas, and histograms of ranks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from gnz_track.errors import BadValue
from gnz_track.stats.inputs import Floats, check_whole, number, read_finite, read_scores
from gnz_track.stats.predictions.arrays import Integers, check_examples, read_classes

__all__ = [
    "PrecisionRecallCurve",
    "RankHistogram",
    "RocCurve",
    "count_confusions",
    "count_ranks",
    "trace_precision_recall",
    "trace_roc",
]

# Upper edges of the bins of ranks: as dense as hits are asked for.
RANK_EDGES = (1, 2, 3, 5, 10, 20, 50, 100, 200, 500, 1_000, 2_000, 5_000, 10_000, 100_000, 1_000_000)


@dataclass(frozen=True, kw_only=True, eq=False)
class RocCurve:
    """Shares of negatives (``false_positive``) and of positives (``true_positive``) at or above each threshold.

    From (0, 0), whose threshold is infinite, to (1, 1). ``area`` is the chance that a positive has the higher score,
    ties counted half; None where a class is missing, and NaN in its shares.
    """

    thresholds: Floats
    false_positive: Floats
    true_positive: Floats
    area: float | None
    n_positive: int
    n_negative: int


@dataclass(frozen=True, kw_only=True, eq=False)
class PrecisionRecallCurve:
    """Precision and recall of what lies at or above each threshold, from the highest on.

    ``average_precision`` is the sum of the steps of recall times precision, without interpolation; None without a
    positive. ``base_rate``, the share of positives, is what chance has.
    """

    thresholds: Floats
    precision: Floats
    recall: Floats
    average_precision: float | None
    base_rate: float | None


@dataclass(frozen=True, kw_only=True, eq=False)
class RankHistogram:
    """Ranks by bins that end at ``edges[bin]``: ``counts[model, seed, bin]``, and ``hits``, the share up to each edge.

    The last bin has all that is above the last edge but one. NaN in ``hits`` where a cell has no rank.
    """

    edges: tuple[float, ...]
    counts: Integers
    hits: Floats


def count_confusions(decisions: npt.ArrayLike, targets: npt.ArrayLike, *, n_classes: int) -> Integers:
    """Return how often each class [model, seed, target, decision] was decided for each target.

    Parameters
    ----------
    decisions
        Classes [model, seed, example], NaN where an example is not there: it is not counted.
    targets
        Classes [example].
    n_classes
        How many there are.
    """
    array = read_scores("decisions", decisions, ndim=3)
    check_whole("n_classes", n_classes, least=1)
    wanted = read_classes(targets, n_classes=n_classes, n_examples=array.shape[2])
    known = ~np.isnan(array)
    read_classes(array[known], n_classes=n_classes, n_examples=int(known.sum()))
    n_cells = array.shape[0] * array.shape[1]
    cells = np.broadcast_to(np.arange(n_cells).reshape(*array.shape[:2], 1), array.shape)
    places = (cells[known] * n_classes + np.broadcast_to(wanted, array.shape)[known]) * n_classes
    counts = np.bincount(places + array[known].astype(np.int64), minlength=n_cells * n_classes**2)
    return counts.reshape(*array.shape[:2], n_classes, n_classes).astype(np.int64)


def trace_roc(scores: npt.ArrayLike, targets: npt.ArrayLike) -> RocCurve:
    """Return the ROC curve of one cell; equal scores are one step. Fawcett (2006), Pattern Recogn. Lett. 27.

    Parameters
    ----------
    scores
        Scores [example] of class 1, NaN where an example is not there: it is left out.
    targets
        Classes 0 and 1 [example].
    """
    thresholds, hits, alarms = _step(scores, targets)
    n_positive, n_negative = int(hits[-1]), int(alarms[-1])
    true_positive = hits / n_positive if n_positive else np.full(hits.size, np.nan)
    false_positive = alarms / n_negative if n_negative else np.full(alarms.size, np.nan)
    # In whole numbers, so that it is as exact as a float is.
    area = float((np.diff(alarms) * (hits[1:] + hits[:-1])).sum()) / 2.0
    return RocCurve(
        thresholds=thresholds,
        false_positive=false_positive,
        true_positive=true_positive,
        area=area / (n_positive * n_negative) if n_positive and n_negative else None,
        n_positive=n_positive,
        n_negative=n_negative,
    )


def trace_precision_recall(scores: npt.ArrayLike, targets: npt.ArrayLike) -> PrecisionRecallCurve:
    """Return the precision-recall curve of one cell; equal scores are one step. Davis and Goadrich (2006), ICML 23.

    Parameters
    ----------
    scores
        Scores [example] of class 1, NaN where an example is not there: it is left out.
    targets
        Classes 0 and 1 [example].
    """
    thresholds, hits, alarms = (part[1:] for part in _step(scores, targets))
    n_positive = int(hits[-1]) if hits.size else 0
    precision = hits / (hits + alarms)
    recall = hits / n_positive if n_positive else np.full(hits.size, np.nan)
    average = number((np.diff(recall, prepend=0.0) * precision).sum()) if n_positive else None
    rate = n_positive / float(hits[-1] + alarms[-1]) if hits.size else None
    return PrecisionRecallCurve(
        thresholds=thresholds, precision=precision, recall=recall, average_precision=average, base_rate=rate
    )


def count_ranks(ranks: npt.ArrayLike, *, edges: Sequence[int] = RANK_EDGES) -> RankHistogram:
    """Return histograms of the ranks of true links among their candidates.

    Parameters
    ----------
    ranks
        Ranks [model, seed, link] from 1 on, halves where ties count half; NaN where a link is not there: it is left
        out.
    edges
        Upper edges of the bins, ascending; above the last one there is one more bin.
    """
    array = read_scores("ranks", ranks, ndim=3)
    known = ~np.isnan(array)
    if (array[known] < 1).any():
        raise BadValue("rank", float(array[known].min()), "ranks, which count from 1")
    ends = read_finite("edges", edges, ndim=1)
    if not ends.size or (np.diff(ends) <= 0).any():
        raise BadValue("edges", tuple(edges), "at least one, ascending")
    # Empty bins at the end say nothing.
    ends = ends[: int(np.searchsorted(ends, array[known].max(initial=1.0))) + 1]
    bins = np.searchsorted(ends, np.where(known, array, 1.0), side="left")
    counts = np.stack([((bins == place) & known).sum(axis=2) for place in range(ends.size + 1)], axis=2)
    n = counts.sum(axis=2, keepdims=True)
    hits = np.where(n > 0, counts.cumsum(axis=2) / np.maximum(n, 1), np.nan)
    is_within = not counts[..., -1].any()
    last = ends.size if is_within else ends.size + 1
    return RankHistogram(
        edges=(*ends.tolist(), np.inf)[:last], counts=counts[..., :last].astype(np.int64), hits=hits[..., :last]
    )


def _step(scores: npt.ArrayLike, targets: npt.ArrayLike) -> tuple[Floats, Floats, Floats]:
    """Return distinct scores, highest first and infinity before, with how many of both classes are not below."""
    array = read_scores("scores", scores, ndim=1)
    wanted = read_finite("targets", targets, ndim=1)
    check_examples("targets", wanted.size, array.size)
    if not np.isin(wanted, (0.0, 1.0)).all():
        raise BadValue("target", wanted[~np.isin(wanted, (0.0, 1.0))][0].item(), "0 or 1")
    known = ~np.isnan(array)
    values, places = np.unique(-array[known], return_inverse=True)
    hits = np.bincount(places, weights=wanted[known], minlength=values.size).cumsum()
    alarms = np.bincount(places, weights=1.0 - wanted[known], minlength=values.size).cumsum()
    return np.append(np.inf, -values), np.append(0.0, hits), np.append(0.0, alarms)
