"""Means for new seeds and new examples: against the analysis of variance, products by hand, and resamples by loops."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.typing import NDArray
from scipy import stats as scipy_stats

from gnz_track import stats
from gnz_track.errors import BadValue
from gnz_track.records import to_json
from gnz_track.stats.predictions.two_levels import resample_means, two_level_differences, two_level_means
from gnz_track.types import Direction

LAW = settings(deadline=None, max_examples=60)
SCORES = arrays(np.float64, st.tuples(st.integers(2, 5), st.integers(2, 6)), elements=st.integers(0, 8).map(float))


def draw(*shape: int, seed: int = 0) -> NDArray[np.float64]:
    rng = np.random.default_rng(seed)
    models, seeds, examples = shape
    whole = rng.normal(size=(models, seeds, 1)) + rng.normal(size=(models, 1, examples)) + rng.normal(size=shape)
    return np.asarray(whole)


def take_products(y: NDArray[np.float64]) -> tuple[float, float]:
    """Return the mean, and its variance: mean squared less the products of cells that share no seed and no example."""
    known = ~np.isnan(y)
    w = known / (len(y) * known.sum(axis=1, keepdims=True))
    mean = float(np.nansum(w * y))
    cells = list(zip(*np.nonzero(known), strict=True))
    apart = [
        (w[s, i] * w[t, j], (y[s, i] - mean) * (y[t, j] - mean))
        for (s, i), (t, j) in itertools.product(cells, cells)
        if s != t and i != j
    ]
    weights, products = np.array(apart).T
    return mean, -float((weights * products).sum() / weights.sum())


def test_variance_is_that_of_the_analysis_of_variance() -> None:
    y = draw(1, 6, 30, seed=3)[0]
    s, n = y.shape
    of_seeds = n * y.mean(axis=1).var(ddof=1)
    of_examples = s * y.mean(axis=0).var(ddof=1)
    rest = (y - y.mean(axis=1, keepdims=True) - y.mean(axis=0) + y.mean()).var() * y.size / ((s - 1) * (n - 1))
    (found,) = two_level_means(y[None])
    variance = (of_seeds + of_examples - rest) / y.size
    # The floor at what seeds alone show does not bind here.
    assert variance > of_seeds / y.size
    assert found.new_examples.se == pytest.approx(np.sqrt(variance))
    share = of_seeds / y.size / variance
    assert found.new_examples.share_of_seeds == pytest.approx(share)
    t = float(found.value or 0.0) / np.sqrt(variance)
    tails = [2 * scipy_stats.t.sf(abs(t), df) for df in (s - 1, n - 1)]
    assert found.new_examples.p == pytest.approx(share * tails[0] + (1 - share) * tails[1])


@LAW
@given(SCORES, st.floats(0.01, 0.5))
def test_interval_ends_where_the_p_value_is_alpha(y: NDArray[np.float64], alpha: float) -> None:
    (found,) = two_level_means(y[None], alpha=alpha)
    for which in ("new_seeds", "new_examples"):
        interval = getattr(found, which)
        if interval.low is not None and interval.se:
            for end in (interval.low, interval.high):
                (moved,) = two_level_means(y[None] - end, alpha=alpha)
                assert getattr(moved, which).p == pytest.approx(alpha, rel=1e-6)


def test_variance_of_random_splits_is_that_of_products() -> None:
    for seed in range(20):
        y = draw(1, 4, 9, seed=seed)[0]
        y[np.random.default_rng(seed).random(y.shape) < 0.4] = np.nan
        y[:, 0] = 1.0
        mean, variance = take_products(y)
        (found,) = two_level_means(y[None])
        assert found.value == pytest.approx(mean)
        assert found.new_examples.se is not None
        # Never below what one level shows alone.
        assert found.new_examples.se**2 >= variance - 1e-12
        assert found.new_seeds.se == pytest.approx(scipy_stats.sem(np.nanmean(y, axis=1)))
        if found.new_examples.se > found.new_seeds.se * 1.001:
            known = ~np.isnan(y)
            w = known / (len(y) * known.sum(axis=1, keepdims=True))
            r = np.where(known, w * (y - mean), 0.0)
            of_examples = (r.sum(axis=0) ** 2).sum() / (1 - (w.sum(axis=0) ** 2).sum())
            assert found.new_examples.se**2 == pytest.approx(max(variance, of_examples))


def test_disjoint_folds_have_the_variance_of_their_means() -> None:
    y = np.full((4, 20), np.nan)
    for seed in range(4):
        y[seed, seed::4] = draw(1, 4, 5, seed=1)[0, seed]
    (found,) = two_level_means(y[None])
    assert found.new_examples.se == pytest.approx(scipy_stats.sem(np.nanmean(y, axis=1)))
    assert found.new_examples.p == pytest.approx(found.new_seeds.p)


def test_new_seeds_are_student_s() -> None:
    y = draw(2, 5, 12)
    (found,) = two_level_differences(y, alpha=0.1)
    d = (y[0] - y[1]).mean(axis=1)
    test = scipy_stats.ttest_1samp(d, 0.0)
    assert found.new_seeds.p == pytest.approx(test.pvalue)
    assert (found.new_seeds.low, found.new_seeds.high) == pytest.approx(tuple(test.confidence_interval(0.9)))
    assert (found.n_seeds, found.n_examples) == (5, 12)


@LAW
@given(SCORES, st.floats(-3.0, 3.0), st.sampled_from([-1, 1]))
def test_intervals_move_and_turn_with_the_scores(y: NDArray[np.float64], shift: float, sign: int) -> None:
    (one,), (other,) = two_level_means(y[None]), two_level_means(sign * y[None] + shift)
    assert other.value == pytest.approx(sign * (one.value or 0.0) + shift)
    for a, b in ((one.new_seeds, other.new_seeds), (one.new_examples, other.new_examples)):
        assert (a.low is None) == (b.low is None) or not (y - y[0, 0]).any()
        if a.low is not None and b.low is not None and a.se:
            assert b.se == pytest.approx(a.se)
    to_json(one)


@LAW
@given(SCORES)
def test_new_examples_never_narrow_the_standard_error(y: NDArray[np.float64]) -> None:
    (found,) = two_level_means(y[None])
    if found.new_examples.se is not None and found.new_seeds.se is not None:
        assert found.new_examples.se >= found.new_seeds.se * (1 - 1e-12)


@LAW
@given(SCORES, st.floats(0.01, 0.5))
def test_verdict_is_that_of_the_p_value(y: NDArray[np.float64], alpha: float) -> None:
    (found,) = two_level_means(y[None] - 3.0, alpha=alpha)
    for interval in (found.new_seeds, found.new_examples):
        if interval.p is None:
            assert interval.is_different is None
        elif abs(interval.p - alpha) > 1e-9:
            assert interval.is_different == (interval.p < alpha)


def test_interval_covers_new_seeds_and_new_examples() -> None:
    # 5 seeds, both sources as strong: percentiles of a bootstrap would hold .87 of these. The standard error is .007.
    held = {"new_examples": 0, "new_seeds": 0}
    rng = np.random.default_rng(3)
    for _ in range(1000):
        seeds, examples, rest = rng.normal(size=(5, 1)), 2.0 * rng.normal(size=20), 0.5 * rng.normal(size=(5, 20))
        (found,) = two_level_means((seeds + examples + rest)[None])
        for which in held:
            held[which] += not getattr(found, which).is_different
    assert 935 <= held["new_examples"] <= 980
    assert held["new_seeds"] < 930, "which is meant for these examples"


def test_order_of_models_and_direction_turn_the_sign() -> None:
    y = draw(3, 4, 10)
    found = two_level_differences(y)
    turned = two_level_differences(y, pairs=[(1, 0), (2, 0), (2, 1)])
    errors = two_level_differences(-y, direction=Direction.down)
    for a, b, c in zip(found, turned, errors, strict=True):
        assert a.value == pytest.approx(-(b.value or 0.0))
        assert a.new_examples.p == pytest.approx(b.new_examples.p)
        assert a == c


def test_large_scores_are_scaled_exactly() -> None:
    y = draw(1, 4, 10)
    (one,), (huge,) = two_level_means(y), two_level_means(np.ldexp(y, 900))
    for name in ("se", "low", "high"):
        assert getattr(huge.new_examples, name) == np.ldexp(getattr(one.new_examples, name), 900)
    assert (resample_means(np.ldexp(y, 900), n_resamples=9) == np.ldexp(resample_means(y, n_resamples=9), 900)).all()


def test_nothing_is_said_where_nothing_is_known() -> None:
    y = draw(1, 4, 10)
    (one_seed,) = two_level_means(y[:, :1])
    assert one_seed.new_seeds.low is one_seed.new_examples.low is None
    assert "one seed" in one_seed.new_examples.note
    (one_example,) = two_level_means(y[:, :, :1])
    assert one_example.new_seeds.low is not None
    assert "one example" in one_example.new_examples.note
    (same,) = two_level_differences(np.repeat(y, 2, axis=0))
    assert (same.value, same.new_examples.p, same.new_examples.low) == (0.0, 1.0, 0.0)
    (constant,) = two_level_means(np.full((1, 3, 4), 0.1))
    assert (constant.value, constant.new_seeds.low, constant.new_examples.p) == (pytest.approx(0.1), None, None)
    (empty,) = two_level_means(np.full((1, 3, 4), np.nan))
    assert (empty.value, empty.n_seeds, empty.new_seeds.note) == (None, 0, "no example was tested")
    (no_example,) = two_level_means(np.empty((1, 3, 0)))
    assert no_example.value is None
    assert two_level_means(np.empty((0, 3, 4))) == two_level_differences(y) == ()


def test_model_without_luck_of_seeds_has_that_of_examples() -> None:
    row = draw(1, 1, 50)[0]
    (found,) = two_level_means(np.repeat(row[None], 5, axis=1))
    assert found.new_seeds.low is None
    assert found.new_examples.se == pytest.approx(scipy_stats.sem(row[0]))
    assert found.new_examples.share_of_seeds == pytest.approx(0.0)
    assert found.new_examples.p == pytest.approx(scipy_stats.ttest_1samp(row[0], 0.0).pvalue)


def test_seed_without_examples_is_left_out() -> None:
    y = draw(1, 5, 8)
    y[0, 2] = np.nan
    assert two_level_means(y)[0] == two_level_means(np.delete(y, 2, axis=1))[0]


def test_resamples_are_those_of_a_loop() -> None:
    y = draw(2, 4, 30, seed=5)
    y[:, :, 3:6] = np.nan
    y[1, 2, 7] = np.nan
    means = resample_means(y, n_resamples=4000, seed=1)
    rng = np.random.default_rng(9)
    looped = []
    for _ in range(4000):
        taken = y[:, rng.integers(4, size=4)][:, :, rng.integers(30, size=30)]
        looped.append(np.nanmean(np.nanmean(taken, axis=2), axis=1))
    expected = np.array(looped)
    assert means.mean(axis=0) == pytest.approx(expected.mean(axis=0), abs=0.03)
    assert np.cov(means.T) == pytest.approx(np.cov(expected.T), rel=0.12)
    assert np.array_equal(means, resample_means(y, n_resamples=4000, seed=1))
    assert not np.array_equal(means, resample_means(y, n_resamples=4000, seed=2))


def test_resamples_do_not_depend_on_the_other_models(monkeypatch: pytest.MonkeyPatch) -> None:
    y = draw(3, 4, 30, seed=6)
    y[1, :, :15] = np.nan
    y[2, 1] = np.nan
    together = resample_means(y, n_resamples=300)
    monkeypatch.setattr("gnz_track.stats.predictions.two_levels.ELEMENTS_AT_ONCE", 700)
    for model in range(3):
        alone = resample_means(y[model : model + 1], n_resamples=300)[:, 0]
        assert alone == pytest.approx(together[:, model], abs=1e-5)


def test_bootstrap_is_expanded_for_few_seeds() -> None:
    y = draw(1, 5, 40)
    (exact,), (found,) = two_level_means(y), two_level_means(y, method="bootstrap", n_resamples=2000)
    means = resample_means(y, n_resamples=2000)[:, 0]
    low, high = np.quantile(means, [0.025, 0.975])
    assert (found.new_examples.high or 0.0) - (found.new_examples.low or 0.0) == pytest.approx(
        (high - low) * np.sqrt(5 / 4)
    )
    assert (found.value, found.new_seeds) == (exact.value, exact.new_seeds)
    (shifted,) = two_level_means(y + 100.0, method="bootstrap", n_resamples=2000)
    assert shifted.new_examples.p == pytest.approx(2 / 2001)


def test_wrong_input_is_refused() -> None:
    with pytest.raises(BadValue, match="number of dimensions of gain"):
        two_level_means([[1.0]])
    with pytest.raises(BadValue, match="place of a model"):
        two_level_differences(draw(2, 2, 2), pairs=[(0, 2)])
    with pytest.raises(BadValue, match="t, bootstrap"):
        two_level_means(draw(1, 2, 2), method="normal")
    with pytest.raises(BadValue, match="alpha"):
        two_level_means(draw(1, 2, 2), alpha=0.0)
    with pytest.raises(BadValue, match="finite"):
        two_level_means(np.full((1, 2, 2), np.inf))


def test_room_offers_the_names() -> None:
    assert stats.two_level_means is two_level_means
