"""A small store of real runs: four link tasks, three settings, two seeds."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path

import pytest

from gnz_track.api import run_benchmark
from gnz_track.selection.evidence import Evidence, gather_evidence, read_past
from gnz_track.store.address import parse_address
from gnz_track.types import TaskType

TASKS = ("random_tsp", "random_coloring", "ising_lattice", "les_miserables")


@dataclass(frozen=True)
class Past:
    """Where runs and data are."""

    store: str
    home: Path


@pytest.fixture(scope="session")
def past(tmp_path_factory: pytest.TempPathFactory) -> Past:
    """Return a store with runs of GCN at two widths and of MLP."""
    folder = tmp_path_factory.mktemp("past")
    found = Past(str(folder / "gnz.db"), folder / "home")
    for models, width in ((["GCN", "MLP"], 64), (["GCN"], 16)):
        run_benchmark(
            tasks=TASKS,
            models=models,
            seeds=[0, 1],
            epochs=3,
            hidden_channels=width,
            store=found.store,
            root=found.home,
            verbose=False,
        )
    return found


def evidence_of(past: Past) -> Evidence:
    """Return all that the store knows of links."""
    runs = read_past(parse_address(past.store), TaskType.link_pred)
    return gather_evidence(runs, features="task", home=past.home)


@pytest.fixture
def own(past: Past, tmp_path: Path) -> Past:
    """Return a copy of the store that may be added to."""
    shutil.copy(past.store, tmp_path / "gnz.db")
    return Past(str(tmp_path / "gnz.db"), past.home)
