"""Commands where the surroundings are poor: no traceback, no silence, and an exit code that is meant."""

from __future__ import annotations

import resource
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="limits and masks of a Unix process")

COMMANDS = ("ls", "doctor", "init mine --task les_miserables", "data get ising_lattice")
RUN = "run --task ising_lattice --models MLP --seeds 0-1 --epochs 1 --jobs 2"
# Variables, which ``None`` takes away; @ is the folder of the test.
VARIABLES: dict[str, dict[str, str | None]] = {
    "no home": {"HOME": "@/nobody", "GNZ_STORE": None, "GNZ_DATA": None, "XDG_DATA_HOME": None},
    "home is a file": {"HOME": "/dev/null", "GNZ_STORE": None, "GNZ_DATA": None, "XDG_DATA_HOME": None},
    "home is a loop": {"HOME": "@/loop", "GNZ_STORE": None, "GNZ_DATA": None, "XDG_DATA_HOME": None},
    "data home is a loop": {"GNZ_DATA": "@/loop"},
    "no folder for a moment": {"TMPDIR": "@/nowhere"},
    "C": {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
    "ASCII": {"PYTHONIOENCODING": "ascii"},
    "no terminal": {"TERM": None, "COLUMNS": "1", "NO_COLOR": "1"},
    "no asserts": {"PYTHONOPTIMIZE": "2"},
    "empty places": {"XDG_DATA_HOME": "", "XDG_CACHE_HOME": ""},
}
LIMITS: dict[str, tuple[int, int]] = {
    "32 files": (resource.RLIMIT_NOFILE, 32),
    "short files": (resource.RLIMIT_FSIZE, 4096),
}


def call(words: str, place: Path, **options: Any) -> subprocess.CompletedProcess[str]:
    (place / "work").mkdir()
    (place / "loop").symlink_to(place / "loop")
    command = [sys.executable, "-m", "gnz_track", *words.split()]
    return subprocess.run(
        command, cwd=place / "work", capture_output=True, text=True, check=False, timeout=300, **options
    )


def assert_is_told(ended: subprocess.CompletedProcess[str]) -> None:
    said = ended.stdout + ended.stderr
    assert ended.returncode in {0, 1, 2}, said
    assert "Traceback" not in said
    assert said.strip()
    if ended.returncode == 2:
        assert ended.stderr.splitlines()[-1].startswith("error: ")


def given(environment: dict[str, str], place: Path, changes: dict[str, str | None]) -> dict[str, str]:
    changed = {**environment, **changes}
    return {name: value.replace("@", str(place)) for name, value in changed.items() if value is not None}


def test_ascii_terminal_gets_a_list(environment: dict[str, str], tmp_path: Path) -> None:
    ended = call("tasks", tmp_path, env=given(environment, tmp_path, VARIABLES["ASCII"]))
    assert_is_told(ended)
    assert ended.returncode == 0


@pytest.mark.slow
@pytest.mark.parametrize("words", COMMANDS)
@pytest.mark.parametrize("name", VARIABLES)
def test_command_among_odd_variables(name: str, words: str, environment: dict[str, str], tmp_path: Path) -> None:
    assert_is_told(call(words, tmp_path, env=given(environment, tmp_path, VARIABLES[name])))


@pytest.mark.slow
@pytest.mark.parametrize("words", [*COMMANDS, RUN])
@pytest.mark.parametrize("name", LIMITS)
def test_command_under_limits(name: str, words: str, environment: dict[str, str], tmp_path: Path) -> None:
    kind, most = LIMITS[name]
    set_limit: Callable[[], None] = lambda: resource.setrlimit(kind, (most, most))  # noqa: E731
    assert_is_told(call(words, tmp_path, env=environment, preexec_fn=set_limit))


@pytest.mark.slow
@pytest.mark.parametrize("words", COMMANDS)
def test_command_whose_files_nobody_may_read(words: str, environment: dict[str, str], tmp_path: Path) -> None:
    assert_is_told(call(words, tmp_path, env=environment, umask=0o777))
