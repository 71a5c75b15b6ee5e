"""Cells, good ones and broken ones, and the executors that are to train them."""

from __future__ import annotations

import os
import secrets
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from gnz_track.datasets.catalogue import TASKS
from gnz_track.datasets.preparation import prepare
from gnz_track.models.catalogue import MODELS, describe
from gnz_track.training.protocols import PROTOCOLS
from gnz_track.types import Cell

sys.path.append(str(Path(__file__).parent))

# Clusters of these tests know each other by a token of their own, which Ray reads once in a process.
os.environ |= {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": secrets.token_hex(32)}

from crews import CREWS, Crew

NETS = """
import os, signal, time, torch
from pathlib import Path
from torch_geometric.nn import GCNConv

NOTES = Path({notes!r})

def note(name):
    with open(NOTES / name, "a") as file:
        file.write(f"{{os.getpid()}}\\n")

class Net(torch.nn.Module):
    task_types = {{"link_pred"}}

    def __init__(self, in_channels, hidden_channels, out_channels):
        super().__init__()
        self.layer = GCNConv(in_channels, out_channels)
        note(type(self).__name__)

    def forward(self, data):
        self.act()
        return self.layer(data.x, data.edge_index)

    def act(self):
        pass

class Killed(Net):
    def act(self):
        os.kill(os.getpid(), signal.SIGKILL)

class Beating(Net):
    def act(self):
        while True:
            note("beats")
            time.sleep(0.05)

class Crashing(Net):
    def act(self):
        raise RuntimeError("my own mistake")

class Leaving(Net):
    def act(self):
        raise SystemExit(4)

class NotANumber(Net):
    def __init__(self, *widths):
        super().__init__(*widths)
        self.layer.bias.data[0] = float("nan")

class Slow(Net):
    def act(self):
        time.sleep(0.3)
"""


@pytest.fixture(scope="session")
def of_the_page(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Return a folder of modules that workers can import; what models note lies in its ``notes``."""
    folder = tmp_path_factory.mktemp("modules") / "of_the_page"
    (folder / "notes").mkdir(parents=True)
    (folder / "conforming_nets.py").write_text(NETS.format(notes=str(folder / "notes")), encoding="utf-8")
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(folder))
        yield folder


@pytest.fixture(scope="session", params=list(CREWS))
def crew(request: pytest.FixtureRequest, of_the_page: Path) -> Iterator[Crew]:
    assert of_the_page.is_dir()
    with CREWS[request.param]() as crew:
        yield crew


@pytest.fixture
def notes(of_the_page: Path) -> Path:
    """Return the folder of notes, without any."""
    folder = of_the_page / "notes"
    for file in folder.iterdir():
        file.unlink()
    return folder


@pytest.fixture(scope="session")
def make_cell(tmp_path_factory: pytest.TempPathFactory, of_the_page: Path) -> Callable[..., Cell]:
    assert of_the_page.is_dir()
    home = tmp_path_factory.mktemp("home")

    def make(model: str = "GCN", seed: int = 0, *, epochs: int = 3, **changes: object) -> Cell:
        task = TASKS.get("random_tsp")
        dataset = prepare(task, seed=seed, home=home)
        cell = Cell(
            task=task,
            model=MODELS.get(model) if model in MODELS else describe(f"conforming_nets:{model}"),
            seed=seed,
            protocol=PROTOCOLS.get("graphnetz"),
            epochs=epochs,
            dataset_digest=dataset.digest,
            data=str(dataset.folder),
        )
        return replace(cell, **changes)

    return make
