"""A mistake of the user is one line with the value, what is near or allowed, and the next command; code 2."""

from __future__ import annotations

import resource
import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from safetensors.torch import load_file, save_file

from gnz_track.cli.terminal.commands import end_with
from gnz_track.cli.terminal.output import naming
from gnz_track.datasets.preparation import prepare

Gnz = Callable[..., Any]

QUICK = ("--task", "ising_lattice", "--models", "MLP", "--seeds", "0", "--epochs", "1")

HERE = Path(__file__).parent

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
    "home below a file": (("run", *QUICK, "--home", f"{__file__}/x"), ("test_mistakes.py/x'", "--home FOLDER")),
    "task, empty": (("run", "--task", ""), ("--task is ''", "the default is taken", "gnz run --help")),
    "task, commas": (("run", "--task", "ising_lattice", "--task", " ,"), ("--task is ' ,'", "gnz run --help")),
    "models, empty": (("tune", "--models=", "--task", "x"), ("--models is ''", "gnz tune --help")),
    "suite, empty": (("data", "get", "--suite", ""), ("--suite is ''", "gnz data get --help")),
    "store, blanks": (("ls", "--store", " "), ("--store is ' '", "gnz ls --help")),
    "out, empty": (("report", "--out", ""), ("--out is ''", "gnz report --help")),
    "out, a file": (("report", "--out", __file__), ("test_mistakes.py'", "a folder", "--out FOLDER")),
    "out, below a file": (("audit", "mutag", "--out", f"{__file__}/x/y"), ("test_mistakes.py/x/y'", "--out FOLDER")),
    "file, below a file": (("query", "--parquet", f"{__file__}/x"), ("test_mistakes.py/x'", "--parquet FILE")),
    "file, a folder": (("query", "--parquet", str(HERE)), ("--parquet is '", "a file", "--parquet FILE")),
    "project, below a file": (("init", f"{__file__}/x"), ("test_mistakes.py/x", "another path", "GNZ_DEBUG=1")),
    "number": (("run", "--jobs", "abc"), ("'--jobs'", "valid integer", "Try: gnz run --help")),
    "number, too small": (("ui", "--port", "0"), ("'--port'", "greater than or equal to 1", "gnz ui --help")),
    "flag": (("run", "--sede", "3"), ("--sede", "--seeds", "Try: gnz run --help")),
    "command": (("rum",), ("'rum'", "Try: gnz --help")),
    "argument missing": (("features",), ("Missing argument", "Try: gnz features --help")),
    "argument too many": (("doctor", "more"), ("(more)", "Try: gnz doctor --help")),
    "name, long": (("run", "--task", "x" * 3000), (f"'{'x' * 160} ... {'x' * 40}'", "gnz tasks")),
    "seeds, too many": (("run", "--seeds", "0-1000000"), ("'0-1000000' is 1000001", "at most 100000", "--seeds 0-4")),
    "graph": (("recommend", "les_miserablez"), ("'les_miserables'", "gnz tasks")),
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
    assert len(line) < 1000
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


def test_output_that_nobody_takes_is_one_line(environment: dict[str, str]) -> None:
    for arguments in ("tasks", "data card cora --format json", "--version"):
        command = f"{shlex.quote(sys.executable)} -m gnz_track {arguments} > /dev/full"
        call = ["/bin/sh", "-c", command]
        ended = subprocess.run(call, capture_output=True, text=True, check=False, env=environment, timeout=120)
        assert ended.returncode == 2, arguments
        (line,) = ended.stderr.splitlines()
        assert line.startswith("error: cannot write: No space left on device; make room, ")


def test_full_disk_names_what_was_written(tmp_path: Path) -> None:
    place, limits = tmp_path / "report", resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, limits[1]))
    try:
        with pytest.raises(OSError, match="File too large") as caught, naming(place):
            (tmp_path / "file").write_bytes(bytes(2000))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert caught.value.filename == str(place)


def test_traceback_is_shown_where_it_is_asked_for(gnz: Gnz, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    plain = gnz("init", str(tmp_path / "file" / "x"))
    monkeypatch.setenv("GNZ_DEBUG", "1")
    told = gnz("init", str(tmp_path / "file" / "x"))
    assert (plain.code, told.code) == (2, 2)
    assert "Traceback" not in plain.err
    assert told.err.startswith("Traceback (most recent call last):")
    assert told.err.splitlines()[-1] == plain.err.strip()


def test_traceback_holds_no_password(gnz: Gnz, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("psycopg")
    monkeypatch.setenv("GNZ_DEBUG", "1")
    answer = gnz("ls", "--store", "postgresql://me:secret@127.0.0.1:1/runs?sslpassword=hidden")
    assert answer.code == 2
    assert "Traceback" in answer.err
    assert "secret" not in answer.err
    assert "hidden" not in answer.err


@pytest.mark.parametrize("error", [FileNotFoundError(2, "No such file", "x"), TypeError("x"), OSError("x")])
def test_mistake_of_ours_is_no_mistake_of_the_user(error: Exception, capsys: pytest.CaptureFixture[str]) -> None:
    end_with(error)
    assert capsys.readouterr() == ("", "")


def test_suggested_commands_are_commands(gnz: Gnz) -> None:
    for words in (("tasks",), ("models",), ("protocols",), ("doctor",)):
        assert gnz(*words).code == 0
