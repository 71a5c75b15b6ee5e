"""Verdicts about nothing: models that are no better than a constant answer are not called equivalent."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pandas as pd
import pytest
from score_tables import table_of

from gnz_track.records import to_json
from gnz_track.report.tables.pairs import pair_table
from gnz_track.report.tables.scores import score_table
from gnz_track.stats.comparison.compare import compare
from gnz_track.stats.comparison.comparison import Verdict


def around(level: float, *, spread: float = 0.004, n: int = 10) -> Any:
    return level + np.random.default_rng(int(level * 1000)).normal(0, spread, n)


def table_with(scores: Any, baseline: Any, **columns: Any) -> pd.DataFrame:
    return table_of([scores], models=[f"m{place}" for place in range(len(scores))], baseline=baseline, **columns)


def verdict_of(table: pd.DataFrame, **choices: Any) -> Verdict:
    (pair,) = compare(table, **choices).pairs
    return pair.verdict


def test_models_of_one_class_have_both_learnt_nothing() -> None:
    table = table_with([np.full(5, 0.5), np.full(5, 0.5)], 0.5)
    found = compare(table, margin=0.02)
    assert found.pairs[0].verdict is Verdict.nothing
    assert str(Verdict.nothing) == "both learnt nothing"
    assert found.tasks[0].at_chance == ("m0", "m1")
    assert found.pairs[0].remarks == ("all differences zero",), "once, of the test and of the flags"
    assert "1 in which both learnt nothing" in str(found)
    assert "no better than a constant answer: m0, m1" in str(found)
    assert "no better than a constant answer on t00: m0, m1" in score_table(found).to_text()
    assert "both learnt nothing" in pair_table(found).to_text()
    assert "both learnt nothing" in pair_table(found).to_latex()
    assert json.loads(to_json(found))["tasks"][0]["pairs"][0]["verdict"] == "both learnt nothing"


def test_chance_is_judged_by_an_interval_and_not_by_equality() -> None:
    noise = [around(0.5), around(0.501)]
    assert verdict_of(table_with(noise, 0.5), margin=0.02) is Verdict.nothing
    assert verdict_of(table_with(noise, 0.4), margin=0.02) is Verdict.equivalent
    assert verdict_of(table_with([around(0.3), around(0.301)], 0.5), margin=0.02) is Verdict.nothing, (
        "worse than nothing"
    )


def test_one_that_has_learnt_is_enough_for_a_comparison() -> None:
    # Better than the baseline by less than the margin, and clearly so.
    table = table_with([around(0.5), around(0.512, spread=0.002)], 0.5)
    found = compare(table, margin=0.05)
    assert found.tasks[0].at_chance == ("m0",)
    assert found.pairs[0].verdict is not Verdict.nothing


def test_without_a_baseline_nothing_is_claimed() -> None:
    noise = [around(0.5), around(0.501)]
    assert verdict_of(table_of([noise]), margin=0.02) is Verdict.equivalent
    partly = table_with(noise, 0.5)
    partly.loc[3, "baseline"] = np.nan
    found = compare(partly, margin=0.02)
    assert (found.pairs[0].verdict, found.tasks[0].at_chance) == (Verdict.equivalent, ("m1",))


@pytest.mark.parametrize("margin", [None, 0.02])
@pytest.mark.parametrize("baseline", [np.nan, 0.5])
def test_the_same_scores_far_from_chance_are_identical_and_no_equivalence(margin: Any, baseline: float) -> None:
    same = np.array([0.9, 0.91, 0.88, 0.9])
    assert verdict_of(table_with([same, same], baseline), margin=margin) is Verdict.identical
    # With two seeds an interval is too wide to say that nothing was learnt.
    assert verdict_of(table_with([[0.6, 0.95]] * 2, baseline), margin=margin) is Verdict.identical
    assert verdict_of(table_with([[0.6]] * 2, baseline), margin=margin) is Verdict.undetermined


@pytest.mark.parametrize("factor", [1e-160, 1.0, 1e160])
def test_errors_are_at_chance_where_they_are_no_smaller(factor: float) -> None:
    errors = [factor * around(1.0), factor * around(1.0025)]
    assert verdict_of(table_with(errors, factor, direction="down"), margin=0.05 * factor) is Verdict.nothing
    assert verdict_of(table_with(errors, 2 * factor, direction="down"), margin=0.05 * factor) is Verdict.equivalent


def test_every_seed_has_its_own_baseline() -> None:
    """Splits differ: the commonest class of one is not that of another."""
    baselines = np.array([0.3, 0.5, 0.7, 0.4, 0.6])
    table = table_with([baselines, baselines], 0.0)
    table["baseline"] = np.tile(baselines, 2)
    assert verdict_of(table, margin=0.02) is Verdict.nothing
