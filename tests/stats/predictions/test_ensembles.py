"""Ensembles: means by loops, and greedy selection against the algorithm as it is printed."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.special import softmax
from sklearn.metrics import accuracy_score, log_loss, mean_absolute_error, mean_squared_error

from gnz_track.errors import BadValue
from gnz_track.stats.predictions.ensembles import average_models, average_seeds, blend, select_greedily

LAW = settings(deadline=None, max_examples=30)

Array = NDArray[np.float64]


def draw(seed: int, members: int = 4, examples: int = 30, classes: int = 3) -> tuple[Array, NDArray[np.int64]]:
    rng = np.random.default_rng(seed)
    y = rng.integers(classes, size=examples)
    z = rng.normal(size=(members, examples, classes))
    z[:, np.arange(examples), y] += rng.uniform(0.0, 1.5, size=(members, 1))
    return softmax(z, axis=-1), y


METRICS = {
    "log_loss": lambda p, y: -log_loss(y, p, labels=[0, 1, 2]),
    "accuracy": lambda p, y: accuracy_score(y, p.argmax(axis=1)),
}


@LAW
@given(st.integers(0, 10_000), st.sampled_from(sorted(METRICS)), st.integers(1, 8))
def test_selection_is_the_printed_algorithm(seed: int, score: str, n_steps: int) -> None:
    p, y = draw(seed)
    chosen: list[int] = []
    path: list[float] = []
    for _ in range(n_steps):
        scores = [METRICS[score](np.mean(p[[*chosen, member]], axis=0), y) for member in range(len(p))]
        best = max(scores)
        chosen.append(next(member for member, value in enumerate(scores) if value > best - 1e-12))
        path.append(best)
    last = next(place for place, value in enumerate(path) if value > max(path) - 1e-12)
    found = select_greedily(p, y, score=score, n_steps=n_steps)
    if score == "accuracy":
        # A tie of two classes may fall otherwise by the order of a sum.
        assert found.path[0] == path[0]
        assert METRICS[score](blend(p, found.weights), y) == pytest.approx(found.score, abs=0.1)
        return
    assert found.path == pytest.approx(path)
    assert found.chosen == tuple(chosen[: last + 1])
    assert METRICS[score](blend(p, found.weights), y) == pytest.approx(found.score)
    assert sum(found.weights) == pytest.approx(1.0)


@LAW
@given(st.integers(0, 10_000))
def test_selection_is_never_worse_than_the_best_member(seed: int) -> None:
    p, y = draw(seed)
    for score, metric in METRICS.items():
        found = select_greedily(p, y, score=score, n_steps=10)
        assert found.score >= max(metric(member, y) for member in p) - 1e-12
        again = select_greedily(p, y, score=metric, n_steps=10)
        assert again.score == pytest.approx(found.score, abs=0.04)


@pytest.mark.parametrize(
    ("score", "metric"), [("squared_error", mean_squared_error), ("absolute_error", mean_absolute_error)]
)
def test_values_are_averaged_too(score: str, metric: object) -> None:
    rng = np.random.default_rng(0)
    y = rng.normal(size=50)
    values = y + rng.normal(size=(5, 50))
    found = select_greedily(values, y, score=score, n_steps=20)
    assert callable(metric)
    assert -found.score == pytest.approx(metric(y, blend(values, found.weights)))
    assert -found.score < min(metric(y, member) for member in values)


def test_member_without_an_example_takes_it_from_the_selection() -> None:
    p, y = draw(1)
    gaps = p.copy()
    gaps[2, 5] = np.nan
    found = select_greedily(gaps, y, n_steps=5)
    kept = np.delete(np.arange(30), 5)
    assert found == select_greedily(p[:, kept], y[kept], n_steps=5)
    assert found.n_examples == 29
    weights = np.array([0.5, 0.5, 0.0, 0.0])
    assert blend(gaps, weights) == pytest.approx(p[:2].mean(axis=0))
    assert np.isnan(blend(gaps, [0.0, 0.0, 1.0, 0.0])[5]).all()
    with pytest.raises(BadValue, match="no example that all members predict"):
        select_greedily(np.where(np.arange(4)[:, None, None] == 0, np.nan, p), y)


def test_seeds_average_over_those_that_have_the_example() -> None:
    p = np.random.default_rng(0).random((2, 3, 5, 2))
    p[:, 1, 3] = np.nan
    p[:, :, 4] = np.nan
    found = average_seeds(p)
    assert found[:, :3] == pytest.approx(p[:, :, :3].mean(axis=1))
    assert found[:, 3] == pytest.approx(p[:, [0, 2], 3].mean(axis=1))
    assert np.isnan(found[:, 4]).all()
    assert average_seeds(p[..., 0]) == pytest.approx(found[..., 0], nan_ok=True)


def test_models_average_where_all_have_the_example() -> None:
    p = np.random.default_rng(0).random((3, 2, 4, 2))
    p[1, 0, 2] = np.nan
    p[2, 1] = np.nan
    found = average_models(p)
    assert found[0, [0, 1, 3]] == pytest.approx(p[:, 0, [0, 1, 3]].mean(axis=0))
    assert np.isnan(found[0, 2]).all()
    # The third model has no second seed at all.
    assert found[1] == pytest.approx(p[:2, 1].mean(axis=0))
    assert average_models(p[..., 0]) == pytest.approx(found[..., 0], nan_ok=True)
    assert np.isnan(average_models(np.full((2, 1, 3), np.nan))).all()


def test_wrong_input_is_refused() -> None:
    p, y = draw(0)
    with pytest.raises(BadValue, match="log_loss, accuracy, or a function"):
        select_greedily(p, y, score="squared_error")
    with pytest.raises(BadValue, match="squared_error, absolute_error, or a function"):
        select_greedily(p[..., 0], y, score="accuracy")
    with pytest.raises(BadValue, match="a class from 0 to 2"):
        select_greedily(p, y + 1)
    with pytest.raises(BadValue, match="n_steps"):
        select_greedily(p, y, n_steps=0)
    with pytest.raises(BadValue, match="defined on the validation part"):
        select_greedily(p, y, score=lambda *_: float("nan"))
    with pytest.raises(BadValue, match="one for each of 4 members"):
        blend(p, [1.0])
    with pytest.raises(BadValue, match="number of dimensions of predictions"):
        average_seeds(p[0])
