"""A study goes on exactly where it was, whatever ended it."""

from __future__ import annotations

import contextlib
import math
import os
import random
import signal
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from gnz_track.errors import BadValue, StoreUnusable, UnknownName
from gnz_track.tuning.spaces import make_space
from gnz_track.tuning.study import Study, Trial, TrialOutcome, begin_study, run_study
from gnz_track.tuning.study_storage import StudyPlace, open_studies
from gnz_track.tuning.study_terms import Budget, StudyTerms
from gnz_track.types import Direction

HERE = Path(__file__).parent
CHOICES = {"dropout": [0.0, 0.25, 0.5], "norm": ["none", "batch", "layer"], "hidden_channels": [16, 32, 64]}
SPACE = make_space("GCN", {"lr": {"low": 1e-4, "high": 0.1, "log": True}, "n_layers": {"low": 1, "high": 4}, **CHOICES})
DEFAULT = {"lr": 0.01, "n_layers": 2, "dropout": 0.5, "norm": "none", "hidden_channels": 64, "heads": 8}


def terms(*, budget: int = 30, epochs: int | None = None, **changes: Any) -> StudyTerms:
    limits = Budget(trials=budget, epochs=epochs, seconds=changes.pop("seconds", None))
    given = {"space": SPACE, "seed": 3, "direction": Direction.up, "default": DEFAULT, "label": "a study"}
    return StudyTerms(budget=limits, **{**given, **changes})


@contextlib.contextmanager
def study_in(folder: Path, **changes: Any) -> Iterator[Study]:
    with open_studies(StudyPlace(file=folder / "studies.log")) as studies, studies.held("a study"):
        yield begin_study(studies, "a study", terms(**changes))


def score(trial: Trial) -> TrialOutcome:
    values = trial.values
    away = abs(math.log10(float(values["lr"])) + 2.5) + abs(int(values["n_layers"]) - 3)
    return TrialOutcome(score=-away - float(values["dropout"]))


def one_by_one(
    find: Callable[[Trial], TrialOutcome],
) -> Callable[[Sequence[Trial]], Iterator[tuple[Trial, TrialOutcome]]]:
    """Return what evaluates trials in turn."""
    return lambda asked: ((trial, find(trial)) for trial in asked)


def run_in(folder: Path, find: Callable[[Trial], TrialOutcome] = score, **changes: Any) -> list[Trial]:
    with study_in(folder, **changes) as study:
        return run_study(study, one_by_one(find))


def values_of(rows: Any) -> set[tuple[Any, ...]]:
    return {tuple(sorted(row.values.items())) for row in rows}


@pytest.mark.parametrize("sampler", ["tpe", "random", "qmc"])
def test_interrupted_and_resumed_is_the_uninterrupted_one(tmp_path: Path, sampler: str) -> None:
    expected = run_in(tmp_path / "whole", sampler=sampler)
    for n in (1, 4, 11, 13):
        with study_in(tmp_path / "parts", sampler=sampler) as study:
            told = 0
            while told < n:
                # In another order, and the rest of a round left without an outcome.
                for trial in reversed(study.ask()):
                    if told < n:
                        study.tell(trial, score(trial))
                        told += 1
    assert run_in(tmp_path / "parts", sampler=sampler) == expected
    assert len(values_of(expected)) == len(expected) == 30


def test_proposals_know_all_earlier_rounds_and_nothing_of_their_own(tmp_path: Path) -> None:
    changed = {3: tmp_path / "one", 8: tmp_path / "other"}
    rows = run_in(tmp_path / "whole", budget=24)
    for number, folder in changed.items():
        other = run_in(
            folder, lambda q, number=number: TrialOutcome(score=9.0) if q.number == number else score(q), budget=24
        )
        differing = [row.number for row, before in zip(other, rows, strict=True) if row.values != before.values]
        # Ten trials are drawn by chance; what comes after them depends on what was told.
        assert differing
        assert min(differing) >= 12


def test_another_seed_is_another_search(tmp_path: Path) -> None:
    one, other = (run_in(tmp_path / str(seed), seed=seed, budget=5) for seed in (1, 2))
    assert one[0] == other[0], "the default"
    assert values_of(one[1:]).isdisjoint(values_of(other[1:]))


def test_default_is_trial_0_so_the_best_is_never_worse(tmp_path: Path) -> None:
    with study_in(tmp_path, budget=3) as study:
        rows = run_study(study, one_by_one(score))
        best = study.best()
    assert rows[0].values == {name: value for name, value in DEFAULT.items() if name != "heads"}
    assert [row.source for row in rows] == ["default", "sampler", "sampler"]
    assert best is not None
    assert (best.score or 0.0) >= (rows[0].score or 0.0)


def test_default_outside_of_the_space_is_trial_0_all_the_same(tmp_path: Path) -> None:
    outside = {**DEFAULT, "lr": 7.0, "norm": "other"}
    rows = run_in(tmp_path, default=outside, budget=20)
    assert (rows[0].values["lr"], rows[0].values["norm"]) == (7.0, "other")
    assert all(SPACE[name].holds(value) for row in rows[1:] for name, value in row.values.items())
    assert len(values_of(rows)) == 20


@pytest.mark.parametrize("sampler", ["tpe", "random", "qmc"])
def test_first_values_are_completed_by_the_default_and_never_drawn(tmp_path: Path, sampler: str) -> None:
    first = [({"lr": 0.05}, "a"), ({"n_layers": 7}, "b")]
    default = {name: value for name, value in DEFAULT.items() if name in SPACE}
    with open_studies(StudyPlace(file=tmp_path / "studies.log")) as studies:
        study = begin_study(studies, "a study", terms(budget=4, sampler=sampler), first=lambda: first)
        rows = run_study(study, one_by_one(score))
    assert [(row.source, row.values) for row in rows[:3]] == [
        ("default", default),
        ("a", {**default, "lr": 0.05}),
        ("b", {**default, "n_layers": 7}),
    ]
    assert rows[3].source == "sampler"


def test_name_without_a_default_is_left_to_the_model_where_no_sampler_proposes(tmp_path: Path) -> None:
    known = {name: value for name, value in DEFAULT.items() if name != "norm"}
    rows = run_in(tmp_path, default=known, budget=14)
    assert "norm" not in rows[0].values
    assert all(set(row.values) == set(SPACE) for row in rows[1:])


@pytest.mark.parametrize(("direction", "wanted"), [(Direction.up, 2), (Direction.down, 1)])
def test_best_is_the_first_of_those_that_tie(tmp_path: Path, direction: Direction, wanted: int) -> None:
    scores = [0.5, 0.1, 0.9, 0.9, 0.1]
    with study_in(tmp_path, direction=direction, budget=5) as study:
        run_study(study, one_by_one(lambda trial: TrialOutcome(score=scores[trial.number])))
        best = study.best()
    assert best is not None
    assert best.number == wanted


def test_failed_trials_count_against_the_budget(tmp_path: Path) -> None:
    answers = [0.5, None, math.nan, 0.25]
    with study_in(tmp_path, budget=4) as study:
        for trial in study.ask():
            study.note(trial, "seed 0", {"why": "x", "epochs": 3})
            study.tell(trial, TrialOutcome(score=answers[trial.number]))
        rows = study.rows()
        assert study.ask() == []
        assert study.is_over()
    assert [(row.score, row.state) for row in rows] == [
        (0.5, "complete"),
        (None, "failed"),
        (None, "failed"),
        (0.25, "complete"),
    ]
    assert rows[1].notes["seed 0"]["why"] == "x"


def test_study_without_any_score_has_no_best(tmp_path: Path) -> None:
    with study_in(tmp_path, budget=2) as study:
        assert len(run_study(study, one_by_one(lambda _: TrialOutcome(score=None)))) == 2
        assert study.best() is None


def test_larger_budget_goes_on_as_if_it_had_been_so_large(tmp_path: Path) -> None:
    first = run_in(tmp_path / "grown", budget=5)
    more = run_in(tmp_path / "grown", budget=18)
    assert (more[:5], len(more)) == (first, 18)
    assert more == run_in(tmp_path / "whole", budget=18)


@pytest.mark.parametrize(("limits", "wanted"), [({"epochs": 25}, 4), ({"epochs": 30}, 5), ({"seconds": 9.0}, 8)])
def test_no_trial_begins_beyond_epochs_or_seconds(tmp_path: Path, limits: dict[str, Any], wanted: int) -> None:
    """A trial takes up to 10 epochs, of which it uses 5 here, and 2 seconds; rounds have at most 4 trials."""

    def find(trial: Trial) -> TrialOutcome:
        study.note(trial, "seed 0", {"epochs": 5, "seconds": 2.0})
        return score(trial)

    for _ in range(2):
        with study_in(tmp_path, price=10 if "epochs" in limits else 1, **limits) as study:
            rows = run_study(study, one_by_one(find))
        # 25 allow two at once, which leaves 15 for one, then 10 for one, and 5 that the next might exceed.
        assert len(rows) == wanted


def test_grid_takes_every_point_once_and_ends(tmp_path: Path) -> None:
    grid = {"space": make_space("GCN", CHOICES), "sampler": "grid", "budget": 100}
    rows = run_in(tmp_path, lambda _: TrialOutcome(score=0.0), **grid)
    assert len(rows) == len(values_of(rows)) == 27
    assert rows[0].source == "default"


def test_median_pruner_gives_up_what_is_worse_than_half_of_the_earlier_ones(tmp_path: Path) -> None:
    given_up = {}

    def find(trial: Trial) -> TrialOutcome:
        found = score(trial)
        assert found.score is not None
        given_up[trial.number] = study.report(trial, 1, found.score)
        return TrialOutcome(score=found.score, is_pruned=given_up[trial.number])

    with study_in(tmp_path, pruner="median", n_steps=2, budget=24) as study:
        rows = run_study(study, one_by_one(find))
    for row in rows:
        earlier = [other.steps[1] for other in rows if other.number // 4 < row.number // 4]
        expected = row.number > 0 and len(earlier) >= 5 and row.steps[1] < statistics.median(earlier)
        assert given_up[row.number] is expected
        assert (row.state == "pruned") is expected
    assert any(given_up.values())


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"space": make_space("GCN", {"lr": [0.1]})},
            "is 'another space'; allowed: the space that it was begun",
        ),
        ({"seed": 4}, "another seed"),
        ({"sampler": "random"}, "another sampler"),
        ({"pruner": "median"}, "another pruner"),
        ({"round_size": 2}, "another trials at once"),
        ({"epochs": 4, "price": 5}, "the epochs of a search is 4; allowed: at least 5, which one trial may take"),
        ({"epochs": 0}, "the epochs of a search is 0; allowed: a whole number from 1"),
        ({"seconds": 0.0}, "the seconds of a search is 0.0; allowed: more than 0"),
        ({"facts": {"data": "0"}}, "another data"),
        ({"budget": 0}, "the budget of a search is 0; allowed: at least 1 trial"),
        ({"sampler": "grid"}, r"in the space is 'a range'; allowed: a list of choices, for the sampler grid"),
    ],
)
def test_other_terms_are_refused_and_nothing_is_lost(tmp_path: Path, changes: dict[str, Any], message: str) -> None:
    rows = run_in(tmp_path, budget=2)
    with pytest.raises(BadValue, match=message), study_in(tmp_path, **changes):
        pass
    with study_in(tmp_path, budget=2) as study:
        assert study.rows() == rows


def test_unknown_sampler_is_refused() -> None:
    with pytest.raises(UnknownName, match="unknown sampler 'tpee'; did you mean 'tpe'"):
        terms(sampler="tpee")


def start(code: str, root: Path) -> subprocess.Popen[str]:
    before = f"import sys; sys.path.insert(0, {str(HERE)!r})\nfrom pathlib import Path\nfrom test_studies import *\n"
    command = [sys.executable, "-W", "ignore", "-c", before + code]
    environment = {**os.environ, "PYTHONPATH": str(root)}
    pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    return subprocess.Popen(command, text=True, env=environment, **pipes)


def kill_at_random_moments(folder: Path, root: Path, *, budget: int, n_kills: int, longest: float) -> int:
    """Kill a process that searches, again and again; return how many trials had ended by then."""
    code = (
        f"with study_in(Path({str(folder)!r}), budget={budget}) as study:\n"
        "    print('ready', flush=True)\n"
        "    run_study(study, one_by_one(lambda trial: time.sleep(0.03) or score(trial)))"
    )
    moments, kills = random.Random(0), 0
    while kills < n_kills:
        process = start(code, root)
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        time.sleep(moments.uniform(0.0, longest))
        process.send_signal(signal.SIGKILL)
        kills += process.wait() == -signal.SIGKILL
        process.communicate()
    with study_in(folder, budget=budget) as study:
        return len(study.rows())


def test_kills_at_random_moments_change_nothing(tmp_path: Path, root: Path) -> None:
    expected = run_in(tmp_path / "whole", budget=20)
    assert kill_at_random_moments(tmp_path / "killed", root, budget=20, n_kills=2, longest=0.3) < 20
    assert run_in(tmp_path / "killed", budget=20) == expected


@pytest.mark.slow
def test_twenty_kills_at_random_moments_change_nothing(tmp_path: Path, root: Path) -> None:
    expected = run_in(tmp_path / "whole", budget=60)
    n_before = kill_at_random_moments(tmp_path / "killed", root, budget=60, n_kills=20, longest=0.2)
    assert 0 < n_before < 60, "it was over before it was killed twenty times"
    assert run_in(tmp_path / "killed", budget=60) == expected
    print(f"20 kills, {n_before} trials by then; 60 trials at the end, all equal, each once")  # noqa: T201


def test_journal_that_a_machine_did_not_end_is_read_to_its_last_whole_line(tmp_path: Path) -> None:
    expected = run_in(tmp_path / "whole", budget=8)
    run_in(tmp_path / "torn", budget=6)
    file = tmp_path / "torn" / "studies.log"
    whole = file.read_bytes()
    file.write_bytes(whole + whole.splitlines()[-1][:20])
    assert run_in(tmp_path / "torn", budget=8) == expected
    file.write_text("a diary\n", "utf-8")
    with pytest.raises(StoreUnusable, match="it is no journal of studies"):
        run_in(tmp_path / "torn")


def test_study_of_a_journal_is_held_by_one_process(tmp_path: Path) -> None:
    with study_in(tmp_path), pytest.raises(BadValue, match="the study a study is 'open in another process'"):
        run_in(tmp_path)
    assert len(run_in(tmp_path, budget=2)) == 2
    assert [path.name for path in tmp_path.iterdir() if path.suffix != ".lock"] == ["studies.log"]


def test_two_processes_share_a_study_on_postgresql(postgresql_database: str, root: Path, tmp_path: Path) -> None:
    """Both begin at the same moment, and no trial is evaluated by both; what they find is what one would have found."""
    uri = postgresql_database.replace("postgresql://", "postgresql+psycopg://")
    code = (
        f"with open_studies(StudyPlace(uri={uri!r})) as studies:\n"
        "    print('ready', flush=True)\n"
        "    sys.stdin.readline()\n"
        "    study = begin_study(studies, 'shared', terms(budget=20))\n"
        "    find = lambda trial: print(trial.number, flush=True) or time.sleep(0.05) or score(trial)\n"
        "    run_study(study, one_by_one(find), most=1)\n"
    )
    workers = [start(code, root) for _ in range(2)]
    for worker in workers:
        assert worker.stdout is not None
        assert worker.stdout.readline() == "ready\n", worker.communicate()
    for worker in workers:
        assert worker.stdin is not None
        worker.stdin.write("go\n")
        worker.stdin.flush()
    said = [worker.communicate() for worker in workers]
    assert [worker.returncode for worker in workers] == [0, 0], said
    numbers = [[int(line) for line in out.split()] for out, _ in said]
    assert sorted(number for mine in numbers for number in mine) == list(range(20))
    assert all(numbers), "one did everything"
    with open_studies(StudyPlace(uri=uri)) as studies:
        rows = begin_study(studies, "shared", terms(budget=20)).rows()
    assert rows == run_in(tmp_path, budget=20)


def test_trial_of_a_dead_process_is_taken_over_on_postgresql(postgresql_database: str, root: Path) -> None:
    uri = postgresql_database.replace("postgresql://", "postgresql+psycopg://")
    code = (
        f"with open_studies(StudyPlace(uri={uri!r})) as studies:\n"
        "    study = begin_study(studies, 'shared', terms(budget=4))\n"
        "    (first,) = study.ask(1)\n"
        "    study.note(first, 'seed 0', {'score': 0.5})\n"
        "    print(first.number, first.values, flush=True)\n"
        "    os._exit(9)\n"
    )
    said, errors = start(code, root).communicate()
    with open_studies(StudyPlace(uri=uri)) as studies:
        study = begin_study(studies, "shared", terms(budget=4))
        again, *_ = study.ask()
        assert f"{again.number} {again.values}" == said.strip(), errors
        assert again.notes["seed 0"]["score"] == 0.5
        # Those that this process has asked for are its own, and nobody else's.
        other = begin_study(studies, "shared", terms(budget=4))
        assert (other.ask(), other.is_over()) == ([], False)
