"""Means of the published protocol lie where the published package has them; figures and source in graphnetz.json."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from gnz_track.datasets.catalogue import TASKS
from gnz_track.models.catalogue import MODELS
from gnz_track.runs.on_inline import run_inline
from gnz_track.runs.plan import Place, make_plan
from gnz_track.runs.summary import summarise
from gnz_track.seeds import parse_seeds
from gnz_track.training.protocols import PROTOCOLS

GOLDEN = json.loads(Path(__file__).with_name("graphnetz.json").read_text(encoding="utf-8"))

pytestmark = pytest.mark.slow


def means(task: str, place: Place) -> dict[str, Any]:
    """Train all models of a golden task and return their rows by model."""
    golden = GOLDEN[task]
    plan = make_plan(
        [TASKS.get(task)],
        [MODELS.get(name) for name in golden["scores"]],
        seeds=parse_seeds(golden["seeds"]),
        protocol=PROTOCOLS.get("graphnetz"),
        device="cpu",
        place=place,
    )
    return {row.model: row for row in summarise(run_inline(plan.cells))}


def check(task: str, place: Place) -> None:
    golden, rows = GOLDEN[task], means(task, place)
    assert golden["source"]
    assert set(rows) == set(golden["scores"])
    for model, expected in golden["scores"].items():
        assert rows[model].metric == golden["metric"]
        assert (rows[model].n_finished, rows[model].n_failed) == (len(parse_seeds(golden["seeds"])), 0)
        assert rows[model].mean == pytest.approx(expected["mean"], abs=expected["tolerance"]), model


def test_random_tsp(tmp_path: Path) -> None:
    check("random_tsp", Place(home=tmp_path))


@pytest.mark.mirror
def test_cora(tmp_path: Path, mirror: Path) -> None:
    check("cora", Place(home=tmp_path, mirror=mirror))
