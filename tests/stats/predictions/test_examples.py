"""Single examples: difficulty by loops, and wrong labels that were planted."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.typing import NDArray
from scipy.special import softmax

from gnz_track.errors import BadValue
from gnz_track.stats.predictions.examples import rate_difficulty, suspect_labels

LAW = settings(deadline=None, max_examples=50)
SHAPES = st.tuples(st.integers(1, 3), st.integers(1, 3), st.integers(1, 6))


@LAW
@given(arrays(np.float64, SHAPES, elements=st.sampled_from([0.0, 1.0, np.nan])))
def test_difficulty_is_that_of_a_loop(solved: NDArray[np.float64]) -> None:
    found = rate_difficulty(solved)
    unsolved, divided = [], []
    for place in range(solved.shape[2]):
        models = [row[~np.isnan(row)] for row in solved[:, :, place]]
        shares = [float(row.mean()) for row in models if row.size]
        assert found.n_cells[place] == sum(row.size for row in models)
        assert found.share[place] == pytest.approx(np.mean(shares) if shares else np.nan, nan_ok=True)
        unsolved += [place] if shares and max(shares) == 0.0 else []
        divided += [place] if {0.0, 1.0} <= set(shares) else []
    assert found.unsolved.tolist() == unsolved
    assert found.divided.tolist() == divided


def plant(seed: int = 0) -> tuple[NDArray[np.float64], NDArray[np.int64], set[int]]:
    """Return logits of 3 models and 4 seeds that know the true class, labels, and the places of the wrong ones."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(4, size=300)
    z = rng.normal(size=(3, 4, 300, 4))
    z[:, :, np.arange(300), truth] += 5.0
    wrong = rng.choice(300, size=15, replace=False)
    labels = truth.copy()
    labels[wrong] = (labels[wrong] + 1) % 4
    return z, labels, set(wrong.tolist())


def test_planted_labels_are_found_first() -> None:
    z, labels, wrong = plant()
    found = suspect_labels(z, labels)
    assert set(found.places.tolist()) == wrong
    assert (np.diff(found.score) <= 0).all()
    assert (found.proposed == (labels[found.places] - 1) % 4).all()
    assert (found.labels == labels[found.places]).all()
    assert (found.n_cells == 12).all()


def test_score_and_agreement_are_means_over_cells() -> None:
    z, labels, _ = plant(1)
    found = suspect_labels(z, labels)
    place, other = int(found.places[0]), int(found.proposed[0])
    p = softmax(z[:, :, place], axis=-1).mean(axis=(0, 1))
    assert found.score[0] == pytest.approx(p[other] - p[labels[place]])
    assert found.agreement[0] == pytest.approx((z[:, :, place].argmax(axis=-1) == other).mean())


def test_cells_without_the_example_do_not_vote() -> None:
    z, labels, wrong = plant()
    place = min(wrong)
    z[1:, :, place] = np.nan
    untested = min(set(range(300)) - wrong)
    z[:, :, untested] = np.nan
    found = suspect_labels(z, labels)
    assert set(found.places.tolist()) == wrong
    assert found.n_cells[found.places == place] == 4


def test_cells_that_disagree_suspect_nothing() -> None:
    z = np.zeros((2, 1, 1, 3))
    z[0, 0, 0, 1], z[1, 0, 0, 2] = 9.0, 9.0
    assert suspect_labels(z, [0]).places.size == 0
    assert suspect_labels(z, [0], least_agreement=0.5).places.tolist() == [0]
    assert suspect_labels(np.empty((1, 1, 0, 2)), []).places.size == 0


def test_models_that_hardly_tell_classes_apart_suspect_few() -> None:
    """All cells agree by a hair's breadth against true labels, and by a wide margin against one that is wrong."""
    rng = np.random.default_rng(3)
    z = np.broadcast_to(rng.normal(size=(1, 1, 200, 4)) * 0.02, (3, 4, 200, 4)).copy()
    labels = rng.integers(4, size=200)
    z[:, :, 7, (labels[7] + 1) % 4] += 1.0
    assert suspect_labels(z, labels).places.tolist() == [7]
    without = suspect_labels(z, labels, least_margin=0.0)
    assert without.places[0] == 7
    assert without.places.size > 100


def test_wrong_input_is_refused() -> None:
    for margin in (-0.1, 1.0, float("nan")):
        with pytest.raises(BadValue, match="least_margin"):
            suspect_labels(np.zeros((1, 1, 1, 2)), [0], least_margin=margin)
    with pytest.raises(BadValue, match="least_agreement"):
        suspect_labels(np.zeros((1, 1, 1, 2)), [0], least_agreement=0.0)
