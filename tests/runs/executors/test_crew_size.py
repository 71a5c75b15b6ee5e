"""Workers where nobody says how many: one for each core, and no more than cells and memory are worth."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest

from gnz_track.datasets.catalogue import TASKS
from gnz_track.models.catalogue import MODELS
from gnz_track.runs.executors import crew_size
from gnz_track.runs.executors.crew_size import USUAL_BYTES, count_cores, free_bytes, usual_jobs
from gnz_track.runs.executors.ray.resources import Footprints
from gnz_track.training.protocols import PROTOCOLS
from gnz_track.types import Cell

CELL = Cell(
    task=TASKS.get("cora"),
    model=MODELS.get("GCN"),
    seed=0,
    protocol=PROTOCOLS.get("graphnetz"),
    epochs=3,
    dataset_digest="",
    data="",
)
CELLS = [replace(CELL, seed=seed) for seed in range(8)]
KNOWN_TO_BE_LONG = 1000.0


@pytest.fixture
def system(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder that stands for what the system says of a container; four cores and 6 GiB are there."""
    monkeypatch.setattr(crew_size, "_GROUP", tmp_path)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(4)), raising=False)
    (tmp_path / "memory.max").write_text(f"{7 * 2**30}\n")
    (tmp_path / "memory.current").write_text(f"{2**30}\n")
    return tmp_path


@pytest.mark.parametrize(("seconds", "n_cells", "jobs"), [(None, 8, 4), (1000.0, 3, 3), (20.0, 8, 1), (None, 1, 1)])
def test_cores_cells_and_time_decide(system: Path, seconds: float | None, n_cells: int, jobs: int) -> None:
    assert system.is_dir()
    assert usual_jobs(CELLS[:n_cells], seconds, Footprints()) == min(jobs, free_bytes() // USUAL_BYTES)


def test_cells_of_a_gpu_have_one_process(system: Path) -> None:
    assert system.is_dir()
    assert usual_jobs([replace(cell, device="cuda") for cell in CELLS], KNOWN_TO_BE_LONG, Footprints()) == 1


def test_memory_that_cells_held_leaves_fewer_workers(system: Path) -> None:
    (system / "memory.max").write_text(f"{4 * 2**30}\n")
    large = Footprints({("cora", "GCN"): (1024.0, 0.0)})
    free = min(free_bytes(), 3 * 2**30)
    assert usual_jobs(CELLS, KNOWN_TO_BE_LONG, large) == max(1, free * 4 // (5 * 2**30))
    larger = Footprints({("cora", "GCN"): (2.0**20, 0.0)})
    assert usual_jobs(CELLS, KNOWN_TO_BE_LONG, larger) == 1


def test_the_share_of_a_container_counts(system: Path) -> None:
    assert count_cores() == 4
    for text, n_cores in (("200000 100000\n", 2), ("max 100000\n", 4), ("50000 100000\n", 1), ("", 4)):
        (system / "cpu.max").write_text(text)
        assert count_cores() == n_cores


def test_where_nothing_is_said_memory_has_no_limit(system: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (system / "memory.max").write_text("max\n")
    monkeypatch.setattr(crew_size, "_numbers_in", lambda *_: [])
    assert free_bytes() == 2**62
