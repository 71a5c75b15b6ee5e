"""Every golden cell: intervals of one model's scores; figures, references and tolerances in statistics.json."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest

from gnz_track.stats.estimates.intervals import intervals_of, iqm

GOLDEN = json.loads(Path(__file__).with_name("statistics.json").read_text(encoding="utf-8"))
CELLS = [fixture for fixture in GOLDEN["fixtures"] if fixture["kind"] == "cell"]
WITH_BAND = [fixture for fixture in CELLS if "percentile_exact_Binf" in fixture["outputs"]["bootstrap"]]
LEVELS = {"t_ci90": 0.10, "t_ci95": 0.05, "t_ci99": 0.01}

by_id = pytest.mark.parametrize("fixture", CELLS, ids=lambda fixture: fixture["id"])
by_id_with_band = pytest.mark.parametrize("fixture", WITH_BAND, ids=lambda fixture: fixture["id"])


def scores(fixture: dict[str, Any]) -> list[float]:
    return [math.nan if value == "NaN" else value for value in fixture["input"]]


def golden(value: float | str) -> Any:
    """Return the golden value as the product has to give it: what is not a number is None."""
    return None if value == "NaN" else pytest.approx(value, rel=1e-9, abs=1e-15)


def test_there_are_cells() -> None:
    assert len(CELLS) >= 10
    assert len(WITH_BAND) >= 6


@by_id
@pytest.mark.parametrize("key", LEVELS)
def test_t_interval(fixture: dict[str, Any], key: str) -> None:
    (found,), expected = intervals_of([scores(fixture)], alpha=LEVELS[key]), fixture["outputs"][key]
    assert found.n == expected["n"]
    assert found.n + found.n_missing == len(fixture["input"])
    for name, value in (("mean", found.mean), ("sd", found.sd), ("sem", found.sem)):
        assert value == golden(expected[name]), name
    assert found.low == golden(expected["lo"])
    assert found.high == golden(expected["hi"])


@by_id
def test_interquartile_mean(fixture: dict[str, Any]) -> None:
    assert iqm(scores(fixture)) == golden(fixture["outputs"].get("iqm_scipy_trim25", "NaN"))


@by_id_with_band
@pytest.mark.parametrize("seed", range(3))
def test_percentile_lies_in_its_band(fixture: dict[str, Any], seed: int) -> None:
    (found,) = intervals_of([scores(fixture)], method="percentile", seed=seed)
    expected = fixture["outputs"]["bootstrap"]["percentile_exact_Binf"]
    for value, key in ((found.low, "lo_band_B10000"), (found.high, "hi_band_B10000")):
        lowest, highest = expected[key]
        assert value is not None
        assert lowest - 1e-12 <= value <= highest + 1e-12


@by_id_with_band
@pytest.mark.parametrize("seed", range(3))
def test_bca_lies_near_its_exact_value(fixture: dict[str, Any], seed: int) -> None:
    (found,) = intervals_of([scores(fixture)], method="bca", seed=seed)
    outputs = fixture["outputs"]["bootstrap"]
    expected, band = outputs["bca_exact_Binf"], outputs["percentile_exact_Binf"]
    # The band is that of the percentile interval; BCa reads quantiles farther out, so it gets the band twice.
    for value, key in ((found.low, "lo"), (found.high, "hi")):
        lowest, highest = band[f"{key}_band_B10000"]
        assert value == pytest.approx(expected[key], abs=2 * (highest - lowest) + 1e-12)


def test_constant_scores_give_a_point_and_say_so() -> None:
    fixture = next(fixture for fixture in CELLS if fixture["id"] == "c07_constant")
    for method in ("t", "percentile", "bca", "bootstrap_t"):
        (found,) = intervals_of([scores(fixture)], method=method)
        assert (found.low, found.high, found.sd) == (0.9, 0.9, 0.0)
        assert "all scores are equal" in str(found)
