"""Recommendations on a store of real runs: order, reasons, intervals, cost, refusals."""

from __future__ import annotations

import itertools
import json
from dataclasses import replace
from pathlib import Path

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from selection.conftest import TASKS, Past, evidence_of

from gnz_track.api import run_benchmark
from gnz_track.datasets.own.tasks import task_from_dataset
from gnz_track.errors import BadValue, UnknownName
from gnz_track.runs.plan import Place
from gnz_track.selection.confirmation import plan_confirmation, task_of, warm_starts
from gnz_track.selection.evidence import (
    KEPT,
    _note_tiny_tests,
    digest_of_graphs,
    gather_evidence,
    name_apart,
    read_past,
)
from gnz_track.selection.expectations import expect_scores
from gnz_track.selection.graph_input import open_graph
from gnz_track.selection.matrix import ModelSetting, bare_matrix
from gnz_track.selection.recommendation import _order_settings, rank_settings, recommend
from gnz_track.selection.selectors.catalogue import fit_selector
from gnz_track.selection.selectors.forest_neighbours import weigh_past_graphs
from gnz_track.store.address import parse_address
from gnz_track.training.metrics import METRICS
from gnz_track.types import Direction, TaskType

KARATE = nx.karate_club_graph()


def test_every_setting_is_ranked_with_reasons_and_cost(past: Past) -> None:
    found = recommend(KARATE, "link_pred", store=past.store, home=past.home)
    assert sorted(one.setting.label for one in found.ranking) == ["GCN", "GCN hidden_channels=16", "MLP"]
    assert [one.rank for one in found.ranking] == [1, 2, 3]
    assert (found.metric, found.n_graphs, found.level) == ("auc", 4, 0.8)
    assert {name for name, _ in found.neighbours} <= set(TASKS)
    assert sum(weight for _, weight in found.neighbours) == pytest.approx(1)
    for one in found.ranking:
        assert one.low is not None
        assert one.high is not None
        assert 0 <= one.low <= one.expected <= one.high <= 1
        assert one.n_past == 4
        assert one.why.startswith(("1 of 3 on ", "2 of 3 on ", "3 of 3 on "))
        assert one.seconds is not None
        assert one.seconds > 0
    seconds = [one.seconds or 0.0 for one in found.ranking[:2]]
    assert found.minutes(2) == pytest.approx(sum(seconds) * found.n_seeds / 60)
    assert 5 <= found.n_seeds <= 50
    assert json.loads(json.dumps(found.to_json()))["ranking"][0]["setting"]["model"] in {"GCN", "MLP"}


def test_expected_scores_are_weighted_means_of_past_ones(past: Past) -> None:
    found = recommend("les_miserables", store=past.store, home=past.home, is_unseen=True)
    assert found.n_graphs == 3
    weights = dict(found.neighbours)
    assert "les_miserables" not in weights
    evidence = gather_evidence(
        read_past(parse_address(past.store), TaskType.link_pred).without("les_miserables"),
        features="task",
        home=past.home,
    )
    matrix = evidence.matrix
    for one in found.ranking:
        column = matrix.scores[:, matrix.settings.index(one.setting)]
        by_hand = sum(weights.get(name, 0.0) * score for name, score in zip(matrix.graphs, column, strict=True))
        assert one.expected == pytest.approx(by_hand)
        # Three graphs cannot say what holds four times in five.
        assert one.low is None
        assert one.high is None


def test_what_was_run_on_the_task_itself_weighs_most_unless_left_out(past: Past) -> None:
    seen = recommend("ising_lattice", store=past.store, home=past.home)
    assert seen.neighbours[0][0] == "ising_lattice"
    assert seen.neighbours[0][1] > 0.5


def test_what_was_measured_on_the_graph_stands_in_that_order(past: Past) -> None:
    opened, evidence = open_graph("les_miserables", home=past.home), evidence_of(past)
    row = evidence.matrix.graphs.index("les_miserables")
    for measured in itertools.permutations((0.9, 0.7, 0.5)):
        scores = evidence.matrix.scores.copy()
        scores[row] = measured
        for direction, best_first in ((Direction.up, [0.9, 0.7, 0.5]), (Direction.down, [0.5, 0.7, 0.9])):
            matrix = replace(evidence.matrix, scores=scores, direction=direction)
            found = rank_settings(opened, replace(evidence, matrix=matrix))
            assert [one.measured for one in found.ranking] == best_first
            assert [one.rank for one in found.ranking] == [1, 2, 3]


def test_measured_settings_share_the_places_that_they_have() -> None:
    matrix = bare_matrix(["here", "there"], [ModelSetting(name) for name in "abcde"], "auc", Direction.up)
    # Nobody ran a and d here; b and e tie, and e is expected to be better.
    matrix.scores[0] = [np.nan, 0.5, 0.8, np.nan, 0.5]
    predicted, names = np.array([5.0, 1.0, 2.0, 4.0, 3.0]), "abcde"
    assert "".join(names[column] for column in _order_settings(matrix, "here", predicted)) == "adceb"
    assert "".join(names[column] for column in _order_settings(matrix, "new", predicted)) == "adecb"
    errors = replace(matrix, direction=Direction.down)
    assert "".join(names[column] for column in _order_settings(errors, "here", predicted)) == "adebc"


def test_features_are_kept_and_read_where_the_data_are_gone(past: Past, tmp_path: Path) -> None:
    expected = recommend(KARATE, "link_pred", store=past.store, home=past.home)
    kept = past.home / KEPT
    assert len(list(kept.iterdir())) >= len(TASKS)
    (tmp_path / KEPT).mkdir()
    for file in kept.iterdir():
        (tmp_path / KEPT / file.name).write_bytes(file.read_bytes())
    assert recommend(KARATE, "link_pred", store=past.store, home=tmp_path) == expected
    with pytest.raises(
        BadValue, match=r"not on this machine; fetch with: gnz data get ising_lattice les_mis.* --store sqlite"
    ):
        recommend(KARATE, "link_pred", store=past.store, home=tmp_path / "empty")


def test_too_little_is_refused_with_what_to_run(past: Past, tmp_path: Path) -> None:
    with pytest.raises(BadValue, match=r"number of node_cls tasks to learn from .* is 0; .* Try: gnz run") as told:
        recommend(KARATE, "node_cls", store=past.store, home=past.home)
    assert "at least 3 past tasks" in str(told.value)
    with pytest.raises(BadValue, match="is 0"):
        recommend(KARATE, "link_pred", store=str(tmp_path / "none.db"), home=tmp_path)
    assert not (tmp_path / "none.db").exists()
    with pytest.raises(BadValue, match="task type is None"):
        recommend(KARATE, store=past.store, home=past.home)


def test_margins_hold_for_that_share_of_past_graphs() -> None:
    """On exchangeable graphs an interval of level 0.8 covers about four scores in five."""
    generator = np.random.default_rng(0)
    features = generator.random((120, 3))
    scores = np.clip(0.3 + 0.4 * features[:, :1] + generator.normal(0, 0.05, (120, 4)), 0, 1)
    matrix = bare_matrix([f"g{row}" for row in range(80)], [ModelSetting(name) for name in "abcd"], "auc", Direction.up)
    matrix.scores[:] = scores[:80]
    fitted = fit_selector("forest_neighbours", features[:80], scores[:80], seed=1)
    inside = []
    for row in range(80, 120):
        weights = weigh_past_graphs(fitted.arrays, features[row : row + 1])[0]
        expected = expect_scores(matrix, fitted.arrays, weights)
        bounds = [(expected.low(column), expected.high(column)) for column in range(4)]
        inside += [low <= score <= high for (low, high), score in zip(bounds, scores[row], strict=True)]  # type: ignore[operator]
    assert 0.7 <= np.mean(inside) <= 0.95


@pytest.mark.parametrize(
    ("metric", "past_scores", "bounds"),
    [
        ("auc", [0.5, 0.9, 0.95, 1.0], (0, 1)),
        ("hits_at_50", [0.0, 0.0, 0.9, 1.0], (0, 1)),
        ("mae", [0.0, 0.3, 0.9, 0.95], (0, np.inf)),
        ("log10_mse", [0.0, 0.1, 0.9, 0.95], (-np.inf, np.inf)),
        ("log10_mse", [-3.0, 0.1, 0.9, 3.0], (-np.inf, np.inf)),
        # Of somebody else: a metric that nobody knows, and percentages.
        ("rmsle", [0.0, 0.3, 0.9, 0.95], (-np.inf, np.inf)),
        ("accuracy", [0.0, 30.0, 90.0, 95.0], (-np.inf, np.inf)),
    ],
)
def test_intervals_end_where_the_metric_does_and_not_where_past_scores_did(
    metric: str, past_scores: list[float], bounds: tuple[float, float]
) -> None:
    n = 2 * len(past_scores)
    direction = METRICS.get(metric).direction if metric in METRICS else Direction.down
    matrix = bare_matrix([f"g{row}" for row in range(n)], [ModelSetting("a"), ModelSetting("b")], metric, direction)
    matrix.scores[:] = np.repeat(past_scores, 2)[:, None]
    features = np.random.default_rng(0).random((n, 3))
    fitted = fit_selector("forest_neighbours", features, matrix)
    for row in range(n):
        weights = weigh_past_graphs(fitted.arrays, features[row : row + 1])[0]
        expected = expect_scores(matrix, fitted.arrays, weights)
        margin = expected.margins[0]
        assert expected.bounds == bounds
        assert expected.low(0) == pytest.approx(max(expected.scores[0] - margin, bounds[0]))
        assert expected.high(0) == pytest.approx(min(expected.scores[0] + margin, bounds[1]))


def test_a_confirmation_is_ordinary_cells(past: Past) -> None:
    opened = open_graph("les_miserables", home=past.home)
    found = recommend(opened, store=past.store, home=past.home)
    task = task_of(opened, found.task_type)
    plan = plan_confirmation(found, task, k=3, seeds=[0, 1], epochs=3, place=Place(home=past.home))
    assert len(plan.cells) == 6
    assert {(cell.model.name, cell.hyperparameters) for cell in plan.cells} == {
        ("GCN", ()),
        ("GCN", (("hidden_channels", 16),)),
        ("MLP", ()),
    }
    assert {cell.protocol.label for cell in plan.cells} == {found.ranking[0].setting.protocol}
    with pytest.raises(BadValue, match="number of settings to confirm is 0"):
        plan_confirmation(found, task, k=0, seeds=[0])


def test_a_graph_of_ones_own_becomes_a_task(past: Past) -> None:
    opened = open_graph(KARATE)
    found = recommend(opened, "link_pred", store=past.store, home=past.home)
    task = task_of(opened, TaskType.link_pred)
    plan = plan_confirmation(found, task, k=1, seeds=[0], epochs=1, place=Place(home=past.home))
    assert [cell.task.name for cell in plan.cells] == ["graph"]


def test_data_are_known_by_their_digest_whoever_froze_them(past: Past) -> None:
    opened = open_graph(KARATE)
    plan = plan_confirmation(
        recommend(opened, "link_pred", store=past.store, home=past.home),
        task_of(opened, TaskType.link_pred),
        k=1,
        seeds=[0],
        place=Place(home=past.home),
    )
    assert plan.cells[0].dataset_digest == digest_of_graphs(opened.graphs)
    # As many epochs as the past runs.
    assert plan.cells[0].epochs == 3
    known = pd.DataFrame({"task": ["club"], "dataset_digest": ["f" * 32], "start_time": [0]})
    assert name_apart("club", "f" * 32, known) == name_apart("club", "0", known.iloc[:0]) == "club"
    assert name_apart("copy", "f" * 32, known) == "club"
    assert name_apart("club", "0123456789", known) == "club-01234567"


def test_scores_on_a_handful_of_examples_are_named() -> None:
    rows = pd.DataFrame({"task": ["a", "a", "b", "old"], "n_test": pd.array([1, 3, 200, None], dtype="Int64")})
    assert _note_tiny_tests(rows) == "scores rest on fewer than 10 test examples on a (2): mostly luck"
    assert _note_tiny_tests(rows.iloc[2:]) == ""


def test_an_own_task_is_not_another_graph_of_its_name(own: Past) -> None:
    club, ring = (
        task_from_dataset("club", "link_pred", open_graph(graph).graphs[0]) for graph in (KARATE, nx.cycle_graph(60))
    )
    how = {"seeds": [0], "epochs": 3, "store": own.store, "root": own.home, "verbose": False}
    run_benchmark(tasks=[club], models=["GCN", "MLP"], **how)
    known = recommend(club, store=own.store, home=own.home)
    assert sum(one.measured is not None for one in known.ranking) == 2
    other = recommend(ring, store=own.store, home=own.home)
    assert all(one.measured is None for one in other.ranking)
    assert other.graph.startswith("club-")


def test_a_graph_with_one_known_setting_is_no_reason(past: Past) -> None:
    opened, evidence = open_graph("les_miserables", home=past.home), evidence_of(past)
    scores = evidence.matrix.scores.copy()
    scores[evidence.matrix.graphs.index("les_miserables"), 1:] = np.nan
    found = rank_settings(opened, replace(evidence, matrix=replace(evidence.matrix, scores=scores)))
    (known,) = [one for one in found.ranking if one.measured is not None]
    assert "les_miserables" not in known.why
    assert " of 3 on " in known.why
    scores[:, 0] = np.where([name == "les_miserables" for name in evidence.matrix.graphs], 0.5, np.nan)
    found = rank_settings(opened, replace(evidence, matrix=replace(evidence.matrix, scores=scores)))
    (known,) = [one for one in found.ranking if one.measured is not None]
    assert known.why == "run on similar graphs as the only one: no place to tell"


def test_what_hardly_ran_on_similar_graphs_is_a_guess(past: Past) -> None:
    opened = open_graph(KARATE)
    evidence = gather_evidence(
        read_past(parse_address(past.store), TaskType.link_pred), features="task", home=past.home
    )
    whole = rank_settings(opened, evidence)
    assert not any(one.is_guess for one in whole.ranking)
    assert all(one.known == pytest.approx(1) for one in whole.ranking)
    farthest = min(evidence.matrix.graphs, key=lambda name: dict(whole.neighbours).get(name, 0.0))
    scores = evidence.matrix.scores.copy()
    others = [name != farthest for name in evidence.matrix.graphs]
    scores[others, 0] = np.nan
    holes = rank_settings(opened, replace(evidence, matrix=replace(evidence.matrix, scores=scores)))
    guessed = {one.setting: one for one in holes.ranking}[evidence.matrix.settings[0]]
    assert guessed.is_guess
    assert (guessed.n_past, guessed.known) == (1, pytest.approx(dict(holes.neighbours).get(farthest, 0.0)))


def test_a_search_begins_with_what_was_good_elsewhere(past: Past) -> None:
    starts = warm_starts("les_miserables", "GCN", store=past.store, home=past.home)
    assert [dict(start) for start in starts] == [{"hidden_channels": 16}]
    assert warm_starts("les_miserables", "MLP", store=past.store, home=past.home) == []
    # A model of one's own that was never run has none; a slip of the pen is told.
    assert warm_starts("les_miserables", "my_nets:Unheard", store=past.store, home=past.home) == []
    with pytest.raises(UnknownName, match="unknown model 'GNC'; did you mean 'GCN'"):
        warm_starts("les_miserables", "GNC", store=past.store, home=past.home)
