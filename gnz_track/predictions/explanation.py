"""Why the best model of a task wins: the slices of its examples in which it gains on the second."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from gnz_track.predictions.facts import BestExplained, SlicePart
from gnz_track.stats.inputs import Floats, number
from gnz_track.stats.predictions.arrays import Integers, mean_of_known
from gnz_track.stats.predictions.slices import SliceDifference, bin_by_quantile, explain_difference
from gnz_track.types import Direction

__all__ = ["explain_best"]

N_BINS = 5
CLASS, UNKNOWN, NO_PATH = "class", "unknown", "no path"


def explain_best(
    gain: Floats, models: Sequence[str], about: Mapping[str, Floats], *, direction: Direction, alpha: float
) -> BestExplained | None:
    """Return the parts of all slices in the advantage of the first model over the second.

    Intervals hold for all slices at once (Bonferroni).

    Parameters
    ----------
    gain
        Scores [2, seed, example] of both models.
    models
        Their names.
    about
        Descriptors [example].
    direction
        Which scores are better.
    alpha
        1 minus the level.
    """
    if np.isnan(gain).all(axis=(1, 2)).any():
        return None
    cuts = {name: _cut(name, values) for name, values in about.items()}
    n_slices = sum(len(np.unique(labels)) for labels in cuts.values())
    found: list[SlicePart] = []
    advantage = 0.0
    for name, labels in cuts.items():
        level = alpha / max(1, n_slices)
        parts = explain_difference(gain, labels, first=0, second=1, direction=direction, alpha=level)
        advantage = sum(part.total for part in parts)
        means = {part.label: _means(gain, labels == part.label) for part in parts}
        found += [
            _part(name, part, _name(about[name][labels == part.label]), means[part.label], advantage) for part in parts
        ]
    found.sort(key=lambda part: (-part.excess, part.descriptor, part.slice))
    return BestExplained(first=models[0], second=models[1], advantage=advantage, slices=tuple(found)) if found else None


def _cut(name: str, values: Floats) -> Integers:
    """Return the slice of each example: its class, or a fifth of the examples by the descriptor."""
    if name != CLASS:
        return bin_by_quantile(
            np.where(np.isinf(values), np.nanmax(values[np.isfinite(values)], initial=0.0) + 1.0, values), n_bins=N_BINS
        )[0]
    _, labels = np.unique(values, return_inverse=True)
    return labels.astype(np.int64)


def _means(gain: Floats, chosen: NDArray[np.bool_]) -> tuple[float | None, float | None]:
    first, second = (number(mean_of_known(mean_of_known(row[:, chosen], axis=1), axis=0)) for row in gain)
    return first, second


def _part(
    descriptor: str, part: SliceDifference, name: str, means: tuple[float | None, float | None], advantage: float
) -> SlicePart:
    low, high = part.interval.low, part.interval.high
    return SlicePart(
        descriptor=descriptor,
        slice=name,
        place=part.label,
        n_examples=part.n_examples,
        share=part.share,
        part=part.total,
        excess=part.total - part.share * advantage,
        low=low,
        high=high,
        is_clear=low is not None and high is not None and (low > 0.0 or high < 0.0),
        first=means[0],
        second=means[1],
    )


def _name(values: Floats) -> str:
    """Return the values of a slice in words: one, or the smallest and the largest."""
    if np.isnan(values).any() or not values.size:
        return UNKNOWN
    if np.isinf(values).all():
        return NO_PATH
    known = values[~np.isinf(values)]
    low, high = f"{known.min():.3g}", f"{known.max():.3g}"
    return (low if low == high else f"{low} to {high}") + (f" or {NO_PATH}" if np.isinf(values).any() else "")
