"""What each executor adds to a cell: 1,000 cells that do next to nothing, inline, on two processes, on Ray.

Run: ``python benchmarks/executors.py [--cells 1000] [--executors inline,processes,ray]``. A cell is one epoch of the
smallest model on the smallest graph; what they cost inline is taken off the others. The first pass starts the workers.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from importlib.util import find_spec
from pathlib import Path

from gnz_track.datasets.catalogue import TASKS
from gnz_track.datasets.preparation import prepare
from gnz_track.models.catalogue import describe
from gnz_track.runs.executors.choice import choose_executor
from gnz_track.runs.executors.events import ignore
from gnz_track.training.protocols import PROTOCOLS
from gnz_track.types import Cell

JOBS = 2


def cells_of(n: int, home: Path) -> list[Cell]:
    """Return n cells of one epoch on the graph of Les Miserables."""
    task, model = TASKS.get("les_miserables"), describe("MLP")
    dataset = prepare(task, seed=0, home=home)
    facts = {"protocol": PROTOCOLS.get("graphnetz"), "epochs": 1, "hyperparameters": (("hidden_channels", 1),)}
    digest, data = dataset.digest, str(dataset.folder)
    return [Cell(task=task, model=model, seed=seed, dataset_digest=digest, data=data, **facts) for seed in range(n)]


def measure(executor: str, cells: list[Cell]) -> tuple[float, float, float]:
    """Return seconds until the first result, seconds of all, and seconds of training as the cells say."""
    start = time.perf_counter()
    jobs = 1 if executor == "inline" else JOBS
    address = "local" if executor == "ray" else ""
    results, first = [], 0.0
    for result in choose_executor(executor=executor, jobs=jobs, address=address)(cells, ignore):
        first = first or time.perf_counter() - start
        results.append(result)
    seconds = time.perf_counter() - start
    if len(results) != len(cells) or not all(result.is_finished for result in results):
        raise SystemExit(f"{executor}: cells are missing or failed")
    return first, seconds, sum(result.seconds for result in results)


def main() -> None:
    """Measure every executor that is installed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cells", type=int, default=1000)
    parser.add_argument("--executors", default="inline,processes,ray")
    given = parser.parse_args()
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    with tempfile.TemporaryDirectory() as home:
        cells = cells_of(given.cells, Path(home))
        for executor in given.executors.split(","):
            if executor == "ray" and find_spec("ray") is None:
                print("ray        is not installed")
                continue
            first, seconds, trained = measure(executor, cells)
            jobs = 1 if executor == "inline" else JOBS
            # Workers train at the same time; what is left is handing out, hearing and waiting.
            rest = 1000 * (seconds - first - trained / jobs) / len(cells)
            print(
                f"{executor:10} {len(cells)} cells, {jobs} at once: {seconds:6.2f} s, the first after {first:5.2f} s; "
                f"{1000 * trained / len(cells):.2f} ms of training and {rest:.2f} ms of overhead a cell"
            )


if __name__ == "__main__":
    main()
