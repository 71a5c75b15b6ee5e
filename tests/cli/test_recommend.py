"""``gnz recommend`` ranks models by past runs, refuses where there are too few, and trains what it ranked if asked."""

from __future__ import annotations

import contextlib
import json
import random
import re
import shlex
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import networkx as nx
import pytest
import torch
import typer
from torch_geometric.data import Data

from gnz_track.api import run_benchmark
from gnz_track.cli import app
from gnz_track.cli.terminal.commands import repeat
from gnz_track.datasets.catalogue import TASKS as TASKS_BY_NAME
from gnz_track.datasets.own.tasks import task_from_dataset
from gnz_track.runs.progress import Progress

Gnz = Callable[..., Any]
TASKS = ("random_tsp", "random_coloring", "ising_lattice", "les_miserables")


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a store of four link tasks, and the home of their data."""
    folder = tmp_path_factory.mktemp("trained")
    store, root = str(folder / "gnz.db"), folder / "home"
    run_benchmark(tasks=TASKS, models=["GCN", "MLP"], seeds=[0], epochs=2, store=store, root=root, verbose=False)
    return folder


@pytest.fixture
def past(gnz: Gnz, trained: Path, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave those tasks in the store, which lies where its artifacts are."""
    del gnz
    shutil.copytree(trained / "home", home)
    copy = shutil.copy(trained / "gnz.db", trained / f"{tmp_path.name}.db")
    monkeypatch.setenv("GNZ_STORE", str(copy))


@pytest.mark.usefixtures("past")
def test_ranking_is_printed_and_confirmed(gnz: Gnz) -> None:
    answer = gnz("recommend", "les_miserables", "--unseen", "--run", "--seeds", "0-1", "--epochs", "2")
    assert answer.code == 0, answer.err
    lines = answer.out.splitlines()
    assert lines[0] == "link_pred on les_miserables, from 3 past graphs: auc, higher is better"
    assert lines[1].split()[:4] == ["model", "expected", "80%", "interval"]
    assert {line.split()[1] for line in lines[2:4]} == {"GCN", "MLP"}
    assert " of 2 on " in lines[2]
    assert "most similar past graphs: " in answer.out
    assert "confirming: 2 settings x 2 seeds x 2 epochs" in answer.out
    assert "the same command with --run" not in answer.out
    measured = answer.out.partition("what was expected, and what came of it: mean scores over seeds")[2].splitlines()
    assert measured[1].split() == ["model", "expected", "interval", "measured", "sd", "seeds"]
    assert {(line.split()[1], line.split()[-1]) for line in measured[2:4]} == {("GCN", "2"), ("MLP", "2")}
    assert "tracked as sweep recommended" in answer.err
    trained = json.loads(gnz("query", "task = 'les_miserables' and seed = 1", "--json").out)
    assert {one["model"] for one in trained} == {"GCN", "MLP"}
    plain = json.loads(gnz("recommend", "les_miserables", "--json").out)
    assert (plain["task_type"], plain["n_graphs"]) == ("link_pred", 4)
    here = [one["measured"] for one in plain["ranking"]]
    assert here == sorted(here, reverse=True)


@pytest.mark.usefixtures("past")
def test_a_confirmation_is_comparable_with_past_runs_unless_told_otherwise(gnz: Gnz) -> None:
    first = gnz("recommend", "les_miserables", "--run", "--seeds", "1", "--top", "1")
    assert "confirming: 1 setting x 1 seed x 2 epochs" in first.out, first.err
    other = gnz("recommend", "les_miserables", "--run", "--seeds", "0-1", "--top", "1", "--epochs", "3")
    assert "note: past runs had 2 epochs, and what is expected is of those" in other.err
    answer = gnz("recommend", "les_miserables")
    # What was run on the graph that is asked about stands beside what is expected of it.
    assert "measured here" in answer.out
    assert "--unseen" in answer.err
    assert "2 cells of les_miserables are left out: they were trained for other numbers of epochs" in answer.err
    assert json.loads(gnz("recommend", "les_miserables", "--json").out)["n_graphs"] == 4


@pytest.mark.usefixtures("past")
def test_one_setting_has_no_difference_to_show(gnz: Gnz) -> None:
    # The spread over seeds is unknown, and that is said.
    answer = gnz("recommend", "les_miserables")
    assert "to confirm: 2 settings x 5 seeds x 2 epochs" in answer.out
    assert "note: how far scores differ from seed to seed is unknown" in answer.err
    assert gnz("run", "--task", "random_tsp", "--models", "GCN,MLP", "--seeds", "1-3", "--epochs", "2").code == 0
    answer = gnz("recommend", "les_miserables")
    assert "is unknown" not in answer.err
    assert json.loads(gnz("recommend", "les_miserables", "--json").out)["n_seeds"] > 5
    assert "2 settings x 5 seeds" not in answer.out
    assert "to confirm: 1 setting x 5 seeds x 2 epochs" in gnz("recommend", "les_miserables", "--top", "1").out


def hear_so_many(n: int) -> Callable[[Progress, Any], None]:
    """Return what hears of some events of a sweep, and is interrupted by the last of them."""
    n_heard, hear = [], Progress.hear

    def interrupted(self: Progress, told: Any) -> None:
        hear(self, told)
        n_heard.append(told)
        if len(n_heard) == n:
            raise KeyboardInterrupt

    return interrupted


@pytest.mark.usefixtures("past")
def test_the_command_after_an_interrupt_leaves_no_other_form_of_the_graph_out(
    gnz: Gnz, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It would be asked without what was known when the first one was: other settings, or a refusal."""
    names = {node: place for place, node in enumerate(sorted(nx.les_miserables_graph().nodes, reverse=True))}
    file = tmp_path / "novel.txt"
    file.write_text("".join(f"{names[a]} {names[b]}\n" for a, b in nx.les_miserables_graph().edges))
    with monkeypatch.context() as interrupted:
        interrupted.setattr(Progress, "hear", hear_so_many(3))
        first = gnz("recommend", str(file), "--task-type", "link_pred", "--run", "--top", "2")
    assert "it looks like les_miserables in all that is compared" in first.out + first.err
    assert first.code == 130
    assert "go on, ranked anew by what is known of this graph, with: gnz recommend" in first.err
    assert "--unseen --run" not in first.err


@pytest.mark.usefixtures("past")
def test_the_command_after_an_interrupt_trains_what_is_left(
    gnz: Gnz, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "my club.txt"
    file.write_text("".join(f"{a} {b}\n" for a, b in nx.karate_club_graph().edges))
    with monkeypatch.context() as interrupted:
        interrupted.setattr(Progress, "hear", hear_so_many(3))
        first = gnz("recommend", str(file), "--task-type", "link_pred", "--run", "--top", "2")
    assert first.code == 130
    assert "confirming: 2 settings x 5 seeds" in first.out
    (command,) = [line.partition("go on with: ")[2] for line in first.err.splitlines() if "go on with: " in line]
    program, *words = shlex.split(command)
    how = ["--unseen", "--run", "--top", "2", "--seeds", "0-4"]
    expected = ["gnz", "recommend", str(file), "--task-type", "link_pred", *how]
    assert [program, *words][:3] == expected[:3]
    assert sorted(words) == sorted(expected[1:]), "options stand in the order in which the command has them"
    # Its scores are known by now, and yet the same cells are asked for.
    second = gnz(*words)
    assert second.code == 0, second.err
    kept = re.search(r"(\d+) of 10 cells are finished already", second.err)
    assert kept is not None
    assert int(kept[1]) > 0
    trained = json.loads(gnz("query", "task = 'my club.txt'", "--json").out)
    assert len(trained) == 10
    third = gnz("recommend", str(file), "--task-type", "link_pred", "--run", "--top", "2", "--seeds", "0-1")
    assert "4 of 4 cells are finished already" in third.err


@pytest.mark.usefixtures("past")
def test_files_of_one_name_are_graphs_of_their_own(gnz: Gnz, tmp_path: Path) -> None:
    draw = random.Random(0)
    for folder in ("first", "second"):
        (tmp_path / folder).mkdir()
        edges = {tuple(sorted(draw.sample(range(40), 2))) for _ in range(120)}
        (tmp_path / folder / "club.txt").write_text("".join(f"{a} {b}\n" for a, b in sorted(edges)))
    how = ("--task-type", "link_pred", "--run", "--seeds", "0", "--top", "1")
    (tmp_path / "first" / "copy.txt").write_text((tmp_path / "first" / "club.txt").read_text())
    for name in ("first/club.txt", "second/club.txt", "first/club.txt", "first/copy.txt"):
        assert gnz("recommend", str(tmp_path / name), *how).code == 0
    trained = {one["task"] for one in json.loads(gnz("query", "task_type = 'link_pred'", "--json").out)} - set(TASKS)
    assert len(trained) == 2
    assert {name[:8] for name in trained} == {"club.txt"}
    answer = gnz("recommend", str(tmp_path / "second" / "club.txt"), "--task-type", "link_pred", "--json")
    assert json.loads(answer.out)["graph"] in trained - {"club.txt"}
    unseen = gnz("recommend", str(tmp_path / "first" / "club.txt"), "--task-type", "link_pred", "--unseen", "--json")
    assert "club.txt" not in dict(json.loads(unseen.out)["neighbours"])


@pytest.mark.usefixtures("past")
def test_a_graph_without_a_split_is_one_line(gnz: Gnz, tmp_path: Path) -> None:
    (tmp_path / "pair.txt").write_text("0 1\n")
    ranked = gnz("recommend", str(tmp_path / "pair.txt"), "--task-type", "link_pred")
    assert "note: nothing can be confirmed on this graph: 1 edge, at least 3 are needed" in ranked.err
    answer = gnz("recommend", str(tmp_path / "pair.txt"), "--task-type", "link_pred", "--run", "--seeds", "0")
    assert answer.code == 2
    assert "one that can be posed as link_pred; 1 edge" in answer.err
    assert "Traceback" not in answer.err


@pytest.mark.usefixtures("past")
def test_what_came_of_a_confirmation_is_in_its_json(gnz: Gnz) -> None:
    answer = gnz("recommend", "les_miserables", "--run", "--seeds", "0-1", "--top", "1", "--json")
    found = json.loads(answer.out)
    assert found["sweep"].startswith("recommended-")
    [measured] = found["measured"]
    assert (measured["rank"], measured["n"]) == (1, 2)
    scores = [one["score"] for one in json.loads(gnz("query", "task = 'les_miserables'", "--json").out)]
    assert min(scores) <= measured["mean"] <= max(scores)


def test_labels_of_a_file_are_named(gnz: Gnz, tmp_path: Path) -> None:
    ring = torch.stack([torch.arange(60), (torch.arange(60) + 1) % 60])
    own = task_from_dataset("ring", "node_cls", Data(edge_index=ring, x=torch.eye(60), y=torch.arange(60) % 2))
    tasks = [TASKS_BY_NAME.get("grid_mines"), TASKS_BY_NAME.get("planted_partition"), own]
    run_benchmark(tasks=tasks, models=["GCN", "MLP"], seeds=[0], epochs=1, verbose=False)
    file = tmp_path / "club.graphml"
    nx.write_graphml(nx.karate_club_graph(), file)
    how = ("recommend", str(file), "--task-type", "node_cls", "--run", "--top", "1", "--seeds", "0")
    bare = gnz(*how)
    assert bare.code == 2
    assert "it has no labels (y), and node_cls needs them; --label NAME says which attribute" in bare.err
    answer = gnz(*how, "--label", "club")
    assert answer.code == 0, answer.err
    assert "confirming: 1 setting x 1 seed x 1 epochs" in answer.out
    answer = gnz("recommend", str(file), "--task-type", "node_cls", "--label", "clubs")
    assert (answer.code, len(answer.err.splitlines())) == (2, 1)
    assert "label of club.graphml is 'clubs'; allowed: an attribute of nodes or edges that the file has" in answer.err


def test_name_of_a_task_is_not_hidden_by_a_file(gnz: Gnz, tmp_path: Path) -> None:
    with contextlib.chdir(tmp_path):
        (tmp_path / "les_miserables").write_text("notes")
        assert "at least 3 past tasks" in gnz("recommend", "les_miserables").err


def test_too_little_is_one_line_that_says_what_to_run(gnz: Gnz) -> None:
    answer = gnz("recommend", "les_miserables")
    assert (answer.code, answer.out, len(answer.err.splitlines())) == (2, "", 1)
    assert "at least 3 past tasks" in answer.err
    assert "gnz run --task-type link_pred --suite quick" in answer.err
    # A suite with tasks enough of the kind, or where there are such.
    assert "gnz run --task-type node_cls --suite ten" in gnz("recommend", "grid_mines").err
    assert "gnz tasks --task-type graph_reg" in gnz("recommend", "graph_families").err


def test_mistakes_are_one_line(gnz: Gnz) -> None:
    assert "--top is 0" in gnz("recommend", "les_miserables", "--top", "0").err
    assert "--seeds without --run is '0-4'; allowed: with --run alone" in gnz("recommend", "cora", "--seeds", "0-4").err
    assert "--epochs without --run is 3" in gnz("recommend", "cora", "--epochs", "3").err
    assert "unknown graph 'les_miserable'" in gnz("recommend", "les_miserable").err


def test_command_that_goes_on_shows_no_password() -> None:
    asked = ("club.txt", "--task-type", "link_pred", "--store", "postgresql://me:secret@host/db?password=secret")
    root = typer.Context(typer.main.get_command(app), info_name="gnz")
    call = typer.main.get_command(app).commands["recommend"].make_context("recommend", list(asked), parent=root)
    words = repeat(call, unseen=True)
    store = "postgresql://me:***@host/db?password=***"
    assert words == ("gnz", "recommend", "club.txt", "--task-type", "link_pred", "--unseen", "--store", store)
