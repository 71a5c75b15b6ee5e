"""Worker processes: the same bits as inline, and a worker's death costs one cell."""

from __future__ import annotations

import os
import pickle
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace

import pytest

from gnz_track.models.catalogue import describe
from gnz_track.runs.executors.events import Done, Event, Started
from gnz_track.runs.executors.fork_server import ForkServer, open_fork_server
from gnz_track.runs.executors.processes import run_on_processes
from gnz_track.runs.run_one import run_one
from gnz_track.types import Cell, CellResult

Cells = Callable[..., Cell]
Results = Callable[[Iterable[Event]], dict[tuple[str, int], CellResult]]


@pytest.fixture(scope="module")
def fork_server() -> Iterator[ForkServer]:
    """Return one that is ready: to import all takes seconds."""
    with open_fork_server() as fork_server:
        yield fork_server


def test_same_bits_as_inline_for_any_number_of_workers_and_order(
    make_cell: Cells, results: Results, fork_server: ForkServer
) -> None:
    cells = [make_cell(model, seed) for model in ("GCN", "GAT", "MLP") for seed in (0, 1)]
    expected = {(cell.model.name, cell.seed): run_one(cell) for cell in cells}
    # The first opens a fork server of its own.
    for order, jobs, source in ((cells, 1, None), (cells[::-1], 3, fork_server)):
        found = results(run_on_processes(order, jobs=jobs, fork_server=source))
        assert found.keys() == expected.keys()
        for key, result in found.items():
            assert result.series == expected[key].series
            assert result.score == expected[key].score


def test_events_of_a_cell_come_in_order(make_cell: Cells, fork_server: ForkServer) -> None:
    events = list(run_on_processes([make_cell(seed=0), make_cell(seed=1)], jobs=1, fork_server=fork_server))
    assert [(type(event), event.cell.seed) for event in events] == [(Started, 0), (Done, 0), (Started, 1), (Done, 1)]


def test_worker_imports_neither_compiler_nor_tables_nor_store(
    make_cell: Cells, nets: str, results: Results, fork_server: ForkServer
) -> None:
    cell = make_cell(f"{nets}:Listing")
    failure = results(run_on_processes([cell], jobs=1, fork_server=fork_server))["Listing", 0].failure
    assert failure is not None
    assert "after a step: []" in failure.message


@pytest.mark.parametrize(
    ("net", "kind", "said"), [("Killed", "WorkerDied", "SIGKILL"), ("Quitting", "WorkerDied", "exit code 3")]
)
def test_dead_worker_costs_its_cell_only(
    make_cell: Cells, nets: str, net: str, kind: str, said: str, results: Results, fork_server: ForkServer
) -> None:
    cells = [make_cell(seed=0), make_cell(f"{nets}:{net}"), make_cell(seed=1), make_cell(seed=2)]
    found = results(run_on_processes(cells, jobs=1, fork_server=fork_server))
    lost = found.pop((net, 0))
    assert lost.failure is not None
    assert (lost.failure.kind, lost.is_finished) == (kind, False)
    assert said in lost.failure.message
    assert [result.is_finished for result in found.values()] == [True] * 3


def test_time_limit_costs_the_slow_cell_only(
    make_cell: Cells, nets: str, results: Results, fork_server: ForkServer
) -> None:
    cells = [make_cell(f"{nets}:Hanging"), make_cell(seed=0), make_cell(seed=1)]
    found = results(run_on_processes(cells, jobs=2, timeout=6, fork_server=fork_server))
    slow = found.pop(("Hanging", 0))
    assert slow.failure is not None
    assert slow.failure.kind == "TimeLimit"
    assert "6 s" in slow.failure.message
    assert all(result.is_finished for result in found.values())


def test_whoever_was_stopped_for_a_while_blames_no_cell(make_cell: Cells, nets: str) -> None:
    """The parent is stopped with its workers, as Ctrl-Z or a laptop that sleeps does it, for longer than the limit."""
    script = (
        f"import pickle, sys; sys.path[:] = {sys.path!r}\n"
        "from gnz_track.runs.executors.processes import run_on_processes\n"
        "cells = pickle.load(sys.stdin.buffer)\n"
        "for event in run_on_processes(cells, jobs=1, timeout=3):\n"
        "    print(type(event).__name__, getattr(event, 'result', None) and event.result.failure, flush=True)\n"
    )
    cells = [make_cell(f"{nets}:Pausing", epochs=1)]
    with subprocess.Popen(
        [sys.executable, "-W", "ignore", "-c", script], stdin=-1, stdout=-1, start_new_session=True
    ) as parent:
        assert parent.stdin is not None
        assert parent.stdout is not None
        parent.stdin.write(pickle.dumps(cells))
        parent.stdin.close()
        assert parent.stdout.readline() == b"Started None\n"
        os.killpg(parent.pid, signal.SIGSTOP)
        time.sleep(4)
        os.killpg(parent.pid, signal.SIGCONT)
        assert parent.stdout.read() == b"Done None\n"


def test_error_of_a_model_comes_back_with_its_traceback(
    make_cell: Cells, nets: str, results: Results, fork_server: ForkServer
) -> None:
    cells = [make_cell(f"{nets}:Crashing")]
    (result,) = results(run_on_processes(cells, jobs=2, fork_server=fork_server)).values()
    assert result.failure is not None
    assert 'raise RuntimeError("my own mistake")' in result.failure.traceback


def test_models_by_value_travel(make_cell: Cells, results: Results, fork_server: ForkServer) -> None:
    import torch
    from torch_geometric.nn import SAGEConv

    class Local(torch.nn.Module):
        task_types = ("link_pred",)

        def __init__(self, in_channels: int, hidden_channels: int, out_channels: int) -> None:  # noqa: ARG002
            super().__init__()
            self.layer = SAGEConv(in_channels, out_channels)

        def forward(self, data: object) -> torch.Tensor:
            return self.layer(data.x, data.edge_index)

    cell = replace(make_cell(), model=describe(Local))
    (result,) = results(run_on_processes([cell], jobs=1, fork_server=fork_server)).values()
    assert result.series == run_one(cell).series


def test_no_cells_are_no_events() -> None:
    assert list(run_on_processes([], jobs=2)) == []
