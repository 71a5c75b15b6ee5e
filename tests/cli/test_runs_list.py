"""``gnz ls`` shows sweeps, cells and failures, to people and to programs."""

from __future__ import annotations

import csv
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Gnz = Callable[..., Any]


def table(answer: Any) -> list[list[str]]:
    """Return the rows under the headings, cut where two spaces or more stand."""
    assert (answer.code, answer.err) == (0, "")
    _, _, *rows = answer.out.splitlines()
    return [[part.strip() for part in row.split("  ") if part.strip()] for row in rows]


@pytest.mark.usefixtures("store_file")
def test_sweeps_are_listed_with_their_counts(gnz: Gnz) -> None:
    first, second = table(gnz("ls"))
    assert first[:8] == ["first", "quick", "finished", "9", "1", "cora, zinc", "GAT, GCN", "0-2"]
    assert second[:7] == ["second", "quick", "running", "1", "cora", "GCN", "7"]


@pytest.mark.usefixtures("store_file")
def test_cells_of_a_sweep_are_listed(gnz: Gnz) -> None:
    rows = table(gnz("ls", "--sweep", "first", "--task", "cora", "--model", "GAT"))
    assert [row[:4] for row in rows] == [
        ["cora", "GAT", "0", "finished"],
        ["cora", "GAT", "1", "finished"],
        ["cora", "GAT", "2", "failed"],
    ]
    assert rows[0][-4:-1] == ["0.5633", "accuracy", "12.5"]
    assert rows[2][-4:-1] == ["-", "accuracy", "0.5"]
    assert len(rows[0][-1]) == 8


@pytest.mark.usefixtures("store_file")
def test_what_a_cell_changed_stands_beside_its_model(gnz: Gnz) -> None:
    assert "GCN lr=0.1 norm=it's 100 % é" in gnz("ls", "--sweep", "first").out


@pytest.mark.usefixtures("store_file")
def test_failures_are_grouped_with_their_reason(gnz: Gnz) -> None:
    for arguments in (("--failed",), ("--failed", "--sweep", "first")):
        [row] = table(gnz("ls", *arguments))
        assert row[:4] == ["1", "failed", "cora GAT s2", "first"]
        assert row[-1].startswith("ValueError: odd odd")
    nothing = gnz("ls", "--failed", "--sweep", "second")
    assert nothing.out == "cells that failed or were killed (tracebacks: gnz ui): none\n"


@pytest.mark.usefixtures("store_file")
def test_json_and_csv_hold_everything(gnz: Gnz) -> None:
    sweeps = json.loads(gnz("ls", "--json").out)
    assert [(one["sweep"], one["n_finished"], one["seeds"]) for one in sweeps] == [
        ("first", 9, [0, 1, 2]),
        ("second", 1, [7]),
    ]
    cells = json.loads(gnz("ls", "--sweep", "first", "--json").out)
    assert len(cells) == 10
    rows = list(csv.DictReader(gnz("ls", "--sweep", "first", "--csv").out.splitlines()))
    assert [row["run_id"] for row in rows] == [cell["run_id"] for cell in cells]
    assert [row["score"] for row in rows] == ["" if cell["score"] is None else str(cell["score"]) for cell in cells]
    [failure] = json.loads(gnz("ls", "--failed", "--json").out)
    assert failure["cells"] == ["cora GAT s2"]
    listed = list(csv.DictReader(gnz("ls", "--csv").out.splitlines()))
    assert [row["tasks"] for row in listed] == ["cora zinc", "cora"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--sweep", "fist"), ("unknown sweep 'fist'", "did you mean 'first'?", "gnz ls")),
        (("--sweep", "[red]"), ("unknown sweep '[red]'", "known: first, second", "gnz ls")),
        (("--suite", "quik"), ("unknown suite 'quik'", "'quick'", "gnz ls")),
        (("--task", "zink"), ("unknown task 'zink'", "'zinc'", "gnz ls")),
        (("--failed", "--model", "gcn"), ("unknown model 'gcn'", "'GCN'", "gnz ls")),
        (("--json", "--csv"), ("--json --csv", "one of them")),
        (("--store", "htp://host"), ("htp://host", "scheme 'htp'")),
    ],
)
@pytest.mark.usefixtures("store_file")
def test_mistake_is_one_line_and_code_2(arguments: tuple[str, ...], words: tuple[str, ...], gnz: Gnz) -> None:
    answer = gnz("ls", *arguments)
    assert (answer.code, answer.out) == (2, "")
    (line,) = answer.err.splitlines()
    assert all(word in line for word in words), line


def test_store_that_is_not_there_is_told_in_a_friendly_line_and_not_made(gnz: Gnz, tmp_path: Path) -> None:
    answer = gnz("ls")
    assert (answer.code, answer.out) == (0, "")
    (line,) = answer.err.splitlines()
    assert "gnz run" in line
    assert str(tmp_path / "runs" / "gnz.db") in line
    assert not (tmp_path / "runs").exists()


def test_archive_that_cannot_be_written_is_read(gnz: Gnz, store_file: Path, tmp_path: Path) -> None:
    archive = Path(shutil.copytree(store_file.parent, tmp_path / "archive"))
    (archive / "gnz.db").chmod(0o444)
    assert len(table(gnz("ls", "--store", str(archive / "gnz.db")))) == 2


def test_file_that_is_no_store_is_named(gnz: Gnz, tmp_path: Path) -> None:
    file = tmp_path / "notes.txt"
    file.write_text("no database " * 100)
    answer = gnz("ls", "--store", str(file))
    assert (answer.code, answer.out) == (2, "")
    assert "file is not a database" in answer.err
    assert len(answer.err.splitlines()) == 1
