"""A search tries blind cells, keeps what ended, and stands in a record."""

from __future__ import annotations

import math
import re
import statistics
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import nets
import pytest
from rings import decisions, graph, task, without_times

from gnz_track.datasets.own.tasks import task_from_dataset
from gnz_track.errors import BadValue, NothingToRun
from gnz_track.runs.executors.events import Done, Event
from gnz_track.runs.fingerprint import fingerprint
from gnz_track.runs.run_one import run_one
from gnz_track.tuning.plan import NOTHING, plan_searches
from gnz_track.tuning.plan import Search as Wanted
from gnz_track.tuning.settings import SearchSettings, seeds_to_tune
from gnz_track.tuning.spaces import make_space
from gnz_track.tuning.study import Study
from gnz_track.tuning.study_storage import StudyPlace
from gnz_track.types import Cell

Search = Callable[..., Any]
Plans = Callable[..., Any]


class Listening:
    """Counts cells, and interrupts behind one of them."""

    def __init__(self, *, until: int | None = None) -> None:
        self.cells: list[str] = []
        self.until = until

    def begin(self, search: Wanted, study: Study) -> None:
        """Know that it begins."""

    def hear(self, event: Event) -> None:
        if isinstance(event, Done):
            assert event.cell.is_blind
            self.cells.append(fingerprint(event.cell))
            if len(self.cells) == self.until:
                raise KeyboardInterrupt


def test_record_holds_what_blind_cells_scored(search: Search, plan_of: Plans) -> None:
    (record,) = search()
    cells = [replace(cell, is_blind=True) for cell in plan_of([task()], seeds=(1000, 1001)).cells]
    first = record.trials[0]
    assert first.source == "default"
    assert first.hyperparameters == record.default
    assert dict(record.default) == {
        "lr": 0.01,
        "weight_decay": 5e-4,
        "hidden_channels": 64,
        "n_layers": 2,
        "dropout": 0.5,
        "jumping": "none",
        "norm": "none",
    }
    assert first.seed_scores == {cell.seed: run_one(cell).score for cell in cells}
    assert first.fingerprints == tuple(fingerprint(cell) for cell in cells)
    for trial in record.trials:
        assert trial.score == pytest.approx(statistics.fmean(trial.seed_scores.values()), abs=1e-15)
        assert (trial.state, trial.epochs, trial.reason) == ("complete", 4, "")
        assert 0 < trial.cpu_seconds < trial.seconds + 1
    best = max(record.trials, key=lambda trial: (trial.score or 0.0, -trial.number))
    assert (record.best_number, record.best_score, record.best) == (best.number, best.score, best.hyperparameters)
    assert (record.kind, record.seed, record.tuning_seeds, record.budget) == (
        "per-task",
        None,
        (1000, 1001),
        {"trials": 6},
    )
    assert len(record.trials) == 6
    assert set(record.versions) == {"optuna", "gnz_track"}


@pytest.mark.slow
def test_workers_change_nothing_but_time(search: Search, tmp_path: Path) -> None:
    (alone,) = search(trials=9)
    (together,) = search(trials=9, jobs=2, place=StudyPlace(file=tmp_path / "other.log"))
    assert decisions(together) == decisions(alone)


def test_interrupt_costs_no_cell_that_ended(search: Search) -> None:
    heard = []
    for until in (3, 1, 4):
        listening = Listening(until=until)
        with pytest.raises(KeyboardInterrupt):
            search(place=None, listener=listening)
        heard += listening.cells
    last = Listening()
    (record,) = search(listener=last)
    heard += last.cells
    assert sorted(heard) == sorted(key for trial in record.trials for key in trial.fingerprints)
    assert len(set(heard)) == 12


def test_interrupted_search_is_the_uninterrupted_one(search: Search, tmp_path: Path) -> None:
    place = StudyPlace(file=tmp_path / "whole.log")
    (whole,) = search(trials=13, place=place)
    for until in (5, 1, 7, 6):
        with pytest.raises(KeyboardInterrupt):
            search(trials=13, listener=Listening(until=until))
    (parts,) = search(trials=13)
    assert without_times(replace(parts, storage=whole.storage)) == without_times(whole)
    # The same call again has nothing to do.
    silent = Listening()
    assert search(trials=13, listener=silent) == [parts]
    assert silent.cells == []


@pytest.mark.parametrize("given", [{"models": ["MLP", "GCN"]}, {"kind": "nested"}, {"pruner": "median"}])
def test_other_test_labels_change_no_decision_of_any_search(search: Search, plan_of: Plans, given: Any) -> None:
    one, two = (search([task("ring", turned=turned)], trials=14, **given) for turned in (False, True))
    assert [decisions(record) for record in one] == [decisions(record) for record in two]
    assert {record.name for record in one}.isdisjoint(record.name for record in two), "these are two studies"
    # Seen, the same labels do change what is scored.
    (cell,), (other,) = (plan_of([task("ring", turned=turned)], seeds=(0,)).cells for turned in (False, True))
    assert run_one(cell).score != run_one(other).score


def test_nested_searches_see_the_split_of_their_seed_alone(search: Search) -> None:
    records = search(kind="nested", trials=5)
    assert [(record.seed, record.tuning_seeds) for record in records] == [(0, (0,)), (1, (1,)), (2, (2,))]
    proposals = [[tuple(trial.hyperparameters.values()) for trial in record.trials] for record in records]
    assert proposals[0][0] == proposals[1][0], "the default"
    assert proposals[0][1] != proposals[1][1]


def test_pruned_trials_cost_less_and_never_win(search: Search) -> None:
    (record,) = search(trials=16, pruner="median")
    pruned = [trial for trial in record.trials if trial.state == "pruned"]
    assert pruned, "half of the later trials are worse than half of the earlier ones, but for luck"
    assert {(trial.epochs, len(trial.seed_scores)) for trial in pruned} == {(2, 1)}
    assert record.best_number not in [trial.number for trial in pruned]
    assert record.trials[0].state == "complete"


def test_epochs_of_a_search_have_an_end(search: Search) -> None:
    (record,) = search(trials=50, max_epochs=31)
    assert sum(trial.epochs for trial in record.trials) == 28
    assert record.budget == {"trials": 50, "epochs": 31}


def test_failed_trials_count_and_say_why(search: Search) -> None:
    (record,) = search(models=nets.Sulking, trials=3, sampler="grid")
    assert sorted((trial.hyperparameters["power"], trial.state) for trial in record.trials) == [
        (1, "complete"),
        (2, "complete"),
        (3, "failed"),
    ]
    (failed,) = (trial for trial in record.trials if trial.state == "failed")
    assert (failed.score, failed.reason) == (None, "RuntimeError: it does not feel like it")


def test_search_of_which_all_trials_fail_has_no_winner(search: Search) -> None:
    (record,) = search(models=nets.Broken, trials=2)
    assert (record.best, record.best_number, record.best_score, record.borders) == ({}, None, None, ())
    assert {trial.reason for trial in record.trials} == {"RuntimeError: nothing works"}


def test_space_that_changed_is_refused_and_a_fresh_search_keeps_the_old_one(search: Search) -> None:
    changed = {"spaces": {"MLP": make_space("MLP", {"lr": [0.1, 0.2]})}, "trials": 2}
    (before,) = search(trials=2)
    with pytest.raises(BadValue, match=r"is 'another space'; .* Try: --fresh"):
        search(**changed)
    (fresh,) = search(**changed, is_fresh=True)
    assert fresh.name == f"{before.name} #2"
    # From now on it is the one that goes on, and what was there is there.
    assert search(**changed)[0] == fresh
    assert search(trials=2, is_fresh=True)[0].name == f"{before.name} #3"
    assert decisions(search(trials=2)[0]) == decisions(before)


def test_task_without_validation_is_left_out_with_the_reason(search: Search) -> None:
    with pytest.raises(NothingToRun, match=r"empty x MLP: .* its val part is empty"):
        search([task("empty", empty="val_mask")])
    (record,) = search([task("empty", empty="val_mask"), task()], trials=1)
    assert record.task == "ring"


def test_model_with_nothing_to_search_is_left_out_with_the_reason(search: Search, plan_of: Plans) -> None:
    with pytest.raises(NothingToRun, match=r"ring x Fixed: no hyperparameter .* changes it: .* compare it as it is"):
        search(models=nets.Fixed)
    (record,) = search(models=[nets.Fixed, "MLP"], trials=1)
    assert record.model == "MLP"
    settings = SearchSettings(trials=1, tuning_seeds=(1000,))
    shares = seeds_to_tune(settings, (0,))
    plan = plan_searches(plan_of([task()], [nets.Fixed, "MLP"], seeds=(1000,)), settings, shares)
    assert [(item.task, item.model, item.reason) for item in plan.skipped] == [("ring", "Fixed", NOTHING)]


@pytest.mark.parametrize(
    ("model", "names"),
    [
        (nets.Plain, ["lr", "weight_decay", "hidden_channels", "dropout"]),
        (nets.Declared, ["power", "lr"]),
    ],
)
def test_own_models_declare_their_space_or_get_what_fits(search: Search, model: type, names: list[str]) -> None:
    (record,) = search(models=model, trials=2)
    assert list(record.space) == sorted(names)
    assert set(record.trials[1].hyperparameters) == set(names)


def test_name_that_a_model_lacks_is_refused_in_one_line(search: Search) -> None:
    message = "a name in the search space of Mistaken is 'depth'; allowed: lr, weight_decay, hidden_channels, dropout"
    with pytest.raises(BadValue, match=re.escape(message)):
        search(models=nets.Mistaken)


def test_warm_start_tries_what_was_best_elsewhere(search: Search) -> None:
    (past,) = search([task("other")], trials=10)
    (warm,) = search(trials=4, warm_start=2)
    ranked = sorted(past.trials, key=lambda trial: (-(trial.score or 0.0), trial.number))
    ranked = [trial for trial in ranked if trial.source != "default"]
    assert [trial.source for trial in warm.trials] == [
        "default",
        *(f"{past.name} #{trial.number}" for trial in ranked[:2]),
        "sampler",
    ]
    assert [trial.hyperparameters for trial in warm.trials[1:3]] == [trial.hyperparameters for trial in ranked[:2]]
    # They were chosen when it began; what is found elsewhere meanwhile changes nothing.
    search([task("third")], trials=5)
    assert search(trials=4, warm_start=2)[0] == warm
    # Other models, and the task itself, are no past.
    assert search(models="GCN", trials=2, warm_start=2)[0].trials[1].source == "sampler"


def test_what_is_recommended_is_tried_before_what_searches_found(search: Search) -> None:
    (past,) = search([task("other")], trials=4)
    asked: list[Cell] = []

    def recommend(cell: Cell) -> list[dict[str, Any]]:
        asked.append(cell)
        # The second holds nothing that is searched, and the third is the first again.
        return [{"lr": 0.02}, {"n_heads": 8}, {"lr": 0.02}]

    (warm,) = search(trials=4, warm_start=2, recommend=recommend)
    best = max((trial for trial in past.trials if trial.source != "default"), key=lambda trial: trial.score or 0.0)
    assert [trial.source for trial in warm.trials][:3] == ["default", "recommended #1", f"{past.name} #{best.number}"]
    # It is asked when a search begins, and not when it goes on.
    search(trials=5, warm_start=2, recommend=recommend)
    assert [(cell.task.name, cell.model.name, cell.seed, cell.is_blind) for cell in asked] == [
        ("ring", "MLP", 1000, True)
    ]


def test_each_nested_search_asks_what_is_recommended_for_its_own_seed(search: Search) -> None:
    asked: list[Cell] = []

    def recommend(cell: Cell) -> list[dict[str, Any]]:
        asked.append(cell)
        return [{"lr": 0.02 + cell.seed / 1000}]

    records = search(trials=2, warm_start=1, recommend=recommend, kind="nested")
    assert [(cell.seed, cell.is_blind) for cell in asked] == [(0, True), (1, True), (2, True)]
    assert [record.trials[1].hyperparameters["lr"] for record in records] == [0.02, 0.021, 0.022]


def test_what_is_recommended_is_tried_as_it_was_with_all_else_at_its_default(search: Search) -> None:
    default = {"dropout": 0.5, "hidden_channels": 64, "jumping": "none", "lr": 0.01, "n_layers": 2, "norm": "none"}
    default |= {"weight_decay": 5e-4}
    recommended = [
        {"n_layers": 3},
        # The first again, and the default, in more words.
        {"n_layers": 3, "hidden_channels": 64},
        {"norm": "none", "lr": 0.01},
        # A width that is not searched, and an option that nobody searches.
        {"lr": 0.05, "hidden_channels": 65, "act": "tanh"},
        {"lr": 0.02, "norm": "batch"},
    ]
    (warm,) = search(trials=5, warm_start=3, recommend=lambda *_: recommended)
    found = [(trial.source, dict(trial.hyperparameters)) for trial in warm.trials[:4]]
    assert dict(warm.default) == default
    assert found == [
        ("default", default),
        ("recommended #1", {**default, "n_layers": 3}),
        ("recommended #4 without act=tanh, hidden_channels=65", {**default, "lr": 0.05}),
        ("recommended #5", {**default, "lr": 0.02, "norm": "batch"}),
    ]
    assert warm.trials[4].source == "sampler"


def test_what_a_narrower_search_found_is_tried_with_all_else_at_its_default(search: Search) -> None:
    narrow = {"MLP": make_space("MLP", {"lr": [0.3, 0.4], "n_layers": [3, 4]})}
    (past,) = search([task("other")], trials=5, spaces=narrow, sampler="grid")
    (warm,) = search(trials=5, warm_start=4, spaces={"MLP": make_space("MLP", WIDE)})
    known = {f"{past.name} #{trial.number}": trial for trial in past.trials}
    tried = {trial.source: dict(trial.hyperparameters) for trial in warm.trials[1:]}
    assert warm.trials[0].source == "default"
    assert set(tried) == set(known) - {f"{past.name} #0"}
    assert tried == {source: {"norm": "none", **known[source].hyperparameters} for source in tried}


WIDE = {"lr": {"low": 0.001, "high": 1.0, "log": True}, "n_layers": [1, 2, 3, 4], "norm": ["none", "batch"]}


def test_score_is_that_of_validation(search: Search) -> None:
    """Validation labels that are chance make a score of chance, however well the test part is predicted."""
    data = graph()
    data.y[data.val_mask] = 0
    (record,) = search([task_from_dataset("flat", "node_cls", data)], trials=1, epochs=60)
    assert record.best_score is not None
    assert record.best_score < 0.6
    assert not math.isclose(record.best_score, 1.0)
