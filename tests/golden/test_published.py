"""Means of the published protocol lie where the published package has them; figures and source in graphnetz.json."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from gnz_track.api import run_benchmark
from gnz_track.datasets.catalogue import TASKS
from gnz_track.report.tables.summary import summarise
from gnz_track.seeds import parse_seeds

GOLDEN = json.loads(Path(__file__).with_name("graphnetz.json").read_text(encoding="utf-8"))

pytestmark = pytest.mark.slow


def means(task: str, folder: Path) -> dict[str, Any]:
    """Train all models of a golden task and return their rows by model."""
    golden = GOLDEN[task]
    report = run_benchmark(
        tasks=[TASKS.get(task)],
        models=list(golden["scores"]),
        seeds=parse_seeds(golden["seeds"]),
        protocol=golden.get("protocol", "graphnetz"),
        device="cpu",
        root=folder / "data",
        store=str(folder / "gnz.db"),
        verbose=False,
    )
    return {row.model: row for row in summarise(report.table)}


def check(task: str, folder: Path) -> None:
    golden, rows = GOLDEN[task], means(task, folder)
    assert golden["source"]
    assert set(rows) == set(golden["scores"])
    for model, expected in golden["scores"].items():
        assert rows[model].metric == golden["metric"]
        assert (rows[model].n_finished, rows[model].n_failed) == (len(parse_seeds(golden["seeds"])), 0)
        assert rows[model].mean == pytest.approx(expected["mean"], abs=expected["tolerance"]), model


@pytest.fixture(autouse=True)
def _own_data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))


def test_random_tsp(tmp_path: Path) -> None:
    check("random_tsp", tmp_path)


@pytest.mark.mirror
def test_cora(tmp_path: Path, mirror: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GNZ_MIRROR", str(mirror))
    check("cora", tmp_path)


@pytest.mark.mirror
def test_euroroad(tmp_path: Path, mirror: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GNZ_MIRROR", str(mirror))
    check("euroroad", tmp_path)
