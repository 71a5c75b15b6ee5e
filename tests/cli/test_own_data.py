"""Data of one's own on the command line: files, folders and objects as tasks, and names that every later call knows."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import networkx as nx
import pytest

Gnz = Callable[..., Any]
SHORT = ("--models", "GCN", "--seeds", "0", "--epochs", "2")
MODULE = """
import torch
from torch_geometric.data import Data

import gnz_track as gnz

RING = Data(x=torch.eye(6), edge_index=torch.tensor([[0, 1, 2, 3, 4, 5], [1, 2, 3, 4, 5, 0]]), y=torch.arange(6) % 2)
task = gnz.task_from_dataset("a ring", "link_pred", RING)
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the working folder, with a network and a module in it."""
    nx.write_graphml(nx.karate_club_graph(), tmp_path / "club.graphml")
    (tmp_path / "ring_tasks.py").write_text(MODULE)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GNZ_DATA", str(tmp_path / "data"))
    return tmp_path


def test_a_file_is_trained_on_audited_and_tuned(gnz: Gnz, folder: Path) -> None:
    assert folder.is_dir()
    ran = gnz("run", "--task", "club.graphml", "--label", "club", *SHORT)
    assert (ran.code, "club  GCN    accuracy" in ran.out) == (0, True), ran.err
    assert gnz("audit", "club.graphml", "--label", "club").code == 0
    tuned = gnz("tune", "--task", "club.graphml", "--label", "club", *SHORT, "--trials", "1", "--search-only")
    assert tuned.code == 0, tuned.err
    links = gnz("run", "--task", "club.graphml", "--label", "club", "--task-type", "link_pred", *SHORT)
    assert (links.code, "auc" in links.out) == (0, True), links.err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--task", "club.graphml"), "'club' in node '0' of the nodes (33 more) is 'Mr. Hi'; allowed: numbers."),
        (("--task", "club.graphml", "--label", "clubs"), "unknown column of labels 'clubs'; did you mean 'club'?"),
        (("--task", "none.graphml"), "the data is 'none.graphml'; allowed: a file that exists"),
        (("--task", "cora", "--label", "y"), "--label is 'y'; allowed: nothing beside a task by name"),
        (("--task", "ring_tasks:RING"), "task ring_tasks:RING is 'Data'; allowed: a gnz_track.Task"),
        (("--task", "ring_tasks:tusk"), "cannot import 'ring_tasks:tusk'"),
        (
            ("--task", "./no_tasks.py:task"),
            "task is './no_tasks.py:task'; allowed: FILE.py:NAME with",
        ),
        (("--task", "."), "a folder with edges.csv"),
    ],
)
def test_slips_are_told(gnz: Gnz, folder: Path, words: tuple[str, ...], said: str) -> None:
    assert folder.is_dir()
    answer = gnz("run", *words, *SHORT, "--dry-run")
    assert (answer.code, answer.out) == (2, "")
    assert said in answer.err
    assert len(answer.err.splitlines()) == 1


def test_an_object_of_a_module_is_a_task(folder: Path) -> None:
    for name in ("ring_tasks:task", f"{folder}/ring_tasks.py:task"):
        command = [sys.executable, "-m", "gnz_track", "run", "--task", name, *SHORT, "--dry-run"]
        ended = subprocess.run(command, capture_output=True, text=True, check=False, env=dict(os.environ), timeout=120)
        assert (ended.returncode, "a ring  GCN" in ended.stdout) == (0, True), ended.stderr


def test_added_data_are_known_to_every_command(gnz: Gnz, folder: Path) -> None:
    added = gnz("data", "add", "club.graphml", "--name", "clubs", "--label", "club", "--licence", "BSD-3-Clause")
    assert (added.code, "clubs is known as a task, node_cls" in added.out) == (0, True), added.err
    (folder / "club.graphml").unlink()
    for words in (
        ("tasks", "clubs"),
        ("data", "check", "clubs", "--deep"),
        ("data", "card", "clubs"),
        ("run", "--task", "clubs", *SHORT),
        ("audit", "clubs"),
        ("tune", "--task", "clubs", *SHORT, "--trials", "1", "--search-only"),
    ):
        assert gnz(*words).code == 0, words
    assert "clubs" in gnz("data", "list", "--category", "custom").out
    run = gnz("query", "task = 'clubs'", "--columns", "run_id").out.split()[-1]
    assert "are equal" in gnz("reproduce", run).out
    again = gnz("data", "add", "ring_tasks.py", "--name", "clubs")
    assert (again.code, "allowed: a file that ends in" in again.err) == (2, True)
    assert gnz("data", "remove", "clubs").code == 0
    assert "unknown task 'clubs'" in gnz("run", "--task", "clubs", *SHORT).err


@pytest.fixture
def shops(folder: Path) -> Path:
    """Return a folder of tables: nodes with numbers and two marks to predict, and edges with numbers."""
    (folder / "shops").mkdir()
    rows = [f"{n},{n % 7},{n % 7 / 2 + 0.25},{n % 2},{n % 3 == 0:d},{'ab'[n % 2]}" for n in range(40)]
    (folder / "shops" / "nodes.csv").write_text("\n".join(["id,size,sold,open,new,town", *rows]))
    ties = [f"{n},{(n + step) % 40},{n % 7 / 3 + 0.1}" for n in range(40) for step in (1, 5)]
    (folder / "shops" / "edges.csv").write_text("\n".join(["source,target,km", *ties]))
    return folder / "shops"


@pytest.mark.parametrize(
    ("label", "ignored", "metric"),
    [("sold", "town,open,new", "mae"), ("km", "town", "mae"), ("open,new", "town,sold", "f1_micro")],
)
def test_numbers_and_several_labels_of_files_are_trained_on(
    gnz: Gnz, shops: Path, label: str, ignored: str, metric: str
) -> None:
    words = ("--label", label, "--ignore", ignored)
    ran = gnz("run", "--task", shops.name, *words, *SHORT)
    assert (ran.code, f"shops  GCN    {metric}" in ran.out) == (0, True), ran.err
    checked = gnz("data", "check", shops.name, *words)
    assert (checked.code, "disjoint and covering" in checked.out) == (0, True), checked.err
    # There is nothing to learn from, but the folder is read.
    assert "tasks to learn from" in gnz("recommend", shops.name, *words).err


def test_options_of_files_are_refused_beside_names(gnz: Gnz, shops: Path) -> None:
    for words in (("run", "--task", "cora"), ("data", "check", "cora"), ("tune", "--task", "cora"), ("audit", "cora")):
        answer = gnz(*words, "--ignore", "town")
        assert (answer.code, "--ignore is 'town'; allowed: nothing beside a task by name" in answer.err) == (2, True)
    said = gnz("recommend", shops.name)
    assert "--label town. Else leave it out by --ignore town" in said.err


def test_one_number_is_told_to_be_a_seed(gnz: Gnz, folder: Path) -> None:
    call = ("run", "--task", str(folder / "club.graphml"), "--label", "club", "--models", "GCN", "--dry-run")
    assert "note: one run each, of seed 3; --seeds 0-2 are 3" in gnz(*call, "--seeds", "3").err
    for seeds in ("0", "1", "0-2", "3,4"):
        assert "one run each" not in gnz(*call, "--seeds", seeds).err


@pytest.mark.parametrize("name", ["", "a,b", "a:b", " a"])
def test_a_name_that_no_option_can_say_is_refused(gnz: Gnz, folder: Path, name: str) -> None:
    answer = gnz("data", "add", str(folder / "club.graphml"), "--name", name, "--label", "club")
    assert (answer.code, "--name is" in answer.err) == (2, True)
