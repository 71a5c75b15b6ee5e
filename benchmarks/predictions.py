"""Files that cells leave: what they add to a sweep, and how fast predictions of a thousand cells are read.

    python benchmarks/predictions.py [--cells 40] [--repeats 3] [--read 1000]

Sweeps with and without files take turns, each in a process of its own on a new store, and so do single cells whose
records are written: of these the CPU time of the writer is told, its calls of the store and the bytes of a cell. A
thousand cells of a thousand examples and ten classes are read in a process that has imported nothing.
"""

from __future__ import annotations

import argparse
import os
import resource
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

SWEEP = """
import sys, time
from pathlib import Path
from gnz_track.benchmark import Request, carry_out, find_remaining_of
from gnz_track.datasets.catalogue import TASKS
from gnz_track.models.catalogue import describe
from gnz_track.runs.plan import Place
from gnz_track.store.address import parse_address
from gnz_track.training.protocols import PROTOCOLS

if __name__ == "__main__":
    keep, store, home, task, epochs, n_seeds, jobs = sys.argv[1:]
    request = Request(
        tasks=[TASKS.get(task)], models=[describe("GCN"), describe("GraphSAGE")], seeds=range(int(n_seeds)),
        epochs=int(epochs), protocol=PROTOCOLS.get("graphnetz"), address=parse_address(store),
        place=Place(home=Path(home)), jobs=int(jobs), timeout=600.0, keep=keep,
    )
    remaining = find_remaining_of(request)
    started = time.perf_counter()
    results = carry_out(request, remaining).results
    print(time.perf_counter() - started, sum(one.seconds for one in results) / len(results))
"""
WRITER = """
import sys, time
from collections import Counter
from dataclasses import replace
from pathlib import Path
from gnz_track.benchmark import Request, find_remaining_of
from gnz_track.datasets.catalogue import TASKS
from gnz_track.models.catalogue import describe
from gnz_track.runs import sweep_writer
from gnz_track.runs.executors.events import Done
from gnz_track.runs.plan import Place
from gnz_track.runs.run_one import run_one
from gnz_track.store.address import parse_address
from gnz_track.training.protocols import PROTOCOLS

store, home, task, n_cells = sys.argv[1:]
request = Request(
    tasks=[TASKS.get(task)], models=[describe("GCN")], seeds=range(int(n_cells)), epochs=200,
    protocol=PROTOCOLS.get("graphnetz"), address=parse_address(store), place=Place(home=Path(home)),
)
remaining = find_remaining_of(request)
first = run_one(remaining.cells[0])
results = [replace(first, cell=cell) for cell in remaining.cells]
calls, opened = Counter(), sweep_writer.open_store

class Counted:
    def __init__(self, inner):
        self.inner = inner
    def __getattr__(self, name):
        found = getattr(self.inner, name)
        if callable(found):
            calls[name] += 1
        return found

def open_counted(address):
    found = opened(address)
    found.tracking = Counted(found.tracking)
    return found

sweep_writer.open_store = open_counted
spent = {True: [], False: []}
tracking = sweep_writer.Tracking(address=request.address, sweep="cost")
with sweep_writer.SweepWriter(tracking, plan=remaining.plan) as writer:
    writer.take(Done(result=results[0]))
    calls.clear()
    for n, result in enumerate(results[1:]):
        has_files = bool(n % 2)
        result = result if has_files else replace(result, files={})
        cpu, wall = time.process_time(), time.perf_counter()
        writer.take(Done(result=result))
        spent[has_files].append((time.process_time() - cpu, time.perf_counter() - wall))
    per_cell = sum(calls.values()) / len(results[1:]) + len(first.files)
sizes = {name: len(content) for name, content in first.files.items()}
def middle(values):
    return 1000 * sorted(values)[len(values) // 2]
for kind in (0, 1):
    print(*(f"{middle([one[kind] for one in spent[has]]):.2f}" for has in (False, True)))
print(f"{per_cell:.1f}", sum(sizes.values()), sizes)
"""
MADE = """
import sys
from dataclasses import replace
from pathlib import Path
import numpy as np
sys.path.insert(0, sys.argv[3])
from cells import cell_of, context_of, finished, result_of
from gnz_track.store.cell_files.predictions import PartPredictions, encode_predictions
from gnz_track.store.outbox import Outbox, deliver
from gnz_track.store.writer import open_store

draw, n_cells, n_known = np.random.default_rng(0), int(sys.argv[2]), int(sys.argv[4])
truth = draw.integers(0, 10, n_known)
with open_store(sys.argv[1]) as store, Outbox(Path(sys.argv[1]).parent / "spool", context_of()) as outbox:
    for n in range(n_cells):
        model, seed = divmod(n, 100)
        ids = np.sort(np.random.default_rng(seed).choice(n_known, 1000, replace=False))
        outputs = draw.standard_normal((1000, 10)).astype(np.float32)
        parts = [PartPredictions("test", "node", {"id": ids}, truth[ids], outputs)]
        files = {"predictions.parquet": encode_predictions(parts)}
        split = str(seed) if n_known > 1000 else "s"
        about = {"files": files, "split_digest": split, "series": {}, "selected_epoch": None}
        result = result_of(cell_of(f"M{model}", seed), **about)
        outbox.spool(files)
        deliver(outbox, store, finished(result), tell=print)
"""
READ = """
import resource, sys, time
import gnz_track
started, cpu = time.perf_counter(), time.process_time()
found = gnz_track.read_predictions(sys.argv[1], task="cora")
seconds = time.perf_counter() - started
mib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
print(seconds, time.process_time() - cpu, mib, found.outputs.shape)
"""


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cells", type=int, default=40, help="how many one-second cells a sweep has; 0 for none")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--task", default="cora", help="whose cells are written")
    parser.add_argument("--home", default="", help="folder of frozen data")
    parser.add_argument("--read", type=int, default=1000, help="how many cells are read; 0 for none")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        home = given.home or str(folder / "home")
        if given.read:
            measure_reading(folder, given.read)
        measure_writer(folder, home, given.task)
        if given.cells:
            measure_sweeps(folder, home, given)


def measure_writer(folder: Path, home: str, task: str) -> None:
    """Print what the writer spends on a cell with and without files, its calls and the bytes of a cell."""
    cpu, wall, rest = ask(WRITER, str(folder / "writer.db"), home, task, "61", folder=folder).splitlines()
    for what, line in (("CPU", cpu), ("wall", wall)):
        without, with_files = map(float, line.split())
        more = with_files - without
        print(f"writer, {task}: {what} {without} ms a cell, {with_files} with files: {more:.2f} ms more")
    print(f"calls of the store, uploads included, and bytes a cell: {rest}", flush=True)


def measure_sweeps(folder: Path, home: str, given: argparse.Namespace) -> None:
    """Print what files add to a sweep of one-second cells: to its wall time, and to the CPU time of all its processes.

    On a machine that others use as well, only the second says anything.
    """

    def measure(keep: str, store: str, *, epochs: int, n_seeds: int) -> tuple[float, float, float]:
        words = (keep, str(folder / store), home, "planted_partition", str(epochs), str(n_seeds), str(given.jobs))
        before = spent_by_children()
        total, one = ask(SWEEP, *words, folder=folder).split()
        return float(total), spent_by_children() - before, float(one)

    _, _, one = measure("nothing", "none.db", epochs=200, n_seeds=2)
    epochs, added, cpu = max(1, round(200 / one)), [], []
    for repeat in range(given.repeats):
        bare, bare_cpu, one = measure("nothing", f"bare{repeat}.db", epochs=epochs, n_seeds=given.cells // 2)
        kept, kept_cpu, _ = measure("predictions", f"kept{repeat}.db", epochs=epochs, n_seeds=given.cells // 2)
        added.append(100 * (kept / bare - 1))
        cpu.append(1000 * (kept_cpu - bare_cpu) / given.cells)
        print(f"{given.cells} cells of {one:.2f} s on {given.jobs} workers: {bare:.1f} s, with files {kept:.1f} s")
    print(f"files add {statistics.median(added):.1f} % ({min(added):.1f} to {max(added):.1f}), target at most 5 %")
    print(f"and {statistics.median(cpu):.1f} ms of CPU a cell ({min(cpu):.1f} to {max(cpu):.1f})")


def spent_by_children() -> float:
    """Return the CPU time of all processes that this one has waited for, and that those have."""
    spent = resource.getrusage(resource.RUSAGE_CHILDREN)
    return spent.ru_utime + spent.ru_stime


def measure_reading(folder: Path, n_cells: int) -> None:
    """Print how long it takes to read the predictions of many cells, and the memory of the process."""
    tests = str(Path(__file__).parents[1] / "tests" / "store")
    # All seeds have one test set, or each has one of its own among four times as many examples.
    for n_known in (1000, 4000):
        store = str(folder / f"read{n_known}" / "read.db")
        Path(store).parent.mkdir()
        ask(MADE, store, str(n_cells), tests, str(n_known), folder=folder)
        found = [ask(READ, store, folder=folder).split(maxsplit=3) for _ in range(3)]
        seconds, cpu, mib, shape = min(found, key=lambda one: float(one[1]))
        told = f"{float(seconds):.2f} s, CPU {float(cpu):.2f} s, {float(mib):.0f} MiB of memory"
        print(f"{n_cells} cells read as {shape.strip()}: {told}", flush=True)


def ask(code: str, *words: str, folder: Path) -> str:
    """Return what a process of some code printed."""
    file = folder / "code.py"
    file.write_text(code, encoding="utf-8")
    environment = {**os.environ, "XDG_DATA_HOME": str(folder / "data")}
    command = [sys.executable, str(file), *words]
    ended = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    if ended.returncode:
        sys.exit(ended.stderr)
    return ended.stdout


if __name__ == "__main__":
    main()
