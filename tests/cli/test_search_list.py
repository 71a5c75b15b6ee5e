"""``gnz ls --searches`` and ``--trials`` show what was searched, to people and to programs."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from searches import search_of

from gnz_track.store.searches import write_search
from gnz_track.store.writer import open_store

Gnz = Callable[..., Any]


@pytest.fixture
def searched(store_file: Path) -> Path:
    """Return the store of the other tests, with two searches, one of them for a seed alone."""
    with open_store(str(store_file)) as store:
        write_search(store, search_of())
        write_search(store, search_of("GIN", scores=(None, None), kind="nested", seed=3, borders=()))
    return store_file


@pytest.mark.usefixtures("searched")
def test_searches_are_listed_with_what_they_found_and_cost(gnz: Gnz) -> None:
    answer = gnz("ls", "--searches")
    assert (answer.code, answer.err) == (0, "")
    title, heads, first, second = answer.out.splitlines()
    assert title.startswith("searches in ")
    assert heads.split()[:4] == ["sweep", "task", "model", "sampler"]
    row = [part.strip() for part in first.split("  ") if part.strip()]
    assert row[:9] == ["first", "cora", "GCN", "tpe", "5", "1", "0.7000", "accuracy", "7.5"]
    assert row[9] == "hidden_channels=16, lr=0.004, norm=it's 100 % é"
    assert "GIN s3" in second


@pytest.mark.usefixtures("searched")
def test_trials_are_listed_with_the_winner_marked(gnz: Gnz) -> None:
    rows = gnz("ls", "--trials", "--model", "GCN").out.splitlines()[2:]
    assert len(rows) == 5
    assert ["0.7000 *" in row for row in rows] == [False, False, False, True, False]
    assert "Diverged: loss is nan" in rows[2]


@pytest.mark.usefixtures("searched")
def test_programs_get_every_value(gnz: Gnz) -> None:
    trials = json.loads(gnz("ls", "--trials", "--json").out)
    assert len(trials) == 7
    assert {tuple(one) for one in trials} == {tuple(trials[0])}
    assert [one["value/lr"] for one in trials if one["model"] == "GCN"] == [0.001, 0.002, 0.003, 0.004, 0.005]
    rows = list(csv.DictReader(gnz("ls", "--trials", "--model", "GCN", "--csv").out.splitlines()))
    assert [row["score"] for row in rows] == ["0.6", "0.55", "", "0.7", "0.65"]
    (search, _) = json.loads(gnz("ls", "--searches", "--json").out)
    assert search["best"] == dict(search_of().best)
    assert (search["trials"], search["failed_trials"], search["seconds"]) == (5, 1, 7.5)
    rows = list(csv.DictReader(gnz("ls", "--searches", "--csv").out.splitlines()))
    assert rows[0]["best_score"] == "0.7"


@pytest.mark.usefixtures("searched")
def test_unknown_names_and_two_lists_at_once_are_refused(gnz: Gnz) -> None:
    answer = gnz("ls", "--searches", "--model", "GAT")
    assert answer.code != 0
    assert "unknown model with a search 'GAT'" in answer.err
    answer = gnz("ls", "--searches", "--failed")
    assert "what is to be listed is '--failed --searches'; allowed: one of them" in answer.err


@pytest.mark.usefixtures("store_file")
def test_store_without_searches_says_so(gnz: Gnz) -> None:
    for flag, title in (("--searches", "searches in "), ("--trials", "trials ")):
        answer = gnz("ls", flag)
        assert answer.code == 0
        assert answer.out.startswith(title)
        assert answer.out.endswith(": none\n")
        assert gnz("ls", flag, "--json").out == "[]\n"


@pytest.mark.usefixtures("searched")
def test_cells_and_sweeps_are_listed_as_before(gnz: Gnz) -> None:
    assert len(gnz("ls").out.splitlines()) == 4
    assert "search" not in gnz("ls", "--sweep", "first").out


@pytest.mark.usefixtures("svg_alone")
def test_report_prints_its_searches(gnz: Gnz, store_file: Path, tmp_path: Path) -> None:
    with open_store(str(store_file)) as store:
        write_search(store, search_of(sweep="second"))
        write_search(store, search_of("GIN", sweep="second", scores=(None, None)))
    answer = gnz("report", "--sweep", "second", "--out", str(tmp_path / "out"))
    assert (answer.code, answer.err) == (0, "")
    assert "\nSearches\n" in answer.out
    assert "cora GCN chose hidden_channels = 16, lr = 0.004, norm = it's 100 % é" in answer.out
    assert "all trials failed" in answer.out
    assert 'id="searches"' in (tmp_path / "out" / "report.html").read_text("utf-8")
