"""Slices: scores as of the examples alone, and differences that sum up, also where models saw other examples."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.typing import NDArray

from gnz_track.errors import BadValue
from gnz_track.stats.predictions.slices import bin_by_quantile, explain_difference, score_slices
from gnz_track.stats.predictions.two_levels import two_level_differences, two_level_means
from gnz_track.types import Direction

LAW = settings(deadline=None, max_examples=80)
N = 8
GAIN = arrays(np.float64, (2, 3, N), elements=st.sampled_from([0.0, 0.1, 0.3, 1.0, np.nan]))
LABELS = arrays(np.int64, N, elements=st.integers(-1, 3))


def draw(seed: int = 0) -> NDArray[np.float64]:
    return np.random.default_rng(seed).normal(size=(2, 4, 60))


def test_score_of_a_slice_is_that_of_its_examples() -> None:
    y, labels = draw(), np.arange(60) % 3
    found = score_slices(y, labels, alpha=0.1)
    for item in found:
        assert item.n_examples == 20
        assert item.models == two_level_means(y[:, :, labels == item.label], alpha=0.1)


def test_slice_without_examples_or_tests_has_no_score() -> None:
    y, labels = draw(), np.array([0] * 29 + [2] * 30 + [-1])
    y[0, :, :29] = np.nan
    empty = score_slices(y, labels)[1]
    assert (empty.n_examples, [item.value for item in empty.models]) == (0, [None, None])
    first = score_slices(y, labels)[0]
    assert first.models[0].value is None
    assert first.models[1].value is not None
    (one,) = score_slices(y[:, :, :1], [0])
    assert one.models[1].new_examples.low is None
    assert score_slices(y[:, :, :0], []) == ()


def mean(y: NDArray[np.float64]) -> float:
    """Return the mean over seeds of the mean over examples."""
    return float(np.mean([np.mean(row[~np.isnan(row)]) for row in y if not np.isnan(row).all()]))


@LAW
@given(GAIN, LABELS)
def test_parts_sum_to_the_difference(y: NDArray[np.float64], labels: NDArray[np.int64]) -> None:
    if np.isnan(y).all(axis=(1, 2)).any():
        with pytest.raises(BadValue, match="both tested"):
            explain_difference(y, labels, first=0, second=1)
        return
    found = explain_difference(y, labels, first=0, second=1)
    assert math.fsum(item.total for item in found) == pytest.approx(mean(y[0]) - mean(y[1]), abs=1e-12)
    assert math.fsum(item.share for item in found) == pytest.approx(1.0)
    for item in found:
        assert item.total == item.within + item.mix
        assert item.n_examples == (labels == item.label).sum()
    other = explain_difference(y, labels, first=1, second=0)
    for item, turned in zip(found, other, strict=True):
        assert (item.within, item.mix) == (pytest.approx(-turned.within), pytest.approx(-turned.mix))
    errors = explain_difference(-y, labels, first=0, second=1, direction=Direction.down)
    assert [item.total for item in errors] == [item.total for item in found]


@LAW
@given(GAIN, LABELS)
def test_same_examples_leave_no_mix(y: NDArray[np.float64], labels: NDArray[np.int64]) -> None:
    y[1] = np.where(np.isnan(y[0]), np.nan, np.nan_to_num(y[1]))
    if not np.isnan(y).all():
        for item in explain_difference(y, labels, first=0, second=1):
            assert item.mix == pytest.approx(0.0, abs=1e-15)


def test_models_that_differ_by_their_examples_alone_differ_by_mix() -> None:
    labels = np.array([0] * 10 + [1] * 10)
    y = np.repeat((0.2 + 0.6 * labels)[None, None], 2, axis=0).repeat(2, axis=1)
    y[0, :, 5:10] = np.nan
    found = explain_difference(y, labels, first=0, second=1)
    assert [item.within for item in found] == pytest.approx([0.0, 0.0])
    assert math.fsum(item.mix for item in found) == pytest.approx(mean(y[0]) - mean(y[1]))
    assert all(item.mix > 0 for item in found), "fewer of the difficult ones, and more of the easy ones"
    assert "same seeds and examples" in found[0].interval.note


def test_slice_that_one_model_lacks_is_all_mix() -> None:
    y = draw()
    labels = np.arange(60) % 2
    y[0, :, labels == 1] = np.nan
    found = explain_difference(y, labels, first=0, second=1)
    assert found[1].within == 0.0
    assert math.fsum(item.total for item in found) == pytest.approx(mean(y[0]) - mean(y[1]))


def test_interval_of_the_only_slice_is_that_of_the_difference() -> None:
    y = draw()
    (part,) = explain_difference(y, [0] * 60, first=0, second=1)
    (whole,) = two_level_differences(y)
    assert part.interval == whole.new_examples
    assert part.total == pytest.approx(whole.value)


def test_interval_of_a_slice_covers_its_part() -> None:
    y = draw(4)
    for item in explain_difference(y, np.arange(60) % 4, first=0, second=1):
        assert item.interval.low is not None
        assert item.interval.high is not None
        assert (item.interval.low + item.interval.high) / 2 == pytest.approx(item.total)


@LAW
@given(st.lists(st.one_of(st.integers(0, 5).map(float), st.just(math.nan)), max_size=40), st.integers(1, 6))
def test_quantile_bins_keep_equals_together_and_order(values: list[float], n_bins: int) -> None:
    labels, edges = bin_by_quantile(values, n_bins=n_bins)
    array = np.array(values, dtype=np.float64)
    known = ~np.isnan(array)
    assert (labels[~known] == -1).all()
    assert len(edges) <= n_bins
    for place, edge in enumerate(edges):
        chosen = array[labels == place]
        assert chosen.max() == edge
        assert chosen.min() > (edges[place - 1] if place else -np.inf)
    assert set(labels[known]) == set(range(len(edges)))


def test_quantile_bins_are_equally_large_without_ties() -> None:
    labels, _ = bin_by_quantile(np.random.default_rng(0).permutation(100), n_bins=4)
    assert np.bincount(labels).tolist() == [25] * 4


def test_wrong_input_is_refused() -> None:
    y = draw()
    with pytest.raises(BadValue, match="see bin_by_quantile"):
        score_slices(y, np.full(60, 0.5))
    with pytest.raises(BadValue, match="one for each of 60 examples"):
        score_slices(y, [0])
    with pytest.raises(BadValue, match="below 60"):
        score_slices(y, np.full(60, 10**9))
    with pytest.raises(BadValue, match="place of a model"):
        explain_difference(y, [0] * 60, first=0, second=2)
    with pytest.raises(BadValue, match="n_bins"):
        bin_by_quantile([1.0], n_bins=0)
