"""Whole sweeps: wall-clock time against ``graphnetz==0.2.0``, and what tracking costs.

Run: ``python benchmarks/sweep.py --mirror FOLDER``, with ``pip install graphnetz==0.2.0`` in this environment or in the
one that ``--peer-python`` names. Both sides are processes of their own, start-up included, run in turn; data are
prepared before. Ours tracks every cell in a new sqlite store, keeps all curves, and has a worker per core; the peer is
called as its documentation shows, with Torch's own threads.
"""

from __future__ import annotations

import argparse
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

TASKS = {"random_tsp": ("combinatorial", "link_pred", 3.0), "cora": ("social", "node_cls", 8.0)}
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


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mirror", default=os.environ.get("GNZ_MIRROR", ""), help="folder of raw files (Cora)")
    parser.add_argument("--peer-python", default=sys.executable, help="a Python in which graphnetz==0.2.0 is installed")
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--cells", type=int, default=40, help="how many one-second cells to track; 0 for none")
    parser.add_argument("--only", default=",".join(TASKS), help="tasks, separated by commas; - for none")
    given = parser.parse_args()
    if run([given.peer_python, "-c", "import graphnetz"], folder=Path.cwd(), fails=True) < 0:
        sys.exit("the peer is not installed: pip install graphnetz==0.2.0")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for task in filter(lambda task: task in TASKS, given.only.split(",")):
            compare(task, folder, given)
        if given.cells:
            measure_tracking(folder, given)


def compare(task: str, folder: Path, given: argparse.Namespace) -> None:
    """Print the wall-clock times of both sides, in turn, and their ratio."""
    category, task_type, target = TASKS[task]
    root = folder / "peer"
    if task == "cora":
        shutil.copytree(Path(given.mirror) / "Planetoid" / "Cora", root / category / task / "Cora", dirs_exist_ok=True)
    peer = [given.peer_python, "-c", PEER, category, task_type, task, str(root)]
    gnz = [sys.executable, "-m", "gnz_track", "run", "--task", task, "--models", ",".join(MODELS)]
    gnz += ["--home", str(folder / "home"), "--mirror", given.mirror, "--jobs", str(given.jobs)]
    # Both sides read or generate their data once, and are warm.
    run([*peer, str(given.seeds), "1"], folder=folder)
    run([*gnz, "--seeds", f"0-{given.seeds - 1}", "--epochs", "1", "--store", str(folder / "warm.db")], folder=folder)
    rows = []
    for repeat in range(given.repeats):
        store = str(folder / f"{task}{repeat}.db")
        theirs = run([*peer, str(given.seeds), "0"], folder=folder)
        ours = run([*gnz, "--seeds", f"0-{given.seeds - 1}", "--store", store], folder=folder)
        rows.append((theirs, ours))
        print(f"{task} {len(MODELS)} models x {given.seeds} seeds: peer {theirs:.1f} s, ours {ours:.1f} s", flush=True)
    ratios = sorted(theirs / ours for theirs, ours in rows)
    spread = f"{ratios[0]:.1f}-{ratios[-1]:.1f}"
    print(f"{task} ratio {statistics.median(ratios):.1f}x ({spread}), target {target:g}x", flush=True)


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


def run(command: list[str], *, folder: Path, fails: bool = False) -> float:
    """Return the wall-clock seconds of a process that must end well; minus one where it may fail, and does."""
    environment = {**os.environ, "XDG_DATA_HOME": str(folder / "data")}
    started = time.perf_counter()
    ended = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    seconds = time.perf_counter() - started
    if ended.returncode and not fails:
        sys.exit(f"{' '.join(command[:4])} failed:\n{ended.stdout}{ended.stderr}")
    return -1.0 if ended.returncode else seconds


def ask(command: list[str], *, folder: Path) -> str:
    """Return what a process printed."""
    environment = {**os.environ, "XDG_DATA_HOME": str(folder / "data")}
    return subprocess.run(command, capture_output=True, text=True, check=True, env=environment).stdout


if __name__ == "__main__":
    main()
