"""``gnz rescore`` gives past runs further metrics, says what was left out, and other commands show them."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from stored_sweep import RINGS, ROOMS, StoredSweep

Gnz = Callable[..., Any]


@pytest.fixture
def store(stored_sweep: StoredSweep, tmp_path: Path) -> str:
    """Return a copy of the store of a sweep."""
    folder = Path(stored_sweep.store.removeprefix("sqlite:///")).parent
    copy = shutil.copytree(folder, tmp_path / "copy", ignore=shutil.ignore_patterns("data"))
    return str(copy / "runs.db")


def test_further_metrics_are_written_once_and_can_be_asked_for(gnz: Gnz, store: str, tmp_path: Path) -> None:
    first = gnz("rescore", "--metric", "balanced_accuracy,nll", "--task", ROOMS, "--store", store)
    assert (first.code, first.out.splitlines()[0]) == (0, "mean test scores over runs")
    assert "36 scores written, those of validation included; nothing was trained" in first.out
    assert "9/9 cells, last: " in first.err
    again = gnz("rescore", "--metric", "balanced_accuracy,nll", "--task", ROOMS, "--store", store)
    assert (again.code, again.err) == (0, "")
    assert "0 scores written" in again.out
    asked = gnz("query", f"task = '{ROOMS}' and score < 100", "--metric", "nll", "--json", "--store", store)
    cells = json.loads(asked.out)
    assert {(cell["metric"], cell["direction"]) for cell in cells} == {("nll", "down")}
    assert len(cells) == 9
    report = gnz("report", "--metric", "nll", "--task", ROOMS, "--store", store, "--out", str(tmp_path / "report"))
    assert report.code == 0, report.err
    assert f"{ROOMS} (nll, down)" in report.out


def test_what_was_left_out_is_named_and_told_by_the_exit_code(gnz: Gnz, store: str) -> None:
    files = sorted(Path(store).parent.rglob("predictions.parquet"))
    files[0].unlink()
    files[-1].write_bytes(b"")
    found = gnz("rescore", "--metric", "nll", "--store", store)
    assert found.code == 1
    assert "1 runs have no predictions: " in found.err
    assert f"gnz reproduce {files[0].parents[1].name[:12]} --keep predictions" in found.err
    assert f"left out: {files[-1].parents[1].name[:8]}: digest of predictions.parquet" in found.err
    assert f"note: does not serve {RINGS}: nll (allowed: mae, mse, r2, rmse)" in found.err


def test_metrics_that_do_not_exist_or_do_not_serve_are_refused(gnz: Gnz, store: str) -> None:
    for metric, words in (
        ("rmse", "allowed: of rooms of three accuracy"),
        ("nl", "did you mean 'nll'"),
        (",", "a value"),
    ):
        refused = gnz("rescore", "--metric", metric, "--task", ROOMS, "--store", store)
        assert refused.code == 2
        assert words in refused.err
    missing = gnz("report", "--metric", "nll", "--task", ROOMS, "--store", store)
    assert missing.code == 2
    assert "gnz rescore --metric nll" in missing.err
