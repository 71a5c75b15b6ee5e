"""Train the searches of ``searches.json`` again: ``python tests/golden/train_searches.py``; a few minutes on one core.

Three models on two generated tasks, a plain random search each: trial 0 is the default, the others are drawn at random.
Trials are blind cells on tuning seeds; the winner and the default are trained on the reporting seeds, and written to a
store as any sweep is. What the store gives back is what the file holds.
"""

from __future__ import annotations

import inspect
import json
import math
import random
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from gnz_track.datasets.catalogue import TASKS
from gnz_track.models.catalogue import MODELS
from gnz_track.records import to_json
from gnz_track.registry import import_target
from gnz_track.report.benchmark_report import BenchmarkReport
from gnz_track.runs.executors.inline import run_inline
from gnz_track.runs.fingerprint import fingerprint
from gnz_track.runs.plan import Place, Plan, make_plan
from gnz_track.runs.remaining import find_remaining
from gnz_track.runs.run_one import run_one
from gnz_track.runs.sweep import run_sweep
from gnz_track.runs.sweep_writer import Tracking
from gnz_track.seeds import derive
from gnz_track.store.address import parse_address
from gnz_track.store.outbox import keep_search
from gnz_track.store.searches import COMPLETE, SearchRecord, TrialRecord
from gnz_track.store.searches import SEARCH_RECORD_FAILED as FAILED
from gnz_track.training.protocols import PROTOCOLS
from gnz_track.types import Cell, tuned_name

TASK_EPOCHS = {"planted_partition": 30, "graph_families": 8}
MODEL_NAMES = ("GCN", "GAT", "MLP")
REPORTED, TUNING, N_TRIALS = tuple(range(6)), (1000, 1001), 24
SUITE, SWEEP = "golden", "golden-searches"
SPACE: dict[str, Any] = {
    "lr": {"low": 1e-4, "high": 1.0, "log": True},
    "hidden_channels": [8, 16, 32, 64],
    "dropout": {"low": 0.0, "high": 0.8, "log": False},
    "norm": ["none", "batch"],
}


def main() -> None:
    """Train, and write the file."""
    with tempfile.TemporaryDirectory() as temporary:
        report, searches = train(Path(temporary))
        written = json.loads(report.to_json())
    # Curves would be most of the file, and the store is gone.
    found = {**written, "series": {}, "config": {"suite": SUITE, "sweep": SWEEP}}
    golden = {"searches": [json.loads(to_json(search)) for search in searches], "report": found}
    file = Path(__file__).with_name("searches.json")
    file.write_text(json.dumps(golden, sort_keys=True, separators=(",", ":")) + "\n", encoding="utf-8")


def train(folder: Path) -> tuple[BenchmarkReport, list[SearchRecord]]:
    """Return the report of the reporting cells, and the searches, both as the store of a folder gives them back."""
    protocol = PROTOCOLS.get("best-val")
    address = parse_address(str(folder / "gnz.db"))
    cells: list[Cell] = []
    searches = []
    for task, epochs in TASK_EPOCHS.items():
        plan = make_plan(
            [TASKS.get(task)],
            [MODELS.get(name) for name in MODEL_NAMES],
            seeds=(*REPORTED, *TUNING),
            protocol=protocol,
            epochs=epochs,
            device="cpu",
            place=Place(home=folder / "frozen"),
        )
        for model in MODEL_NAMES:
            own = [cell for cell in plan.cells if cell.model.name == model]
            search = search_for([cell for cell in own if cell.seed in TUNING])
            searches.append(search)
            reported = [cell for cell in own if cell.seed in REPORTED]
            cells += [*reported, *(tuned(cell, search) for cell in reported)]
    plan = Plan(cells=tuple(cells), skipped=())
    names = {search.task + tuned_name(search.model): search.name for search in searches}
    chosen = {fingerprint(cell): names.get(cell.task.name + cell.model.name, "") for cell in cells}
    tracking = Tracking(
        address=address, sweep=SWEEP, suite=SUITE, searches={key: name for key, name in chosen.items() if name}
    )
    for search in searches:
        keep_search(address, search)
    run_sweep(find_remaining(plan, address), tracking, execute=run_inline)
    return BenchmarkReport.from_store(address, sweep=SWEEP), searches


def tuned(cell: Cell, search: SearchRecord) -> Cell:
    """Return the cell with the winner's values."""
    model = replace(cell.model, name=tuned_name(cell.model.name))
    return replace(cell, model=model, hyperparameters=tuple(sorted(search.best.items())))


def search_for(cells: list[Cell]) -> SearchRecord:
    """Return the random search of one task and model."""
    cell = cells[0]
    optimiser = cell.protocol.optimisers[cell.task.task_type]
    options = inspect.signature(import_target(cell.model.target)).parameters
    defaults = {
        **{name: option.default for name, option in options.items()},
        "lr": optimiser.lr,
        "hidden_channels": cell.protocol.hidden_channels,
    }
    default = {name: defaults[name] for name in sorted(SPACE)}
    drawn = draw(derive(0, cell.task.name, cell.model.name))
    proposals = [default, *(next(drawn) for _ in range(N_TRIALS - 1))]
    trials = [trial_of(number, values, cells) for number, values in enumerate(proposals)]
    metric = trials[0][1]
    known = [trial for trial, _ in trials if trial.score is not None]
    direction = metric[1]
    best = min(known, key=lambda one: ((-1 if direction == "up" else 1) * (one.score or 0.0), one.number))
    return SearchRecord(
        name=f"{cell.task.name} {cell.model.name} per-task",
        suite=SUITE,
        sweep=SWEEP,
        task=cell.task.name,
        task_type=cell.task.task_type,
        dataset=cell.task.dataset,
        dataset_digest=cell.dataset_digest,
        model=cell.model.name,
        protocol=cell.protocol.label,
        kind="per-task",
        metric=metric[0],
        direction=direction,
        sampler="random",
        study_seed=0,
        tuning_seeds=TUNING,
        space=SPACE,
        space_digest="plain",
        budget={"trials": N_TRIALS},
        trials=tuple(trial for trial, _ in trials),
        default=default,
        best=best.hyperparameters,
        best_number=best.number,
        best_score=best.score,
        borders=tuple(name for name in ("lr", "hidden_channels", "dropout") if on_border(name, best.hyperparameters)),
    )


def draw(seed: int) -> Iterator[dict[str, Any]]:
    """Yield values drawn from the space."""
    rng = random.Random(seed)
    while True:
        yield {
            "dropout": rng.uniform(0.0, 0.8),
            "hidden_channels": rng.choice(SPACE["hidden_channels"]),
            "lr": math.exp(rng.uniform(math.log(1e-4), 0.0)),
            "norm": rng.choice(SPACE["norm"]),
        }


def trial_of(number: int, values: Mapping[str, Any], cells: list[Cell]) -> tuple[TrialRecord, Any]:
    """Train one trial on all tuning seeds."""
    given = [replace(cell, is_blind=True, hyperparameters=tuple(sorted(values.items()))) for cell in cells]
    results = [run_one(cell) for cell in given]
    failures = [result.failure for result in results if result.failure is not None]
    scores = {result.cell.seed: result.score for result in results if result.score is not None}
    is_whole = len(scores) == len(cells)
    trial = TrialRecord(
        number=number,
        state=COMPLETE if is_whole else FAILED,
        score=math.fsum(scores.values()) / len(scores) if is_whole else None,
        hyperparameters=dict(values),
        seed_scores=scores,
        epochs=sum(max((len(found) for found in result.series.values()), default=0) for result in results),
        seconds=round(sum(result.seconds for result in results), 3),
        cpu_seconds=round(sum(result.cpu_seconds for result in results), 3),
        reason=f"{failures[0].kind}: {failures[0].message}" if failures else "",
        source="default" if number == 0 else "sampler",
        fingerprints=tuple(map(fingerprint, given)),
    )
    return trial, (results[0].metric, results[0].direction)


def on_border(name: str, values: Mapping[str, Any]) -> bool:
    """Tell whether a value lies at the end of its range."""
    value, dimension = values[name], SPACE[name]
    if isinstance(dimension, list):
        return value in {min(dimension), max(dimension)}
    low, high = dimension["low"], dimension["high"]
    place = math.log(value / low) / math.log(high / low) if dimension["log"] else (value - low) / (high - low)
    return not 0.05 < place < 0.95


if __name__ == "__main__":
    main()
