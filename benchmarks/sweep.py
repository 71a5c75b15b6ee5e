"""Whole sweeps: wall-clock time and memory against ``graphnetz==0.2.0``, and what tracking costs.

One command::

    python benchmarks/sweep.py --mirror FOLDER --peer-python PYTHON

measures Cora and random_tsp with 4 models and 10 seeds, ours three times and the peer once, in turn, then 40 cells of a
second with and without tracking. It takes about a quarter of an hour on two cores that do nothing else.

``--peer-python`` is a Python in which ``pip install graphnetz==0.2.0`` was called; without it, this one. Both sides are
processes of their own, start-up included; data are prepared before. Ours tracks every cell in a new sqlite store, keeps
all curves, and has a worker per core; the peer is called as its documentation shows, with Torch's own threads. Memory
is what all processes of a side hold together, each shared page once, looked at twice a second.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

# Task -> its category and type for the peer, and how many times as fast ours is to be.
TASKS = {"cora": ("social", "node_cls", 24.0), "random_tsp": ("combinatorial", "link_pred", 4.0)}
SECONDS_BETWEEN_LOOKS = 0.5
MODELS = ("GCN", "GAT", "GraphSAGE", "GraphTransformer")
PEER = """
import sys
from graphnetz.benchmark import run_benchmark
from graphnetz.models import {models}
category, task_type, task, root, n_seeds, epochs = sys.argv[1:]
report = run_benchmark(
    category=category, task_type=task_type, only=[task], root=root, seeds=range(int(n_seeds)), verbose=False,
    epochs=int(epochs) or None, models={{{mapping}}},
)
assert all(len(runs) == int(n_seeds) for per_model in report.histories.values() for runs in per_model.values())
""".format(models=", ".join(MODELS), mapping=", ".join(f'"{name}": {name}' for name in MODELS))
ONE_SECOND = """
import sys, time
from pathlib import Path
from gnz_track.benchmark import Request, find_remaining_of, carry_out
from gnz_track.datasets.catalogue import TASKS
from gnz_track.models.catalogue import describe
from gnz_track.runs.executors.events import ignore
from gnz_track.runs.executors.choice import choose_executor
from gnz_track.runs.plan import Place
from gnz_track.store.address import parse_address
from gnz_track.training.protocols import PROTOCOLS

if __name__ == "__main__":
    side, store, home, epochs, n_seeds, jobs = sys.argv[1:]
    request = Request(
        tasks=[TASKS.get("planted_partition")], models=[describe("GCN"), describe("GraphSAGE")],
        seeds=range(int(n_seeds)), epochs=int(epochs), protocol=PROTOCOLS.get("graphnetz"),
        address=parse_address(store), place=Place(home=Path(home)), jobs=int(jobs), timeout=600.0,
    )
    remaining = find_remaining_of(request)
    started = time.perf_counter()
    if side == "tracked":
        results = carry_out(request, remaining).results
    else:
        results = list(choose_executor(jobs=request.jobs, timeout=request.timeout)(remaining.cells, ignore))
    seconds = time.perf_counter() - started
    print(seconds, sum(result.seconds for result in results) / len(results))
"""


class Spent(NamedTuple):
    """What a call took: seconds of the clock, seconds of processors, and the most memory that it held, in MiB."""

    seconds: float
    cpu_seconds: float
    mib: float


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mirror", default=os.environ.get("GNZ_MIRROR", ""), help="folder of raw files (Cora)")
    parser.add_argument("--peer-python", default=sys.executable, help="a Python in which graphnetz==0.2.0 is installed")
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--epochs", type=int, default=0, help="of a cell; 0 for each task's own number")
    parser.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--peer-repeats", type=int, default=1)
    parser.add_argument("--cells", type=int, default=40, help="how many one-second cells to track; 0 for none")
    parser.add_argument("--only", default=",".join(TASKS), help="tasks, separated by commas; - for none")
    given = parser.parse_args()
    tasks = [task for task in given.only.split(",") if task in TASKS]
    peer = subprocess.run([given.peer_python, "-c", "import graphnetz"], capture_output=True, check=False)
    if tasks and peer.returncode:
        sys.exit("the peer is not installed: pip install graphnetz==0.2.0, or name its --peer-python")
    if "cora" in tasks and not (Path(given.mirror) / "Planetoid" / "Cora").is_dir():
        sys.exit(f"--mirror {given.mirror!r} has no Planetoid/Cora; name a folder that has it, or --only random_tsp")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for task in tasks:
            compare(task, folder, given)
        if given.cells:
            measure_tracking(folder, given)


def compare(task: str, folder: Path, given: argparse.Namespace) -> None:
    """Print the times of both sides, in turn, their memory, and the ratio of their wall-clock times."""
    category, task_type, target = TASKS[task]
    root = folder / "peer"
    if task == "cora":
        shutil.copytree(Path(given.mirror) / "Planetoid" / "Cora", root / category / task / "Cora", dirs_exist_ok=True)
    peer = [given.peer_python, "-c", PEER, category, task_type, task, str(root), str(given.seeds)]
    gnz = [sys.executable, "-m", "gnz_track", "run", "--task", task, "--models", ",".join(MODELS)]
    gnz += ["--home", str(folder / "home"), "--mirror", given.mirror, "--jobs", str(given.jobs)]
    gnz += ["--seeds", f"0-{given.seeds - 1}"]
    # Both sides read or generate their data once, and are warm.
    run([*peer, "1"], folder=folder)
    run([*gnz, "--epochs", "1", "--store", str(folder / f"{task}-warm.db")], folder=folder)
    length = ["--epochs", str(given.epochs)] if given.epochs else []
    spent: dict[str, list[Spent]] = {"peer": [], "ours": []}
    for number, side in enumerate(in_turn(given.repeats, given.peer_repeats)):
        ours = [*gnz, *length, "--store", str(folder / f"{task}{number}.db")]
        found = run([*peer, str(given.epochs)] if side == "peer" else ours, folder=folder)
        spent[side].append(found)
        what = f"{found.seconds:7.1f} s, {found.cpu_seconds:7.1f} s of processors, at most {found.mib:5.0f} MiB"
        print(f"{task} {len(MODELS)} models x {given.seeds} seeds: {side} {what}", flush=True)
    usual = statistics.median(one.seconds for one in spent["peer"])
    ratios = sorted(usual / one.seconds for one in spent["ours"])
    spread = f"{ratios[0]:.1f}-{ratios[-1]:.1f}"
    print(f"{task} ratio {statistics.median(ratios):.1f}x ({spread}), target {target:g}x", flush=True)


def in_turn(n_ours: int, n_peer: int) -> list[str]:
    """Return whose turn it is, the peer's spread evenly among ours.

    >>> in_turn(3, 1), in_turn(2, 2)
    (['ours', 'peer', 'ours', 'ours'], ['ours', 'peer', 'ours', 'peer'])
    """
    places = [((number + 0.5) / n, side) for side, n in (("ours", n_ours), ("peer", n_peer)) for number in range(n)]
    return [side for _, side in sorted(places)]


def measure_tracking(folder: Path, given: argparse.Namespace) -> None:
    """Print what tracking adds to the wall time of a sweep of one-second cells."""
    (folder / "cells.py").write_text(ONE_SECOND, encoding="utf-8")
    command = [sys.executable, str(folder / "cells.py")]

    def measure(side: str, store: str, *, epochs: int, n_seeds: int) -> tuple[float, float]:
        arguments = [side, str(folder / store), str(folder / "home"), str(epochs), str(n_seeds), str(given.jobs)]
        total, one = ask([*command, *arguments], folder=folder).split()
        return float(total), float(one)

    _, one = measure("bare", "none.db", epochs=200, n_seeds=2)
    epochs = max(1, round(200 / one))
    added = []
    for repeat in range(given.repeats):
        bare, one = measure("bare", "none.db", epochs=epochs, n_seeds=given.cells // 2)
        tracked, _ = measure("tracked", f"tracked{repeat}.db", epochs=epochs, n_seeds=given.cells // 2)
        added.append(100 * (tracked / bare - 1))
        print(f"{given.cells} cells of {one:.2f} s on {given.jobs} workers: {bare:.1f} s, tracked {tracked:.1f} s")
    print(f"tracking adds {statistics.median(added):.1f} % ({min(added):.1f}-{max(added):.1f}), target at most 5 %")


def run(command: list[str], *, folder: Path) -> Spent:
    """Return what a process took that must end well."""
    with tempfile.TemporaryFile(dir=folder) as said:
        started = time.perf_counter()
        process = subprocess.Popen(command, stdout=said, stderr=said, env=environment(folder))
        with watch(process.pid) as most:
            _, status, used = os.wait4(process.pid, 0)
        seconds = time.perf_counter() - started
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            said.seek(0)
            sys.exit(f"{' '.join(command[:4])} failed:\n{said.read().decode(errors='replace')}")
    return Spent(seconds, used.ru_utime + used.ru_stime, most[0])


def ask(command: list[str], *, folder: Path) -> str:
    """Return what a process printed."""
    return subprocess.run(command, capture_output=True, text=True, check=True, env=environment(folder)).stdout


def environment(folder: Path) -> dict[str, str]:
    """Return the environment of both sides: records wait in a folder of their own, and nobody is told of threads."""
    kept = {name: value for name, value in os.environ.items() if name not in {"OMP_NUM_THREADS", "MKL_NUM_THREADS"}}
    return {**kept, "XDG_DATA_HOME": str(folder / "data")}


@contextlib.contextmanager
def watch(pid: int) -> Iterator[list[float]]:
    """Yield the most memory, in MiB, that a process and all below it have held so far."""
    most, end = [0.0], threading.Event()

    def look() -> None:
        while not end.wait(SECONDS_BETWEEN_LOOKS):
            most[0] = max(most[0], sum(map(read_mib, processes_below(pid))))

    looking = threading.Thread(target=look)
    looking.start()
    try:
        yield most
    finally:
        end.set()
        looking.join()


def processes_below(pid: int) -> list[int]:
    """Return a process and all that it has started, and these."""
    found = [pid]
    for one in found:
        # A child is that of the thread that started it.
        for thread in Path(f"/proc/{one}/task").glob("*/children"):
            with contextlib.suppress(OSError):
                found += [int(child) for child in thread.read_text("utf-8").split()]
    return found


def read_mib(pid: int) -> float:
    """Return the memory of a process, its share of what it shares with others; 0 where it is gone."""
    with contextlib.suppress(OSError):
        for line in Path(f"/proc/{pid}/smaps_rollup").read_text("utf-8").splitlines():
            if line.startswith("Pss:"):
                return int(line.split()[1]) / 1024
    return 0.0


if __name__ == "__main__":
    main()
