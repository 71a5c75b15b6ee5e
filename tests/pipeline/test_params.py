from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from gnz_track.errors import GnzError
from gnz_track.pipeline.params import Params, override, read_params

Project = Callable[..., Path]


def test_everything_has_its_type(project: Project) -> None:
    project(margin={"accuracy": 0.01}, split_sizes=[150, 19], modules="one, two", timeout=60, keep_at_most="16MiB")
    params = read_params()
    assert params.tasks == {"planted_partition": 3, "les_miserables": 2}
    assert (params.models, params.seeds, params.modules) == (("GCN", "MLP", "GIN"), (0, 1), ("one", "two"))
    assert (params.margin, params.split_sizes, params.timeout) == ({"accuracy": 0.01}, (150, 19), 60.0)
    assert params.keep_at_most == 2**24
    assert (params.alpha, params.jobs, params.store) == (0.05, None, "")
    assert (params.compile, params.amp) == (False, "")
    with pytest.raises(dataclasses.FrozenInstanceError):
        params.alpha = 0.1  # type: ignore[misc]
    with pytest.raises(TypeError):
        params.tasks["other"] = 1  # type: ignore[index]


@pytest.mark.parametrize(("seeds", "read"), [(3, (3,)), ("0-2", (0, 1, 2)), ([0, 5], (0, 5)), ("0,7-8", (0, 7, 8))])
def test_seeds_are_written_as_yaml_has_them(project: Project, seeds: Any, read: tuple[int, ...]) -> None:
    project(seeds=seeds)
    assert read_params().seeds == read


def with_any_line(message: str) -> str:
    """Return a pattern of an error that may name a line behind the file."""
    return (
        re.escape(message)
        .replace(r"params\.yaml", r"params\.yaml(, line \d+)?")
        .replace("settings:", "settings(, line [0-9]+)?:")
    )


def test_slips_are_told_with_their_line(project: Project) -> None:
    project()
    Path("params.yaml").write_text("tasks:\n  cora:\n    settings:\n      clip: 1\n      lr: 0\n")
    with pytest.raises(GnzError, match=r"params.yaml: settings, line 5: cora: lr is 0; allowed"):
        read_params()
    Path("params.yaml").write_text("models: GCN\ntasks: {cora: {}}\n\nseeds: x\nseed: 1")
    with pytest.raises(GnzError, match=r"params.yaml, line 4: seeds is 'x'; allowed"):
        read_params()
    Path("params.yaml").write_text("models: GCN\ntasks: {cora: {}}\n\nmodels: GAT")
    with pytest.raises(GnzError, match=r"params.yaml, line 4: models is 'there twice'; allowed: each key once"):
        read_params()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"alhpa": 0.01}, "unknown key of params.yaml 'alhpa'; did you mean 'alpha' or 'amp'?"),
        ({"zzz": 1}, "unknown key of params.yaml 'zzz'; known: alpha, amp, compile, device,"),
        ({"tasks": {"a": {"epoch": 3}}}, "unknown key of the task a 'epoch'; did you mean 'epochs'?"),
        ({"tasks": {"a": 3}}, "params.yaml: tasks is {'a': 3}; allowed: a mapping from names of tasks to"),
        ({"tasks": {"a": {"epochs": 0}}}, "params.yaml: tasks is"),
        ({"tasks": {}}, "params.yaml: tasks is {}"),
        ({"tasks": {3: {}}}, "params.yaml: tasks is"),
        ({"settings": [1]}, "params.yaml: settings is [1]; allowed: a mapping, as {lr: [0.01, 0.001]"),
        ({"settings": {"lr": 0}}, "params.yaml: settings: lr is 0; allowed: a number above 0"),
        ({"settings": {"GAT": {"heads": []}}}, "params.yaml: settings: GAT.heads is []; allowed: a value"),
        ({"tasks": {"a": {"settings": 3}}}, "params.yaml: settings is 3; allowed: a mapping"),
        (
            {"tasks": {"a": {"settings": {"hours": -1}}}},
            "params.yaml: settings: a: hours is -1; allowed: a number from 0",
        ),
        ({"models": []}, "params.yaml: models is []; allowed: a list of names"),
        ({"models": [1]}, "params.yaml: models is [1]"),
        ({"seeds": "many"}, "params.yaml: seeds is 'many'; allowed: seeds from 0 upwards"),
        ({"seeds": "0,0"}, "params.yaml: seeds is '0,0'"),
        ({"seeds": [-1]}, "params.yaml: seeds is [-1]"),
        ({"seeds": True}, "params.yaml: seeds is True"),
        ({"seeds": []}, "params.yaml: seeds is []"),
        ({"seeds": None}, "params.yaml: seeds is None"),
        ({"compile": 1}, "params.yaml: compile is 1; allowed: true where Torch is to compile the models, or false"),
        ({"amp": 16}, "params.yaml: amp is 16; allowed: the half precision of the models"),
        ({"jobs": 0}, "params.yaml: jobs is 0; allowed: a whole number from 1 upwards"),
        ({"jobs": True}, "params.yaml: jobs is True"),
        ({"jobs": 1.5}, "params.yaml: jobs is 1.5"),
        ({"alpha": "x"}, "params.yaml: alpha is 'x'; allowed: a number between 0 and 1"),
        ({"alpha": float("nan")}, "params.yaml: alpha is nan"),
        ({"margin": -1}, "params.yaml: margin is -1; allowed: a positive number"),
        ({"margin": {"accuracy": 0}}, "params.yaml: margin is"),
        ({"split_sizes": [1]}, "params.yaml: split_sizes is [1]"),
        ({"split_sizes": 3}, "params.yaml: split_sizes is 3"),
        ({"modules": ["../bench"]}, "params.yaml: modules is ['../bench']; allowed: a list of modules that"),
        ({"modules": [".bench"]}, "params.yaml: modules is ['.bench']"),
        ({"seeds": "0-1000000"}, "the number of seeds in the range '0-1000000' is 1000001; allowed: at most 100000"),
        ({"store": 3}, "params.yaml: store is 3"),
        ({"keep_at_most": 16}, "params.yaml: keep_at_most is 16"),
        ({"keep_at_most": "16 cats"}, "a size such as 16MiB"),
        ({"keep_at_most": "65MiB"}, "at most 64MiB"),
        ({"timeout": 0}, "params.yaml: timeout is 0"),
        ({"hidden_channels": "64"}, "params.yaml: hidden_channels is '64'"),
    ],
)
def test_what_cannot_be_is_one_line_that_says_what_can(project: Project, changes: dict[str, Any], message: str) -> None:
    project(**changes)
    with pytest.raises(GnzError, match=with_any_line(message)) as raised:
        read_params()
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "params.yaml is 'NoneType'; allowed: a mapping, as {tasks: {cora: {}}"),
        ("- 1", "params.yaml is 'list'; allowed: a mapping"),
        ("models: [", "the file of parameters is 'params.yaml'; allowed: YAML (while parsing"),
        ("tasks: {a: {}}\nseeds: 0", "params.yaml: models is None; allowed: a list of names"),
    ],
)
def test_file_that_is_none_of_parameters_is_told(project: Project, text: str, message: str) -> None:
    project()
    Path("params.yaml").write_text(text, "utf-8")
    with pytest.raises(GnzError, match=with_any_line(message)):
        read_params()


def test_missing_file_leads_to_a_starter(project: Project) -> None:
    project()
    with pytest.raises(
        GnzError, match=r"'other.yaml'; allowed: a YAML file that exists, of at most 4 MiB. Try: gnz init"
    ):
        read_params("other.yaml")


def test_what_is_given_stands_in_place_of_the_file(project: Project) -> None:
    project()
    params = read_params(seeds="5-6", models="MLP", alpha=0.01, jobs=None)
    assert (params.seeds, params.models, params.alpha, params.jobs) == ((5, 6), ("MLP",), 0.01, None)
    with pytest.raises(GnzError, match=r"--seeds is 'x'; allowed"):
        override(params, seeds="x")
    with pytest.raises(GnzError, match=r"unknown key of --sede 'sede'; did you mean 'seeds'"):
        override(params, sede="3")


def test_parameters_of_the_project_name_every_key_once(root: Path) -> None:
    params = read_params(root / "params.yaml")
    written = yaml.safe_load((root / "params.yaml").read_text("utf-8"))
    # DVC refuses a stage that depends on a key which the file does not have.
    assert sorted(written) == sorted(field.name for field in dataclasses.fields(Params))
    assert params.suite == "quick"


def test_parameters_of_the_project_are_the_suite_quick(root: Path) -> None:
    from gnz_track import SUITES, TASKS

    params = read_params(root / "params.yaml")
    assert params.tasks == {name: TASKS.get(name).epochs for name in SUITES.get("quick").tasks}


def test_lock_is_that_of_the_parameters(root: Path) -> None:
    params = yaml.safe_load((root / "params.yaml").read_text("utf-8"))
    locked = yaml.safe_load((root / "dvc.lock").read_text("utf-8"))["stages"]
    stages = {f"{stage}@{task}" for stage in ("data", "run") for task in params["tasks"]} | {"report"}
    assert set(locked) == stages
    for name, stage in locked.items():
        for key, value in stage.get("params", {}).get("params.yaml", {}).items():
            known = params["tasks"][key.removeprefix("tasks.")] if key.startswith("tasks.") else params[key]
            assert value == known, f"{key} of {name}: dvc repro, and commit dvc.lock"
