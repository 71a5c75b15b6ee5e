"""From names to a report: the one call behind ``gnz run`` and behind scripts and notebooks."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from gnz_track.datasets.catalogue import TASKS, iter_benchmark_tasks
from gnz_track.errors import BadValue, UnknownName
from gnz_track.kinds import Category, TaskType
from gnz_track.models.catalogue import MODELS, describe_all
from gnz_track.report.benchmark_report import BenchmarkReport
from gnz_track.runs.agenda import Agenda, make_agenda
from gnz_track.runs.events import Tell, ignore
from gnz_track.runs.executors import choose_executor
from gnz_track.runs.nursery import Nursery, open_nursery_for
from gnz_track.runs.perturbed_plan import perturb_plan
from gnz_track.runs.plan import Place, Plan, make_plan
from gnz_track.runs.progress import Progress, tell_failures
from gnz_track.runs.scribe import Tracking
from gnz_track.runs.sweep import Sweep, name_sweep, run_sweep
from gnz_track.store.address import Address, parse_address
from gnz_track.training.protocols import PROTOCOLS
from gnz_track.types import ModelRow, Protocol, Task

__all__ = ["Request", "carry_out", "make_request_agenda", "report_of", "run_benchmark"]

CUSTOM = "custom"


@dataclass(frozen=True, kw_only=True)
class Request:
    """What a benchmark is asked to be: which cells, how and where they are trained, and where they are written.

    ``suite`` is the first part of the names of experiments and of the sweep. With ``perturbations``, every cell is
    trained under each of them.
    """

    tasks: Sequence[Task]
    models: Sequence[ModelRow]
    seeds: Sequence[int]
    protocol: Protocol
    address: Address
    suite: str = CUSTOM
    epochs: int | None = None
    hidden_channels: int | None = None
    device: str = "auto"
    place: Place = field(default_factory=Place)
    jobs: int = 1
    timeout: float | None = None
    is_fresh: bool = False
    source: str = "gnz"
    perturbations: Sequence[str] = ()


def make_request_agenda(request: Request) -> Agenda:
    """Plan a request and look up what of it is finished; data are prepared, nothing is trained or written."""
    plan = make_plan(
        request.tasks,
        request.models,
        seeds=request.seeds,
        protocol=request.protocol,
        epochs=request.epochs,
        device=request.device,
        place=request.place,
    )
    plan = perturb_plan(plan, request.perturbations) if request.perturbations else plan
    return make_agenda(_with_width(plan, request), request.address, is_fresh=request.is_fresh)


def carry_out(request: Request, agenda: Agenda, *, tell: Tell = ignore, nursery: Nursery | None = None) -> Sweep:
    """Train what is left of a request and write it; an interrupt keeps what was done.

    ``nursery`` is one of :func:`open_nursery_for`, to save the time in which workers get ready.
    """
    from gnz_track import __version__

    tracking = Tracking(
        address=request.address,
        sweep=name_sweep(agenda.plan.cells, suite=request.suite, is_fresh=request.is_fresh),
        suite=request.suite,
        version=__version__,
        source=request.source,
    )
    execute = choose_executor(jobs=request.jobs, timeout=request.timeout, nursery=nursery)
    return run_sweep(agenda, tracking, execute=execute, tell=tell)


def report_of(request: Request, sweep: Sweep) -> BenchmarkReport:
    """Return the report of a sweep."""
    config = {
        "suite": request.suite,
        "sweep": sweep.name,
        "store": str(request.address),
        "tasks": [task.name for task in request.tasks],
        "models": [model.name for model in request.models],
        "protocol": request.protocol.label,
        "hidden_channels": request.hidden_channels or request.protocol.hidden_channels,
        "epochs": request.epochs,
        "device": request.device,
        "left_out": [(item.task, item.model, item.reason) for item in sweep.skipped],
        "notices": list(sweep.notices),
    }
    return BenchmarkReport(
        sweep.table, seeds=tuple(request.seeds), config=config, series=sweep.series(), address=request.address
    )


def run_benchmark(  # noqa: PLR0913  (the published signature, and what tracking adds)
    category: str | None = None,
    models: Any = None,
    *,
    tasks: Iterable[Task | str] | None = None,
    task_type: str | None = None,
    only: Iterable[str] | None = None,
    seeds: int | Iterable[int] | None = None,
    seed: int | None = None,
    epochs: int | None = None,
    hidden_channels: int = 64,
    root: str | Path | None = None,
    device: str = "auto",
    search: None = None,
    protocol: str | Protocol = "graphnetz",
    store: str = "",
    jobs: int = 1,
    timeout: float | None = None,
    resume: bool = True,
    verbose: bool = True,
) -> BenchmarkReport:
    """Train every compatible (task, model, seed), track each as an MLflow run, and return a report.

    Tasks are those of a ``category`` (narrowed by ``task_type`` and by ``only``, a list of names), or the given
    ``tasks``, themselves or by name. ``models`` is a class, a name, a ``(class, task_types, factory)``, a list of
    these, or a mapping from names to them; none means all that are registered. ``seeds`` is a list, by default 0 to 9;
    one whole number is that one seed, as is ``seed``. ``root`` is the folder of frozen data. Cells that a store has
    already are not trained again unless ``resume`` is False. ``store`` is a file or an address; see ``gnz run --help``.
    """
    if search is not None:
        raise BadValue("search", type(search).__name__, "None: this version has no inner search")
    chosen = _choose_tasks(category, tasks, TaskType(task_type) if task_type else None, only)
    request = Request(
        tasks=chosen,
        models=MODELS.rows() if models is None else describe_all(models),
        seeds=_read_seeds(seeds, seed),
        protocol=protocol if isinstance(protocol, Protocol) else PROTOCOLS.get(protocol),
        address=parse_address(store),
        suite=category or CUSTOM,
        epochs=epochs,
        hidden_channels=hidden_channels,
        device=device,
        place=Place(home=Path(root).expanduser().absolute() if root else None),
        jobs=jobs,
        timeout=timeout,
        is_fresh=not resume,
        source="run_benchmark",
    )
    with open_nursery_for(jobs=jobs, timeout=timeout) as nursery:
        agenda = make_request_agenda(request)
        if not verbose:
            return report_of(request, carry_out(request, agenda, nursery=nursery))
        progress = Progress(agenda, jobs=jobs)
        try:
            with progress:
                sweep = carry_out(request, agenda, tell=progress.hear, nursery=nursery)
        except KeyboardInterrupt:
            progress.say(f"{progress.count_kept()} are kept in {request.address}; the same call goes on from there")
            raise
    for sentence in (*sweep.notices, *tell_failures(sweep.results)):
        progress.say(sentence)
    return report_of(request, sweep)


def _choose_tasks(
    category: str | None, tasks: Iterable[Task | str] | None, task_type: TaskType | None, only: Iterable[str] | None
) -> list[Task]:
    if tasks is None and category is None:
        raise BadValue("category", None, f"tasks=[...], or one of: {', '.join(Category)}", command="gnz tasks")
    given = [tasks] if isinstance(tasks, str | Task) else tasks
    wanted_tasks = list(given) if given is not None else iter_benchmark_tasks(category)
    chosen = [TASKS.get(task) if isinstance(task, str) else task for task in wanted_tasks]
    for task in chosen:
        if not isinstance(task, Task):
            raise BadValue("task", task, "a name, or a Task as from task_from_dataset(name, task_type, dataset)")
    chosen = [task for task in chosen if task_type in (None, task.task_type)]
    names = [task.name for task in chosen]
    wanted = names if only is None else [only] if isinstance(only, str) else list(only)
    for name in wanted:
        if name not in names:
            raise UnknownName("task", name, names, command="gnz tasks")
    return [task for task in chosen if task.name in wanted]


def _read_seeds(seeds: int | Iterable[int] | None, seed: int | None) -> tuple[int, ...]:
    """Return the seeds; one whole number is that seed, as users of the published package write it."""
    given = seed if seed is not None else seeds
    if given is None:
        return tuple(range(10))
    wanted = (given,) if isinstance(given, int) else tuple(given)
    for item in wanted:
        if not isinstance(item, int) or item < 0:
            raise BadValue("seed", item, "whole numbers from 0 upwards", command="seeds=range(10)")
    return wanted


def _with_width(plan: Plan, request: Request) -> Plan:
    """Give every cell the width that was asked for, as a hyperparameter where it is not the protocol's own."""
    width = request.hidden_channels
    if width is None or width == request.protocol.hidden_channels:
        return plan
    if not isinstance(width, int) or width < 1:
        raise BadValue("hidden_channels", width, "a whole number from 1 upwards")
    cells = tuple(replace(cell, hyperparameters=(("hidden_channels", width),)) for cell in plan.cells)
    return replace(plan, cells=cells)
