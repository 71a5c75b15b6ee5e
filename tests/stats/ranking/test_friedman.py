"""Ranks, Friedman's test and the stability of the order."""

from __future__ import annotations

from itertools import permutations, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.stats import friedmanchisquare, rankdata

from gnz_track.errors import BadValue, UnknownName
from gnz_track.records import to_json
from gnz_track.stats.ranking.friedman import exact_friedman_p, is_enumerable, run_friedman
from gnz_track.stats.ranking.ranks import quantise_rows, rank_rows, rank_table
from gnz_track.stats.ranking.stability import bootstrap_ranks, leave_one_task_out
from gnz_track.types import Direction

# The first call imports what is imported late; a machine may be busy.
LAW = settings(deadline=None)

SHAPES = st.tuples(st.integers(2, 9), st.integers(3, 6))
# Three decimals, as printed tables have them: ties are common.
DECIMALS = st.integers(-999, 999).map(lambda n: n / 1000)
SCORES = SHAPES.flatmap(lambda shape: arrays(np.float64, shape, elements=DECIMALS))
DIRECTIONS = st.sampled_from(list(Direction))


@LAW
@given(SCORES, DIRECTIONS)
def test_rows_sum_and_agree_with_scipy(scores: np.ndarray, direction: Direction) -> None:
    found = rank_rows(scores, direction)
    k = scores.shape[1]
    assert found.sum(axis=1) == pytest.approx(k * (k + 1) / 2)
    signed = scores if direction is Direction.down else -scores
    assert (found == rankdata(signed, axis=1)).all()


@LAW
@given(SCORES, DIRECTIONS, st.sampled_from([1e-3, 3.0, 1e6]), st.integers(0, 2**32 - 1))
def test_ranks_ignore_scale_and_float_noise(scores: np.ndarray, direction: Direction, scale: float, seed: int) -> None:
    # A row of zeros has no scale beside which noise would be small.
    noise = 1e-17 * np.random.default_rng(seed).standard_normal(scores.shape) * (scores != 0.0).any(axis=1)[:, None]
    expected = rank_rows(scores, direction)
    assert (rank_rows(scores * scale, direction) == expected).all()
    assert (rank_rows(scores + noise, direction) == expected).all()
    assert (rank_rows(scores * (1 + noise * 10), direction) == expected).all()


def test_seed_means_that_are_equal_on_paper_are_ties() -> None:
    seeds = np.array([[0.1, 0.2, 0.3], [0.3, 0.2, 0.1]])
    means = [[sum(row) / 3 for row in seeds.tolist()]]
    assert means[0][0] != means[0][1]
    assert rank_rows(means, Direction.up).tolist() == [[1.5, 1.5]]


def test_quantise_with_a_resolution() -> None:
    assert quantise_rows([[0.8012, 0.7988, 0.81]], resolution=0.01).tolist() == [[0.8, 0.8, 0.81]]
    assert rank_rows([[0.8012, 0.7988, 0.81]], Direction.up, resolution=0.01).tolist() == [[2.5, 2.5, 1.0]]
    with pytest.raises(BadValue, match="resolution"):
        quantise_rows([[1.0]], resolution=0.0)


def test_row_of_zeros_and_row_without_scores() -> None:
    found = quantise_rows([[0.0, 0.0], [np.nan, np.nan]])
    assert found[0].tolist() == [0.0, 0.0]
    assert np.isnan(found[1]).all()


def test_direction_must_be_declared() -> None:
    with pytest.raises(BadValue, match="direction is 'maximise'; allowed: up"):
        rank_rows([[1.0, 2.0]], ["maximise"])  # type: ignore[list-item]
    with pytest.raises(BadValue, match="one for each of 2 tasks"):
        rank_rows([[1.0, 2.0], [1.0, 2.0]], [Direction.up])


def test_missing_scores_never_travel() -> None:
    scores = [[0.1, np.nan], [np.nan, 0.2]]
    with pytest.raises(BadValue, match="leave missing scores out"):
        rank_rows(scores, Direction.up)
    with pytest.raises(UnknownName, match="drop_task"):
        rank_table(scores, Direction.up, models=["a", "b"], tasks=["x", "y"], missing="drop")
    for policy in ("drop_task", "drop_model"):
        found = rank_table(scores, Direction.up, models=["a", "b"], tasks=["x", "y"], missing=policy)
        assert (found.mean_ranks, found.order, found.n_missing) == ((), (), 2)
        assert "2 of 4 scores are missing" in str(found)
        assert run_friedman(np.array(found.ranks).reshape(found.n_tasks, found.n_models)).p is None
        to_json(found)


@LAW
@given(SCORES)
def test_statistic_agrees_with_scipy(scores: np.ndarray) -> None:
    ranks = rank_rows(scores, Direction.up)
    found = run_friedman(ranks)
    if found.chi2 is None:
        assert (ranks == ranks[0, 0]).all()
        assert (found.p, found.kendall_w) == (1.0, 0.0)
        return
    statistic, p = friedmanchisquare(*scores.T)
    assert found.chi2 == pytest.approx(statistic, rel=1e-9, abs=1e-9)
    assert found.p_chi2 == pytest.approx(p, rel=1e-9)
    assert found.kendall_w == pytest.approx(statistic / (scores.shape[0] * (scores.shape[1] - 1)), abs=1e-9)
    assert 0.0 <= (found.kendall_w or 0.0) <= 1.0
    to_json(found)


@settings(max_examples=25, deadline=None)
@given(
    st.sampled_from([(2, 3), (4, 3), (2, 4), (3, 4)]).flatmap(
        lambda shape: arrays(np.int64, shape, elements=st.integers(0, 3))
    )
)
def test_exact_p_is_brute_force_s(scores: np.ndarray) -> None:
    ranks = rank_rows(scores, Direction.up)
    observed = ((2 * ranks).sum(axis=0) ** 2).sum()
    arranged = [list(permutations(row)) for row in 2 * ranks]
    sums = np.array([np.sum(rows, axis=0) for rows in product(*arranged)])
    assert exact_friedman_p(ranks) == pytest.approx(((sums**2).sum(axis=1) >= observed).mean(), rel=1e-12)


def test_exact_p_where_enumerable() -> None:
    # k!^(N-1) <= 4e5.
    for k, most in ((3, 8), (4, 5), (5, 3), (9, 2)):
        assert is_enumerable(most, k)
        assert not is_enumerable(most + 1, k)
    rng = np.random.default_rng(0)
    for k, n in ((3, 8), (4, 5), (5, 3), (9, 2)):
        ranks = rank_rows(rng.random((n, k)), Direction.up)
        assert run_friedman(ranks).p_method == "exact permutation"
        assert run_friedman(np.vstack([ranks, ranks[:1]])).p_method == "chi2"
    with pytest.raises(BadValue, match="at most 400000"):
        exact_friedman_p(np.vstack([ranks] * 3))


def test_same_order_everywhere() -> None:
    found = run_friedman([[1.0, 2.0, 3.0, 4.0]] * 5)
    assert found.p == pytest.approx(1 / 24**4)
    assert (found.iman_davenport_f, found.iman_davenport_p, found.kendall_w) == (None, None, 1.0)
    assert "unbounded" in found.note


def test_one_task_gives_ranks_only() -> None:
    found = run_friedman([[1.0, 2.0, 3.0]])
    assert (found.p, found.chi2, found.rejects, found.mean_ranks) == (None, None, None, (1.0, 2.0, 3.0))
    assert "one task" in str(found)


def test_what_are_no_ranks_is_refused() -> None:
    with pytest.raises(BadValue, match="sum of a row of ranks"):
        run_friedman([[0.8, 0.7, 0.9]])


@LAW
@given(SCORES)
def test_leaving_out_a_task_is_ranking_without_it(scores: np.ndarray) -> None:
    models, tasks = [f"m{n}" for n in range(scores.shape[1])], [f"t{n}" for n in range(scores.shape[0])]
    ranks = rank_rows(scores, Direction.up)
    found = leave_one_task_out(ranks, models=models, tasks=tasks)
    without = np.stack([np.delete(ranks, place, axis=0).mean(axis=0) for place in range(len(tasks))])
    for place, item in enumerate(found.models):
        assert item.lowest_rank == pytest.approx(without[:, place].min())
        assert item.highest_rank == pytest.approx(without[:, place].max())
        assert item.mean_rank == pytest.approx(ranks[:, place].mean())
    to_json(found)


def test_the_task_that_decides_the_best_is_named() -> None:
    ranks = [[1.0, 2.0, 3.0], [2.0, 1.0, 3.0], [1.0, 2.0, 3.0]]
    found = leave_one_task_out(ranks, models=["a", "b", "c"], tasks=["x", "y", "z"])
    assert found.order == ("a", "b", "c")
    assert found.tasks_that_change_the_best == ()
    found = leave_one_task_out([*ranks, [3.0, 1.0, 2.0]], models=["a", "b", "c"], tasks=["x", "y", "z", "w"])
    assert found.order == ("b", "a", "c")
    assert set(found.tasks_that_change_the_best) == {"y", "w"}
    assert found.share_same_order == pytest.approx(0.5)


def test_one_task_cannot_be_left_out() -> None:
    found = leave_one_task_out([[1.0, 2.0]], models=["a", "b"], tasks=["x"])
    assert (found.share_same_order, found.models[0].lowest_rank) == (None, None)
    assert bootstrap_ranks([[1.0, 2.0]], models=["a", "b"]).note


def test_bootstrap_is_seeded_and_near_its_theory() -> None:
    rng = np.random.default_rng(1)
    ranks = rank_rows(rng.random((40, 4)), Direction.up)
    found = bootstrap_ranks(ranks, models=list("abcd"), n_resamples=4000)
    assert found == bootstrap_ranks(ranks, models=list("abcd"), n_resamples=4000)
    assert found.seed != bootstrap_ranks(ranks, models=list("abcd"), base_seed=1).seed
    assert sum(item.share_best or 0.0 for item in found.models) == pytest.approx(1.0)
    for item, column in zip(found.models, ranks.T, strict=True):
        half = 1.96 * column.std() / np.sqrt(40)
        assert (item.highest_rank or 0) - (item.lowest_rank or 0) == pytest.approx(2 * half, rel=0.12)
        assert (item.lowest_rank or 9) <= item.mean_rank <= (item.highest_rank or 0)


def test_bootstrap_of_one_order_keeps_it() -> None:
    found = bootstrap_ranks([[1.0, 2.0, 3.0]] * 5, models=["a", "b", "c"])
    assert found.share_same_order == 1.0
    assert [item.share_best for item in found.models] == [1.0, 0.0, 0.0]
    assert "too narrow" in found.note
