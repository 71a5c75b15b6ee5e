"""Stored predictions as arrays: checks, and what every question asks of them first."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from gnz_track.errors import BadValue
from gnz_track.stats.inputs import Floats, check_whole, read_array, read_finite, read_scores

__all__ = [
    "EXAMPLE_SCORES",
    "Integers",
    "check_examples",
    "decide",
    "log_probabilities",
    "mean_of_known",
    "probabilities",
    "read_classes",
    "read_logits",
    "read_solved",
    "score_examples",
]

Integers = npt.NDArray[np.int64]


def read_logits(outputs: npt.ArrayLike, *, ndim: int = 4) -> Floats:
    """Return logits [..., class], in which an example that is not there has NaN for every class."""
    array = read_scores("outputs", outputs, ndim=ndim)
    check_whole("the number of classes (one logit z of two classes is given as 0, z)", array.shape[-1], least=2)
    missing = np.isnan(array)
    if (missing.any(axis=-1) != missing.all(axis=-1)).any():
        raise BadValue("outputs", "NaN for some classes of an example", "NaN for all of its classes, or for none")
    return array


def read_classes(targets: npt.ArrayLike, *, n_classes: int, n_examples: int) -> Integers:
    """Return targets [example] as classes from 0 on.

    Parameters
    ----------
    targets
        Classes [example]: whole numbers.
    n_classes, n_examples
        How many there must be.
    """
    array = read_finite("targets", targets, ndim=1)
    check_examples("targets", array.size, n_examples)
    is_wrong = (array != np.rint(array)) | (array < 0) | (array >= n_classes)
    if is_wrong.any():
        raise BadValue("target", array[is_wrong][0].item(), f"a class from 0 to {n_classes - 1}")
    return array.astype(np.int64)


def read_solved(solved: npt.ArrayLike) -> Floats:
    """Return which examples are solved [model, seed, example]: 1, 0, or NaN where an example is not there."""
    array = read_scores("solved", solved, ndim=3)
    is_wrong = ~(np.isnan(array) | (array == 0) | (array == 1))
    if is_wrong.any():
        raise BadValue("solved", array[is_wrong][0].item(), "true, false, or NaN where an example is not there")
    return array


def check_examples(name: str, n: int, n_examples: int) -> None:
    """Refuse another number of examples than the predictions have.

    Parameters
    ----------
    name
        The argument's name, for the error.
    n
        Its number of examples.
    n_examples
        That of the predictions.
    """
    if n != n_examples:
        raise BadValue(f"the number of {name}", n, f"one for each of {n_examples} examples")


def log_probabilities(outputs: Floats) -> Floats:
    """Return log softmax of logits [..., class]; NaN stays NaN."""
    shifted: Floats = outputs - outputs.max(axis=-1, keepdims=True)
    shifted -= np.log(np.exp(shifted).sum(axis=-1, keepdims=True))
    return shifted


def probabilities(outputs: npt.ArrayLike) -> Floats:
    """Return softmax of logits [..., class], NaN where an example is not there."""
    array = read_array("outputs", outputs)
    return np.exp(log_probabilities(read_logits(array, ndim=array.ndim)))


def decide(outputs: Floats) -> Floats:
    """Return the class of the largest output [...], of equals the first; NaN where an example is not there."""
    missing = np.isnan(outputs[..., 0])
    return np.where(missing, np.nan, outputs.argmax(axis=-1).astype(np.float64))


def mean_of_known(values: Floats, axis: int | tuple[int, ...]) -> Floats:
    """Return the mean without NaN, which is NaN, without a warning, where there is nothing else."""
    known = ~np.isnan(values)
    n = known.sum(axis=axis)
    return np.where(n > 0, np.where(known, values, 0.0).sum(axis=axis) / np.maximum(n, 1), np.nan)


def score_examples(outputs: npt.ArrayLike, targets: npt.ArrayLike, *, score: str = "correct") -> Floats:
    """Return the score of each example [model, seed, example], whose mean over examples is that of a cell.

    Of logits: ``correct`` 1[argmax = target], ``log_loss`` -log p_target, ``brier`` sum over classes of
    (p_k - 1[k = target])^2. Of values: ``squared_error``, ``absolute_error``. Of the errors, less is better.

    Parameters
    ----------
    outputs
        Logits [model, seed, example, class], or values [model, seed, example]; NaN where an example is not there.
    targets
        Classes or values [example].
    score
        One of :data:`EXAMPLE_SCORES`.
    """
    if score not in EXAMPLE_SCORES:
        raise BadValue("score of an example", score, ", ".join(EXAMPLE_SCORES))
    if score in _OF_VALUES:
        values = read_scores("outputs", outputs, ndim=3)
        wanted = read_finite("targets", targets, ndim=1)
        check_examples("targets", wanted.size, values.shape[2])
        return _OF_VALUES[score](values - wanted)
    logits = read_logits(outputs)
    classes = read_classes(targets, n_classes=logits.shape[3], n_examples=logits.shape[2])
    return _OF_LOGITS[score](logits, classes)


def _correct(logits: Floats, classes: Integers) -> Floats:
    found = decide(logits)
    return np.where(np.isnan(found), np.nan, (found == classes).astype(np.float64))


def _log_loss(logits: Floats, classes: Integers) -> Floats:
    return -_of_target(log_probabilities(logits), classes)


def _brier(logits: Floats, classes: Integers) -> Floats:
    p = np.exp(log_probabilities(logits))
    found: Floats = (p**2).sum(axis=-1) - 2.0 * _of_target(p, classes) + 1.0
    return found


def _of_target(values: Floats, classes: Integers) -> Floats:
    """Return from values [..., example, class] those of the target [..., example]."""
    return values[..., np.arange(classes.size), classes]


_OF_LOGITS: dict[str, Callable[[Floats, Integers], Floats]] = {
    "correct": _correct,
    "log_loss": _log_loss,
    "brier": _brier,
}
_OF_VALUES: dict[str, Callable[[Floats], Floats]] = {"squared_error": np.square, "absolute_error": np.abs}
EXAMPLE_SCORES = (*_OF_LOGITS, *_OF_VALUES)
