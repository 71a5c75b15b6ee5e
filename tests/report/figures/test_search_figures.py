"""Figures of searches: what is drawn is what the trials were, and no label collides."""

from __future__ import annotations

import itertools
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from figure_boxes import HOSTILE, bytes_of, count_faults, points_of, with_gid, words_of
from hypothesis import given
from hypothesis import strategies as st
from real_searches import report, search, searches

from gnz_track.report.figures.axes import fence
from gnz_track.report.figures.searches import (
    draw_budget_ranks,
    draw_expected_best,
    draw_importances,
    draw_search_history,
)
from gnz_track.report.searches import TaskBudgets, read_facts
from gnz_track.stats.search.expected_best import expected_best, rank_by_budget
from gnz_track.store.searches import PRUNED, SearchRecord
from gnz_track.store.searches import SEARCH_RECORD_FAILED as FAILED
from gnz_track.types import Direction


def with_trials(one: SearchRecord, **of: dict[str, Any]) -> SearchRecord:
    """Return a search whose trials, named ``t3``, are changed."""
    changed = {int(name[1:]): values for name, values in of.items()}
    return replace(one, trials=tuple(replace(item, **changed.get(item.number, {})) for item in one.trials))


@pytest.mark.parametrize("one", searches(), ids=lambda one: one.title)
def test_history_shows_every_trial_and_the_best_so_far(one: SearchRecord) -> None:
    figure = draw_search_history(read_facts(one))
    assert count_faults(figure) == (0, 0)
    shown = points_of(with_gid(figure, "gnz-trial"))
    beyond = points_of(with_gid(figure, "gnz-beyond"))
    scores = {trial.number: trial.score for trial in one.trials}
    assert dict(shown) == {number: scores[number] for number, _ in shown}
    assert sorted([number for number, _ in shown] + [number for number, _ in beyond]) == sorted(scores)
    (best,) = with_gid(figure, "gnz-best")
    assert best.get_xydata()[-1].tolist() == [23.0, one.best_score]
    sign = 1 if one.direction is Direction.up else -1
    assert all(b >= a for a, b in itertools.pairwise(sign * best.get_ydata()))


def test_trials_that_failed_were_cut_short_or_came_from_elsewhere_are_told_apart() -> None:
    one = with_trials(
        search("planted_partition", "GCN"),
        t3={"state": FAILED, "score": None, "reason": "Diverged"},
        t5={"state": PRUNED},
        t7={"source": "planted_partition GAT #3"},
    )
    figure = draw_search_history(read_facts(one))
    assert [x for x, _ in points_of(with_gid(figure, "gnz-failed"))] == [3.0]
    assert [x for x, _ in points_of(with_gid(figure, "gnz-pruned"))] == [5.0]
    for words in ("failed", "cut short", "a past search", "default", "24 trials of the sampler random, 1 failed"):
        assert words in words_of(figure)
    assert count_faults(figure) == (0, 0)


def test_trials_far_worse_stand_at_the_edge() -> None:
    figure = draw_search_history(read_facts(search("graph_families", "GAT")))
    beyond = points_of(with_gid(figure, "gnz-beyond"))
    assert beyond
    assert {y for _, y in beyond} == {figure.axes[0].get_ylim()[1]}
    assert "far worse" in words_of(figure)


def test_what_cannot_be_drawn_is_said() -> None:
    one = search("planted_partition", "GCN")
    empty = replace(one, trials=tuple(replace(t, state=FAILED, score=None, seed_scores={}) for t in one.trials))
    facts = read_facts(empty)
    assert "24 trials of the sampler random, 24 failed, none with a score" in words_of(draw_search_history(facts))
    assert "no trial has a score" in words_of(draw_importances(facts))
    alone = read_facts(replace(one, trials=one.trials[:1]))
    assert "it had one value" in words_of(draw_importances(alone))
    assert count_faults(draw_search_history(alone)) == (0, 0)
    tasks = [TaskBudgets(task="a", metric="m", direction=Direction.up, curves={"GCN": facts.curve})]
    assert "no trial of any search has a score" in words_of(draw_expected_best(tasks))
    assert "searches of two models" in words_of(draw_budget_ranks(rank_by_budget({}, {})))


def test_importances_are_bars_with_what_chance_gives() -> None:
    facts = read_facts(search("planted_partition", "GAT"))
    figure = draw_importances(facts)
    assert count_faults(figure) == (0, 0)
    bars = with_gid(figure, "gnz-share")
    assert [bar.get_width() for bar in bars] == [one.share for one in facts.importances]
    floors = [line.get_xdata()[0] for line in with_gid(figure, "gnz-floor")]
    assert floors == [one.floor for one in facts.importances]
    assert "by itself" in figure.alt_text
    assert "learns" not in figure.alt_text
    learned = read_facts(replace(search("planted_partition", "GAT"), sampler="tpe"))
    assert "The sampler tpe learns" in draw_importances(learned).alt_text


def test_expected_best_draws_the_means_of_each_model() -> None:
    summary = report().search_summary
    assert summary is not None
    figure = draw_expected_best(summary.budgets)
    assert count_faults(figure) == (0, 0)
    assert len(figure.axes) == 2
    for axes, task in zip(figure.axes, summary.budgets, strict=True):
        drawn = [line.get_ydata().tolist() for line in axes.lines if line.get_gid() == "gnz-budget"]
        assert drawn == [list(task.curves[model].means) for model in sorted(task.curves)]
    assert "out of 24" in figure.alt_text
    assert len(with_gid(figure, "gnz-band")) == 6


@pytest.mark.parametrize(("n_models", "n_tasks", "n_trials"), [(1, 1, 1), (2, 1, 3), (9, 7, 300)])
def test_curves_of_many_and_of_few(n_models: int, n_tasks: int, n_trials: int) -> None:
    rng = np.random.default_rng(0)
    names = [f"{place:02} a rather long name" for place in range(n_models)]
    scores = {f"t{task}": {name: rng.random(n_trials).tolist() for name in names} for task in range(n_tasks)}
    tasks = [
        TaskBudgets(
            task=task,
            metric="accuracy",
            direction=Direction.up,
            curves={name: expected_best(values, Direction.up) for name, values in found.items()},
            learners=tuple(names[:1]),
        )
        for task, found in scores.items()
    ]
    figure = draw_expected_best(tasks)
    assert count_faults(figure) == (0, 0)
    assert ("No bands" in figure.alt_text) == (n_models > 4)
    assert "in random order" in figure.alt_text
    ranks = rank_by_budget(scores, dict.fromkeys(scores, Direction.up))
    assert count_faults(draw_budget_ranks(ranks)) == (0, 0)


def test_ranks_are_drawn_best_above() -> None:
    summary = report().search_summary
    assert summary is not None
    figure = draw_budget_ranks(summary.ranks)
    assert count_faults(figure) == (0, 0)
    lines = with_gid(figure, "gnz-budget")
    assert [line.get_ydata().tolist() for line in lines] == [list(summary.ranks.ranks[m]) for m in summary.ranks.models]
    low, high = figure.axes[0].get_ylim()
    assert low > high


def test_hostile_names_are_text_and_bytes_are_stable() -> None:
    one = search("planted_partition", "GCN")
    for name in HOSTILE[::4]:
        values = [{name: trial.hyperparameters["lr"], **trial.hyperparameters} for trial in one.trials]
        trials = tuple(replace(trial, hyperparameters=value) for trial, value in zip(one.trials, values, strict=True))
        facts = read_facts(replace(one, task=name, model=name, trials=trials))
        for draw in (draw_search_history, draw_importances):
            figure = draw(facts)
            assert count_faults(figure) == (0, 0)
            assert b"<script>" not in bytes_of(figure)
    assert bytes_of(draw_search_history(facts)) == bytes_of(draw_search_history(facts))


@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=40), st.sampled_from(list(Direction)))
def test_fence_keeps_the_best_and_half_of_the_values(values: list[float], direction: Direction) -> None:
    low, high = fence(values, direction)
    best = max(values) if direction is Direction.up else min(values)
    assert best in {low, high}
    assert sum(low <= value <= high for value in values) >= 0.5 * len(values)
    mirrored = fence([-value for value in values], Direction.down if direction is Direction.up else Direction.up)
    assert mirrored == (-high, -low)
