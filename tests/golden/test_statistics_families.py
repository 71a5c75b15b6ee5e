"""Families of p-values give the adjusted values of the golden record; its references are statsmodels and by hand."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from gnz_track.stats.significance.multiple import adjust

GOLDEN = json.loads(Path(__file__).with_name("statistics.json").read_text(encoding="utf-8"))
FAMILIES = [item for item in GOLDEN["fixtures"] if item["kind"] == "family"]
# Key of the record -> our name of the method.
METHODS = {
    "holm": "holm",
    "graphnetz_holm": "holm",
    "statsmodels_holm_on_non_nan": "holm",
    "statsmodels_bonferroni_on_non_nan": "bonferroni",
    "statsmodels_fdr_bh_on_non_nan": "benjamini_hochberg",
    "shaffer_static": "shaffer",
}


def test_the_record_holds_families() -> None:
    assert len(FAMILIES) >= 7


@pytest.mark.parametrize("key", METHODS)
@pytest.mark.parametrize("fixture", FAMILIES, ids=lambda item: item["id"])
def test_adjusted_values(fixture: dict[str, Any], key: str) -> None:
    found = adjust(fixture["input"]["p"], method=METHODS[key])
    assert found.p_adjusted == pytest.approx(fixture["outputs"][key], rel=1e-9, abs=1e-310)
    assert found.m == len(fixture["input"]["p"])


def test_published_floor_of_ten_seeds_and_six_pairs() -> None:
    found = adjust([2 / 2**10] * 3 + [0.087890625, 0.2734375, 0.712890625])
    assert found.p_adjusted[:3] == (0.01171875,) * 3
    assert adjust([2 / 2**5] * 6).p_adjusted == (0.375,) * 6


def test_all_zero_differences_stay_in_the_family() -> None:
    # D5: a comparison that ran and found nothing counts, one that did not run does not.
    assert adjust([0.02, 1.0, 0.5]).p_adjusted == pytest.approx((0.06, 1.0, 1.0))
    assert adjust([0.02, None, 0.5]).p_adjusted == pytest.approx((0.04, None, 0.5))
