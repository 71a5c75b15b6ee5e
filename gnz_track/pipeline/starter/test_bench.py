from pathlib import Path

import pytest
import torch
from bench import CLASSES, OneHop, load_rings

import gnz_track as gnz


def test_data_depend_on_the_seed_alone(tmp_path: Path) -> None:
    assert torch.equal(load_rings(tmp_path, 1).x, load_rings(tmp_path, 1).x)
    assert not torch.equal(load_rings(tmp_path, 1).x, load_rings(tmp_path, 2).x)


def test_model_returns_a_row_per_node(tmp_path: Path) -> None:
    data = load_rings(tmp_path, 0)
    assert OneHop(CLASSES, 64, CLASSES)(data).shape == (data.num_nodes, CLASSES)


def test_model_learns_the_rings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GNZ_DATA", str(tmp_path))
    report = gnz.run_benchmark(
        tasks=["three_rings"], models=["OneHop"], seeds=range(2), store=str(tmp_path / "gnz.db"), verbose=False
    )
    assert report.table["score"].min() > 1 / CLASSES
