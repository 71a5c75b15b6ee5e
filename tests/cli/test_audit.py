"""``gnz audit``: from a name to a verdict, a page, a record in the store, and cells that are ordinary runs."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from gnz_track.quality.judgement import TRAINED_MODES
from gnz_track.store.address import parse_address
from gnz_track.store.audits import read_audits
from gnz_track.store.reader import read_table

Gnz = Callable[..., Any]


@pytest.mark.mirror
def test_fast_measures_and_says_what_follows(gnz: Gnz, mirror: Path, tmp_path: Path) -> None:
    answer = gnz("audit", "mutag", "--mirror", str(mirror), "--out", str(tmp_path / "out"))
    assert answer.code == 0, answer.err
    assert "undecided" in answer.out
    assert "only separability tells" in answer.out
    (record,) = read_audits(parse_address(os.environ["GNZ_STORE"])).values()
    assert record.structure.mean == pytest.approx(0.5144517440729571, abs=1e-8)
    assert record.features.mean == pytest.approx(0.7586498268747104, abs=1e-8)
    assert [mode.means[0] for mode in record.modes][:2] == pytest.approx([0.514701924495138, 0.7427741279635215])
    assert "undecided (fast)" in (tmp_path / "out" / "audit.html").read_text(encoding="utf-8")


@pytest.mark.mirror
@pytest.mark.slow
def test_full_trains_ordinary_cells_and_goes_on_where_it_was(gnz: Gnz, mirror: Path, tmp_path: Path) -> None:
    call = ("audit", "mutag", "--full", "--models", "GCN", "--seeds", "0-7", "--epochs", "1", "--mirror", str(mirror))
    answer = gnz(*call, "--out", str(tmp_path / "out"))
    assert answer.code == 0, answer.err
    address = parse_address(os.environ["GNZ_STORE"])
    table = read_table(address)
    assert set(table["task"]) == {"mutag", *(f"mutag~{mode}" for mode in TRAINED_MODES[1:])}
    assert len(table) == 8 * len(TRAINED_MODES)
    assert table["dataset_digest"].nunique() == 1
    assert table.groupby("seed")["split_digest"].nunique().eq(1).all(), "versions share the split of a seed"
    record = read_audits(address)["mutag"]
    assert {sample.metric for sample in record.samples} == {"accuracy", "auc"}
    assert len(record.pairs) == 30
    assert record.sweep in gnz("ls").out
    assert record.decision in {"keep", "realign"}
    again = gnz(*call, "--out", str(tmp_path / "out"), "--json")
    assert json.loads(again.out)["pairs"] == json.loads(record.to_json())["pairs"]
    assert "48 of 48 cells are finished already" in again.err
    assert read_audits(address)["mutag"].pairs == record.pairs
    run = table[table["task"] == "mutag~random-graph"]["run_id"].iloc[0]
    assert gnz("reproduce", run).code == 0, "one of them, again, to the bit"


def test_mistakes_are_told_before_anything_is_measured(gnz: Gnz) -> None:
    for wrong, words in (
        (("mutagg",), "did you mean 'mutag'"),
        (("mutag", "--test", "t"), "test is 't'"),
        (("mutag", "--alpha", "2"), "alpha is 2.0"),
        (("mutag", "--compat", "ring"), "compat is 'ring'"),
        (("mutag", "--seeds", "x"), "cannot read seeds"),
    ):
        answer = gnz("audit", *wrong)
        assert answer.code == 2
        assert words in answer.err


@pytest.mark.mirror
def test_distances_that_are_none(gnz: Gnz, mirror: Path) -> None:
    answer = gnz("audit", "mutag", "--mirror", str(mirror), "--distance", "diffusoin")
    assert answer.code == 2
    assert "did you mean 'diffusion'" in answer.err
