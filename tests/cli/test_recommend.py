"""``gnz recommend`` ranks models by past runs, refuses where there are too few, and trains what it ranked if asked."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

Gnz = Callable[..., Any]
TASKS = ("random_tsp", "random_coloring", "ising_lattice", "les_miserables")


@pytest.fixture
def past(gnz: Gnz) -> None:
    """Leave four link tasks in the store."""
    asked = [argument for task in TASKS for argument in ("--task", task)]
    assert gnz("run", *asked, "--models", "GCN,MLP", "--seeds", "0", "--epochs", "2").code == 0


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
    assert "to confirm: 2 settings x " in answer.out
    assert "mean scores over seeds" in answer.out
    assert "tracked as sweep recommended" in answer.err
    trained = json.loads(gnz("query", "task = 'les_miserables' and seed = 1", "--json").out)
    assert {one["model"] for one in trained} == {"GCN", "MLP"}
    plain = json.loads(gnz("recommend", "les_miserables", "--json").out)
    assert (plain["task_type"], plain["n_graphs"]) == ("link_pred", 4)


def test_too_little_is_one_line_that_says_what_to_run(gnz: Gnz) -> None:
    answer = gnz("recommend", "les_miserables")
    assert (answer.code, answer.out, len(answer.err.splitlines())) == (2, "", 1)
    assert "at least 3 past tasks" in answer.err
    assert "gnz run --task-type link_pred" in answer.err


def test_mistakes_are_one_line(gnz: Gnz) -> None:
    assert "--top is 0" in gnz("recommend", "les_miserables", "--top", "0").err
    assert "unknown graph 'les_miserable'" in gnz("recommend", "les_miserable").err
