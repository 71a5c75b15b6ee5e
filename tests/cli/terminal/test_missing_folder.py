"""A folder that was removed under a command: what needs none works, the rest says so in one line."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="a folder in use cannot be removed there")


@pytest.mark.parametrize("words", ["tasks", "ls", "query", "--help", "data list", "models"])
def test_command_that_needs_no_folder_works(words: str, environment: dict[str, str], tmp_path: Path) -> None:
    code, out, err = call_in_removed_folder(words, environment, tmp_path)
    assert (code, "Traceback" in err) == (0, False), err
    assert out + err


@pytest.mark.parametrize(
    ("words", "needed"),
    [
        ("run --task ising_lattice --models MLP --seeds 0", "torch"),
        ("init mine --task les_miserables", "the path 'mine'"),
        pytest.param("doctor", "torch", marks=pytest.mark.slow),
        pytest.param("ls --store here/gnz.db", "a path of the call", marks=pytest.mark.slow),
        pytest.param("report --out here", "a path", marks=pytest.mark.slow),
        pytest.param("reproduce abc", "torch", marks=pytest.mark.slow),
        pytest.param("data get ising_lattice", "torch", marks=pytest.mark.slow),
        pytest.param("features les_miserables", "torch", marks=pytest.mark.slow),
        pytest.param("stage report", "torch", marks=pytest.mark.slow),
    ],
)
def test_command_that_needs_the_folder_says_so(
    words: str, needed: str, environment: dict[str, str], tmp_path: Path
) -> None:
    code, out, err = call_in_removed_folder(words, environment, tmp_path)
    assert (code, out) == (2, "")
    (line,) = err.splitlines()
    assert line.startswith("error: the folder in which you typed this has been removed, and ")
    assert line.endswith(" needs one. Type: cd FOLDER, then the same command again")
    assert needed in line


@pytest.mark.slow
@pytest.mark.parametrize("jobs", ["1", "2"])
def test_folder_that_is_removed_during_a_sweep_ends_no_cell(
    jobs: str, environment: dict[str, str], tmp_path: Path
) -> None:
    folder = tmp_path / "here"
    folder.mkdir()
    words = ["run", "--task", "ising_lattice", "--models", "MLP", "--seeds", "0-5", "--epochs", "30", "--jobs", jobs]
    with subprocess.Popen(
        [sys.executable, "-m", "gnz_track", *words],
        cwd=folder,
        env={**environment, "GNZ_STORE": str(tmp_path / "gnz.db")},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        while not (tmp_path / "gnz.db").exists() and process.poll() is None:
            os.sched_yield()
        folder.rmdir()
        out, err = process.communicate(timeout=120)
    assert process.returncode == 0, err
    assert "Traceback" not in out + err
    assert out.splitlines()[-1].split()[-2] == "6", out


def call_in_removed_folder(words: str, environment: dict[str, str], place: Path) -> tuple[int, str, str]:
    folder = place / "here"
    folder.mkdir()
    command = f"rmdir {shlex.quote(str(folder))}; exec {shlex.quote(sys.executable)} -m gnz_track {words}"
    call = ["/bin/sh", "-c", command]
    ended = subprocess.run(call, cwd=folder, env=environment, capture_output=True, text=True, check=False, timeout=120)
    return ended.returncode, ended.stdout, ended.stderr
