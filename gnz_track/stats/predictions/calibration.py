"""Calibration: whether examples that are predicted with confidence p are right in a share p of cases."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.special import ndtr

from gnz_track.errors import BadValue
from gnz_track.stats.estimates.effects import wilson
from gnz_track.stats.inputs import Floats, check_level, check_whole
from gnz_track.stats.predictions.arrays import (
    Integers,
    log_probabilities,
    mean_of_known,
    read_classes,
    read_logits,
    score_examples,
)

__all__ = ["BINNINGS", "Calibration", "Reliability", "calibrate", "fit_temperature", "reliability"]

BINNINGS = ("width", "mass")
# Temperatures beyond these change no probability that anybody would read.
COLDEST, HOTTEST = 1e-3, 1e3


@dataclass(frozen=True, kw_only=True, eq=False)
class Reliability:
    """Bins of the confidence in the predicted class [model, seed, bin]; empty bins have n = 0 and NaN.

    ``confidence`` and ``accuracy`` are means; ``lows`` and ``highs`` bound the accuracy (Wilson 1927).
    """

    n: Integers
    confidence: Floats
    accuracy: Floats
    lows: Floats
    highs: Floats


@dataclass(frozen=True, kw_only=True, eq=False)
class Calibration:
    """Errors of calibration and proper scores of each cell [model, seed]; NaN where a cell has no example.

    ``ece`` is the usual plug-in, too large by what chance alone does to bins; the two debiased ones correct for it.
    """

    ece: Floats
    ece_debiased: Floats
    rmsce_debiased: Floats
    brier: Floats
    log_loss: Floats


def calibrate(
    outputs: npt.ArrayLike, targets: npt.ArrayLike, *, n_bins: int = 15, binning: str = "width"
) -> Calibration:
    """Return errors of calibration, of the confidence in the predicted class, and proper scores.

    Bin b has n_b of n examples, d_b is its mean confidence - accuracy, v_b = accuracy (1 - accuracy).

    - ece = sum n_b/n |d_b|: Naeini, Cooper and Hauskrecht (2015), AAAI 29.
    - ece_debiased = sum n_b/n (2 |d_b| - E|X|), X normal around d_b with variance v_b / n_b, not below 0: Kumar, Liang
      and Ma (2019), NeurIPS 32. Of a calibrated cell it takes off about two fifths of the bias.
    - rmsce_debiased = sqrt(sum n_b/n (d_b^2 - v_b / (n_b - 1))), not below 0, whose square is unbiased but for that:
      the same, as Bröcker (2012), Climate Dynamics 39.
    - brier = mean of sum_k (p_k - 1[k = target])^2, twice the usual for two classes: Brier (1950).
    - log_loss = mean of -log p_target.

    Parameters
    ----------
    outputs
        Logits [model, seed, example, class], NaN where an example is not there: each cell is judged on its own.
    targets
        Classes [example].
    n_bins, binning
        Number of bins, of equal ``width`` of confidence from 0 to 1, or with equally many examples (``mass``); examples
        of the same confidence are never torn apart.
    """
    found = reliability(outputs, targets, n_bins=n_bins, binning=binning)
    n = found.n
    total = n.sum(axis=2)
    shares = n / np.maximum(total, 1)[..., None]
    d = np.where(n > 0, found.confidence - found.accuracy, 0.0)
    variance = np.where(n > 0, found.accuracy * (1.0 - found.accuracy), 0.0)
    by_chance = _mean_size(d, np.sqrt(variance / np.maximum(n, 1)))
    debiased = (shares * (2.0 * np.abs(d) - by_chance)).sum(axis=2)
    squares = (shares * (d**2 - variance / np.maximum(n - 1, 1))).sum(axis=2)
    scores = {name: mean_of_known(score_examples(outputs, targets, score=name), axis=2) for name in _PROPER}
    errors = {
        "ece": (shares * np.abs(d)).sum(axis=2),
        "ece_debiased": np.maximum(debiased, 0.0),
        "rmsce_debiased": np.sqrt(np.maximum(squares, 0.0)),
    }
    return Calibration(**{name: np.where(total > 0, value, np.nan) for name, value in errors.items()}, **scores)


_PROPER = ("brier", "log_loss")


def reliability(
    outputs: npt.ArrayLike, targets: npt.ArrayLike, *, n_bins: int = 15, binning: str = "width", alpha: float = 0.05
) -> Reliability:
    """Return mean confidence and accuracy in bins of the confidence, max_k p_k, of each cell.

    Parameters
    ----------
    outputs, targets, n_bins, binning
        As in :func:`calibrate`.
    alpha
        1 minus the level of the intervals of the accuracy.
    """
    logits = read_logits(outputs)
    classes = read_classes(targets, n_classes=logits.shape[3], n_examples=logits.shape[2])
    check_whole("n_bins", n_bins, least=1)
    check_level("alpha", alpha)
    if binning not in BINNINGS:
        raise BadValue("binning", binning, ", ".join(BINNINGS))
    shape = logits.shape[:2]
    n, confidences, hits = (np.zeros((*shape, n_bins)) for _ in range(3))
    for cell in np.ndindex(shape):
        is_there = ~np.isnan(logits[cell][:, 0])
        top = np.exp(log_probabilities(logits[cell][is_there]).max(axis=1, initial=-np.inf))
        is_right = logits[cell][is_there].argmax(axis=1) == classes[is_there]
        bins = _place(top, n_bins, binning)
        n[cell] = np.bincount(bins, minlength=n_bins)
        confidences[cell] = np.bincount(bins, weights=top, minlength=n_bins)
        hits[cell] = np.bincount(bins, weights=is_right, minlength=n_bins)
    known = n > 0
    sizes = np.where(known, n, 1.0)
    low, high = wilson(hits / sizes, sizes, alpha)
    confidence, accuracy, low, high = (
        np.where(known, part, np.nan) for part in (confidences / sizes, hits / sizes, low, high)
    )
    return Reliability(n=n.astype(np.int64), confidence=confidence, accuracy=accuracy, lows=low, highs=high)


def fit_temperature(outputs: npt.ArrayLike, targets: npt.ArrayLike) -> Floats:
    """Return the temperature T of each cell [model, seed] that makes the log loss of softmax(outputs / T) least.

    The loss is convex in 1 / T, and its slope mean(sum_k p_k z_k - z_target) is brought to 0 by halving. Fit it on
    validation, and divide the test outputs by it. Guo, Pleiss, Sun and Weinberger (2017), ICML 34.

    Parameters
    ----------
    outputs
        Logits of validation [model, seed, example, class], NaN where an example is not in the validation part of a
        seed. Where the target always has the largest logit, any colder is better: T is then 0.001; where hotter always
        is, 1000. NaN of a cell without examples, or whose logits are all equal.
    targets
        Classes [example].
    """
    logits = read_logits(outputs)
    classes = read_classes(targets, n_classes=logits.shape[3], n_examples=logits.shape[2])
    found = np.full(logits.shape[:2], np.nan)
    for cell in np.ndindex(found.shape):
        is_there = ~np.isnan(logits[cell][:, 0])
        z = logits[cell][is_there] - logits[cell][is_there].max(axis=1, keepdims=True, initial=-np.inf)
        if z.size and z.any():
            # Logits of any size: what overflows has no probability.
            with np.errstate(over="ignore", invalid="ignore"):
                found[cell] = _fit_one(z, z[np.arange(len(z)), classes[is_there]])
    return found


def _fit_one(z: Floats, of_target: Floats) -> float:
    """Return the temperature of logits [example, class] whose largest is 0, by Newton's steps kept within bounds."""
    if not of_target.any():
        return COLDEST
    low, high = np.log(1.0 / HOTTEST), np.log(1.0 / COLDEST)
    place = 0.0
    for _ in range(100):
        beta = np.exp(place)
        p = np.exp(beta * z)
        p /= p.sum(axis=1, keepdims=True)
        means = (p * z).sum(axis=1)
        slope = float((means - of_target).mean())
        low, high = (place, high) if slope < 0.0 else (low, place)
        if high - low < 1e-12 or slope == 0.0:
            break
        curve = float(((p * z**2).sum(axis=1) - means**2).mean())
        # In log beta the steps stay positive, and halving takes over where the loss is nearly flat.
        step = place - slope / (beta * curve) if curve > 0.0 else np.inf
        following = step if low < step < high else (low + high) / 2.0
        if abs(following - place) < 1e-12:
            break
        place = float(following)
    return float(np.exp(-place))


def _place(confidence: Floats, n_bins: int, binning: str) -> Integers:
    """Return the bin of each confidence [example]; bins are open below and closed above."""
    if binning == "width":
        edges: Floats = np.linspace(0.0, 1.0, n_bins + 1)[1:-1]
    else:
        ranked = np.sort(confidence)
        # The last of each bin is its upper edge, so that equal confidences go together.
        ends = np.rint(np.arange(1, n_bins) * confidence.size / n_bins).astype(np.int64) - 1
        edges = ranked[ends[ends >= 0]]
    return np.searchsorted(edges, confidence, side="left").astype(np.int64)


def _mean_size(mean: Floats, sd: Floats) -> Floats:
    """Return E|X| of a normal X (the folded normal distribution)."""
    z = np.abs(mean) / np.where(sd > 0, sd, 1.0)
    folded = sd * np.sqrt(2.0 / np.pi) * np.exp(-(z**2) / 2.0) + np.abs(mean) * (1.0 - 2.0 * ndtr(-z))
    return np.where(sd > 0, folded, np.abs(mean))
