"""Testbeds: published splits and masks come out again, and nothing of a test graph is learnt from."""

from __future__ import annotations

import itertools
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from selection.published_scores import LINKS, NODES, load_published

from gnz_track.errors import BadValue
from gnz_track.selection.study.evaluation import (
    ScoredGraphs,
    SelectorFold,
    cross_task,
    fold_by_numbers,
    fold_by_strata,
    small_to_large,
)

SHARES = (0.1, 0.3, 0.5, 0.7, 0.9)


def make_trial(n: int = 30, m: int = 6) -> ScoredGraphs:
    generator = np.random.default_rng(3)
    return ScoredGraphs(generator.random((n, 4)), generator.random((n, m)))


def assert_covers(folds: list[SelectorFold], trial: ScoredGraphs) -> None:
    """Hold that every graph is tested once, and never learnt from in that fold."""
    assert sorted(np.concatenate([fold.rows for fold in folds]).tolist()) == list(range(len(trial.scores)))
    for fold in folds:
        assert np.array_equal(fold.test.scores, trial.scores[fold.rows], equal_nan=True)
        kept = np.setdiff1d(np.arange(len(trial.scores)), fold.rows)
        assert (fold.train.features == trial.features[kept]).all()


@pytest.mark.mirror
@pytest.mark.parametrize("kind", [LINKS, NODES])
@pytest.mark.filterwarnings("ignore:The least populated class")
def test_published_folds_and_masks_come_out_again(kind: str, mirror: Path) -> None:
    arrays = load_published(mirror, kind)
    trial = ScoredGraphs(arrays["M_tiny"], arrays["P_map"])
    numbers = np.zeros(len(trial.scores), dtype=int)
    for number, fold in enumerate(fold_by_strata(trial, arrays["domain_index"])):
        numbers[fold.rows] = number
    assert (numbers == arrays["fold_fully_observed"]).all()
    empty = ScoredGraphs(arrays["M_tiny"], np.zeros_like(arrays["P_map"]))
    for place, share in enumerate(SHARES, start=1):
        hidden = np.isnan(empty.hide(share).seen)
        assert (hidden == (arrays["observed_level"] < place)).all()


@pytest.mark.mirror
def test_published_folds_out_of_domain_share_no_domain(mirror: Path) -> None:
    arrays = load_published(mirror, LINKS)
    trial = ScoredGraphs(arrays["M_tiny"], arrays["P_map"])
    folds = fold_by_numbers(trial, arrays["fold_out_of_domain_kfold"])
    assert_covers(folds, trial)
    for fold in folds:
        kept = np.setdiff1d(np.arange(len(trial.scores)), fold.rows)
        assert not set(arrays["domain_index"][fold.rows]) & set(arrays["domain_index"][kept])


@given(st.integers(1, 40), st.integers(0, 5))
def test_what_a_smaller_share_hides_a_larger_one_hides_too(m: int, seed: int) -> None:
    trial = ScoredGraphs(np.ones((4, 1)), np.ones((4, m)))
    hidden = [np.isnan(trial.hide(share, seed=seed).seen) for share in SHARES]
    assert all((more | ~less).all() for less, more in itertools.pairwise(hidden))
    assert [int(mask[0].sum()) for mask in hidden] == [int(np.ceil(share * m)) for share in SHARES]


def test_hidden_scores_are_not_learnt_from_and_are_tested_on() -> None:
    trial = make_trial()
    folds = fold_by_strata(trial.hide(0.5), np.zeros(30))
    assert_covers(folds, trial)
    assert all(np.isnan(fold.train.scores).sum(axis=1).tolist() == [3] * len(fold.train.scores) for fold in folds)
    assert not any(np.isnan(fold.test.scores).any() for fold in folds)


def test_small_graphs_are_learnt_from_and_large_ones_tested() -> None:
    trial = make_trial(4)
    (fold,) = small_to_large(trial, [5, 10_000, 9_999, 50_000])
    assert fold.rows.tolist() == [1, 3]
    assert (fold.train.scores == trial.scores[[0, 2]]).all()
    with pytest.raises(BadValue, match="graphs on both sides"):
        small_to_large(trial, [1, 2, 3, 4])


def test_kinds_of_problems_are_scaled_each_on_their_own() -> None:
    source, target = make_trial(10), make_trial(7)
    (fold,) = cross_task(ScoredGraphs(1000 * source.features, source.scores), target)
    for part in (fold.train, fold.test):
        assert (part.features.min(axis=0) == 0).all()
        assert (part.features.max(axis=0) == 1).all()
    assert fold.rows.tolist() == list(range(7))
    with pytest.raises(BadValue, match="the same settings"):
        cross_task(source, make_trial(7, 5))


def test_shapes_that_do_not_fit_and_shares_that_are_none_are_refused() -> None:
    with pytest.raises(BadValue, match=r"\(3, 2\) and \(4, 2\)"):
        ScoredGraphs(np.zeros((3, 2)), np.zeros((4, 2)))
    with pytest.raises(BadValue, match="share of hidden scores is 1"):
        ScoredGraphs(np.ones((2, 2)), np.ones((2, 2))).hide(1)
    with pytest.raises(BadValue, match=r"shape of the scores seen is \(3, 1\); allowed: \(3, 2\)"):
        ScoredGraphs(np.zeros((3, 2)), np.zeros((3, 2)), np.zeros((3, 1)))


def test_folds_of_other_graphs_and_folds_that_leave_nothing_to_learn_are_refused() -> None:
    trial = make_trial(6)
    for fold in (fold_by_strata, fold_by_numbers, small_to_large):
        for n in (5, 7):
            with pytest.raises(BadValue, match=rf"is \({n},\); allowed: \(6,\), one for each graph"):
                fold(trial, np.arange(n) % 2)
    for n_folds in (1, 7):
        with pytest.raises(BadValue, match=f"number of folds is {n_folds}; allowed: from 2 to .* stratum, which is 6"):
            fold_by_strata(trial, np.zeros(6), n_folds=n_folds)
    assert len(fold_by_numbers(trial, np.arange(6))) == 6
    with pytest.raises(BadValue, match="which is 1"):
        fold_by_numbers(trial, np.zeros(6))
