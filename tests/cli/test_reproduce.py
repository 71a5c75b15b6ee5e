"""``gnz reproduce`` trains a run of another process again, says what came out, and ends with a code that agrees."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Gnz = Callable[..., Any]
TASKS = ("planted_partition", "les_miserables", "digits_regions")
OWN_MODELS = Path(__file__).parents[1] / "runs"

# As a user's script or notebook: its model can be imported from nowhere.
SCRIPT = """
import sys
from torch import nn
from gnz_track import TASKS, register_model, run_benchmark

WIDTH = 6

@register_model(task_type="node_cls")
class Mine(nn.Module):
    def __init__(self, in_channels, hidden_channels, out_channels):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(in_channels, WIDTH), nn.ReLU(), nn.Linear(WIDTH, out_channels))

    def forward(self, data):
        return self.layers(data.x)

models = {"GCN": "GCN", "FailsForward": "own_nets:FailsForward", "Mine": Mine}
tasks = [TASKS.get(name) for name in sys.argv[1:]]
where = {"store": "gnz.db", "root": "home", "executor": "inline"}
run_benchmark(None, models, tasks=tasks, seeds=[4], epochs=4, verbose=False, **where)
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory, root: Path) -> Path:
    """Return a folder, without git, that holds the store and the data of runs that another process trained."""
    folder = tmp_path_factory.mktemp("past")
    (folder / "script.py").write_text(SCRIPT)
    kept = {name: value for name, value in os.environ.items() if name != "GNZ_MIRROR"}
    own = {"XDG_DATA_HOME": str(folder / "data"), "PYTHONPATH": f"{root}{os.pathsep}{OWN_MODELS}"}
    command = [sys.executable, "script.py", *TASKS]
    ended = subprocess.run(command, env={**kept, **own}, cwd=folder, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr
    return folder


@pytest.fixture
def past(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the file of a copy of that store, beside a copy of its data."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GNZ_DATA", str(shutil.copytree(folder / "home", tmp_path / "home")))
    for file in folder.glob("gnz.db*"):
        shutil.copy(file, tmp_path)
    shutil.copytree(folder / "artifacts", tmp_path / "artifacts")
    return tmp_path / "gnz.db"


@pytest.fixture
def reproduce(gnz: Gnz, past: Path, tmp_path: Path) -> Gnz:
    """Return a function that reproduces a run of that copy."""

    def reproduce(run_id: str, *more: str) -> Any:
        return gnz("reproduce", run_id, "--store", str(past), "--home", str(tmp_path / "home"), *more)

    return reproduce


def run_of(store: Path, task: str, model: str = "GCN") -> str:
    """Return the id of the run of a cell."""
    text = (
        "SELECT t.run_uuid FROM tags t JOIN tags m ON m.run_uuid = t.run_uuid "
        "WHERE t.key = 'gnz.task' AND t.value = ? AND m.key = 'gnz.model' AND m.value = ?"
    )
    with contextlib.closing(sqlite3.connect(store)) as connection:
        [(run_id,)] = connection.execute(text, (task, model)).fetchall()
    return str(run_id)


@pytest.mark.parametrize("task", TASKS)
def test_run_of_another_process_is_bit_identical(task: str, reproduce: Gnz, past: Path) -> None:
    run_id = run_of(past, task)
    answer = reproduce(run_id[:8])
    assert (answer.code, answer.err) == (0, "")
    first, then, now, compared, files, unchanged = answer.out.splitlines()
    assert first.startswith(f"{task} GCN s4, run {run_id[:8]} of custom-")
    assert first.endswith(": bit-identical")
    assert then.partition(": ")[2] == now.partition(": ")[2]
    assert compared.startswith("compared: 12 points of 3 curves; ")
    assert files == "files: 2 of 2 are equal (curves.parquet, predictions.parquet)"
    assert unchanged == "nothing that is recorded has changed: data, code, packages, machine"


def test_sweep_gets_what_its_runs_lack(gnz: Gnz, past: Path, tmp_path: Path) -> None:
    lacking = [run_of(past, "planted_partition"), run_of(past, "planted_partition", "Mine")]
    with contextlib.closing(sqlite3.connect(past)) as connection, connection:
        for run_id in lacking:
            connection.execute("DELETE FROM tags WHERE run_uuid = ? AND key = 'gnz.files'", (run_id,))
        [(sweep,)] = connection.execute("SELECT DISTINCT value FROM tags WHERE key = 'gnz.sweep'").fetchall()
    words = ("reproduce", "--sweep", sweep, "--store", str(past), "--home", str(tmp_path / "home"))
    answer = gnz(*words, "--keep", "predictions")
    # GCN of three tasks, and Mine of one, whose code lies in the store.
    numbers = "2 had predictions, 1 got them now, each with the numbers that it had"
    assert (answer.code, answer.out) == (1, f"{sweep}: 4 finished runs; {numbers}\n")
    [said] = [line for line in answer.err.splitlines() if line.startswith("left out: ")]
    assert lacking[1][:8] in said
    assert "--trust" in said
    again = gnz(*words, "--keep", "predictions", "--json")
    found = json.loads(again.out)
    assert (len(found["had"]), found["got"], list(found["left_out"])) == (3, [], lacking[1:])


def test_runs_that_came_out_otherwise_are_told_of_in_one_line(gnz: Gnz, past: Path, tmp_path: Path) -> None:
    others = {run_of(past, task) for task in TASKS[:2]}
    with contextlib.closing(sqlite3.connect(past)) as connection, connection:
        for run_id in others:
            connection.execute("DELETE FROM tags WHERE run_uuid = ? AND key = 'gnz.files'", (run_id,))
            connection.execute(
                "UPDATE latest_metrics SET value = 0.5 WHERE run_uuid = ? AND key LIKE 'val/%'", (run_id,)
            )
        [(sweep,)] = connection.execute("SELECT DISTINCT value FROM tags WHERE key = 'gnz.sweep'").fetchall()
    words = ("--sweep", sweep, "--keep", "predictions", "--store", str(past), "--home", str(tmp_path / "home"))
    answer = gnz("reproduce", *words)
    [said] = [line for line in answer.err.splitlines() if "otherwise" in line]
    assert {run_id[:8] for run_id in others} == set(said.removeprefix("left out: ").partition(": ")[0].split(", "))


def test_a_call_names_a_run_or_a_sweep(gnz: Gnz) -> None:
    for words in ((), ("abcdef", "--sweep", "quick")):
        answer = gnz("reproduce", *words)
        assert (answer.code, "RUN_ID or --sweep NAME" in answer.err) == (2, True)
    answer = gnz("reproduce", "--sweep", "quick")
    assert (answer.code, "--keep is 'nothing'; allowed: predictions" in answer.err) == (2, True), answer.err


def test_json_holds_everything(reproduce: Gnz, past: Path) -> None:
    run_id = run_of(past, "les_miserables")
    answer = reproduce(run_id, "--json")
    found = json.loads(answer.out)
    assert (found["run_id"], found["verdict"], found["changes"]) == (run_id, "bit_identical", [])
    assert found["score_then"] == found["score_now"]


def test_failed_run_fails_again(reproduce: Gnz, past: Path) -> None:
    answer = reproduce(run_of(past, "les_miserables", "FailsForward"), "--trust")
    assert answer.code == 0
    assert answer.out.splitlines()[0].endswith(": bit-identical")
    for when in ("then", "now "):
        assert f"\n{when}: failed, LookupError: no way forward with Data\n" in answer.out


def test_other_numbers_and_changes_are_printed(reproduce: Gnz, past: Path) -> None:
    run_id = run_of(past, "planted_partition")
    with contextlib.closing(sqlite3.connect(past)) as connection, connection:
        for table in ("metrics", "latest_metrics"):
            shift = f"UPDATE {table} SET value = value - 0.5 WHERE run_uuid = ? AND key = ? AND step = ?"  # noqa: S608
            connection.execute(shift, (run_id, "test/accuracy", 0))
            connection.execute(shift, (run_id, "curve/val/accuracy", 2))
        connection.execute("UPDATE tags SET value = '0.9' WHERE run_uuid = ? AND key = 'env.torch'", (run_id,))
    answer = reproduce(run_id)
    assert (answer.code, answer.err) == (1, "")
    lines = [line.split() for line in answer.out.splitlines()]
    assert lines[0][-1] == "different"
    assert ["val/accuracy", "2", "0.5"] in lines
    [number] = [line for line in lines if line[:1] == ["test/accuracy"]]
    assert float(number[2]) - float(number[1]) == pytest.approx(0.5)
    assert next(line for line in lines if line[:2] == ["torch", "0.9"])
    within = reproduce(run_id, "--tolerance", "0.6")
    assert (within.code, "within tolerance" in within.out.splitlines()[0]) == (0, True)


def test_changed_byte_is_one_line_and_code_2(reproduce: Gnz, past: Path, tmp_path: Path) -> None:
    [file] = (tmp_path / "home" / "planted_partition").glob("**/tensors.safetensors")
    content = bytearray(file.read_bytes())
    content[-1] ^= 1
    file.write_bytes(content)
    answer = reproduce(run_of(past, "planted_partition"))
    assert (answer.code, answer.out, answer.err.count("\n")) == (2, "", 1)
    assert "expected digest" in answer.err
    assert "gnz data get planted_partition" in answer.err


def test_model_of_a_script_is_trained_where_it_is_trusted(reproduce: Gnz, past: Path) -> None:
    run_id = run_of(past, "planted_partition", "Mine")
    refused = reproduce(run_id)
    assert (refused.code, refused.out, refused.err.count("\n")) == (2, "", 1)
    assert refused.err.endswith(f"gnz reproduce {run_id} --store sqlite:///{past} --trust\n"), "the run is there"
    trusted = reproduce(run_id, "--trust")
    assert (trusted.code, trusted.err) == (0, "")
    assert trusted.out.splitlines()[0].endswith(": bit-identical")


@pytest.mark.parametrize("run_id", ["0" * 32, "abc", "..", "'; DROP"])
def test_unknown_run_is_one_line_and_code_2(run_id: str, reproduce: Gnz) -> None:
    answer = reproduce(run_id)
    assert (answer.code, answer.out, answer.err.count("\n")) == (2, "", 1)
    assert answer.err.startswith(f"error: no run {run_id.lower()!r} in ")
    assert answer.err.endswith("List runs with: gnz ls --sweep NAME\n")


@pytest.mark.slow
def test_a_run_without_kernels_names_the_call_that_gives_its_bits(environment: dict[str, str], tmp_path: Path) -> None:
    from gnz_track.training.acceleration import kernels

    if kernels() is None:
        pytest.skip("no compiled kernels here: both calls would compute alike")

    def call(*words: str, **settings: str) -> str:
        command = [sys.executable, "-m", "gnz_track", *words]
        own = {**environment, "COLUMNS": "200", "GNZ_KERNELS": "", **settings}
        ended = subprocess.run(command, capture_output=True, text=True, check=False, env=own, cwd=tmp_path, timeout=120)
        assert ended.returncode in {0, 1}, ended.stderr
        return ended.stdout + ended.stderr

    call("run", "--task", "planted_partition", "--models", "GAT", "--seeds", "0", "--epochs", "3", GNZ_KERNELS="off")
    run_id = run_of(Path(environment["GNZ_STORE"]), "planted_partition", "GAT")
    told = call("reproduce", run_id)
    assert "bit-identical" not in told.partition("\n")[0]
    _, _, typed = told.partition("the same bits may come of: ")
    setting, *words = typed.split()[:4]
    assert [setting, *words] == ["GNZ_KERNELS=off", "gnz", "reproduce", run_id[:12]]
    assert "bit-identical" in call(*words[1:], GNZ_KERNELS="off").partition("\n")[0]
