"""The results table of 10,000 runs as X [tasks, models, seeds]: SQL, MLflow's search, parquet.

Run: ``python benchmarks/store.py [n_runs]``; prints one line per reader. One run is written by the real writer, and its
rows are copied under other names: the store holds what the writer would have written, without the hour that takes.
"""

from __future__ import annotations

import json
import sqlite3
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Callable
from pathlib import Path

import numpy as np

from gnz_track.store import schema
from gnz_track.store.address import parse_address
from gnz_track.store.environment import collect_environment, this_owner
from gnz_track.store.read_rest import RestReader
from gnz_track.store.read_sql import SqlReader
from gnz_track.store.reader import publish_table, read_published
from gnz_track.store.results_table import ResultsTensor, tensor_of
from gnz_track.store.row_filters import RunFilter
from gnz_track.store.run_record import RunRecord, SweepContext, record_of
from gnz_track.store.writer import open_store
from gnz_track.types import (
    Cell,
    CellResult,
    Direction,
    ModelRow,
    Optimiser,
    Protocol,
    Selection,
    Status,
    Task,
    TaskType,
)

CHILD = "--read"
N_TASKS, N_MODELS = 10, 20
SWEEP = RunFilter(sweep="bench")
OWN_PARAMS = 5


def one_record(context: SweepContext) -> RunRecord:
    """Return the record of one cell with ten hyperparameters, eight final metrics and no curves."""
    protocol = Protocol(
        name="bench",
        version=1,
        optimisers={TaskType.node_cls: Optimiser(lr=0.01)},
        selection=Selection.best_validation,
    )
    cell = Cell(
        task=Task("task0", TaskType.node_cls, epochs=100),
        model=ModelRow(name="model0", task_types=(TaskType.node_cls,), target="nets:Net"),
        seed=0,
        protocol=protocol,
        epochs=100,
        dataset_digest="d" * 32,
        data="frozen",
        hyperparameters=tuple((f"own{n}", n) for n in range(OWN_PARAMS)),
    )
    result = CellResult(
        cell=cell,
        status=Status.finished,
        metric="accuracy",
        direction=Direction.up,
        score=0.5,
        scores={"accuracy": 0.5},
        series={},
        selected_epoch=50,
        n_parameters=1000,
        seconds=2.0,
        seconds_per_epoch=0.02,
        cpu_seconds=2.0,
        peak_rss_mib=500.0,
        dataset_digest="d" * 32,
        split_digest="s" * 32,
    )
    return record_of(result, context, fingerprint="f0", ended_at=1_760_000_000_000)


def fill(file: Path, n_runs: int) -> None:
    """Create a store with one sweep of n runs, and publish its table."""
    context = SweepContext(
        sweep="bench", suite="bench", environment=collect_environment(), owner=str(this_owner()), version="0"
    )
    with open_store(str(file)) as store:
        sweep_run = store.open_sweep(context)
        start = time.perf_counter()
        example = store.finish(one_record(context))
        print(f"one run through the writer: {1000 * (time.perf_counter() - start):.0f} ms (first of its experiment)")
        start = time.perf_counter()
        copy_rows(file, example, n_runs)
        print(f"copying its rows {n_runs - 1} times: {time.perf_counter() - start:.1f} s")
        start = time.perf_counter()
        publish_table(store, "bench", "bench", run_id=sweep_run)
        print(f"publishing the table: {time.perf_counter() - start:.2f} s")


def copy_rows(file: Path, example: str, n_runs: int) -> None:
    """Insert the rows of one run again under new ids, tasks, models and seeds."""
    generator = np.random.default_rng(0)
    connection = sqlite3.connect(file)
    for table in ("runs", "tags", "params", "latest_metrics", "metrics"):
        cursor = connection.execute(f"SELECT * FROM {table} WHERE run_uuid = ?", (example,))  # noqa: S608
        names = [column[0] for column in cursor.description]
        rows = [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]
        marks = ", ".join("?" * len(names))
        copies = (tuple(changed(row, n, generator.random()).values()) for n in range(1, n_runs) for row in rows)
        connection.executemany(f"INSERT INTO {table} VALUES ({marks})", copies)  # noqa: S608
    connection.commit()
    connection.close()


def changed(row: dict[str, object], n: int, score: float) -> dict[str, object]:
    """Return the row of run number n."""
    seed, rest = divmod(n, N_TASKS * N_MODELS)
    task, model = divmod(rest, N_MODELS)
    values = {
        schema.TASK: f"task{task}",
        schema.MODEL: f"model{model}",
        schema.SEED: str(seed),
        schema.FINGERPRINT: f"f{n}",
        schema.score_key("accuracy"): score,
    }
    value = values.get(str(row.get("key")), row.get("value"))
    own = {"run_uuid": uuid.uuid5(uuid.NAMESPACE_OID, str(n)).hex}
    return {**row, **own, **({"value": value} if "value" in row else {})}


def by_client(file: Path) -> ResultsTensor:
    """Read as most scripts do: all runs of all experiments in the largest pages that MLflow allows."""
    from mlflow.tracking import MlflowClient

    client = MlflowClient(f"sqlite:///{file}")
    experiments = [one.experiment_id for one in client.search_experiments()]
    scores: dict[tuple[str, str, int], tuple[float, str]] = {}
    token = None
    while True:
        page = client.search_runs(experiments, f"tags.`{schema.SWEEP}` = 'bench'", max_results=50000, page_token=token)
        for run in page:
            if run.data.tags[schema.KIND] == schema.CELL:
                at = (run.data.tags[schema.TASK], run.data.tags[schema.MODEL], int(run.data.tags[schema.SEED]))
                scores[at] = (run.data.metrics[schema.score_key("accuracy")], run.info.run_id)
        token = page.token
        if not token:
            break
    tasks, models, seeds = (tuple(sorted(set(names))) for names in zip(*scores, strict=True))
    shape = (len(tasks), len(models), len(seeds))
    X, run_ids = np.full(shape, np.nan), np.full(shape, "", dtype=object)  # noqa: N806
    for (task, model, seed), (score, run_id) in scores.items():
        at_index = (tasks.index(task), models.index(model), seeds.index(seed))
        X[at_index], run_ids[at_index] = score, run_id
    return ResultsTensor(X, ~np.isnan(X), run_ids, tasks, models, seeds)


def by_parquet(file: Path) -> ResultsTensor:
    """Read the published table, its freshness checked."""
    table = read_published(SqlReader(parse_address(str(file))), "bench")
    if table is None:
        raise SystemExit("the published table was not taken")
    return tensor_of(table)


READERS: dict[str, Callable[[Path], ResultsTensor]] = {
    "MlflowClient.search_runs": by_client,
    "search in pages of 1000": lambda file: tensor_of(RestReader(parse_address(str(file))).table(SWEEP)),
    "SQL, all 32 columns": lambda file: tensor_of(SqlReader(parse_address(str(file))).table(SWEEP)),
    "parquet": by_parquet,
}


def peak_mib() -> float:
    """Return this program's own peak of resident memory; getrusage would count that of the process that started it."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith("VmHWM"))


def read(name: str, file: Path) -> None:
    """Read in this process, libraries imported before, and print what it cost as JSON."""
    import pyarrow.parquet  # noqa: F401
    import sqlalchemy  # noqa: F401

    if "search" in name:
        from gnz_track.store.connection import connect, disconnect

        disconnect(connect(parse_address(str(file))))
    before = peak_mib()
    start, start_cpu = time.perf_counter(), time.process_time()
    tensor = READERS[name](file)
    cost = {
        "seconds": time.perf_counter() - start,
        "cpu_seconds": time.process_time() - start_cpu,
        "mib": peak_mib() - before,
        "n": int(tensor.mask.sum()),
        "sum": float(np.nansum(tensor.X)),
    }
    print(json.dumps(cost))


def main(n_runs: int) -> None:
    """Fill a store and let every reader read it, each in a process of its own."""
    with tempfile.TemporaryDirectory() as temporary:
        file = Path(temporary) / "gnz.db"
        fill(file, n_runs)
        print(f"{n_runs} runs, {file.stat().st_size / 2**20:.0f} MiB")
        costs = {}
        for name in READERS:
            command = [sys.executable, __file__, CHILD, name, str(file)]
            answer = subprocess.run(command, capture_output=True, text=True, check=True).stdout
            costs[name] = json.loads(answer.splitlines()[-1])
        first = next(iter(costs.values()))
        for name, cost in costs.items():
            if cost["n"] != n_runs or abs(cost["sum"] - first["sum"]) > 1e-6:
                raise SystemExit(f"{name} read something else: {cost}")
            ratio = first["cpu_seconds"] / cost["cpu_seconds"]
            print(
                f"{name:26} {cost['seconds']:6.2f} s, {cost['cpu_seconds']:6.2f} s CPU, "
                f"peak +{cost['mib']:.0f} MiB, {ratio:.1f} times faster than MlflowClient"
            )


if __name__ == "__main__":
    if sys.argv[1:2] == [CHILD]:
        read(sys.argv[2], Path(sys.argv[3]))
    else:
        main(int(sys.argv[1]) if len(sys.argv) > 1 else 10_000)
