"""What the model of one cell does to its process changes no number of another cell, or it is said that it did."""

from __future__ import annotations

import copy
import os
import pickle
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import meddling_nets
import pytest
import torch
from meddling_nets import FUNCTIONS, MEDDLING, NAMES
from test_one import bits

from gnz_track.models.catalogue import describe
from gnz_track.runs.executors.choice import choose_executor
from gnz_track.runs.executors.events import Done, Event, Leaked
from gnz_track.runs.executors.fork_server import ForkServer, open_fork_server
from gnz_track.runs.executors.inline import run_inline
from gnz_track.runs.executors.processes import CellQueue
from gnz_track.runs.executors.ray.cell_stream import stream_one
from gnz_track.runs.isolation.canary import find_leak
from gnz_track.runs.isolation.originals import originals
from gnz_track.runs.isolation.process_state import ROWS
from gnz_track.runs.run_one import run_one
from gnz_track.training.acceleration import layers
from gnz_track.types import Cell

Cells = Callable[..., Cell]
Worlds = Callable[[str], Any]


# Of these each starts a worker.
TWELVE = (
    *("matmul precision", "default dtype", "default device", "gradients", "autocast", "deterministic algorithms"),
    *("flush denormals", "hooks of all layers", "manual_seed", "relu", "Adam", "propagate"),
)


def meddler(name: str) -> Any:
    return describe(f"meddling_nets:{name}")


@pytest.fixture(scope="module")
def fork_server() -> Iterator[ForkServer]:
    """Return one that is ready: to import all takes seconds."""
    with open_fork_server() as fork_server:
        yield fork_server


@pytest.fixture
def innocent(cell_on: Cells, world: Worlds) -> list[Cell]:
    return [cell_on(world("nodes"), model) for model in ("GAT", "GraphSAGE")]


@pytest.mark.parametrize("what", list(MEDDLING))
def test_settings_and_functions_are_put_back_inline(
    what: str, innocent: list[Cell], cell_on: Cells, world: Worlds
) -> None:
    expected = [bits(run_one(cell)) for cell in innocent]
    before = {row.name: row.read() for row in ROWS}
    meddling = cell_on(world("nodes"), meddler(NAMES[what]))
    _, *found = run_inline([meddling, *innocent])
    assert [bits(result) for result in found] == expected
    assert {row.name: row.read() for row in ROWS} == before
    assert originals.changes() == []
    assert find_leak() == ""


def test_compiler_that_is_imported_in_between_changes_nothing() -> None:
    code = (
        "import torch; from gnz_track.runs.isolation.originals import originals; ours = torch.manual_seed; "
        "import torch._dynamo; print(torch.manual_seed is ours, originals.changes())"
    )
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert said == "False []\n"


@pytest.mark.parametrize("what", ["default dtype", "matmul precision", "defaults of dropout", "relu"])
def test_the_next_cell_of_the_same_model_is_trained_as_its_first(what: str, cell_on: Cells, world: Worlds) -> None:
    cells = [cell_on(world("nodes"), meddler(NAMES[what]), seed=seed) for seed in (0, 1)]
    first, second = run_inline(cells)
    again, *_ = run_inline(cells[1:])
    assert first.failure is None or first.failure.kind == second.failure.kind  # type: ignore[union-attr]
    assert second.series == again.series


def test_innocent_cells_are_the_same_with_any_number_of_workers(
    innocent: list[Cell], cell_on: Cells, world: Worlds, fork_server: ForkServer
) -> None:
    expected = {cell: bits(run_one(cell)) for cell in innocent}
    meddling = [cell_on(world("nodes"), meddler(NAMES[what]), epochs=1) for what in TWELVE]
    cells = [meddling[0], innocent[0], *meddling[1:], innocent[1]]
    for jobs in (1, 2):
        execute = choose_executor(jobs=jobs, fork_server=fork_server)
        results = list(execute(cells, lambda _: None))
        assert len(results) == len(cells)
        found = {result.cell: bits(result) for result in results if result.cell in expected}
        assert found == expected


def test_what_nobody_thought_of_is_noticed_and_named(innocent: list[Cell], cell_on: Cells, world: Worlds) -> None:
    poisoner = cell_on(world("nodes"), meddler("Poisoner"))
    known = copy.copy(layers.FORWARDS)
    try:
        _, lost = run_inline([poisoner, innocent[0]])
    finally:
        layers.FORWARDS.clear()
        layers.FORWARDS.update(known)
    assert lost.failure is not None
    assert lost.failure.kind == "ProcessChanged"
    assert poisoner.label in lost.failure.message
    assert "--executor processes" in lost.failure.message


def test_on_a_cluster_it_is_noticed_too(innocent: list[Cell], cell_on: Cells, world: Worlds) -> None:
    known = copy.copy(layers.FORWARDS)
    try:
        for cell in (cell_on(world("nodes"), meddler("Poisoner")), innocent[0]):
            *_, (done, _) = stream_one(cell, cell)
    finally:
        layers.FORWARDS.clear()
        layers.FORWARDS.update(known)
    assert isinstance(done, Done)
    assert done.result.failure is not None
    assert done.result.failure.kind == "ProcessChanged"
    *_, (done, _) = stream_one(innocent[0], innocent[0])
    assert isinstance(done, Done)
    assert done.result.is_finished


@pytest.mark.parametrize("name", ["Poisoner", "Counter"])
def test_in_workers_a_cell_sees_nothing_of_others_of_its_model(
    name: str, cell_on: Cells, world: Worlds, fork_server: ForkServer
) -> None:
    execute = choose_executor(executor="processes", fork_server=fork_server)
    cells = [cell_on(world("nodes"), meddler(name), seed=seed) for seed in range(3)]
    heard: list[Event] = []
    results = {result.cell: bits(result) for result in execute(cells, heard.append)}
    assert [event for event in heard if isinstance(event, Leaked)] == []
    (alone,) = execute(cells[2:], lambda _: None)
    assert results[cells[2]] == bits(alone)


def test_models_of_others_are_trained_in_workers_of_their_own(cell_on: Cells, world: Worlds) -> None:
    here = {cell_on(world("nodes"), "GCN"), cell_on(world("nodes"), "MLP")}
    waiting = CellQueue([*here, cell_on(world("nodes"), meddler("Relu")), cell_on(world("nodes"), meddler("Adam"))])
    assert waiting.has("")
    assert waiting.take("") in here
    assert waiting.next_owner(set()) == ""
    other = waiting.next_owner({""})
    assert waiting.take(other).model.name == "Relu"
    waiting.put_back([cell_on(world("nodes"), meddler("Adam"), seed=7)])
    assert waiting.take(waiting.next_owner(set())).seed == 7


EXITING = """
import os, torch
from meddling_nets import Meddler

class Leaving(Meddler):
    def forward(self, data):
        os._exit(0)
"""


@pytest.fixture
def leaving(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    (tmp_path / "leaving_nets.py").write_text(EXITING, encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    yield describe("leaving_nets:Leaving")
    sys.modules.pop("leaving_nets", None)


def test_a_model_that_ends_the_process_as_if_all_were_well_fails(
    leaving: Any, innocent: list[Cell], cell_on: Cells, world: Worlds, fork_server: ForkServer
) -> None:
    cells = [cell_on(world("nodes"), leaving), innocent[0]]
    inline, after = run_inline(cells)
    assert inline.failure is not None
    assert "os._exit(0)" in inline.failure.message
    assert after.is_finished
    lost = next(
        result for result in choose_executor(fork_server=fork_server)(cells, lambda _: None) if result.cell == cells[0]
    )
    assert lost.failure is not None
    assert lost.failure.kind == "WorkerDied"
    assert "exit code 0 in the middle of the cell" in lost.failure.message


def test_a_child_that_a_model_lets_train_on_says_nothing(
    cell_on: Cells, world: Worlds, fork_server: ForkServer
) -> None:
    cells = [cell_on(world("nodes"), meddler("Forker"), seed=seed) for seed in range(3)]
    results = list(choose_executor(fork_server=fork_server)(cells, lambda _: None))
    assert [(result.cell.seed, result.is_finished) for result in results] == [(0, True), (1, True), (2, True)]


def test_children_of_a_model_may_end_so(cell_on: Cells, world: Worlds) -> None:
    from gnz_track.runs.executors.inline import _without_exit

    with _without_exit():
        child = os.fork()
        if not child:
            os._exit(5)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 5
    del cell_on, world


IMPORTED = """
import sys; sys.path[:] = {path!r}
import torch
torch.nn.functional.relu = lambda x, inplace=False: x * 0
torch.nn.functional.relu.__module__ = "mynets"
from gnz_track.runs.executors.choice import choose_executor
import pickle
cells = pickle.load(open({file!r}, "rb"))
print([result.series["train/loss"][-1].hex() for result in choose_executor()(cells, lambda _: None)])
"""


def test_what_was_imported_before_this_package_changes_no_number_of_ours(innocent: list[Cell], tmp_path: Path) -> None:
    (tmp_path / "cells").write_bytes(pickle.dumps(innocent))
    script = IMPORTED.format(path=sys.path, file=str(tmp_path / "cells"))
    said = subprocess.run([sys.executable, "-W", "ignore", "-c", script], capture_output=True, text=True, check=False)
    expected = [run_one(cell).series["train/loss"][-1].hex() for cell in innocent]
    assert said.stdout.strip() == str(expected), said.stderr[-3000:]


def test_looking_for_leaks_takes_milliseconds() -> None:
    find_leak()
    started = time.process_time()
    for _ in range(5):
        find_leak()
    assert (time.process_time() - started) / 5 < 0.1
    assert torch.get_num_threads() >= 1
    assert meddling_nets.MEDDLING.keys() >= FUNCTIONS.keys()
