"""An installed package that fails stops no command: it is named once, and asking for what it adds says why."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

GROUPS = ("models", "datasets", "tasks", "suites", "protocols", "selectors")
NOTE = (
    "note: model 'Broken' is missing: the installed package gnz-broken 2.1 has the entry point Broken = gnz_broken:Row"
)


@pytest.fixture
def call(tmp_path: Path, environment: dict[str, str]) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Return a function that calls ``gnz`` where a package is installed whose rows of every kind fail."""
    info = tmp_path / "site" / "gnz_broken-2.1.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: gnz-broken\nVersion: 2.1\n", "utf-8")
    points = "".join(f"[gnz_track.{group}]\nBroken = gnz_broken:Row\n" for group in GROUPS)
    (info / "entry_points.txt").write_text(points, "utf-8")
    (tmp_path / "site" / "gnz_broken.py").write_text("raise RuntimeError('it is\\nolder than its library')\n", "utf-8")
    path = os.pathsep.join([str(tmp_path / "site"), environment["PYTHONPATH"]])

    def call(*words: str, **variables: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "gnz_track", *words]
        given = {**environment, "PYTHONPATH": path, **variables}
        return subprocess.run(command, capture_output=True, text=True, check=False, env=given, timeout=120)

    return call


Call = Callable[..., subprocess.CompletedProcess[str]]


def test_broken_package_is_named_once_and_the_rest_is_listed(call: Call) -> None:
    ended = call("models")
    assert ended.returncode == 0
    assert "GraphSAGE" in ended.stdout
    assert "Broken" not in ended.stdout
    (note,) = ended.stderr.splitlines()
    assert note.startswith(NOTE)
    assert "RuntimeError: it is older than its library. Mend it, or: pip uninstall gnz-broken. " in note


def test_asking_for_what_is_broken_says_why(call: Call) -> None:
    ended = call("models", "Broken")
    assert (ended.returncode, ended.stdout) == (2, "")
    assert ended.stderr.splitlines()[-1] == f"error: {ended.stderr.splitlines()[0].removeprefix('note: ')}"
    debugged = call("models", "Broken", GNZ_DEBUG="1")
    assert "gnz_broken.py" in debugged.stderr
    assert "raise RuntimeError" in debugged.stderr


def test_help_imports_no_package(call: Call) -> None:
    ended = call("--help")
    assert (ended.returncode, ended.stderr) == (0, "")


@pytest.mark.slow
def test_cells_are_trained_beside_a_broken_package(call: Call) -> None:
    words = ("--task", "ising_lattice", "--models", "MLP,GCN", "--seeds", "0-1", "--epochs", "1")
    for jobs in ("1", "2"):
        ended = call("run", *words, "--jobs", jobs, "--fresh")
        assert ended.returncode == 0
        assert "Traceback" not in ended.stderr
        # Workers have the same packages, and repeat nothing.
        assert ended.stderr.count("older than its library") == ended.stderr.count("note: ")
        assert ended.stderr.count(NOTE) == 1


@pytest.mark.slow
@pytest.mark.parametrize(
    "words", ["tasks", "protocols", "data list", "ls", "query", "doctor", "data card cora", "sync"]
)
def test_every_command_works_beside_a_broken_package(words: str, call: Call) -> None:
    ended = call(*words.split())
    assert ended.returncode == 0, ended.stderr
    assert "Traceback" not in ended.stderr
