"""A pipeline that tunes has a stage more, and hands on what was found as a file."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from gnz_track.datasets.catalogue import TASKS
from gnz_track.errors import BadValue, GnzError
from gnz_track.pipeline.params import read_params
from gnz_track.pipeline.stages import (
    freeze_task,
    load_searches,
    make_training,
    make_tuning,
    read_settings,
    report_all,
    seeds_of,
    train,
    tune_task,
)
from gnz_track.pipeline.starter_project import start_project
from gnz_track.runs.executors.events import ignore
from gnz_track.store.results_table import load_table

Project = Callable[..., Path]
TASK = "planted_partition"
ONE = {"tasks": {TASK: {"epochs": 3}}, "models": ["MLP"]}


def silent(text: str) -> None:
    pytest.fail(f"there was nothing to say: {text}")


@pytest.mark.usefixtures("svg_alone")
def test_stages_hand_on_what_was_found(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    project(**ONE, tune={"trials": 3, "tuning_seeds": "100"})
    params = read_params()
    freeze_task(params, TASK, say=silent)
    with pytest.raises(BadValue, match=r"what tune@planted_partition leaves. Try: dvc repro tune@planted_partition"):
        load_searches(params, TASK)
    (found,) = tune_task(make_tuning(params, TASK))
    assert (len(found.trials), found.tuning_seeds) == (3, (100,))
    before = Path(f"searches/{TASK}.jsonl").read_bytes()
    tune_task(make_tuning(params, TASK))
    assert Path(f"searches/{TASK}.jsonl").read_bytes() == before, "it was done"
    train(make_training(params, TASK, load_searches(params, TASK)), tell=ignore)
    table = load_table(Path(f"results/{TASK}.parquet"))
    assert sorted(zip(table["model"], table["seed"], strict=True)) == [
        ("MLP", 0),
        ("MLP", 1),
        ("MLP (tuned)", 0),
        ("MLP (tuned)", 1),
    ]
    assert set(table.loc[table["model"] == "MLP (tuned)", "search"]) == {found.name}
    # A clone has the files, and neither the store nor the trials.
    monkeypatch.setenv("GNZ_STORE", str(Path("elsewhere.db").absolute()))
    report, bundle = report_all(params)
    assert [search.best for search in report.searches] == [found.best]
    assert "MLP (tuned)" in bundle.page.read_text("utf-8")


def test_data_of_tuning_seeds_are_frozen_too(project: Project) -> None:
    project(tasks={"random_tsp": {"epochs": 1}}, models=["MLP"], tune={"trials": 1, "tuning_seeds": "7,8"})
    params = read_params()
    assert seeds_of(params) == (0, 1, 7, 8)
    assert len({item.digest for item in freeze_task(params, "random_tsp", say=silent)}) == 4


def test_without_the_key_nothing_is_tuned(project: Project) -> None:
    project(**ONE, tune=None)
    params = read_params()
    assert (seeds_of(params), load_searches(params, TASK)) == ((0, 1), [])


@pytest.mark.parametrize(
    ("tune", "message"),
    [
        (30, ": tune is 30; allowed: a mapping such as {trials: 30, kind: per-task}"),
        ({"trails": 3}, "unknown key of tune in params.yaml 'trails'; did you mean 'trials'"),
        ({"trials": 0}, "the budget of a search is 0"),
        ({"place": "x"}, "unknown key of tune in params.yaml 'place'"),
        ({"spaces": {"MLP": {}}}, "the search space of MLP is {}"),
    ],
)
def test_mistake_in_the_key_is_one_line(project: Project, tune: Any, message: str) -> None:
    project(tune=tune)
    with pytest.raises(GnzError, match=re.escape(message)):
        read_settings(read_params().tune or {})


def test_settings_are_those_of_the_command_line() -> None:
    space = {"MLP": {"lr": [0.1, 0.2]}}
    settings = read_settings({"trials": 5, "kind": "nested", "sampler": "grid", "spaces": space, "max_epochs": 90})
    assert (settings.trials, settings.kind, settings.sampler, settings.max_epochs) == (5, "nested", "grid", 90)
    assert settings.spaces["MLP"]["lr"].choices == (0.1, 0.2)


def test_starter_tunes_where_it_is_asked_to(tmp_path: Path) -> None:
    tasks = [TASKS.get(TASK)]
    for n_trials, names in ((0, ["data", "run", "report"]), (7, ["data", "tune", "run", "report"])):
        folder = tmp_path / f"bench{n_trials}"
        files = start_project(folder, tasks=tasks, has_git=True, n_trials=n_trials)
        assert not [path for path in files if re.search(r"@[A-Z_]+@", path.read_text("utf-8"))]
        stages = yaml.safe_load((folder / "dvc.yaml").read_text("utf-8"))["stages"]
        assert list(stages) == names
        tune = read_params(folder / "params.yaml").tune
        assert (tune is None) == (n_trials == 0)
        if tune is not None:
            assert read_settings(tune).trials == 7
            assert "searches/${key}.jsonl" in stages["run"]["do"]["deps"]
            assert "tune" in stages["data"]["do"]["params"]
            assert "searches" in stages["report"]["deps"]
    with pytest.raises(BadValue, match="the trials of a search is -1"):
        start_project(tmp_path / "wrong", tasks=tasks, has_git=True, n_trials=-1)
