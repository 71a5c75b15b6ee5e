"""A study goes on exactly where it was, whatever ended it."""

from __future__ import annotations

import math
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import optuna
import pytest
from optuna.storages import JournalStorage
from optuna.storages.journal import JournalFileBackend

from gnz_track.errors import BadValue, UnknownName
from gnz_track.kinds import Direction
from gnz_track.tuning.spaces import make_space
from gnz_track.tuning.studies import Answer, Question, Study, Terms, open_study, run_study

HERE = Path(__file__).parent
CHOICES = {"dropout": [0.0, 0.25, 0.5], "norm": ["none", "batch", "layer"], "hidden_channels": [16, 32, 64]}
SPACE = make_space("GCN", {"lr": {"low": 1e-4, "high": 0.1, "log": True}, "n_layers": {"low": 1, "high": 4}, **CHOICES})
DEFAULT = {"lr": 0.01, "n_layers": 2, "dropout": 0.5, "norm": "none", "hidden_channels": 64, "heads": 8}


def terms(**changes: Any) -> Terms:
    return Terms(**{"space": SPACE, "seed": 3, "direction": Direction.up, "budget": 30, "default": DEFAULT, **changes})


def study_in(folder: Path, **changes: Any) -> Study:
    folder.mkdir(exist_ok=True)
    return open_study(JournalStorage(JournalFileBackend(str(folder / "study.log"))), "a study", terms(**changes))


def score(question: Question) -> Answer:
    values = question.values
    away = abs(math.log10(float(values["lr"])) + 2.5) + abs(int(values["n_layers"]) - 3)
    return Answer(score=-away - float(values["dropout"]), facts={"seconds": 1.5})


def values_of(rows: Any) -> set[tuple[Any, ...]]:
    return {tuple(sorted(row.values.items())) for row in rows}


@pytest.mark.parametrize("sampler", ["tpe", "random", "qmc"])
def test_interrupted_and_resumed_is_the_uninterrupted_one(tmp_path: Path, sampler: str) -> None:
    expected = run_study(study_in(tmp_path / "whole", sampler=sampler), score)
    for n in (1, 4, 11, 14):
        study = study_in(tmp_path / "parts", sampler=sampler)
        for _ in range(n):
            question = study.ask()
            assert question is not None
            study.tell(question, score(question))
    assert run_study(study_in(tmp_path / "parts", sampler=sampler), score) == expected
    assert len(values_of(expected)) == len(expected) == 30


def test_another_seed_is_another_search(tmp_path: Path) -> None:
    one, other = (run_study(study_in(tmp_path / str(seed), seed=seed, budget=5), score) for seed in (1, 2))
    assert one[0] == other[0], "the default"
    assert values_of(one[1:]).isdisjoint(values_of(other[1:]))


def test_default_is_trial_0_so_the_best_is_never_worse(tmp_path: Path) -> None:
    study = study_in(tmp_path, budget=3)
    rows = run_study(study, score)
    assert rows[0].values == {name: value for name, value in DEFAULT.items() if name != "heads"}
    best = study.best()
    assert best is not None
    assert (best.score or 0.0) >= (rows[0].score or 0.0)


@pytest.mark.parametrize(("direction", "wanted"), [(Direction.up, 2), (Direction.down, 1)])
def test_best_is_the_first_of_those_that_tie(tmp_path: Path, direction: Direction, wanted: int) -> None:
    study = study_in(tmp_path, direction=direction, budget=5)
    scores = [0.5, 0.1, 0.9, 0.9, 0.1]
    run_study(study, lambda question: Answer(score=scores[question.number]))
    best = study.best()
    assert best is not None
    assert best.number == wanted


def test_failed_trials_count_against_the_budget(tmp_path: Path) -> None:
    study = study_in(tmp_path, budget=4)
    answers = [0.5, None, math.nan, 0.25]
    rows = run_study(study, lambda question: Answer(score=answers[question.number], facts={"why": "x"}))
    assert [row.score for row in rows] == [0.5, None, None, 0.25]
    assert rows[1].facts == {"why": "x"}
    assert study.ask() is None


def test_study_without_any_score_has_no_best(tmp_path: Path) -> None:
    study = study_in(tmp_path, budget=2)
    assert len(run_study(study, lambda _: Answer(score=None))) == 2
    assert study.best() is None


def test_larger_budget_goes_on(tmp_path: Path) -> None:
    first = run_study(study_in(tmp_path, budget=5), score)
    more = run_study(study_in(tmp_path, budget=8), score)
    assert (more[:5], len(more)) == (first, 8)


def test_grid_takes_every_point_once(tmp_path: Path) -> None:
    grid = {"space": make_space("GCN", CHOICES), "sampler": "grid", "budget": 27, "default": {}}
    assert len(values_of(run_study(study_in(tmp_path, **grid), lambda _: Answer(score=0.0)))) == 27


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"space": make_space("GCN", {"lr": [0.1]})},
            "is 'another space'; allowed: the space that it was begun",
        ),
        ({"seed": 4}, "another seed"),
        ({"sampler": "random"}, "another sampler"),
        ({"facts": {"data": "0"}}, "another data"),
        ({"budget": 0}, "the budget of a search is 0; allowed: at least 1 trial"),
        ({"sampler": "grid"}, r"in the space is 'a range'; allowed: a list of choices, for the sampler grid"),
    ],
)
def test_other_terms_are_refused_and_nothing_is_lost(tmp_path: Path, changes: dict[str, Any], message: str) -> None:
    rows = run_study(study_in(tmp_path, budget=2), score)
    with pytest.raises(BadValue, match=message):
        study_in(tmp_path, **changes)
    assert study_in(tmp_path, budget=2).rows() == rows


def test_unknown_sampler_is_refused() -> None:
    with pytest.raises(UnknownName, match="unknown sampler 'tpee'; did you mean 'tpe'"):
        terms(sampler="tpee")


def start(code: str, root: Path) -> subprocess.Popen[str]:
    before = f"import sys; sys.path.insert(0, {str(HERE)!r})\nfrom pathlib import Path\nfrom test_studies import *\n"
    command = [sys.executable, "-W", "ignore", "-c", before + code]
    environment = {**os.environ, "PYTHONPATH": str(root)}
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment)


@pytest.mark.slow
def test_twenty_kills_at_random_moments_change_nothing(tmp_path: Path, root: Path) -> None:
    expected = run_study(study_in(tmp_path / "whole", budget=60), score)
    code = (
        f"study = study_in(Path({str(tmp_path / 'killed')!r}), budget=60)\n"
        "print('ready', flush=True)\n"
        "run_study(study, lambda question: time.sleep(0.03) or score(question))"
    )
    moments, kills = random.Random(0), 0
    while kills < 20:
        process = start(code, root)
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        time.sleep(moments.uniform(0.0, 0.12))
        process.send_signal(signal.SIGKILL)
        kills += process.wait() == -signal.SIGKILL
        process.communicate()
    n_before = len(study_in(tmp_path / "killed", budget=60).rows())
    assert n_before < 60, "it was over before it was killed twenty times"
    assert run_study(study_in(tmp_path / "killed", budget=60), score) == expected
    print(f"{kills} kills, {n_before} trials by then; 60 trials at the end, all equal, each once")  # noqa: T201


def test_trial_of_a_dead_process_is_evaluated_again_as_it_was(tmp_path: Path, root: Path) -> None:
    code = (
        f"study = study_in(Path({str(tmp_path)!r}))\n"
        "for _ in range(3):\n    question = study.ask()\n    study.tell(question, score(question))\n"
        "print(study.ask())"
    )
    said, errors = start(code, root).communicate()
    again = study_in(tmp_path).ask()
    assert str(again) == said.strip(), errors
    assert again is not None
    assert again.number == 3


def test_trial_of_a_living_process_is_left_to_it(tmp_path: Path) -> None:
    storage = JournalStorage(JournalFileBackend(str(tmp_path / "study.log")))
    asked = [open_study(storage, "a study", terms(), is_shared=True).ask() for _ in range(2)]
    assert [question.number for question in asked if question] == [0, 1]


def test_two_processes_share_a_study_on_postgresql(postgresql_database: str, root: Path) -> None:
    url = postgresql_database.replace("postgresql://", "postgresql+psycopg://")
    code = (
        f"run_study(open_study(optuna.storages.RDBStorage({url!r}), 'shared', terms(budget=20), is_shared=True), score)"
    )
    storage = optuna.storages.RDBStorage(url)
    workers = [start(code, root) for _ in range(2)]
    said = [worker.communicate() for worker in workers]
    assert [worker.returncode for worker in workers] == [0, 0], said
    rows = open_study(storage, "shared", terms(budget=20), is_shared=True).rows()
    storage.remove_session()
    storage.engine.dispose()
    scored = [row for row in rows if row.score is not None]
    assert [row.number for row in scored] == list(range(20))
    assert len(values_of(scored)) == 20
