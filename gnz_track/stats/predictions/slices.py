"""Slices of the examples: scores within each, and which of them explain the difference of two models.

Slices are ``labels[example]``, whole numbers from 0 on; an example with a negative label is in no slice.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from gnz_track.errors import BadValue
from gnz_track.stats.inputs import Floats, check_level, check_whole, read_direction, read_finite, read_scores
from gnz_track.stats.predictions.arrays import Integers, check_examples
from gnz_track.stats.predictions.two_levels import LevelInterval, TwoLevelEstimate, estimate_rows
from gnz_track.types import Direction

__all__ = ["SliceDifference", "SliceScores", "bin_by_quantile", "explain_difference", "score_slices"]


@dataclass(frozen=True, kw_only=True)
class SliceScores:
    """The scores of all models in one slice, in their order, each for new seeds and for new examples of the slice.

    ``n_examples`` are those with its label, whether or not a model was tested on them.
    """

    label: int
    n_examples: int
    models: tuple[TwoLevelEstimate, ...]


@dataclass(frozen=True, kw_only=True)
class SliceDifference:
    """The part of one slice in the advantage of a model over another; ``within`` and ``mix`` sum to ``total``.

    ``within`` comes from better scores on the examples of the slice, ``mix`` from having more or fewer of its examples:
    0 where both models have the same. The totals of all slices sum to the advantage. ``share`` is that of the slice in
    the tested examples, mean of both models. The interval of ``total`` is for new seeds and new examples, where both
    models have the same seeds and examples.
    """

    label: int
    n_examples: int
    share: float
    total: float
    within: float
    mix: float
    interval: LevelInterval


def bin_by_quantile(values: npt.ArrayLike, *, n_bins: int = 5) -> tuple[Integers, Floats]:
    """Return slices [example] with about equally many values each, and their upper edges [slice].

    Equal values are in the same slice, so that there may be fewer slices than asked for; NaN is in none (-1).

    Parameters
    ----------
    values
        A descriptor [example], such as the degree of a node.
    n_bins
        The most slices.
    """
    array = read_scores("values", values, ndim=1)
    check_whole("n_bins", n_bins, least=1)
    known = ~np.isnan(array)
    labels: Integers = np.full(array.size, -1, dtype=np.int64)
    if not known.any():
        return labels, np.empty(0)
    levels = np.arange(1, n_bins + 1) / n_bins
    edges: Floats = np.unique(np.quantile(array[known], levels, method="inverted_cdf"))
    labels[known] = np.searchsorted(edges, array[known], side="left")
    return labels, edges


def score_slices(gain: npt.ArrayLike, labels: npt.ArrayLike, *, alpha: float = 0.05) -> tuple[SliceScores, ...]:
    """Return the mean score of each model in each slice: over seeds, of the mean over the seed's examples in it.

    Intervals are those of :func:`~gnz_track.stats.predictions.two_levels.two_level_means`; they are of single slices,
    not of all at once.

    Parameters
    ----------
    gain
        Scores [model, seed, example], NaN where an example is not in the seed's test set; a seed without an example in
        a slice is left out there.
    labels
        Slices [example]; every number from 0 to the largest is one, and one without examples has no score.
    alpha
        1 minus the level.
    """
    scores = read_scores("gain", gain, ndim=3)
    codes = _read_labels(labels, scores.shape[2])
    check_level("alpha", alpha)
    order = np.argsort(codes, kind="stable")
    ends = np.searchsorted(codes[order], np.arange(codes.max(initial=-1) + 2))
    found = []
    for label, (start, stop) in enumerate(zip(ends[:-1].tolist(), ends[1:].tolist(), strict=True)):
        rows = scores[:, :, order[start:stop]]
        found.append(SliceScores(label=label, n_examples=stop - start, models=estimate_rows(rows, alpha=alpha)))
    return tuple(found)


def explain_difference(
    gain: npt.ArrayLike,
    labels: npt.ArrayLike,
    *,
    first: int,
    second: int,
    direction: Direction | str = Direction.up,
    alpha: float = 0.05,
) -> tuple[SliceDifference, ...]:
    """Split the advantage of one model over another into slices; the totals sum to it up to rounding.

    With m_k the mean in slice k and w_k its weight: within = (w_k + w'_k) / 2 (m_k - m'_k), mix = (w_k - w'_k)
    ((m_k + m'_k) / 2 - m), m the mean of both models. Both models keep all seeds and examples that they have, and
    (w, m) differ from (w', m') where these do. A slice that one model lacks is all mix. Kitagawa (1955), J. Am. Stat.
    Assoc. 50. Examples in no slice are one more, with label -1.

    Parameters
    ----------
    gain
        Scores [model, seed, example], NaN where an example is not in the seed's test set.
    labels
        Slices [example].
    first, second
        Places of the models: an advantage is positive where the first is better.
    direction
        Which scores are better.
    alpha
        1 minus the level of the intervals.
    """
    scores = read_scores("gain", gain, ndim=3)
    codes = _read_labels(labels, scores.shape[2])
    check_level("alpha", alpha)
    for place in (first, second):
        if not 0 <= place < len(scores):
            raise BadValue("place of a model", place, f"a whole number from 0 to {len(scores) - 1}")
    pair = scores[[first, second]] if read_direction(direction) is Direction.up else -scores[[first, second]]
    known = ~np.isnan(pair)
    if not known.any(axis=(1, 2)).all():
        raise BadValue("gain", "no tested example of a model", "two models that were both tested")
    shown = np.arange(-1 if (codes < 0).any() else 0, codes.max(initial=-1) + 1)
    weights, sums = _weigh(pair, known, codes, shown)
    within, mix = _kitagawa(weights, sums)
    intervals = _intervals(pair, known, codes, shown, alpha)
    return tuple(
        SliceDifference(
            label=label,
            n_examples=int((codes == label).sum()),
            share=float(weights[:, place].mean()),
            total=float(within[place] + mix[place]),
            within=float(within[place]),
            mix=float(mix[place]),
            interval=intervals[place],
        )
        for place, label in enumerate(shown.tolist())
    )


def _weigh(pair: Floats, known: npt.NDArray[np.bool_], codes: Integers, shown: Integers) -> tuple[Floats, Floats]:
    """Return weights and weighted sums [2, slice]; over all slices, weights sum to 1 and sums to the models' means."""
    n = known.sum(axis=2, keepdims=True)
    n_seeds = (n > 0).sum(axis=1, keepdims=True)
    w = known / np.maximum(n, 1) / n_seeds
    by_example, by_score = w.sum(axis=1), (w * np.where(known, pair, 0.0)).sum(axis=1)
    places = codes - shown[0]
    weights, sums = np.zeros((2, shown.size)), np.zeros((2, shown.size))
    for model in range(2):
        weights[model] = np.bincount(places, weights=by_example[model], minlength=shown.size)
        sums[model] = np.bincount(places, weights=by_score[model], minlength=shown.size)
    return weights, sums


def _kitagawa(weights: Floats, sums: Floats) -> tuple[Floats, Floats]:
    means = np.where(weights > 0, sums / np.where(weights > 0, weights, 1.0), 0.0)
    # A slice that a model lacks gets the other's mean there: no score of it is better or worse.
    means = np.where(weights > 0, means, means[::-1])
    middle = float(sums.sum()) / 2.0
    within: Floats = weights.mean(axis=0) * (means[0] - means[1])
    mix: Floats = (weights[0] - weights[1]) * (means.mean(axis=0) - middle)
    return within, mix


def _intervals(
    pair: Floats, known: npt.NDArray[np.bool_], codes: Integers, shown: Integers, alpha: float
) -> list[LevelInterval]:
    """Return intervals of the mean of d_i 1[i in slice]: the slice's part, whose share is drawn with the examples."""
    if (known[0] != known[1]).any():
        return [LevelInterval(note="the models were not tested on the same seeds and examples")] * shown.size
    d = pair[0] - pair[1]
    found: list[LevelInterval] = []
    for label in shown.tolist():
        row = np.where(np.isnan(d), np.nan, np.where(codes == label, d, 0.0))
        found += [item.new_examples for item in estimate_rows(row[None], alpha=alpha)]
    return found


def _read_labels(labels: npt.ArrayLike, n_examples: int) -> Integers:
    array = read_finite("labels", labels, ndim=1)
    check_examples("labels", array.size, n_examples)
    if (array != np.rint(array)).any():
        raise BadValue("label", array[array != np.rint(array)][0].item(), "whole numbers; see bin_by_quantile")
    if (array >= max(n_examples, 1)).any():
        raise BadValue("label", int(array.max()), f"slices counted from 0, so below {n_examples}")
    return np.maximum(array, -1).astype(np.int64)
