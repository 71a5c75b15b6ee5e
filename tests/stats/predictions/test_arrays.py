"""Scores of single examples: against scikit-learn, with examples that are not there."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import softmax
from sklearn.metrics import accuracy_score, brier_score_loss, log_loss, mean_absolute_error, mean_squared_error

from gnz_track.errors import BadValue
from gnz_track.stats.predictions.arrays import EXAMPLE_SCORES, decide, mean_of_known, probabilities, score_examples

RNG = np.random.default_rng(0)
LOGITS = RNG.normal(size=(2, 3, 50, 4))
CLASSES = RNG.integers(4, size=50)
VALUES = RNG.normal(size=(2, 3, 50))


def test_probabilities_are_softmax_at_any_size() -> None:
    assert probabilities(LOGITS) == pytest.approx(softmax(LOGITS, axis=-1))
    assert probabilities([[1e300, -1e300]]).tolist() == [[1.0, 0.0]]


def test_means_are_scikit_learn_s_metrics() -> None:
    p = softmax(LOGITS, axis=-1)
    expected = {
        "correct": lambda m, s: accuracy_score(CLASSES, LOGITS[m, s].argmax(axis=1)),
        "log_loss": lambda m, s: log_loss(CLASSES, p[m, s]),
        "brier": lambda m, s: brier_score_loss(CLASSES, p[m, s], scale_by_half=False),
        "squared_error": lambda m, s: mean_squared_error(VALUES[0, 0], VALUES[m, s]),
        "absolute_error": lambda m, s: mean_absolute_error(VALUES[0, 0], VALUES[m, s]),
    }
    assert set(expected) == set(EXAMPLE_SCORES)
    for score, metric in expected.items():
        of_values = score.endswith("error")
        found = score_examples(VALUES if of_values else LOGITS, VALUES[0, 0] if of_values else CLASSES, score=score)
        for m, s in np.ndindex(2, 3):
            assert found[m, s].mean() == pytest.approx(metric(m, s)), score


def test_examples_that_are_not_there_stay_away() -> None:
    logits = LOGITS.copy()
    logits[0, 1, 7] = np.nan
    for score in ("correct", "log_loss", "brier"):
        found = score_examples(logits, CLASSES, score=score)
        assert np.argwhere(np.isnan(found)).tolist() == [[0, 1, 7]]
    assert np.isnan(decide(logits)).sum() == 1
    assert np.isnan(mean_of_known(np.full((2, 0), np.nan), axis=1)).all()
    assert decide(np.zeros((1, 3))).tolist() == [0.0]


@pytest.mark.parametrize(
    ("outputs", "targets", "score", "said"),
    [
        (LOGITS, CLASSES, "auc", "correct, log_loss"),
        (LOGITS, CLASSES[:-1], "correct", "one for each of 50 examples"),
        (LOGITS, CLASSES + 1, "correct", "a class from 0 to 3"),
        (LOGITS, CLASSES + 0.5, "correct", "a class from 0 to 3"),
        (LOGITS[..., :1], CLASSES * 0, "correct", "0, z"),
        (LOGITS, VALUES, "correct", "number of dimensions of targets"),
        (VALUES, CLASSES, "correct", "number of dimensions of outputs"),
        (VALUES, np.full(50, np.nan), "squared_error", "finite numbers"),
        (np.where(np.arange(4) == 0, np.nan, LOGITS), CLASSES, "correct", "NaN for all of its classes"),
    ],
)
def test_wrong_input_is_refused(outputs: object, targets: object, score: str, said: str) -> None:
    with pytest.raises(BadValue, match=said):
        score_examples(outputs, targets, score=score)  # type: ignore[arg-type]
