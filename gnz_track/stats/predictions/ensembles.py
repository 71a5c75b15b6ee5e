"""Ensembles of cells that were trained already: means over seeds, over models, and greedy selection on validation."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from gnz_track.errors import BadValue
from gnz_track.stats.inputs import Floats, check_whole, read_array, read_finite, read_scores
from gnz_track.stats.predictions.arrays import check_examples, mean_of_known, read_classes

__all__ = ["ENSEMBLE_SCORES", "GreedySelection", "average_models", "average_seeds", "blend", "select_greedily"]

# Takes the predictions of an ensemble [example] or [example, class], and targets [example]; more is better.
EnsembleScore = Callable[[Floats, npt.NDArray[Any]], float]
# Classes or values.
Targets = npt.NDArray[Any]

TIE = 1e-12


@dataclass(frozen=True, kw_only=True)
class GreedySelection:
    """An ensemble: ``weights`` by member, which sum to 1, and the members in the order in which they were taken.

    ``path`` has the validation score after each step; steps behind its maximum are not in ``chosen``. ``n_examples``
    of validation were predicted by all members.
    """

    weights: tuple[float, ...]
    chosen: tuple[int, ...]
    path: tuple[float, ...]
    n_examples: int

    @property
    def score(self) -> float:
        """The validation score of the ensemble."""
        return self.path[len(self.chosen) - 1]


def average_seeds(predictions: npt.ArrayLike) -> Floats:
    """Return the mean over seeds [model, example, ...] of probabilities or values [model, seed, example, ...].

    Give it probabilities, not logits. An example that is not in the test set of all seeds has the mean of those that
    have it: with random splits that may be one seed, which is no ensemble. NaN where there is none.
    """
    return mean_of_known(_read(predictions, "[model, seed, example] or [model, seed, example, class]", 3, 4), axis=1)


def average_models(predictions: npt.ArrayLike) -> Floats:
    """Return the mean over models [seed, example, ...] of probabilities or values [model, seed, example, ...].

    An example has a mean where all models that have the seed at all have the example; else NaN: the ensembles of two
    examples would be two different ones.
    """
    array = _read(predictions, "[model, seed, example] or [model, seed, example, class]", 3, 4)
    known = ~np.isnan(array if array.ndim == 3 else array[..., 0])
    is_needed = known.any(axis=2, keepdims=True)
    is_partial = (is_needed & ~known).any(axis=0)
    means = mean_of_known(array, axis=0)
    means[is_partial] = np.nan
    return means


def blend(predictions: npt.ArrayLike, weights: npt.ArrayLike) -> Floats:
    """Return sum of weights times predictions [example, ...] of members [member, example, ...].

    Members of weight 0 may lack an example; where another lacks one the ensemble has NaN.
    """
    array = _read(predictions, "[member, example] or [member, example, class]", 2, 3)
    shares = read_finite("weights", weights, ndim=1)
    if shares.size != len(array):
        raise BadValue("the number of weights", shares.size, f"one for each of {len(array)} members")
    used = np.flatnonzero(shares)
    found: Floats = np.tensordot(shares[used], array[used], axes=1)
    return found


def select_greedily(
    predictions: npt.ArrayLike,
    targets: npt.ArrayLike,
    *,
    score: str | EnsembleScore = "log_loss",
    n_steps: int = 50,
) -> GreedySelection:
    """Return the ensemble that grows by the member that makes its validation score best, with replacement.

    Of equals the first member is taken, and of steps that score the same the earliest. Caruana, Niculescu-Mizil, Crew
    and Ksikes (2004), ICML 21.

    Parameters
    ----------
    predictions
        Probabilities [member, example, class] or values [member, example] of validation, one member for each cell, or
        for each model averaged over seeds. Examples that some member lacks (NaN) are left out: with splits by seed,
        take one seed at a time.
    targets
        Classes or values [example].
    score
        One of :data:`ENSEMBLE_SCORES`, or a function of predictions and targets [example], of which more is better.
    n_steps
        The most members, counted as often as they are taken.
    """
    array = _read(predictions, "[member, example] or [member, example, class]", 2, 3)
    wanted = _read_targets(targets, array)
    check_whole("n_steps", n_steps, least=1)
    is_whole = ~np.isnan(array).any(axis=tuple(place for place in range(array.ndim) if place != 1))
    if not len(array) or not is_whole.any():
        raise BadValue("predictions", "no example that all members predict", "members with the same validation part")
    array, wanted = np.ascontiguousarray(array[:, is_whole]), wanted[is_whole]
    chosen, path = _grow(array, _scorer(score, array, wanted), n_steps)
    n_best = _find_first_best(np.array(path)) + 1
    counts = np.bincount(chosen[:n_best], minlength=len(array))
    return GreedySelection(
        weights=tuple((counts / n_best).tolist()),
        chosen=tuple(chosen[:n_best]),
        path=tuple(path),
        n_examples=int(is_whole.sum()),
    )


def _grow(array: Floats, score_all: Callable[[Floats, int], Floats], n_steps: int) -> tuple[list[int], list[float]]:
    total = np.zeros(array.shape[1:])
    chosen: list[int] = []
    path: list[float] = []
    for size in range(1, n_steps + 1):
        scores = score_all(total, size)
        if np.isnan(scores).all():
            raise BadValue("score of an ensemble", "NaN", "a score that is defined on the validation part")
        best = _find_first_best(scores)
        total += array[best]
        chosen.append(best)
        path.append(float(scores[best]))
    return chosen, path


def _find_first_best(scores: Floats) -> int:
    """Return the first of the best; scores that differ by rounding, as those of m and of (m + m) / 2, are equal."""
    best = float(np.nanmax(scores))
    return int(np.argmax(scores >= best - TIE * max(1.0, abs(best))))


def _scorer(score: str | EnsembleScore, array: Floats, wanted: Targets) -> Callable[[Floats, int], Floats]:
    """Return what scores the ensemble with each of the members added: of their total so far, and the size with it."""
    if callable(score):

        def score_all(total: Floats, size: int) -> Floats:
            return np.array([score((total + member) / size, wanted) for member in array], dtype=np.float64)

        return score_all
    if score not in ENSEMBLE_SCORES or (score in _OF_VALUES) != (array.ndim == 2):
        allowed = [name for name in ENSEMBLE_SCORES if (name in _OF_VALUES) == (array.ndim == 2)]
        raise BadValue("score of an ensemble", score, f"{', '.join(allowed)}, or a function")
    if score == "accuracy":
        return _score_accuracy(array, wanted)
    if score == "log_loss":
        return _score_log_loss(array, wanted)
    penalty = _OF_VALUES[score]

    def score_values(total: Floats, size: int) -> Floats:
        return np.asarray(-penalty((total + array) / size - wanted).mean(axis=1))

    return score_values


def _score_log_loss(array: Floats, classes: Targets) -> Callable[[Floats, int], Floats]:
    # Only the probability of the target counts.
    rows = np.arange(classes.size)
    of_target = array[:, rows, classes]

    def score_all(total: Floats, size: int) -> Floats:
        p = (total[rows, classes] + of_target) / size
        return np.asarray(np.log(np.maximum(p, np.finfo(np.float64).tiny)).mean(axis=1))

    return score_all


def _score_accuracy(array: Floats, classes: Targets) -> Callable[[Floats, int], Floats]:
    def score_all(total: Floats, size: int) -> Floats:
        del size
        return np.array([((total + member).argmax(axis=1) == classes).mean() for member in array])

    return score_all


def _read_targets(targets: npt.ArrayLike, array: Floats) -> Targets:
    if array.ndim == 3:
        return read_classes(targets, n_classes=array.shape[2], n_examples=array.shape[1])
    wanted = read_finite("targets", targets, ndim=1)
    check_examples("targets", wanted.size, array.shape[1])
    return wanted


def _read(predictions: npt.ArrayLike, shapes: str, *allowed: int) -> Floats:
    array = read_array("predictions", predictions)
    if array.ndim not in allowed:
        raise BadValue("the number of dimensions of predictions", array.ndim, shapes)
    return read_scores("predictions", array, ndim=array.ndim)


_OF_VALUES: dict[str, Callable[[Floats], Floats]] = {"squared_error": np.square, "absolute_error": np.abs}
ENSEMBLE_SCORES = ("log_loss", "accuracy", *_OF_VALUES)
