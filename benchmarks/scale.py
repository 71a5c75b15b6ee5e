"""How plan, resume check, X tensor and report grow: a store of up to 100,000 cells, a plan of up to 1,000,000.

Run: ``python benchmarks/scale.py [--cells 100000] [--plan 1000000]``; prints seconds and peak memory of each step at
sizes from a hundredth up, and the law that fits them, ``seconds = a * n ** b``. One run is written by the real writer,
and its rows are copied under the names, fingerprints and scores of the other cells.
"""

from __future__ import annotations

import argparse
import json
import os
import sqlite3
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from gnz_track.runs.fingerprint import fingerprint
from gnz_track.runs.plan import Place, Plan, make_plan
from gnz_track.store import schema
from gnz_track.store.address import parse_address
from gnz_track.store.environment import collect_environment, this_owner
from gnz_track.store.run_record import SweepContext, record_of
from gnz_track.store.writer import open_store
from gnz_track.training.protocols import PROTOCOLS
from gnz_track.types import Cell, CellResult, Direction, ModelRow, Status, Task, TaskType

N_MODELS, N_SEEDS = 20, 100
# Seconds, and MiB for X, at 100,000 cells.
TARGETS = {"X from SQL": (5.0, 1024.0), "resume check": (3.0, None), "report": (60.0, None)}


def cells_of(n: int) -> list[Cell]:
    """Return n cells: as many tasks as it takes, 20 models, 100 seeds."""
    models = [
        ModelRow(name=f"model{m:02}", task_types=(TaskType.node_cls,), target="nets:Net") for m in range(N_MODELS)
    ]
    protocol = PROTOCOLS.get("graphnetz")
    found = []
    for number in range(n):
        rest, seed = divmod(number, N_SEEDS)
        task, model = divmod(rest, N_MODELS)
        found.append(
            Cell(
                task=Task(f"task{task:03}", TaskType.node_cls, epochs=100),
                model=models[model],
                seed=seed,
                protocol=protocol,
                epochs=100,
                dataset_digest=f"{task:032x}",
                data="frozen",
            )
        )
    return found


def fill(file: Path, n: int) -> None:
    """Write one run by the writer, and copy its rows as those of all other cells."""
    cells = cells_of(n)
    facts = {"environment": collect_environment(), "owner": str(this_owner()), "version": "0"}
    context = SweepContext(sweep="scale", suite="scale", **facts)
    result = CellResult(
        cell=cells[0],
        status=Status.finished,
        metric="accuracy",
        direction=Direction.up,
        score=0.5,
        scores={"accuracy": 0.5},
        selected_epoch=50,
        n_parameters=1000,
        seconds=2.0,
        seconds_per_epoch=0.02,
        cpu_seconds=2.0,
        peak_rss_mib=500.0,
        dataset_digest=cells[0].dataset_digest,
        split_digest="s" * 32,
    )
    with open_store(str(file)) as store:
        store.open_sweep(context)
        record = record_of(result, context, fingerprint=fingerprint(cells[0]), ended_at=1_760_000_000_000)
        example = store.finish(record)
    draw = np.random.default_rng(0)
    quality = draw.normal(0, 0.02, N_MODELS)
    connection = sqlite3.connect(file)
    for table in ("runs", "tags", "params", "latest_metrics"):
        cursor = connection.execute(f"SELECT * FROM {table} WHERE run_uuid = ?", (example,))  # noqa: S608
        names = [column[0] for column in cursor.description]
        rows = [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]
        marks = ", ".join("?" * len(names))
        copies = (
            tuple(_changed(row, number, cell, quality, draw).values())
            for number, cell in enumerate(cells[1:], 1)
            for row in rows
        )
        connection.executemany(f"INSERT INTO {table} VALUES ({marks})", copies)  # noqa: S608
    connection.commit()
    connection.close()


def _changed(row: dict[str, Any], n: int, cell: Cell, quality: Any, draw: np.random.Generator) -> dict[str, Any]:
    values = {
        schema.TASK: cell.task.name,
        schema.MODEL: cell.model.name,
        schema.SEED: str(cell.seed),
        schema.FINGERPRINT: None,
        schema.DATASET_DIGEST: cell.dataset_digest,
        schema.score_key("accuracy"): None,
    }
    key = row.get("key")
    changed = {**row, "run_uuid": uuid.uuid5(uuid.NAMESPACE_OID, str(n)).hex}
    if key == schema.FINGERPRINT:
        changed["value"] = fingerprint(cell)
    elif key == schema.score_key("accuracy"):
        changed["value"] = 0.7 + quality[int(cell.model.name[5:])] + draw.normal(0, 0.01)
    elif key in values:
        changed["value"] = values[key]
    return changed


def plan(n: int, folder: Path) -> Callable[[], int]:
    """Return what plans n cells on data that are frozen already: one task, 5 models."""
    from gnz_track.datasets.catalogue import TASKS
    from gnz_track.datasets.preparation import prepare
    from gnz_track.models.catalogue import describe_all

    task, models = TASKS.get("les_miserables"), describe_all(["GCN", "GAT", "GraphSAGE", "MLP", "GraphTransformer"])
    place = Place(home=folder / "data")
    prepare(task, seed=0, home=place.home)
    seeds = range(n // len(models))
    return lambda: len(make_plan([task], models, seeds=seeds, protocol=PROTOCOLS.get("graphnetz"), place=place).cells)


def name_of_plan(n: int, folder: Path) -> Callable[[], int]:
    """Return what names the sweep of n cells: a fingerprint of each."""
    from gnz_track.runs.sweep import name_sweep

    del folder
    cells = cells_of(n)
    return lambda: len(name_sweep(cells, suite="scale")) and n


def resume(n: int, folder: Path) -> Callable[[], int]:
    """Return what looks up n wanted cells among the n of the store, all of them finished."""
    from gnz_track.runs.remaining import find_remaining

    wanted = Plan(cells=tuple(cells_of(n)), skipped=())
    address = parse_address(str(folder / f"{n}.db"))
    return lambda: len(find_remaining(wanted, address).done)


def tensor(n: int, folder: Path) -> Callable[[], int]:
    """Return what reads X by SQL, every column of the results table with it."""
    from gnz_track.store.reader import read_table
    from gnz_track.store.results_table import tensor_of

    address = parse_address(str(folder / f"{n}.db"))
    return lambda: int(tensor_of(read_table(address, suite="scale")).mask.sum())


def tensor_alone(n: int, folder: Path) -> Callable[[], int]:
    """Return what reads X by SQL, and no column that it does not need."""
    from gnz_track.store.reader import read_tensor

    address = parse_address(str(folder / f"{n}.db"))
    return lambda: int(read_tensor(address, suite="scale").mask.sum())


def report(n: int, folder: Path) -> Callable[[], int]:
    """Return what writes the page of all cells, from the store to the file."""
    from gnz_track.report.benchmark_report import BenchmarkReport
    from gnz_track.report.page.page import write_page

    store = str(folder / f"{n}.db")

    def write() -> int:
        made = BenchmarkReport.from_store(store, suite="scale")
        write_page(made, folder / f"{n}.html")
        return len(made.table)

    return write


STEPS: dict[str, Callable[[int, Path], Callable[[], int]]] = {
    "plan": plan,
    "name": name_of_plan,
    "resume check": resume,
    "X from SQL": tensor_alone,
    "whole table": tensor,
    "report": report,
}


def peak_mib() -> float:
    """Return this program's own peak of resident memory."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith("VmHWM"))


def measure(step: str, n: int, folder: Path) -> None:
    """Carry out one step in this process and print its cost as JSON."""
    import pyarrow.parquet  # noqa: F401
    import sqlalchemy  # noqa: F401

    act = STEPS[step](n, folder)
    # The peak from here on.
    Path("/proc/self/clear_refs").write_text("5")
    before = peak_mib()
    start, start_cpu = time.perf_counter(), time.process_time()
    found = act()
    cost = {"seconds": time.perf_counter() - start, "cpu": time.process_time() - start_cpu, "mib": peak_mib() - before}
    print(json.dumps({**cost, "n": found}))


def main() -> None:
    """Measure every step at every size, each in a process of its own, and fit the law."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cells", type=int, default=100_000)
    parser.add_argument("--plan", type=int, default=1_000_000)
    parser.add_argument("--steps", default=",".join(STEPS))
    parser.add_argument("--keep", type=Path, help="folder for the stores, filled once")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = given.keep or Path(temporary)
        folder.mkdir(exist_ok=True)
        for step in given.steps.split(","):
            most = given.plan if step in {"plan", "name"} else given.cells
            sizes = [most // 100, most // 10, most]
            costs = [_cost(step, n, folder) for n in sizes]
            _print(step, sizes, costs)


def _cost(step: str, n: int, folder: Path) -> dict[str, float]:
    if step not in {"plan", "name"} and not (folder / f"{n}.db").exists():
        start = time.perf_counter()
        fill(folder / f"{n}.db", n)
        print(f"  a store of {n} cells written in {time.perf_counter() - start:.0f} s")
    environment = {**os.environ, "XDG_DATA_HOME": str(folder), "OMP_NUM_THREADS": "1"}
    command = [sys.executable, __file__, "--measure", step, str(n), str(folder)]
    answer = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    if answer.returncode:
        raise SystemExit(answer.stderr)
    cost: dict[str, float] = json.loads(answer.stdout.splitlines()[-1])
    if cost["n"] != n:
        raise SystemExit(f"{step}: {cost['n']} cells where {n} were asked for")
    return cost


def _print(step: str, sizes: list[int], costs: list[dict[str, float]]) -> None:
    for n, cost in zip(sizes, costs, strict=True):
        each = 1e6 * cost["seconds"] / n
        print(
            f"{step:13} {n:>9,} cells {cost['seconds']:8.2f} s ({cost['cpu']:.2f} s CPU), {each:7.1f} us a cell, "
            f"peak +{cost['mib']:.0f} MiB, {1024 * cost['mib'] / n:.1f} KiB a cell"
        )
    power, scale = np.polyfit(np.log(sizes), np.log([cost["seconds"] for cost in costs]), 1)
    print(f"{step:13} law: seconds = {np.exp(scale):.2e} * n ** {power:.2f}")
    if step in TARGETS and sizes[-1] == 100_000:
        seconds, mib = TARGETS[step]
        is_kept = costs[-1]["seconds"] < seconds and (mib is None or costs[-1]["mib"] < mib)
        within = f"{seconds:.0f} s" + (f", {mib:.0f} MiB" if mib else "")
        print(f"{step:13} target: {within}: {'kept' if is_kept else 'MISSED'}")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--measure"]:
        measure(sys.argv[2], int(sys.argv[3]), Path(sys.argv[4]))
    else:
        main()
