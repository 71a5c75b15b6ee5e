"""``gnz data card``: a page for people and a record for machines, of data that are here and of data that are not."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from gnz_track.datasets.catalogue import DATASETS
from gnz_track.datasets.frozen import open_frozen

Gnz = Callable[..., Any]


@pytest.mark.parametrize("name", DATASETS.names())
def test_every_row_has_a_card(name: str, gnz: Gnz) -> None:
    row = DATASETS.get(name)
    page = gnz("data", "card", name)
    assert (page.code, page.err) == (0, "")
    assert page.out.startswith(f"# {name}\n")
    for text in (row.source, row.licence, row.citation, row.notes, *row.defects):
        assert text in page.out
    record = json.loads(gnz("data", "card", name, "--format", "json").out)
    assert record["licence"] == row.licence
    assert record["expected"] == dict(row.expected)
    assert len(record["files"]) == len(row.origins)
    assert record["frozen"] == []


def test_a_frozen_dataset_shows_digest_and_sizes(gnz: Gnz, home: Path) -> None:
    for seed in ("0", "3"):
        assert gnz("data", "get", "random_tsp", "--seed", seed).code == 0
    page = gnz("data", "card", "random_tsp").out
    digests = [open_frozen(home / "random_tsp" / f"seed-{seed}").digest for seed in (0, 3)]
    lines = [line for line in page.splitlines() if line.startswith(("| 0 ", "| 3 "))]
    assert [line.split("`")[1] for line in lines] == digests
    assert "| 200 |" in lines[0]
    record = json.loads(gnz("data", "card", "random_tsp", "--format", "json").out)
    assert [form["seed"] for form in record["frozen"]] == [0, 3]
    assert record["frozen"][0]["fields"]["x"]["along"] == "node"


def test_unknown_names_and_broken_cards_are_named(gnz: Gnz, home: Path) -> None:
    assert "did you mean 'cora'" in gnz("data", "card", "coraa").err
    assert gnz("data", "get", "les_miserables").code == 0
    (home / "les_miserables" / "card.json").write_text("{}")
    answer = gnz("data", "card", "les_miserables")
    assert answer.code == 2
    assert answer.err.startswith("error: the dataset 'les_miserables' in")
