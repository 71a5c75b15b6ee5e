"""Results as a sweep leaves them, made of plain numbers."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import Any

from gnz_track.store.environment import Environment, GitState, this_owner
from gnz_track.store.run_record import RunRecord, SweepContext, record_of
from gnz_track.types import (
    Cell,
    CellResult,
    Direction,
    Failure,
    ModelRow,
    Optimiser,
    Protocol,
    Selection,
    Status,
    Task,
    TaskType,
)

START = 1_760_000_000_000
ENVIRONMENT = Environment(
    python="3.11.7",
    torch="2.13.0+cpu",
    pyg="2.8.1",
    os="Linux",
    cpu="a processor",
    cores=2,
    memory_mib=4096,
    packages={"numpy": "2.4.0", "torch": "2.13.0+cpu"},
)
GIT = GitState(commit="c" * 40, branch="main", is_dirty=True)
PROTOCOL = Protocol(
    name="best-val",
    version=2,
    optimisers={TaskType.node_cls: Optimiser(lr=0.01, weight_decay=5e-4), TaskType.graph_reg: Optimiser(lr=0.001)},
    selection=Selection.best_validation,
)
TASK = Task("cora", TaskType.node_cls, epochs=200)
REGRESSION = Task("zinc", TaskType.graph_reg, epochs=200)


def context_of(sweep: str = "first", suite: str = "quick", **changed: Any) -> SweepContext:
    facts = {"environment": ENVIRONMENT, "git": GIT, "owner": str(this_owner()), "version": "0.1", **changed}
    return SweepContext(sweep=sweep, suite=suite, **facts)


def cell_of(model: str = "GCN", seed: int = 0, *, task: Task = TASK, **hyperparameters: Any) -> Cell:
    return Cell(
        task=task,
        model=ModelRow(name=model, task_types=(task.task_type,), target=f"nets:{model}"),
        seed=seed,
        protocol=PROTOCOL,
        epochs=task.epochs,
        dataset_digest="d" * 32,
        data="frozen/cora",
        hyperparameters=tuple(sorted(hyperparameters.items())),
    )


def result_of(cell: Cell, **changed: Any) -> CellResult:
    """Return a finished result whose best validation epoch, 150, is neither the first nor the last."""
    metric = "mae" if cell.task.task_type is TaskType.graph_reg else "accuracy"
    direction = Direction.down if metric == "mae" else Direction.up
    validation = tuple(1 - abs(epoch - 150) / 200 for epoch in range(200))
    score = 0.5 + len(cell.model.name) / 100 + cell.seed / 1000 + 0.1 / 3
    facts = {
        "metric": metric,
        "direction": direction,
        "score": score,
        "scores": {metric: score, "auc": 0.75, f"{metric}_on_training": 0.96875, f"{metric}_at_best_validation": 0.75},
        "series": {
            "train/loss": tuple(1 / (epoch + 1) for epoch in range(200)),
            f"val/{metric}": validation,
            f"test/{metric}": tuple(value * score for value in validation),
        },
        "selected_epoch": 150,
        "n_parameters": 1433,
        "seconds": 12.5,
        "seconds_per_epoch": 0.0625,
        "cpu_seconds": 12.25,
        "peak_rss_mib": 512.5,
        "dataset_digest": cell.dataset_digest,
        "split_digest": f"split{cell.seed}",
        "baseline": 0.3125,
        "n_train": 1080,
        "n_test": 540,
        **changed,
    }
    return CellResult(cell=cell, status=Status.finished, **facts)


def failed_result_of(cell: Cell) -> CellResult:
    failure = Failure(kind="ValueError", message="odd " * 200, traceback="Traceback\n  odd\nValueError: odd\n")
    return CellResult(
        cell=cell,
        status=Status.failed,
        metric="accuracy",
        direction=Direction.up,
        dataset_digest=cell.dataset_digest,
        seconds=0.5,
        failure=failure,
    )


def record(seed: int = 0, *, context: SweepContext | None = None, attempt: str = "1", **cell: Any) -> RunRecord:
    made = cell_of(seed=seed, **cell)
    return finished(result_of(made), context=context, attempt=attempt)


def failed_record(seed: int = 0, *, context: SweepContext | None = None, attempt: str = "1", **cell: Any) -> RunRecord:
    return finished(failed_result_of(cell_of(seed=seed, **cell)), context=context, attempt=attempt)


def finished(result: CellResult, *, context: SweepContext | None = None, attempt: str = "1") -> RunRecord:
    cell = result.cell
    names = (cell.task.name, cell.model.name, cell.hyperparameters, cell.seed)
    fingerprint = hashlib.sha256(repr(names).encode()).hexdigest()
    ended_at = START + 1000 * cell.seed + 60_000 * int(attempt)
    return record_of(result, context or context_of(), fingerprint=fingerprint, ended_at=ended_at, attempt=attempt)


def sweep_records(context: SweepContext) -> Iterator[RunRecord]:
    """Yield ten records: two tasks, two models, two seeds, one failed, one with a changed hyperparameter."""
    for task in (TASK, REGRESSION):
        for model in ("GCN", "GAT"):
            for seed in (0, 1):
                yield record(seed, model=model, task=task, context=context)
    yield failed_record(2, model="GAT", context=context)
    yield record(0, model="GCN", task=TASK, context=context, lr=0.1, norm="it's 100 % é")
