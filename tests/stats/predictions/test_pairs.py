"""Pairs of models on examples: against SciPy and scikit-learn, pair by pair and seed by seed."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.typing import NDArray
from scipy.stats import binomtest, chi2
from sklearn.metrics import cohen_kappa_score, jaccard_score

from gnz_track.errors import BadValue
from gnz_track.stats.predictions.pairs import agree, mcnemar, mcnemar_pooled, overlap

LAW = settings(deadline=None, max_examples=40)
SHAPES = st.tuples(st.integers(1, 3), st.integers(1, 3), st.integers(1, 12))
SOLVED = arrays(np.bool_, SHAPES)
WITH_GAPS = arrays(np.float64, SHAPES, elements=st.sampled_from([0.0, 1.0, np.nan]))
DECISIONS = arrays(np.float64, SHAPES, elements=st.sampled_from([0.0, 1.0, 2.0, np.nan]))

Cells = NDArray[np.float64]


def couples(array: Cells, a: int, b: int) -> list[tuple[Cells, Cells]]:
    """Return what both have of each pair of cells that is compared: same seed, or two seeds of the same model."""
    seeds = range(array.shape[1])
    wanted = itertools.permutations(seeds, 2) if a == b else zip(seeds, seeds, strict=True)
    found = []
    for s, t in wanted:
        known = ~np.isnan(array[a, s]) & ~np.isnan(array[b, t])
        found.append((array[a, s, known], array[b, t, known]))
    return found


def mean(values: list[float]) -> float:
    known = [value for value in values if not np.isnan(value)]
    return float(np.mean(known)) if known else float("nan")


@LAW
@given(WITH_GAPS)
def test_mcnemar_is_the_binomial_test(solved: Cells) -> None:
    found = mcnemar(solved)
    for a, b, s in itertools.product(range(len(solved)), range(len(solved)), range(solved.shape[1])):
        known = ~np.isnan(solved[a, s]) & ~np.isnan(solved[b, s])
        mine, yours = solved[a, s, known], solved[b, s, known]
        only = int((mine > yours).sum()), int((mine < yours).sum())
        assert (found.only_first[a, b, s], found.only_second[a, b, s]) == only
        expected = binomtest(only[0], sum(only)).pvalue if sum(only) else 1.0 if known.any() else np.nan
        assert found.p[a, b, s] == pytest.approx(expected, nan_ok=True)


@LAW
@given(WITH_GAPS)
def test_pooled_test_is_that_of_clusters(solved: Cells) -> None:
    found = mcnemar_pooled(solved)
    for a, b in itertools.product(range(len(solved)), repeat=2):
        d = [np.mean(column[~np.isnan(column)]) for column in (solved[a] - solved[b]).T if not np.isnan(column).all()]
        squares = float(np.sum(np.square(d)))
        expected = float(np.sum(d)) ** 2 / squares if squares else 0.0
        assert found.n_examples[a, b] == len(d)
        if d:
            assert found.difference[a, b] == pytest.approx(np.mean(d))
            assert found.p[a, b] == pytest.approx(chi2.sf(expected, 1))
        else:
            assert np.isnan([found.difference[a, b], found.p[a, b], found.chi2[a, b]]).all()


def test_one_seed_is_mcnemar_s_own_statistic() -> None:
    solved = np.random.default_rng(0).random((2, 1, 200)) < np.array([0.8, 0.7])[:, None, None]
    b, c = (solved[0] & ~solved[1]).sum(), (solved[1] & ~solved[0]).sum()
    assert mcnemar_pooled(solved).chi2[0, 1] == pytest.approx((b - c) ** 2 / (b + c))


def test_seeds_of_one_example_are_no_further_examples() -> None:
    solved = np.random.default_rng(0).random((2, 1, 100)) < np.array([0.9, 0.7])[:, None, None]
    assert mcnemar_pooled(np.repeat(solved, 10, axis=1)).p == pytest.approx(mcnemar_pooled(solved).p)


def test_pooled_test_keeps_its_level() -> None:
    rng = np.random.default_rng(1)
    rejected = []
    for _ in range(1000):
        easy = rng.normal(size=(1, 1, 150)) + 0.7 * rng.normal(size=(2, 1, 150))
        rejected.append(mcnemar_pooled(easy + 0.5 * rng.normal(size=(2, 4, 150)) > 0).p[0, 1] < 0.05)
    # The standard error is .007.
    assert 0.03 < np.mean(rejected) < 0.071


@LAW
@given(DECISIONS)
def test_kappa_is_scikit_learn_s(decisions: Cells) -> None:
    found = agree(decisions)
    for a, b in itertools.product(range(len(decisions)), repeat=2):
        pairs = [(x, y) for x, y in couples(decisions, a, b) if x.size]
        # Of one class alone scikit-learn warns, and finds NaN as well.
        defined = [(x, y) for x, y in pairs if len({*x.tolist(), *y.tolist()}) > 1]
        kappas = [float(cohen_kappa_score(x.astype(int), y.astype(int))) for x, y in defined]
        assert found.share[a, b] == pytest.approx(mean([float((x == y).mean()) for x, y in pairs]), nan_ok=True)
        assert found.kappa[a, b] == pytest.approx(mean(kappas), nan_ok=True)


@LAW
@given(SOLVED)
def test_overlap_is_scikit_learn_s_jaccard(solved: NDArray[np.bool_]) -> None:
    found = overlap(solved)
    for a, b in itertools.product(range(len(solved)), repeat=2):
        pairs = [(x > 0, y > 0) for x, y in couples(solved.astype(np.float64), a, b)]
        of_solved = [float(jaccard_score(x, y)) for x, y in pairs if (x | y).any()]
        of_errors = [float(jaccard_score(~x, ~y)) for x, y in pairs if not (x & y).all()]
        assert found.solved[a, b] == pytest.approx(mean(of_solved), nan_ok=True)
        assert found.errors[a, b] == pytest.approx(mean(of_errors), nan_ok=True)
        shared = [float((~y)[~x].mean()) for x, y in pairs if not x.all()]
        assert found.shared_errors[a, b] == pytest.approx(mean(shared), nan_ok=True)
        assert found.expected_errors[a, b] == pytest.approx(mean([float((~y).mean()) for _, y in pairs]), nan_ok=True)


def test_examples_that_one_lacks_are_left_out() -> None:
    solved = np.array([[[1.0, 0.0, 1.0, np.nan]], [[1.0, 0.0, np.nan, 1.0]]])
    assert overlap(solved).solved[0, 1] == overlap(solved).errors[0, 1] == 1.0
    assert agree(solved).kappa[0, 1] == 1.0
    assert np.isnan(overlap(solved).solved[0, 0]), "one seed: no other seed to compare with"


def test_no_model_gives_no_pair() -> None:
    empty = np.empty((0, 2, 5))
    assert mcnemar(empty).p.shape == (0, 0, 2)
    assert mcnemar_pooled(empty).p.shape == agree(empty).kappa.shape == overlap(empty).solved.shape == (0, 0)


def test_wrong_input_is_refused() -> None:
    with pytest.raises(BadValue, match="true, false, or NaN"):
        mcnemar(np.full((1, 1, 1), 0.5))
    with pytest.raises(BadValue, match="classes, not probabilities"):
        agree(np.full((1, 1, 1), 0.5))
