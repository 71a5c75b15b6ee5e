"""Which rows of a table are those of a default and of a winner, and what their comparison says."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
import scipy.stats
from real_searches import nested, report, search, searches

from gnz_track.report.searches import find_cells, group_searches
from gnz_track.report.tuned_models import ALL_FAILED, DEFAULT_WON, TunedModel, compare_tuned
from gnz_track.stats.comparison.choices import Choices
from gnz_track.types import tuned_name


def models_of() -> dict[str, TunedModel]:
    return {one.title: one for one in compare_tuned(report().table, searches())}


@pytest.mark.parametrize("model", ["GCN", "GAT", "MLP"])
def test_rows_of_default_and_winner_are_found_by_seed(model: str) -> None:
    table, one = report().table, search("planted_partition", model)
    cells = find_cells(table, one)
    for places, name in zip(cells, (model, tuned_name(model)), strict=True):
        rows = table.iloc[list(places.values())]
        assert set(rows["task"]) == {"planted_partition"}
        assert set(rows["model"]) == {name}
        assert dict(zip(rows["seed"], places.values(), strict=True)) == dict(places)
        assert sorted(places) == list(range(6))
    assert all(json.loads(text) == dict(one.best) for text in table.iloc[list(cells[1].values())]["hyperparameters"])


def test_cells_of_an_earlier_search_that_found_the_same_are_known_by_their_values() -> None:
    table, one = report().table, search("planted_partition", "GCN")
    elsewhere = table.assign(search=table["search"].where(table["search"] == "", "an earlier one"))
    assert find_cells(elsewhere, one) == find_cells(table, one)
    other = replace(one, best={**one.best, "lr": 0.5})
    assert find_cells(elsewhere, other)[1] == {}
    # What names its search needs no values.
    assert sorted(find_cells(table, other)[1]) == list(range(6))


def test_cells_that_change_what_was_searched_are_no_default() -> None:
    table, one = report().table, search("planted_partition", "GCN")
    changed = table.assign(hyperparameters=table["hyperparameters"].replace("{}", '{"lr": 0.3}'))
    assert find_cells(changed, one)[0] == {}
    # What it names with the default's own value, and what was not searched, changes nothing.
    named = json.dumps({"lr": one.default["lr"], "heads": 4})
    same = table.assign(hyperparameters=table["hyperparameters"].replace("{}", named))
    assert sorted(find_cells(same, one)[0]) == list(range(6))
    assert find_cells(table, replace(one, protocol="graphnetz@1"))[0] == {}


def test_verdicts_are_paired_t_with_holm_over_all_tuned_models() -> None:
    found, table = models_of(), report().table
    p, tested = [], []
    for one in searches():
        cells = find_cells(table, one)
        default, tuned = (table["score"].iloc[[places[s] for s in range(6)]] for places in cells)
        model = found[one.title]
        assert (model.default, model.tuned) == pytest.approx((default.mean(), tuned.mean()))
        gain = (1 if one.direction == "up" else -1) * (tuned.to_numpy() - default.to_numpy())
        if dict(one.best) == dict(one.default):
            assert (model.note, model.verdict, model.p_adjusted) == (DEFAULT_WON, "", None)
            assert np.all(gain == 0), "the same cells under two names differ"
            continue
        assert model.advantage == pytest.approx(gain.mean())
        low, high = scipy.stats.t.interval(0.95, 5, gain.mean(), gain.std(ddof=1) / 6**0.5)
        assert (model.low, model.high) == pytest.approx((low, high))
        p.append(scipy.stats.ttest_1samp(gain, 0).pvalue)
        tested.append(model)
    order = np.argsort(p)
    adjusted = np.maximum.accumulate([min(1.0, (len(p) - place) * p[at]) for place, at in enumerate(order)])
    for at, value in zip(order, adjusted, strict=True):
        assert tested[at].p_adjusted == pytest.approx(value)
        assert tested[at].verdict == ("different" if value <= 0.05 else "undetermined")


def test_costs_are_those_of_all_trials_and_of_the_reporting_cells() -> None:
    table, found = report().table, models_of()
    for one in searches():
        model = found[one.title]
        assert model.seconds == pytest.approx(sum(trial.seconds for trial in one.trials))
        rows = table[(table["task"] == one.task) & (table["model"] == tuned_name(one.model))]
        assert model.cost_ratio == pytest.approx(model.seconds / rows["seconds"].sum())
        assert (model.n_trials, model.n_failed) == (24, 0)
        assert model.validation_default == one.trials[0].score
        assert model.validation_tuned == one.best_score


def test_margin_by_task_holds_for_its_tuned_models() -> None:
    found = compare_tuned(report().table, searches(), Choices(margin={"planted_partition": 0.2}))
    verdicts = {one.title: one.verdict for one in found}
    assert verdicts["planted_partition GCN"] == "equivalent"
    assert verdicts["graph_families GAT"] == models_of()["graph_families GAT"].verdict


def test_nested_searches_are_one_tuned_model() -> None:
    whole = nested()
    (group,) = group_searches(whole.searches)
    assert len(group) == 6
    (one,) = compare_tuned(whole.table, whole.searches)
    alone = models_of()["planted_partition GCN"]
    assert (one.n_searches, one.n_seeds, one.kind) == (6, 6, "nested")
    assert (one.advantage, one.low, one.tuned) == (alone.advantage, alone.low, alone.tuned)
    assert one.seconds == pytest.approx(6 * alone.seconds)
    assert [seed for seed, _ in one.best] == [0, 1, 2, 3, 4, 5]


def test_search_without_a_winner_or_without_cells_says_so() -> None:
    table, one = report().table, search("planted_partition", "GCN")
    failed = replace(one, best={}, best_number=None, best_score=None)
    (found,) = compare_tuned(table, [failed])
    assert (found.note, found.verdict, found.tuned) == (ALL_FAILED, "", None)
    (found,) = compare_tuned(table[table["task"] != one.task], [one])
    assert (found.note, found.n_seeds, found.default) == ("its default and its winner share no finished seed", 0, None)
    unfinished = table.assign(status="failed", score=float("nan"))
    (found,) = compare_tuned(unfinished, [one])
    assert found.note == "its default and its winner share no finished seed"
    assert compare_tuned(table, []) == ()


def test_two_searches_for_one_model_are_two() -> None:
    one = search("planted_partition", "GCN")
    again = replace(one, name="another", sampler="tpe")
    assert len(group_searches([one, again])) == 2
    assert len(compare_tuned(report().table, [one, again])) == 2
