"""The source of workers: it ends with whoever opened it, and its own death costs what ran."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterable
from multiprocessing import Pipe
from pathlib import Path

import pytest

from gnz_track.runs.executors.events import Event, Started
from gnz_track.runs.executors.fork_server import open_fork_server
from gnz_track.runs.executors.processes import run_on_processes
from gnz_track.runs.run_one import run_one
from gnz_track.types import Cell, CellResult

Cells = Callable[..., Cell]
Results = Callable[[Iterable[Event]], dict[tuple[str, int], CellResult]]


def test_closing_ends_all_workers(make_cell: Cells, nets: str) -> None:
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


def test_fork_server_that_dies_costs_what_ran_and_is_replaced(make_cell: Cells, nets: str, results: Results) -> None:
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
    make_cell: Cells, nets: str, monkeypatch: pytest.MonkeyPatch, results: Results
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


def _is_alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False
