"""Cells on workers: well-behaved ones, ones whose models misbehave, and what came of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

import pytest

from gnz_track.datasets.catalogue import TASKS
from gnz_track.datasets.preparation import prepare
from gnz_track.models.catalogue import MODELS, describe
from gnz_track.runs.executors.events import Done, Event
from gnz_track.training.protocols import PROTOCOLS
from gnz_track.types import Cell, CellResult

NETS = """
import os, signal, sys, time, torch
from torch_geometric.nn import GCNConv

class Net(torch.nn.Module):
    task_types = {"link_pred"}

    def __init__(self, in_channels, hidden_channels, out_channels):
        super().__init__()
        self.layer = GCNConv(in_channels, out_channels)

    def forward(self, data):
        self.act()
        return self.layer(data.x, data.edge_index)

    def act(self):
        pass

class Killed(Net):
    def act(self):
        os.kill(os.getpid(), signal.SIGKILL)

class Quitting(Net):
    def act(self):
        os._exit(3)

class Hanging(Net):
    def act(self):
        time.sleep(600)

class Pausing(Net):
    def act(self):
        time.sleep(0.4)

class Crashing(Net):
    def act(self):
        raise RuntimeError("my own mistake")

class Listing(Net):
    def act(self):
        if not self.training:
            unwanted = {"matplotlib", "mlflow", "optuna", "pandas", "sqlalchemy", "sympy", "torch._dynamo"}
            raise RuntimeError(f"after a step: {sorted(unwanted & set(sys.modules))}")
"""


@pytest.fixture(scope="module")
def make_cell(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Cell]:
    home = tmp_path_factory.mktemp("home")

    def make(model: str = "GCN", seed: int = 0, *, epochs: int = 3) -> Cell:
        task = TASKS.get("random_tsp")
        dataset = prepare(task, seed=seed, home=home)
        row = MODELS.get(model) if model in MODELS else describe(model)
        return Cell(
            task=task,
            model=row,
            seed=seed,
            protocol=PROTOCOLS.get("graphnetz"),
            epochs=epochs,
            dataset_digest=dataset.digest,
            data=str(dataset.folder),
        )

    return make


@pytest.fixture(scope="module")
def nets(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("nets")
    (folder / "nets_that_misbehave.py").write_text(NETS, encoding="utf-8")
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(folder))
        yield "nets_that_misbehave"


def _results(events: Iterable[Event]) -> dict[tuple[str, int], CellResult]:
    done = [event.result for event in events if isinstance(event, Done)]
    found = {(result.cell.model.name, result.cell.seed): result for result in done}
    assert len(found) == len(done), "a cell was done twice"
    return found


@pytest.fixture(scope="session")
def results() -> Callable[[Iterable[Event]], dict[tuple[str, int], CellResult]]:
    """Return a function from events to results by model and seed."""
    return _results
