"""Worker processes: the same bits as inline, and a worker's death costs one cell."""

from __future__ import annotations

import os
import pickle
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from multiprocessing import Pipe
from pathlib import Path

import pytest

from gnz_track.datasets.preparation import prepare
from gnz_track.models.catalogue import MODELS, describe
from gnz_track.runs.executors.events import Done, Event, Started
from gnz_track.runs.executors.fork_server import open_fork_server
from gnz_track.runs.executors.processes import run_on_processes
from gnz_track.runs.run_one import run_one
from gnz_track.training.protocols import PROTOCOLS
from gnz_track.types import Cell, CellResult

from gnz_track.datasets.catalogue import TASKS  # isort: skip

NETS = """
import os, signal, time, torch
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
def nets(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("nets")
    (folder / "nets_that_misbehave.py").write_text(NETS, encoding="utf-8")
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(folder))
        yield "nets_that_misbehave"


def results(events: list[Event]) -> dict[tuple[str, int], CellResult]:
    done = [event.result for event in events if isinstance(event, Done)]
    found = {(result.cell.model.name, result.cell.seed): result for result in done}
    assert len(found) == len(done), "a cell was done twice"
    return found


def test_same_bits_as_inline_for_any_number_of_workers_and_order(make_cell: Callable[..., Cell]) -> None:
    cells = [make_cell(model, seed) for model in ("GCN", "GAT", "MLP") for seed in (0, 1)]
    expected = {(cell.model.name, cell.seed): run_one(cell) for cell in cells}
    for order, jobs in ((cells, 1), (cells[::-1], 3)):
        found = results(list(run_on_processes(order, jobs=jobs)))
        assert found.keys() == expected.keys()
        for key, result in found.items():
            assert result.series == expected[key].series
            assert result.score == expected[key].score


def test_events_of_a_cell_come_in_order(make_cell: Callable[..., Cell]) -> None:
    events = list(run_on_processes([make_cell(seed=0), make_cell(seed=1)], jobs=1))
    assert [(type(event), event.cell.seed) for event in events] == [(Started, 0), (Done, 0), (Started, 1), (Done, 1)]


@pytest.mark.parametrize(
    ("net", "kind", "said"), [("Killed", "WorkerDied", "SIGKILL"), ("Quitting", "WorkerDied", "exit code 3")]
)
def test_dead_worker_costs_its_cell_only(
    make_cell: Callable[..., Cell], nets: str, net: str, kind: str, said: str
) -> None:
    cells = [make_cell(seed=0), make_cell(f"{nets}:{net}"), make_cell(seed=1), make_cell(seed=2)]
    found = results(list(run_on_processes(cells, jobs=1)))
    lost = found.pop((net, 0))
    assert lost.failure is not None
    assert (lost.failure.kind, lost.is_finished) == (kind, False)
    assert said in lost.failure.message
    assert [result.is_finished for result in found.values()] == [True] * 3


def test_time_limit_costs_the_slow_cell_only(make_cell: Callable[..., Cell], nets: str) -> None:
    cells = [make_cell(f"{nets}:Hanging"), make_cell(seed=0), make_cell(seed=1)]
    found = results(list(run_on_processes(cells, jobs=2, timeout=6)))
    slow = found.pop(("Hanging", 0))
    assert slow.failure is not None
    assert slow.failure.kind == "TimeLimit"
    assert "6 s" in slow.failure.message
    assert all(result.is_finished for result in found.values())


def test_whoever_was_stopped_for_a_while_blames_no_cell(make_cell: Callable[..., Cell], nets: str) -> None:
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


def test_error_of_a_model_comes_back_with_its_traceback(make_cell: Callable[..., Cell], nets: str) -> None:
    (result,) = results(list(run_on_processes([make_cell(f"{nets}:Crashing")], jobs=2))).values()
    assert result.failure is not None
    assert 'raise RuntimeError("my own mistake")' in result.failure.traceback


def test_closing_ends_all_workers(make_cell: Callable[..., Cell], nets: str) -> None:
    events = run_on_processes([make_cell(f"{nets}:Hanging", seed=s) for s in range(2)], jobs=2)
    assert isinstance(next(events), Started)
    until = time.monotonic() + 20
    # A fork server, two workers and a fork of each, some of which may still be on their way.
    while len(children := _descendants(os.getpid())) < 5 and time.monotonic() < until:
        time.sleep(0.01)
    assert len(children) == 5
    events.close()
    # Forks of workers are told by the system, in its own time.
    while (left := [pid for pid in children if Path(f"/proc/{pid}").exists()]) and time.monotonic() < until:
        time.sleep(0.01)
    assert left == []


def test_models_by_value_travel(make_cell: Callable[..., Cell]) -> None:
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
    (result,) = results(list(run_on_processes([cell], jobs=1))).values()
    assert result.series == run_one(cell).series


def test_no_cells_are_no_events() -> None:
    assert list(run_on_processes([], jobs=2)) == []


def _descendants(pid: int) -> list[int]:
    """Return the fork server and the workers below a process; servers of ``multiprocessing`` are of other tests."""
    parents = {}
    for status in Path("/proc").glob("[0-9]*/stat"):
        try:
            if b"multiprocessing" not in (status.parent / "cmdline").read_bytes():
                parents[int(status.parent.name)] = int(status.read_text().rpartition(")")[2].split()[1])
        except OSError:
            continue
    children = [child for child, parent in parents.items() if parent == pid]
    return [*children, *(further for child in children for further in _descendants(child))]


def test_fork_server_that_dies_costs_what_ran_and_is_replaced(make_cell: Callable[..., Cell], nets: str) -> None:
    cells = [make_cell(f"{nets}:Hanging"), *(make_cell(seed=seed) for seed in range(3))]
    with open_fork_server() as fork_server:
        events = run_on_processes(cells, jobs=1, fork_server=fork_server)
        heard = [next(events)]
        process = next(pid for pid in _descendants(os.getpid()) if _descendants(pid))
        os.kill(process, signal.SIGKILL)
        found = results([*heard, *events])
    lost = found.pop(("Hanging", 0))
    assert lost.failure is not None
    assert lost.failure.kind == "WorkerDied"
    assert [result.is_finished for result in found.values()] == [True] * 3


def test_fork_server_that_dies_before_a_birth_takes_nobody_else_along() -> None:
    with open_fork_server() as fork_server:
        ours, theirs = Pipe()
        with ours, theirs:
            unborn = fork_server.bear(theirs)
            (process,) = _descendants(os.getpid())
            os.kill(process, signal.SIGKILL)
            assert fork_server.bear(theirs) is not unborn
            assert unborn.wait() == -signal.SIGKILL
            unborn.kill()
    assert not _descendants(os.getpid())


def test_each_worker_may_be_a_process_of_its_own(
    make_cell: Callable[..., Cell], nets: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "platform", "darwin")
    cells = [make_cell(seed=0), make_cell(f"{nets}:Quitting")]
    with open_fork_server() as fork_server:
        monkeypatch.undo()
        found = results(list(run_on_processes(cells, jobs=1, fork_server=fork_server)))
    assert found["GCN", 0].series == run_one(cells[0]).series
    failure = found["Quitting", 0].failure
    assert failure is not None
    assert "exit code 3" in failure.message


def test_workers_die_with_a_parent_that_was_killed(tmp_path: Path) -> None:
    script = tmp_path / "parent.py"
    script.write_text(
        f"import sys; sys.path[:] = {sys.path!r}\n"
        "from gnz_track.runs.executors.fork_server import open_fork_server\n"
        "from gnz_track.runs.executors.processes import _Worker\n"
        "fork_server = open_fork_server()\n"
        "workers = [_Worker(fork_server) for _ in range(2)]\n"
        "fork_server._source.read_births()\n"
        "print(*(worker.process.pid for worker in workers), fork_server._source._process._process.pid, flush=True)\n"
        "sys.stdin.read()\n",
        encoding="utf-8",
    )
    with subprocess.Popen([sys.executable, str(script)], stdin=-1, stdout=-1, text=True) as parent:
        assert parent.stdout is not None
        pids = [int(pid) for pid in parent.stdout.readline().split()]
        assert len(pids) == 3
        time.sleep(0.5)
        parent.send_signal(signal.SIGKILL)
        parent.wait()
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline and any(_is_alive(pid) for pid in pids):
        time.sleep(0.1)
    assert not [pid for pid in pids if _is_alive(pid)]


def _is_alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False
