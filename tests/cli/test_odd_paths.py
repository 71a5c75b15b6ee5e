"""Paths that lead nowhere: links to themselves, names that are too long; one line that says where, and what to type."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Gnz = Callable[..., Any]
RUN = ("run", "--task", "ising_lattice", "--models", "MLP", "--seeds", "0", "--epochs", "1")
LOOPS: dict[str, tuple[str, ...]] = {
    "store": ("ls", "--store", "LOOP"),
    "store below": (*RUN, "--store", "LOOP/gnz.db"),
    "store by its address": ("query", "--store", "sqlite:///LOOP"),
    "data home": (*RUN, "--home", "LOOP"),
    "data to get": ("data", "get", "ising_lattice", "--home", "LOOP/x"),
    "output": ("report", "--out", "LOOP/x"),
    "project": ("init", "LOOP/mine", "--task", "les_miserables"),
    "params": ("stage", "report", "--params", "LOOP"),
}


@pytest.mark.parametrize("odd", ["loop", "x" * 300])
@pytest.mark.parametrize("name", LOOPS)
def test_path_that_leads_nowhere_is_one_line(name: str, odd: str, gnz: Gnz, tmp_path: Path) -> None:
    place = tmp_path / odd
    if odd == "loop":
        place.symlink_to(place)
    answer = gnz(*(word.replace("LOOP", str(place)) for word in LOOPS[name]))
    assert (answer.code, answer.out) == (2, "")
    line = answer.err.splitlines()[-1]
    assert line.startswith("error: ")
    assert "Traceback" not in answer.err
    # A path that is cut shows its beginning.
    assert str(tmp_path)[:60] in line
    assert not list(tmp_path.rglob("*.parquet"))


def test_git_that_fails_leaves_a_whole_project(gnz: Gnz, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # What Git reads first is no configuration.
    (tmp_path / ".gitconfig").write_text("[broken\n", "utf-8")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(tmp_path / ".gitconfig"))
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path))
    answer = gnz("init", str(tmp_path / "mine"), "--task", "les_miserables")
    assert answer.code == 0
    assert "note: 'git init' ended with code 128: fatal: bad config line " in answer.err
    assert (tmp_path / "mine" / "dvc.yaml").exists()
