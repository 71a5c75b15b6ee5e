"""What trials tell: curves, borders, and what to beware of."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from real_searches import nested, report, search, searches

from gnz_track.report.searches import borders_of, curve_of, ranks_by_budget, read_facts, trial_scores
from gnz_track.report.tuned_models import summarise_searches
from gnz_track.store.searches import PRUNED, SearchRecord
from gnz_track.store.searches import SEARCH_RECORD_FAILED as FAILED


def altered(one: SearchRecord, number: int, **changed: Any) -> SearchRecord:
    trials = tuple(replace(trial, **changed) if trial.number == number else trial for trial in one.trials)
    return replace(one, trials=trials)


def test_trials_without_a_whole_score_count_against_the_budget() -> None:
    one = search("planted_partition", "GCN")
    lost = altered(altered(one, 3, state=FAILED, score=None), 5, state=PRUNED)
    scores = trial_scores(lost)
    assert [number for number, score in enumerate(scores) if math.isnan(score)] == [3, 5]
    facts = read_facts(lost)
    assert (facts.curve.n_trials, facts.curve.n_failed) == (24, 2)
    assert all(item.n_trials == 22 for item in facts.importances)


def test_curve_of_nested_searches_is_their_mean() -> None:
    one, other = search("planted_partition", "GCN"), search("planted_partition", "GAT")
    group = (replace(one, seed=0), replace(other, model="GCN", seed=1))
    means = [read_facts(item).curve.means for item in (one, other)]
    np.testing.assert_allclose(curve_of(group).means, np.mean(means, axis=0))
    assert curve_of((one,)) == read_facts(one).curve


def test_ranks_are_over_tasks_and_nested_seeds_are_tasks() -> None:
    assert ranks_by_budget(searches()).n_tasks == 2
    assert ranks_by_budget(nested().searches).n_tasks == 6


@pytest.mark.parametrize(
    ("dimension", "value", "end"),
    [
        ({"low": 1e-4, "high": 1.0, "log": True}, 1e-4, "low"),
        ({"low": 1e-4, "high": 1.0, "log": True}, 0.1, None),
        ({"low": 0.0, "high": 1.0, "log": False}, 0.97, "high"),
        ([0.001, 0.1, 0.01], 0.1, "high"),
        ({"choices": [0.001, 0.1, 0.01]}, 0.001, "low"),
        ([0.001, 0.1], 0.1, None),
        (["none", "batch", "layer"], "none", None),
        ([True, False, True], True, None),
        ({"low": 1.0, "high": 1.0}, 1.0, None),
        ({"low": 0.5, "high": 1.0}, 0.1, None),
    ],
)
def test_borders_are_told_of_whatever_has_an_order(dimension: Any, value: Any, end: str | None) -> None:
    one = search("planted_partition", "GCN")
    changed = replace(one, space={"lr": dimension}, best={"lr": value})
    assert [border.end for border in borders_of(changed)] == ([end] if end else [])


def test_only_what_the_search_takes_for_a_border_is_warned_of() -> None:
    one = replace(search("planted_partition", "GCN"), borders=("hidden_channels", "norm"))
    warnings = read_facts(one).warnings
    assert warnings[0].startswith("the winner's hidden_channels is at the high end of its range; ")
    assert warnings[1] == "the winner's norm is at the end of its range"
    assert read_facts(replace(one, borders=())).warnings == ()


def test_unequal_budgets_are_warned_of() -> None:
    found = list(searches())
    assert not [words for words in summarise_searches(report().table, found).warnings if "budget" in words]
    found[0] = replace(found[0], budget={"trials": 50})
    unequal = [words for words in summarise_searches(report().table, found).warnings if "unequal" in words]
    assert unequal == [
        f"{found[0].task}: models were searched with unequal budgets (GAT: 24 trials; {found[0].model}: 50 trials)"
    ]
    found[0] = replace(found[0], budget={"trials": 24}, trials=found[0].trials[:20])
    fewer = [words for words in summarise_searches(report().table, found).warnings if "numbers of trials" in words]
    assert len(fewer) == 1
    assert f"{found[0].model} 20" in fewer[0]


def test_summary_says_how_often_tuning_helped() -> None:
    found = report().search_summary
    assert found is not None
    tested = [one for one in found.models if one.verdict]
    up = [one for one in tested if one.verdict == "different" and (one.advantage or 0) > 0]
    assert f"of 6 tuned models {len(up)} are better than their default and 0 are worse" in found.sentence
    assert f"{len(tested) - len(up)} pairs are not told apart" in found.sentence
    hours = summarise_searches(report().table, [altered(search("planted_partition", "GCN"), 0, seconds=36000.0)])
    assert "10.0 h" in hours.sentence
