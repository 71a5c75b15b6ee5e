"""``gnz query`` finds cells of past runs, for people and for programs."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from cells import record

from gnz_track.store.results_table import COLUMNS, load_table
from gnz_track.store.writer import open_store

Gnz = Callable[..., Any]


@pytest.mark.usefixtures("store_file")
def test_cells_for_which_a_condition_holds_are_listed(gnz: Gnz) -> None:
    answer = gnz("query", "task = 'cora' and model in ('GAT', 'MLP') and status = 'finished'")
    assert (answer.code, answer.err) == (0, "")
    title, head, *rows = answer.out.splitlines()
    assert title == "2 cells"
    assert head.split() == ["sweep", "task", "model", "seed", "status", "score", "metric", "seconds", "run_id"]
    assert [row.split()[:6] for row in rows] == [
        ["first", "cora", "GAT", seed, "finished", score] for seed, score in (("0", "0.5633"), ("1", "0.5643"))
    ]


def test_cells_that_differ_in_their_protocol_or_settings_look_different(gnz: Gnz, store_file: Path) -> None:
    with open_store(str(store_file)) as store:
        for place, protocol in enumerate(("dwivedi-100k@1", "dwivedi-100k-pe@1")):
            store.finish(replace(record(5, model="DeepGCN"), fingerprint=f"{place:032}", protocol=protocol))
    rows = [line.split() for line in gnz("query", "model = 'DeepGCN'").out.splitlines()[2:]]
    assert [row[2:5] for row in rows] == [["DeepGCN", f"dwivedi-100k{end}@1", "5"] for end in ("-pe", "")]
    assert "GCN lr=0.1 norm=it's 100 % é" in gnz("query", "model = 'GCN' and task = 'cora'").out
    # Programs are given what was recorded.
    assert {one["model"] for one in json.loads(gnz("query", "model like '%GCN'", "--json").out)} == {"GCN", "DeepGCN"}


@pytest.mark.usefixtures("store_file")
def test_without_a_condition_all_cells_are_listed(gnz: Gnz) -> None:
    assert gnz("query").out.splitlines()[0] == "11 cells"


@pytest.mark.usefixtures("store_file")
def test_json_and_csv_hold_all_columns_or_those_asked_for(gnz: Gnz) -> None:
    found = json.loads(gnz("query", "status = 'failed'", "--json").out)
    assert [list(one) for one in found] == [list(COLUMNS)]
    assert (found[0]["score"], found[0]["seed"]) == (None, 2)
    rows = list(csv.DictReader(gnz("query", "seed >= 2", "--csv", "--columns", "seed, score").out.splitlines()))
    assert [(row["seed"], row["score"] == "") for row in rows] == [("2", True), ("7", False)]


@pytest.mark.usefixtures("store_file")
def test_parquet_holds_the_cells(gnz: Gnz, tmp_path: Path) -> None:
    file = tmp_path / "some" / "cells.parquet"
    answer = gnz("query", "task = 'zinc'", "--parquet", str(file))
    assert answer.out == f"4 cells in {file}\n"
    assert set(load_table(file)["task"]) == {"zinc"}


@pytest.mark.usefixtures("store_file")
@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("tusk = 'cora'",), ("at character 1", "no column 'tusk'", "run_id, sweep")),
        (("task = cora",), ("at character 8, before 'cora'", "a text in quotes")),
        (("task = 'cora", "--json"), ("at character 8", "never closed")),
        (("task = 'a'", "--columns", "modle"), ("unknown column 'modle'", "model")),
        (("--json", "--csv"), ("--json", "one of them")),
        (("--parquet", "x.parquet", "--columns", "task"), ("all columns",)),
    ],
)
def test_mistake_is_one_line_that_says_where(gnz: Gnz, arguments: tuple[str, ...], words: tuple[str, ...]) -> None:
    answer = gnz("query", *arguments)
    assert (answer.code, answer.out, len(answer.err.splitlines())) == (2, "", 1)
    assert all(word in answer.err for word in words), answer.err


def test_store_that_is_not_there_holds_nothing(gnz: Gnz, tmp_path: Path) -> None:
    answer = gnz("query", "task = 'cora'", "--json")
    assert (answer.code, json.loads(answer.out)) == (0, [])
    assert "gnz run" in answer.err
    assert not (tmp_path / "runs").exists()
