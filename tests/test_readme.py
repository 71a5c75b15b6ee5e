"""What the README shows works as it stands there."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

README = Path(__file__).parents[1] / "README.md"
TEXT = README.read_text(encoding="utf-8")
COMMANDS = re.findall(r"^\.venv/bin/gnz (.+?)(?: +[#>] .*)?$", TEXT, flags=re.MULTILINE)
EXAMPLES = re.findall(r"```python\n(.*?)```", TEXT, flags=re.DOTALL)


# Commands that hold others.
GROUPS = {"data"}


def run(*arguments: str, home: Path) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "GNZ_DATA": str(home), "COLUMNS": "200", "TERMINAL_WIDTH": "200"}
    return subprocess.run([sys.executable, *arguments], capture_output=True, text=True, check=False, env=environment)


def run_example(number: int, folder: Path) -> list[list[str]]:
    """Run an example of the README; return the words of the lines that it prints."""
    script = folder / "example.py"
    script.write_text(EXAMPLES[number], encoding="utf-8")
    finished = run(str(script), home=folder / "home")
    assert finished.returncode == 0, finished.stderr
    return [line.split() for line in finished.stdout.splitlines()]


def test_every_example_is_run_by_a_test() -> None:
    assert len(EXAMPLES) == 2


def test_example_with_data_of_ones_own_prints_a_row_per_model(tmp_path: Path) -> None:
    rows = run_example(1, tmp_path)
    assert {row[-3]: row[-2] for row in rows if row and row[-3:-2] in (["GCN"], ["MLP"])} == {"GCN": "3", "MLP": "3"}


def test_python_example_runs_and_prints_a_row_per_model(tmp_path: Path) -> None:
    rows = run_example(0, tmp_path)
    summary = [row[-6:] for row in rows[2:5]]
    assert [row[:3] for row in summary] == [[model, "5", "0"] for model in ("OneHop", "GCN", "MLP")]
    assert all(float(low) <= float(mean) <= float(high) for *_, mean, low, high in summary)
    assert 0 <= float(rows[5][0]) <= 1
    cells = [row for row in rows[6:] if len(row) == 5 and row[1] in {"OneHop", "GCN", "MLP"}]
    assert len(cells) == 15, "a row for each cell"
    assert any("3 models, 1 task, 5 seeds" in " ".join(row) for row in rows)


def test_there_are_commands_to_check() -> None:
    assert len(COMMANDS) >= 3


@pytest.mark.parametrize("command", COMMANDS)
def test_every_flag_of_a_shown_command_exists(command: str, tmp_path: Path) -> None:
    words = shlex.split(command)
    verb = words[: 2 if words[0] in GROUPS else 1]
    shown = run("-m", "gnz_track", *verb, "--help", home=tmp_path)
    assert shown.returncode == 0, shown.stderr
    for flag in (word for word in words if word.startswith("--")):
        assert re.search(rf"{flag}\b", shown.stdout), f"{flag} is not a flag of gnz {' '.join(verb)}"


def test_first_screen_shows_the_two_commands() -> None:
    first_screen = TEXT.splitlines()[:15]
    assert any(line.startswith("make run") for line in first_screen)
    assert any(line.startswith("make test") for line in first_screen)
