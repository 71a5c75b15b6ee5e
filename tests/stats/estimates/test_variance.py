"""Variance components against the textbook analysis of variance, and what cannot be told apart."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gnz_track.errors import BadValue
from gnz_track.records import to_json
from gnz_track.stats.estimates.variance import REST, Decomposition, decompose_variance

LAW = settings(deadline=None, max_examples=50)


def crossed(a: int, b: int, r: int, seed: int) -> tuple[np.ndarray, dict[str, list[int]]]:
    rng = np.random.default_rng(seed)
    y = 2 * rng.normal(size=(a, 1, 1)) + rng.normal(size=(1, b, 1)) + 0.5 * rng.normal(size=(a, b, r))
    split, init, _ = np.indices((a, b, r))
    return y, {"split": split.ravel().tolist(), "init": init.ravel().tolist()}


def moments(found: Decomposition) -> dict[str, float]:
    return {item.factor: item.moment for item in found.components}


@LAW
@given(st.integers(2, 5), st.integers(2, 5), st.integers(1, 3), st.integers(0, 999))
def test_crossed_factors_are_two_way_analysis_of_variance(a: int, b: int, r: int, seed: int) -> None:
    y, ids = crossed(a, b, r, seed)
    found = decompose_variance(y.ravel(), ids)
    n, mean = y.size, y.mean()
    ss_a = b * r * ((y.mean(axis=(1, 2)) - mean) ** 2).sum()
    ss_b = a * r * ((y.mean(axis=(0, 2)) - mean) ** 2).sum()
    rest = (((y - mean) ** 2).sum() - ss_a - ss_b) / (n - 1 - (a - 1) - (b - 1))
    expected = {"split": (ss_a / (a - 1) - rest) / (b * r), "init": (ss_b / (b - 1) - rest) / (a * r), REST: rest}
    assert moments(found) == pytest.approx(expected, rel=1e-9, abs=1e-12)
    assert found.components
    assert all(item.variance == max(0.0, item.moment) for item in found.components)
    assert ("negative" in found.note) == any(value < -1e-9 for value in expected.values())
    assert sum(item.share or 0.0 for item in found.components) == pytest.approx(1.0)
    to_json(found)


@LAW
@given(st.integers(2, 5), st.integers(2, 5), st.integers(2, 3), st.integers(0, 999))
def test_nested_factors_are_nested_analysis_of_variance(a: int, b: int, r: int, seed: int) -> None:
    y = np.random.default_rng(seed).normal(size=(a, b, r))
    split, init, _ = np.indices(y.shape)
    found = decompose_variance(
        y.ravel(), {"split": split.ravel(), "init": [f"{s}/{i}" for s, i in zip(split.flat, init.flat, strict=True)]}
    )
    ms_a = b * r * y.mean(axis=(1, 2)).var(ddof=1)
    ms_b = r * ((y.mean(axis=2) - y.mean(axis=(1, 2))[:, None]) ** 2).sum() / (a * (b - 1))
    rest = y.var(axis=2, ddof=1).mean()
    expected = {"split": (ms_a - ms_b) / (b * r), "init": (ms_b - rest) / r, REST: rest}
    assert moments(found) == pytest.approx(expected, rel=1e-8, abs=1e-12)
    assert found.components


def test_known_components_come_back() -> None:
    found = [decompose_variance(y.ravel(), ids) for y, ids in (crossed(8, 8, 2, seed) for seed in range(300))]
    mean = {name: np.mean([moments(item)[name] for item in found]) for name in ("split", "init", REST)}
    # True variances 4, 1, .25; standard errors of these means are about .12, .03, .002.
    assert mean == pytest.approx({"split": 4.0, "init": 1.0, REST: 0.25}, rel=0.1)
    assert {item.next_run_buys_most for item in found} >= {"split"}


def test_variance_of_the_mean_of_one_factor_is_that_of_group_means() -> None:
    y = np.random.default_rng(0).normal(size=(6, 4)) + 3 * np.random.default_rng(1).normal(size=(6, 1))
    found = decompose_variance(y.ravel(), {"split": np.repeat(np.arange(6), 4)})
    assert found.variance_of_mean == pytest.approx(y.mean(axis=1).var(ddof=1) / 6)


def test_gain_is_what_one_more_level_takes_off() -> None:
    y, ids = crossed(4, 5, 2, 7)
    found = decompose_variance(y.ravel(), ids)
    split, init, rest = found.components
    # A fifth split costs ten runs, a sixth initialisation eight, a third run of each combination twenty.
    assert split.gain_per_run == pytest.approx(
        (split.variance * (1 / 4 - 1 / 5) + rest.variance * (1 / 40 - 1 / 50)) / 10
    )
    assert init.gain_per_run == pytest.approx((init.variance * (1 / 5 - 1 / 6) + rest.variance * (1 / 40 - 1 / 48)) / 8)
    assert rest.gain_per_run == pytest.approx(rest.variance * (1 / 40 - 1 / 60) / 20)
    assert found.next_run_buys_most == max(found.components, key=lambda item: item.gain_per_run).factor


def test_a_new_split_brings_its_own_nested_initialisations() -> None:
    y = np.random.default_rng(5).normal(size=(3, 4, 2))
    split, init, _ = np.indices(y.shape)
    found = decompose_variance(y.ravel(), {"split": split.ravel(), "init": (10 * split + init).ravel()})
    by_split, by_init, rest = (item.variance for item in found.components)
    expected = (by_split / 3 + by_init / 12 + rest / 24) * (1 - 3 / 4) / 8
    assert found.components[0].gain_per_run == pytest.approx(expected)


def test_unbalanced_layout_is_refused_by_name() -> None:
    y, ids = crossed(3, 3, 1, 0)
    found = decompose_variance(y.ravel()[:-1], {name: column[:-1] for name, column in ids.items()})
    assert found.components == ()
    assert "the levels of split are not combined equally often" in found.note
    # Each level three times, and yet not each with each.
    wheel = {"split": [0, 0, 0, 1, 1, 1, 2, 2, 2], "init": [0, 0, 1, 1, 1, 2, 2, 2, 0]}
    assert "split and init are not combined" in decompose_variance(y.ravel(), wheel).note


@pytest.mark.parametrize(
    ("ids", "reason"),
    [
        ({"seed": [0, 0, 1, 1], "split": [5, 5, 6, 6]}, "always change together"),
        ({"seed": [0, 1, 2, 3]}, "its own seed"),
        ({"seed": [0, 0, 0, 0]}, "no factor varies"),
        ({}, "no factor varies"),
        ({"a": [0, 0, 1, 1], "b": [0, 1, 0, 1], "c": [0, 1, 1, 0]}, "cannot be told apart"),
    ],
)
def test_what_cannot_be_told_apart(ids: dict[str, list[int]], reason: str) -> None:
    found = decompose_variance([0.1, 0.2, 0.4, 0.3], ids)
    assert (found.components, found.next_run_buys_most) == ((), None)
    assert reason in found.note
    assert reason in str(found)
    to_json(found)


def test_constant_scores_and_one_run() -> None:
    found = decompose_variance([0.3] * 4, {"seed": [0, 0, 1, 1]})
    assert [item.variance for item in found.components] == [0.0, 0.0]
    assert (found.next_run_buys_most, found.components[0].share) == (None, None)
    assert "all components are 0" in str(found)
    for scores in ([], [0.3]):
        assert decompose_variance(scores, {"seed": [0] * len(scores)}).note.startswith("fewer than two runs")


def test_factor_that_did_not_vary_is_named() -> None:
    y, ids = crossed(3, 3, 2, 0)
    assert "hyperparameters did not vary" in decompose_variance(y.ravel(), {**ids, "hyperparameters": ["x"] * 18}).note


def test_bad_input_is_refused() -> None:
    with pytest.raises(BadValue, match="one for each of 2 runs"):
        decompose_variance([0.1, 0.2], {"seed": [1]})
    with pytest.raises(BadValue, match="another name"):
        decompose_variance([0.1, 0.2], {REST: [1, 2]})
    with pytest.raises(BadValue, match="leave missing scores out"):
        decompose_variance([0.1, np.nan], {"seed": [1, 2]})
