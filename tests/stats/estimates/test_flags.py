from __future__ import annotations

import itertools
import json
from collections.abc import Callable

import numpy as np
import pytest
from scipy import stats

from gnz_track.errors import BadValue
from gnz_track.records import to_json
from gnz_track.stats.comparison.joins import SeedPairs, join, join_all
from gnz_track.stats.estimates.flags import LIMITS, flag_limits, flag_pair, flag_rows
from gnz_track.stats.significance.paired import paired_t

N_TASKS, N_SEEDS = 300, 30
Sampler = Callable[[np.random.Generator], list[np.ndarray]]
SHAPE = (N_TASKS, N_SEEDS)


def pair_of(differences: list[float]) -> SeedPairs:
    return join(dict(enumerate(differences)), dict.fromkeys(range(len(differences)), 0.0), direction="up")


def normal(rng: np.random.Generator) -> list[np.ndarray]:
    return [rng.normal(size=SHAPE) for _ in range(4)]


def beta_ceiling(rng: np.random.Generator) -> list[np.ndarray]:
    return [rng.beta(a, b, size=SHAPE) - a / (a + b) for a, b in ((30, 0.6), (18, 2), (60, 1.2), (9, 1))]


def mixed_lognormal(rng: np.random.Generator, *, sigma: float = 0.5) -> list[np.ndarray]:
    mean = np.exp(sigma**2 / 2)
    return [k * (np.exp(sigma * rng.normal(size=SHAPE)) - mean) for k in (1, -1, 2, -2)]


def strong_lognormal(rng: np.random.Generator) -> list[np.ndarray]:
    return mixed_lognormal(rng, sigma=1.0)


def one_collapses(rng: np.random.Generator) -> list[np.ndarray]:
    models = normal(rng)
    models[0] = models[0] - 5 * ((rng.random(SHAPE) < 0.1) - 0.1)
    return models


def share_of_flagged_tasks(sampler: Sampler) -> float:
    """Return the share of tasks with four models of equal means in which at least one pair is skewed."""
    models = sampler(np.random.default_rng(0))
    tasks = [[dict(enumerate(model[task])) for model in models] for task in range(N_TASKS)]
    couples = [couple for task in tasks for couple in itertools.combinations(task, 2)]
    flags = flag_rows(join_all(couples, direction="up"))
    return float(np.mean(np.array([flag.is_skewed for flag in flags]).reshape(N_TASKS, 6).any(axis=1)))


# Where the tests of this room do not keep their level at 30 seeds; three standard errors of 300 tasks are .087.
@pytest.mark.parametrize(
    ("sampler", "measured"),
    [(beta_ceiling, 0.75), (mixed_lognormal, 0.77), (one_collapses, 0.57), (strong_lognormal, 0.99)],
)
def test_skew_that_breaks_the_tests_is_flagged(sampler: Sampler, measured: float) -> None:
    share = share_of_flagged_tasks(sampler)
    assert share == pytest.approx(measured, abs=0.09)
    assert share >= 0.5


def test_false_alarms_are_few() -> None:
    assert share_of_flagged_tasks(normal) == pytest.approx(0.06, abs=0.041)


@pytest.mark.parametrize("n", [5, 14, 30])
def test_one_percent_of_normal_pairs_is_flagged(n: int) -> None:
    flags = flag_rows([pair_of(row) for row in np.random.default_rng(n).normal(size=(3000, n)).tolist()])
    # Three standard errors are .0055; between tabulated numbers the limit is interpolated.
    assert np.mean([flag.is_skewed for flag in flags]) == pytest.approx(0.01, abs=0.007)
    assert np.mean([flag.has_outlier for flag in flags]) == pytest.approx(0.01, abs=0.007)


def test_limits() -> None:
    assert flag_limits(4) is None
    assert flag_limits(30) == LIMITS[30]
    low, high = LIMITS[30][0], LIMITS[25][0]
    assert low < flag_limits(27)[0] < high
    assert flag_limits(2000)[0] == pytest.approx(LIMITS[500][0] / 2)


def test_skewness_equals_scipy() -> None:
    d = np.random.default_rng(0).gamma(1.0, size=12)
    found = flag_pair(pair_of(d.tolist()))
    assert found.skewness == pytest.approx(stats.skew(d), rel=1e-8)
    assert found.outlier_ratio == pytest.approx(
        np.abs(d - np.median(d)).max() / stats.median_abs_deviation(d), rel=1e-8
    )


def test_outlier_is_named_by_its_seed() -> None:
    first = {10: 0.1, 11: 0.12, 12: 0.09, 13: 0.11, 14: 0.1, 15: 0.13, 16: 5.0, 17: 0.08}
    found = flag_pair(join(first, dict.fromkeys(first, 0.0), direction="up"))
    assert found.has_outlier
    assert found.farthest_seed == 16
    assert "outlier" in str(found)


def test_one_seed_that_decides_is_named() -> None:
    d = [0.10, 0.12, 0.09, 0.11, 0.10, -0.12]
    found = flag_pair(pair_of(d))
    without = [paired_t(pair_of(d[:k] + d[k + 1 :])).p for k in range(len(d))]
    assert found.p == paired_t(pair_of(d)).p
    assert (found.p_low, found.p_high) == pytest.approx((min(without), max(without)))
    assert found.hinges_on_one_seed
    assert found.deciding_seed == 5
    assert "hinges on one seed" in found.words


def test_clear_difference_hinges_on_no_seed() -> None:
    found = flag_pair(pair_of([0.10, 0.12, 0.09, 0.11, 0.10, 0.105, 0.095, 0.115]))
    assert not found.hinges_on_one_seed
    assert found.words == ()
    assert str(found) == "flags: none, 8 pairs"


def test_rest_without_spread_is_left_out_of_the_range() -> None:
    found = flag_pair(pair_of([0.1, 0.1, 0.1, 0.1, 0.3]))
    expected = paired_t(pair_of([0.1, 0.1, 0.1, 0.3])).p
    assert (found.p_low, found.p_high) == pytest.approx((expected, expected))
    assert found.outlier_ratio is None
    assert "more than half" in found.note


@pytest.mark.parametrize("n", [0, 1, 2, 4])
def test_few_pairs_are_not_judged(n: int) -> None:
    found = flag_pair(pair_of([0.1, 0.5, 0.2, 9.0][:n]))
    assert (found.skewness_limit, found.is_skewed, found.has_outlier) == (None, False, False)
    assert f"too few seeds to judge skew and outliers: {n}," in found.note
    assert json.loads(to_json(found))["skewness_limit"] is None


@pytest.mark.parametrize(("value", "word"), [(0.0, "all differences zero"), (0.1, "degenerate")])
def test_pairs_without_spread_are_flagged(value: float, word: str) -> None:
    found = flag_pair(pair_of([value] * 6))
    assert found.words == (word,)
    assert (found.skewness, found.outlier_ratio) == (None, None)
    assert "no spread" in found.note


def test_many_pairs_are_as_pairs_alone() -> None:
    rng = np.random.default_rng(2)
    pairs = [pair_of(np.round(rng.normal(size=n), 2).tolist()) for n in (0, 1, 2, 3, 7, 12, 7)] + [pair_of([0.1] * 6)]
    assert flag_rows(pairs) == tuple(flag_pair(pair) for pair in pairs)
    assert flag_rows([]) == ()


def test_wrong_alpha_is_refused() -> None:
    with pytest.raises(BadValue, match="alpha"):
        flag_pair(pair_of([0.1, 0.2]), alpha=2)


def test_each_pair_may_have_its_own_level() -> None:
    scores = np.random.default_rng(5).normal(0.5, 1.0, (4, 8)).tolist()
    zero = dict.fromkeys(range(8), 0.0)
    pairs = [join(dict(enumerate(row)), zero, direction="up") for row in scores]
    levels = [0.05, 0.01, 0.2, 0.6]
    together = flag_rows(pairs, alpha=levels)
    assert together == tuple(flag_pair(pair, alpha=level) for pair, level in zip(pairs, levels, strict=True))
    with pytest.raises(BadValue, match=r"alpha is 1\.5"):
        flag_rows(pairs, alpha=[0.05, 0.05, 0.05, 1.5])
