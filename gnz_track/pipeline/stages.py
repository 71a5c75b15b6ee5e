"""Stages of the pipeline: data, tune, run, quality and report, each from files to files.

The stores of runs and of trials are neither read nor written by DVC: a stage that was interrupted finds there what it
had finished. The stage ``report`` reads files only, so that any clone writes the same report.
"""

from __future__ import annotations

import csv
import dataclasses
import json
import shutil
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any

import pandas as pd

from gnz_track.benchmark import (
    LARGEST_GRID,
    Request,
    carry_out,
    find_remaining_of,
    jobs_of,
    plan_request_searches,
    search_all,
    settle_search_jobs,
)
from gnz_track.datasets.card import CARD
from gnz_track.datasets.catalogue import DATASETS, TASKS
from gnz_track.datasets.frozen import FrozenDataset, open_frozen
from gnz_track.datasets.homes import data_home
from gnz_track.datasets.preparation import find_prepared, freeze_row, prepare
from gnz_track.datasets.sources.fetch import fetch
from gnz_track.errors import BadValue, DataCorrupted, NothingToCompare, UnknownName
from gnz_track.models.catalogue import describe_all
from gnz_track.pipeline.params import PARAMS_FILE, Params, import_modules
from gnz_track.quality.audit import Depth, audit_dataset
from gnz_track.records import from_json, to_json
from gnz_track.report.benchmark_report import BenchmarkReport
from gnz_track.report.bundle import Bundle, write_bundle
from gnz_track.report.figures.learning_curves import choose_series
from gnz_track.report.page.audits import write_audit_page
from gnz_track.runs.executors.events import Tell
from gnz_track.runs.executors.fork_server import ForkServer
from gnz_track.runs.plan import Place, Skipped, list_skipped
from gnz_track.runs.protocol_files import find_protocol
from gnz_track.runs.remaining import RemainingCells
from gnz_track.runs.sweep import Sweep
from gnz_track.stats.comparison.choices import Choices
from gnz_track.stats.comparison.comparison import Comparison, Verdict
from gnz_track.stats.estimates.intervals import mean_curve
from gnz_track.store.address import parse_address
from gnz_track.store.audits import AuditRecord, audit_from_json
from gnz_track.store.curves import Curve, load_curves, straighten, thin_all, write_curves
from gnz_track.store.past_runs import read_curves
from gnz_track.store.results_table import load_table, write_table
from gnz_track.store.searches import SearchRecord
from gnz_track.types import DatasetRow, ModelRow, Protocol, Task

if TYPE_CHECKING:
    from gnz_track.tuning.plan import SearchPlan
    from gnz_track.tuning.search import Listener
    from gnz_track.tuning.settings import SearchSettings

__all__ = [
    "CURVES",
    "DATA",
    "QUALITY",
    "REPORT",
    "RESULTS",
    "SEARCHES",
    "Chosen",
    "Training",
    "Tuning",
    "audit_task",
    "choose",
    "freeze_task",
    "load_audits",
    "load_searches",
    "make_training",
    "make_tuning",
    "read_settings",
    "report_all",
    "require",
    "seeds_of",
    "train",
    "tune_task",
]


DATA, SEARCHES, RESULTS, CURVES, REPORT = map(Path, ("data", "searches", "results", "curves", "report"))


@dataclass(frozen=True, kw_only=True)
class Chosen:
    """The rows that the names of parameters stand for."""

    tasks: Mapping[str, Task]
    models: tuple[ModelRow, ...]
    protocol: Protocol

    def task(self, name: str) -> Task:
        """Return a task by its name in the parameters."""
        if name not in self.tasks:
            raise UnknownName(f"task of {PARAMS_FILE}", name, self.tasks)
        return self.tasks[name]


def choose(params: Params) -> Chosen:
    """Look up every name of the parameters, so that a slip is told before the first stage and not at its own.

    Modules of the user are imported first, since they may register what is named.
    """
    import_modules(params.modules)
    return Chosen(
        tasks={name: TASKS.get(name) for name in params.tasks},
        models=tuple(describe_all(list(params.models))),
        protocol=find_protocol(params.protocol),
    )


def require(place: Path, stage: str) -> Path:
    """Return a file or a folder that an earlier stage leaves; where it is missing, say which stage that is."""
    if not place.exists():
        raise BadValue("what the pipeline needs", str(place), f"what {stage} leaves", command=f"dvc repro {stage}")
    return place


@dataclass(frozen=True, kw_only=True)
class Training:
    """Cells of one task's stage, and those that are left to train; ``found`` are the searches whose winners it has."""

    name: str
    request: Request
    remaining: RemainingCells
    found: tuple[SearchRecord, ...] = ()


def _make_request(params: Params, name: str, *, source: str) -> Request:
    """Return what is asked of a task: its cells on the data that were frozen for it."""
    chosen = choose(params)
    home = require(DATA / name, f"data@{name}")
    return Request(
        tasks=[chosen.task(name)],
        models=chosen.models,
        seeds=params.seeds,
        protocol=chosen.protocol,
        address=parse_address(params.store),
        suite=params.suite,
        epochs=params.tasks[name],
        hidden_channels=params.hidden_channels,
        settings=[choice for choice in params.settings if choice.task in ("", name)],
        most_cells=LARGEST_GRID,
        device=params.device,
        compile=params.compile,
        amp=params.amp,
        place=Place(home=home.absolute()),
        **jobs_of(params.jobs),
        timeout=params.timeout,
        keep=params.keep,
        keep_at_most=params.keep_at_most,
        source=source,
    )


def make_training(params: Params, name: str, found: Sequence[SearchRecord] = ()) -> Training:
    """Plan the cells of a task, with those of winners where it was tuned, and look up which of them are finished.

    Parameters
    ----------
    params
        Parameters of the benchmark.
    name
        Task by name.
    found
        Searches whose winners are trained too.
    """
    request = _make_request(params, name, source=f"dvc run@{name}")
    return Training(name=name, request=request, remaining=find_remaining_of(request, found), found=tuple(found))


def train(training: Training, *, tell: Tell, fork_server: ForkServer | None = None) -> Sweep:
    """Train what is left of a task; write its results table and its curves once every cell has ended.

    Parameters
    ----------
    training
        Cells of the stage.
    tell
        Listener of events.
    fork_server
        Workers that are getting ready.
    """
    sweep = carry_out(training.request, training.remaining, found=training.found, tell=tell, fork_server=fork_server)
    write_curves(_curves_of(sweep, training.request), CURVES / f"{training.name}.parquet")
    write_table(sweep.table, RESULTS / f"{training.name}.parquet")
    return sweep


def _curves_of(sweep: Sweep, request: Request) -> dict[str, dict[str, Curve]]:
    """Return the curves of all finished cells: of those trained now, and of those that the store has."""
    trained = sweep.series()
    finished = sweep.table[sweep.table["status"] == "finished"]
    keep = dict(zip(finished["fingerprint"], finished["selected_epoch"], strict=True))
    now = {key: thin_all(trained[key], keep=int(epoch)) for key, epoch in keep.items() if key in trained}
    past = {row.run_id: row.fingerprint for row in finished.itertuples() if row.fingerprint not in now}
    stored = read_curves(request.address, past)
    return now | {past[run_id]: series for run_id, series in stored.items()}


# What a file of parameters may say of searches; where trials are kept, and whether they are fresh, is no part of it.
_ELSEWHERE = frozenset({"place", "is_fresh", "spaces", "recommend"})


@dataclass(frozen=True, kw_only=True)
class Tuning:
    """Searches of one task's stage."""

    name: str
    request: Request
    plan: SearchPlan


def read_settings(given: Mapping[str, Any]) -> SearchSettings:
    """Return the settings that the key ``tune`` asks for; ``spaces`` are by model, as in a file of spaces."""
    from gnz_track.seeds import parse_seeds
    from gnz_track.tuning.settings import SearchSettings
    from gnz_track.tuning.spaces import make_space

    known = [field.name for field in dataclasses.fields(SearchSettings) if field.name not in _ELSEWHERE]
    for key in given:
        if key not in [*known, "spaces"]:
            raise UnknownName(f"key of tune in {PARAMS_FILE}", key, [*known, "spaces"])
    values = dict(given)
    spaces = values.pop("spaces", None) or {}
    seeds = values.pop("tuning_seeds", None)
    return SearchSettings(
        spaces={str(name): make_space(str(name), space) for name, space in spaces.items()},
        tuning_seeds=None if seeds is None else parse_seeds(str(seeds)),
        **values,
    )


def seeds_of(params: Params) -> tuple[int, ...]:
    """Return all seeds whose data are needed: those that are reported, and those that are tuned on."""
    if params.tune is None:
        return params.seeds
    from gnz_track.tuning.settings import seeds_to_tune

    shares = seeds_to_tune(read_settings(params.tune), params.seeds)
    return tuple(dict.fromkeys((*params.seeds, *(seed for seeds in shares.values() for seed in seeds))))


def make_tuning(params: Params, name: str) -> Tuning:
    """Plan the searches of a task from its frozen data."""
    request = _make_request(params, name, source=f"dvc tune@{name}")
    request = dataclasses.replace(request, search=read_settings(params.tune or {}))
    return Tuning(name=name, request=request, plan=plan_request_searches(request))


def tune_task(
    tuning: Tuning, *, listener: Listener | None = None, fork_server: ForkServer | None = None
) -> Sequence[SearchRecord]:
    """Do what is left of the searches of a task, and write what they found once all of them have ended.

    Parameters
    ----------
    tuning
        Searches of the stage.
    listener
        Listener of trials.
    fork_server
        Workers that are getting ready.
    """
    request = settle_search_jobs(tuning.request, tuning.plan)
    found = search_all(request, tuning.plan, listener=listener, fork_server=fork_server)
    file = SEARCHES / f"{tuning.name}.jsonl"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("".join(to_json(record) + "\n" for record in found), encoding="utf-8")
    return found


def load_searches(params: Params, name: str) -> list[SearchRecord]:
    """Return what the searches of a task have found; none where nothing is tuned."""
    if params.tune is None:
        return []
    lines = require(SEARCHES / f"{name}.jsonl", f"tune@{name}").read_text("utf-8").splitlines()
    return [from_json(SearchRecord, line) for line in lines]


Say = Callable[[str], None]


def freeze_task(params: Params, name: str, *, say: Say) -> list[FrozenDataset]:
    """Freeze the data of a task below ``data/TASK``, for all seeds, tuning seeds included; what is not here is fetched.

    What is frozen already is checked and stays; folders of seeds that are no longer wanted go.

    Parameters
    ----------
    params
        Parameters of the benchmark.
    name
        Task by name.
    say
        Teller of notes.
    """
    task, home = choose(params).task(name), (DATA / name).absolute()
    row = DATASETS.get(task.dataset) if task.loader is None else None
    found = {}
    for seed in seeds_of(params):
        dataset = prepare(task, seed=seed, home=home) if row is None else _freeze(row, seed=seed, home=home, say=say)
        found[dataset.folder.resolve()] = dataset
    for card in list(home.rglob(CARD)):
        if card.parent.resolve() not in found:
            shutil.rmtree(card.parent)
    return list(found.values())


def _freeze(row: DatasetRow, *, seed: int, home: Path, say: Say) -> FrozenDataset:
    try:
        found = find_prepared(row, seed=seed, home=home)
        if found is not None:
            return open_frozen(found.folder, verify=True)
    except DataCorrupted as error:
        say(f"note: {row.name} is frozen anew, as {error}")
    return freeze_row(row, seed=seed, home=home, mirror=_fetch_raw(row))


def _fetch_raw(row: DatasetRow) -> Path | None:
    """Return the root below which the raw files of a row lie, fetched where they are not here; None without any.

    They are kept in the folder of frozen data: other projects need the same, and DVC versions what was made of them.
    """
    if not row.raw:
        return None
    folder = fetch(row, home=data_home())
    return folder.parents[len(PurePosixPath(row.raw).parts) - 1]


METRICS, PLOTS = Path("metrics.json"), Path("plots")
QUALITY = Path("quality")
PAGE = "audit.html"


def audit_task(params: Params, name: str, *, depth: Depth | None = None) -> tuple[AuditRecord, Path]:
    """Write the audit of the frozen data of a task into ``quality/TASK``, as JSON and as a page.

    The same data give the same bytes: how long it took is left out.

    Parameters
    ----------
    params
        Parameters of the benchmark.
    name
        Task by name.
    depth
        Effort of the measurement; the usual one without.
    """
    task = choose(params).task(name)
    dataset = prepare(task, seed=params.seeds[0], home=(DATA / name).absolute())
    record = replace(audit_dataset(dataset, task, depth), seconds=0.0)
    page = write_audit_page([record], QUALITY / name / PAGE)
    page.with_suffix(".json").write_text(record.to_json() + "\n", encoding="utf-8")
    return record, page


def load_audits(params: Params, names: Sequence[str]) -> dict[str, AuditRecord]:
    """Return task -> its audit as the stage left it; none where data are not audited."""
    if not params.quality:
        return {}
    files = {name: (QUALITY / name / PAGE).with_suffix(".json") for name in names}
    return {name: audit_from_json(require(file, f"quality@{name}").read_text("utf-8")) for name, file in files.items()}


def report_all(params: Params) -> tuple[BenchmarkReport, Bundle]:
    """Write the report of all tasks from the files of their stages, and what DVC shows and compares of it."""
    # A slip in these is told before anything is read.
    choices = Choices(
        alpha=params.alpha,
        margin=params.margin,
        posthoc=params.posthoc,
        test=params.test,
        split_sizes=params.split_sizes,
    )
    chosen = choose(params)
    _remove_others(params)
    report = _read_report(params, list_skipped(chosen.tasks.values(), chosen.models, chosen.protocol))
    report.choices = choices
    bundle = write_bundle(report, REPORT)
    publish(report)
    return report, bundle


def _remove_others(params: Params) -> None:
    """Remove the files of tasks that the parameters name no longer: a clone would not have them."""
    for folder in (RESULTS, CURVES, SEARCHES):
        for file in folder.glob("*.*"):
            if file.stem not in params.tasks:
                file.unlink()


def _read_report(params: Params, skipped: Sequence[Skipped]) -> BenchmarkReport:
    left_out = [(item.task, item.model, item.reason) for item in skipped]
    # A task that no model serves has no results: all of its pairs are among those left out.
    trained = [name for name in params.tasks if sum(task == name for task, *_ in left_out) < len(params.models)]
    if not trained:
        raise NothingToCompare("no model of params.yaml serves any of its tasks")
    tables = [load_table(require(RESULTS / f"{name}.parquet", f"run@{name}")) for name in trained]
    files = [require(CURVES / f"{name}.parquet", f"run@{name}") for name in trained]
    curves = {
        key: {part: straighten(curve) for part, curve in series.items()}
        for file in files
        for key, series in load_curves(file).items()
    }
    config = {
        "name": params.suite,
        "tasks": list(params.tasks),
        "models": list(params.models),
        "protocol": params.protocol,
        "left_out": left_out,
    }
    report = BenchmarkReport(pd.concat(tables, ignore_index=True), seeds=params.seeds, config=config, series=curves)
    report.quality = load_audits(params, trained)
    report.searches = [record for name in trained for record in load_searches(params, name)]
    return report


def publish(report: BenchmarkReport) -> None:
    """Write the metrics and the tables of plots of a report, in place of those that were there."""
    METRICS.write_text(json.dumps(metrics_of(report.comparison), indent=2) + "\n", encoding="utf-8")
    ranks = report.comparison.across.ranks
    places = [] if ranks is None else [(name, ranks.mean_ranks[ranks.models.index(name)]) for name in ranks.order]
    _write_table(PLOTS / "ranks.csv", ("model", "mean_rank"), places)
    _write_table(PLOTS / "curves.csv", ("task", "series", "model", "epoch", "mean"), _mean_curves(report))


def metrics_of(comparison: Comparison) -> dict[str, Any]:
    """Return what a comparison says as numbers by name: cells, verdicts, mean ranks, and means with intervals."""
    ranks = comparison.across.ranks
    return {
        "cells": {
            "finished": comparison.n_finished,
            "failed": comparison.n_failed,
            "missing": comparison.n_missing,
        },
        "pairs": {str(verdict): comparison.count(verdict) for verdict in Verdict},
        "mean_rank": {} if ranks is None else dict(zip(ranks.models, ranks.mean_ranks, strict=True)),
        "mean": {
            task.task: {cell.model: cell.mean for cell in task.cells if cell.mean is not None}
            for task in comparison.tasks
        },
        "half_width": {
            task.task: {
                cell.model: (cell.interval.high - cell.interval.low) / 2
                for cell in task.cells
                if cell.interval.low is not None and cell.interval.high is not None
            }
            for task in comparison.tasks
        },
    }


def _mean_curves(report: BenchmarkReport) -> Iterable[tuple[Any, ...]]:
    """Yield (task, series, model, epoch, mean over seeds) of the series that a report draws."""
    for task, models in report.histories.items():
        names = sorted({name for seeds in models.values() for series in seeds for name in series})
        if not names:
            continue
        chosen = choose_series(names)
        for model, seeds in models.items():
            curve = mean_curve([series.get(chosen, ()) for series in seeds])
            for epoch, mean in zip(curve.epochs, curve.means, strict=True):
                if mean is not None:
                    yield task, chosen, model, epoch, mean


def _write_table(path: Path, columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(columns)
        writer.writerows(rows)
