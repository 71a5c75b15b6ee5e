"""What cells cost is theirs alone, on every executor; and which instructions computed them is on record."""

from __future__ import annotations

import json
import os
import pickle
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import own_nets
import pytest
import torch

from gnz_track.runs.run_one import SETTINGS, name_instructions, run_one
from gnz_track.types import Cell

Cells = Callable[..., Cell]
Worlds = Callable[[str], Any]
CAN_RESET = Path("/proc/self/clear_refs").exists()


TRAINED_ALONE = """
import json, pickle, sys
sys.path[:0] = {path!r}
from gnz_track.runs.executors.events import ignore
from gnz_track.runs.executors.choice import choose_executor
from gnz_track.runs.executors.inline import run_inline
from gnz_track.runs.run_one import run_one

if __name__ == "__main__":
    with open({file!r}, "rb") as file:
        first, cells = pickle.load(file)
    # The first cell pays for what a process does once.
    run_one(first)
    execute = run_inline if {jobs} == 1 else choose_executor(jobs={jobs})
    for result in execute(cells, ignore):
        print(json.dumps([result.cell.seed, str(result.failure), result.memory_mib, result.peak_rss_mib]))
"""


@pytest.mark.skipif(not CAN_RESET, reason="only Linux lets a process forget its peak")
@pytest.mark.parametrize("jobs", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_memory_of_a_cell_is_its_own_whatever_was_trained_before(
    jobs: int, world: Worlds, cell_on: Cells, tmp_path: Path
) -> None:
    models = [(own_nets.Greedy, 300), ("MLP", 0), (own_nets.Greedy, 200), ("GCN", 0), (own_nets.Greedy, 200)]
    cells = [
        cell_on(world("nodes"), model, epochs=1, seed=seed, hyperparameters=(("mib", mib),) if mib else ())
        for seed, (model, mib) in enumerate(models)
    ]
    (tmp_path / "cells").write_bytes(pickle.dumps((cell_on(world("nodes"), "GCN", epochs=1), cells)))
    # In a process of its own: what thousands of other tests have left is in no reading.
    script = TRAINED_ALONE.format(path=sys.path, file=str(tmp_path / "cells"), jobs=jobs)
    (tmp_path / "train.py").write_text(script)
    command = [sys.executable, "-W", "ignore", str(tmp_path / "train.py")]
    said = subprocess.run(command, capture_output=True, text=True, check=False)
    found = {seed: facts for seed, *facts in map(json.loads, said.stdout.splitlines())}
    assert found.keys() == set(range(len(models))), said.stderr[-3000:]
    for seed, (_, mib) in enumerate(models):
        failure, memory, peak = found[seed]
        assert failure == "None"
        assert memory == pytest.approx(mib, abs=40)
        assert peak > memory + 50, "its process holds more"


def test_a_cell_names_what_computed_it(world: Worlds, cell_on: Cells) -> None:
    result = run_one(cell_on(world("nodes"), epochs=1))
    assert result.instructions == name_instructions()
    assert result.instructions.partition(";")[0] == torch.backends.cpu.get_cpu_capability()


def test_settings_that_change_bits_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in SETTINGS:
        monkeypatch.delenv(name, raising=False)
    alone = name_instructions()
    monkeypatch.setenv("MKL_CBWR", "COMPATIBLE")
    monkeypatch.setenv("ONEDNN_MAX_CPU_ISA", "AVX2")
    assert name_instructions() == f"{alone}; ONEDNN_MAX_CPU_ISA=AVX2; MKL_CBWR=COMPATIBLE"


@pytest.mark.parametrize("asked", ["", "off"])
def test_kernels_that_compute_are_named(root: Path, asked: str) -> None:
    said = (
        "from gnz_track.runs.run_one import name_instructions; from gnz_track.training.acceleration import kernels; "
        "print(kernels() is not None, 'kernels' in name_instructions().split('; '))"
    )
    environment = {**os.environ, "PYTHONPATH": str(root), "GNZ_KERNELS": asked}
    done = subprocess.run([sys.executable, "-c", said], capture_output=True, text=True, check=True, env=environment)
    is_there, is_named = done.stdout.split()
    assert is_there == is_named
    assert is_there == "False" or not asked


def test_the_vector_level_of_a_process_is_named(root: Path) -> None:
    said = "from gnz_track.runs.run_one import name_instructions; print(name_instructions())"
    environment = {**os.environ, "PYTHONPATH": str(root), "ATEN_CPU_CAPABILITY": "default"}
    done = subprocess.run([sys.executable, "-c", said], capture_output=True, text=True, check=True, env=environment)
    assert done.stdout.startswith(("DEFAULT", "NO AVX"))
