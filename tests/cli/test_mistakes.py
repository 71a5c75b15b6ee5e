"""A mistake of the user is one line with the value, what is near or allowed, and the next command; code 2."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from safetensors.torch import load_file, save_file

from gnz_track.datasets.preparation import prepare

Gnz = Callable[..., Any]

QUICK = ("--task", "ising_lattice", "--models", "MLP", "--seeds", "0", "--epochs", "1")

# Arguments, and what the line must hold: the value, what is near or allowed, the next command.
MISTAKES: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "task": (("run", "--task", "ising_latice"), ("'ising_latice'", "did you mean 'ising_lattice'?", "gnz tasks")),
    "task, nothing near": (("run", "--task", "qqq"), ("'qqq'", "known: ", ". List all with: gnz tasks")),
    "second task": (("run", "--task", "ising_lattice,coraa"), ("'coraa'", "'cora'", "gnz tasks")),
    "task beside a suite": (("run", "--suite", "quick", "--task", "coraa"), ("'coraa'", "'cora'", "gnz tasks")),
    "model": (("run", "--models", "graphsage"), ("'graphsage'", "did you mean 'GraphSAGE' or ", "gnz models")),
    "model repeated": (("run", "--models", "GCN,GCN"), ("model is 'GCN'", "each model once")),
    "module": (("run", "--models", "nowhere.nets:Net"), ("'nowhere.nets:Net'", "no module", "PYTHONPATH")),
    "class": (("run", "--models", "own_nets:Plane"), ("'own_nets:Plane'", "no attribute 'Plane'")),
    "not a class": (("run", "--models", "json:dumps"), ("'json:dumps'", "not a class", "task_types")),
    "protocol": (("run", "--protocol", "best-vall"), ("'best-vall'", "did you mean 'best-val'?", "gnz protocols")),
    "suite": (("run", "--suite", "quik"), ("'quik'", "did you mean 'quick'?", "gnz tasks")),
    "suite of tasks": (("tasks", "--suite", "clasic"), ("'clasic'", "did you mean 'classic'?", "gnz tasks")),
    "seeds": (("run", "--seeds", "3-1"), ("'3-1'", "allowed: '0-9'", "--seeds 0-4")),
    "seeds, words": (("run", "--seeds", "ten"), ("'ten'", "allowed: '0-9'", "--seeds 0-4")),
    "seeds, repeated": (("run", "--seeds", "1,1"), ("'1,1'", "each once")),
    "epochs": (("run", *QUICK[:6], "--epochs", "0"), ("epochs is 0", "from 1 upwards", "--epochs 10")),
    "device": (("run", *QUICK, "--device", "tpu"), ("'tpu'", "auto, cpu", "gnz doctor")),
    "executor": (("run", *QUICK, "--executor", "rya"), ("'rya'", "did you mean 'ray'?", "gnz run --help")),
    "executor, jobs": (("run", *QUICK, "--executor", "inline", "--jobs", "2"), ("'inline'", "--executor processes")),
    "address": (("run", *QUICK, "--address", "auto"), ("address is 'auto'", "--executor ray")),
    "no UTF-8": (("report", "--sweep", "\udce3x"), ("'\\udce3x'", "text in UTF-8", "gnz --help")),
    "category": (("tasks", "--category", "socail"), ("'socail'", "social", "gnz tasks")),
    "task type": (("tasks", "--task-type", "nodes"), ("'nodes'", "node_cls", "gnz tasks")),
    "task type of models": (("models", "--task-type", "nodes"), ("'nodes'", "node_cls", "gnz tasks")),
    "nothing to run": (("run", *QUICK[:2], "--models", "GIN"), ("ising_lattice x GIN", "graph_cls", "gnz models")),
    "dataset": (("data", "get", "coraa"), ("'coraa'", "did you mean 'cora'", "gnz data list")),
    "dataset to check": (("data", "check", "../../x"), ("'../../x'", "known: ", "gnz data list")),
    "dataset, hostile": (("data", "get", "../../x"), ("'../../x'", "known: ", "gnz data list")),
    "task, hostile": (("run", "--task", "../../x"), ("'../../x'", "known: ", "gnz tasks")),
    "task, two lines": (("run", "--task", "a\nb"), (r"'a\nb'", "known: ", "gnz tasks")),
    "task, markup": (("run", "--task", "[red]x[/red]"), ("'[red]x[/red]'", "known: ", "gnz tasks")),
    "model, escape codes": (("run", "--models", "\x1b[31mGCN"), (r"'\x1b[31mGCN'", "gnz models")),
    "raw files": (("run", "--task", "cora"), ("'cora'", "looked in: ", "gnz data get cora")),
    "mirror to fetch from": (("data", "get", "mutag", "--mirror", "/no/such"), ("'/no/such'", "an http(s) address")),
    "not frozen": (("data", "check", "cora"), ("'cora'", "not frozen yet", "gnz data get cora")),
    "mirror": (("run", "--task", "cora", "--mirror", "/no/such"), ("'/no/such'", "a folder with raw files")),
    "home": (("run", *QUICK, "--home", "/dev/null/x"), ("'/dev/null/x'", "a folder", "--home FOLDER")),
    "home of data": (("data", "get", "ising_lattice", "--home", "/dev/null"), ("'/dev/null'", "--home FOLDER")),
    "home to check": (("data", "check", "cora", "--home", "/dev/null/x"), ("'/dev/null/x'", "--home FOLDER")),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_mistake_is_one_line_and_code_2(name: str, gnz: Gnz, home: Path) -> None:
    arguments, words = MISTAKES[name]
    answer = gnz(*arguments)
    assert (answer.code, answer.out) == (2, "")
    (line,) = answer.err.splitlines()
    assert line.startswith("error: ")
    assert "\x1b" not in line
    for word in words:
        assert word in line
    assert not home.exists(), "nothing is made for a mistake"


def test_mistake_in_a_process_of_its_own(gnz_process: Gnz) -> None:
    answer = gnz_process("tasks", "--suite", "quik")
    assert (answer.code, answer.out) == (2, "")
    assert answer.err == "error: unknown suite 'quik'; did you mean 'quick'? List all with: gnz tasks\n"


@pytest.mark.parametrize("command", [("run", *QUICK), ("data", "check", "ising_lattice")])
def test_corrupted_data_are_told_with_both_digests(command: tuple[str, ...], gnz: Gnz, home: Path) -> None:
    dataset = prepare("ising_lattice", seed=0, home=home)
    file = dataset.folder / "tensors.safetensors"
    tensors = load_file(file)
    tensors["x"][0] += 1
    save_file(tensors, file)
    answer = gnz(*command)
    assert (answer.code, answer.out) == (2, "")
    (line,) = answer.err.splitlines()
    assert line.startswith("error: the frozen dataset 'ising_lattice'")
    assert f"expected digest {dataset.digest}" in line
    assert f"rm -r {dataset.folder} && gnz data get ising_lattice" in line


def test_suggested_commands_are_commands(gnz: Gnz) -> None:
    for words in (("tasks",), ("models",), ("protocols",), ("doctor",)):
        assert gnz(*words).code == 0
