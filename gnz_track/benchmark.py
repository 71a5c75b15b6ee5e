"""From names to a report: the one call behind ``gnz run`` and behind scripts and notebooks."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gnz_track.datasets.choices import choose_tasks
from gnz_track.errors import BadValue
from gnz_track.kinds import TaskType
from gnz_track.models.catalogue import MODELS, describe_all
from gnz_track.report.benchmark_report import BenchmarkReport
from gnz_track.runs.agenda import Agenda, make_agenda
from gnz_track.runs.events import Tell, ignore
from gnz_track.runs.executors import choose_executor
from gnz_track.runs.nursery import Nursery, open_nursery_for
from gnz_track.runs.plan import Place, Plan, make_plan
from gnz_track.runs.progress import Progress, tell_failures
from gnz_track.runs.scribe import Tracking
from gnz_track.runs.sweep import Sweep, name_sweep, run_sweep
from gnz_track.store.address import Address, parse_address
from gnz_track.store.search_record import SearchRecord
from gnz_track.store.search_spool import keep_search
from gnz_track.training.protocols import PROTOCOLS
from gnz_track.types import ModelRow, Protocol, Task

if TYPE_CHECKING:
    # Optuna is imported where something is searched for, and nowhere else.
    from gnz_track.tuning.searches import SearchPlan
    from gnz_track.tuning.searching import Listener
    from gnz_track.tuning.settings import SearchSettings

__all__ = [
    "Request",
    "carry_out",
    "make_request_agenda",
    "plan_request_searches",
    "report_of",
    "run_benchmark",
    "search_all",
]

CUSTOM = "custom"


@dataclass(frozen=True, kw_only=True)
class Request:
    """What a benchmark is asked to be: which cells, how and where they are trained, and where they are written.

    ``suite`` is the first part of the names of experiments and of the sweep. With a ``search``, every model is trained
    twice: as it is, and with the hyperparameters that its search has found.
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
    search: SearchSettings | None = None


def make_request_agenda(request: Request, found: Sequence[SearchRecord] = ()) -> Agenda:
    """Plan a request and look up what of it is finished; data are prepared, nothing is trained or written.

    ``found`` is what searches have found, each of which asks for more cells.
    """
    plan = _plan(request, request.seeds)
    if found:
        from gnz_track.tuning.tuned_cells import with_tuned_cells

        plan = with_tuned_cells(plan, found)
    return make_agenda(plan, request.address, is_fresh=request.is_fresh)


def plan_request_searches(request: Request) -> SearchPlan:
    """Plan the searches of a request; data are prepared, nothing is tried."""
    from gnz_track.tuning.searches import plan_searches
    from gnz_track.tuning.settings import SearchSettings, seeds_to_tune

    settings = request.search or SearchSettings()
    shares = seeds_to_tune(settings, request.seeds)
    seeds = dict.fromkeys(seed for share in shares for seed in share.seeds)
    return plan_searches(_plan(request, tuple(seeds)), settings, shares)


def search_all(
    request: Request, plan: SearchPlan, *, listener: Listener | None = None, nursery: Nursery | None = None
) -> list[SearchRecord]:
    """Do what is left of the searches of a request, and return what all of them found; an interrupt keeps it."""
    from gnz_track import __version__
    from gnz_track.tuning.searching import Setting, Silence, run_searches
    from gnz_track.tuning.settings import SearchSettings

    setting = Setting(
        address=request.address,
        suite=request.suite,
        version=__version__,
        jobs=request.jobs,
        timeout=request.timeout,
        nursery=nursery,
        listener=listener or Silence(),
    )
    return run_searches(plan, request.search or SearchSettings(), setting)


def carry_out(
    request: Request,
    agenda: Agenda,
    *,
    found: Sequence[SearchRecord] = (),
    tell: Tell = ignore,
    nursery: Nursery | None = None,
) -> Sweep:
    """Train what is left of a request and write it; an interrupt keeps what was done.

    ``found`` are the searches that the agenda was made with: they are written too, and their cells bear their names.
    ``nursery`` is one of :func:`open_nursery_for`, to save the time in which workers get ready.
    """
    from gnz_track import __version__

    tracking = Tracking(
        address=request.address,
        sweep=name_sweep(agenda.plan.cells, suite=request.suite, is_fresh=request.is_fresh),
        suite=request.suite,
        version=__version__,
        source=request.source,
        searches=_chosen(agenda.plan, found),
    )
    execute = choose_executor(jobs=request.jobs, timeout=request.timeout, nursery=nursery)
    sweep = run_sweep(agenda, tracking, execute=execute, tell=tell)
    kept = [keep_search(request.address, record) for record in _of_sweep(found, sweep.name)]
    return replace(sweep, notices=(*sweep.notices, *(sentence for _, sentence in kept if sentence)))


def report_of(request: Request, sweep: Sweep, found: Sequence[SearchRecord] = ()) -> BenchmarkReport:
    """Return the report of a sweep, and of the searches that it was made with."""
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
    report = BenchmarkReport(
        sweep.table, seeds=tuple(request.seeds), config=config, series=sweep.series(), address=request.address
    )
    report.searches = _of_sweep(found, sweep.name)
    return report


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
    search: Any = None,
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
    ``search`` tunes every model on every task first: a number of trials, a mapping as ``{"lr": [0.001, 0.01]}``, a
    :class:`SearchSpace` or :class:`SearchSettings`; the report then has each model as it is and tuned.
    """
    chosen = choose_tasks(category, tasks, TaskType(task_type) if task_type else None, only)
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
        search=None if search is None else _read_search(search),
    )
    with open_nursery_for(jobs=jobs, timeout=timeout) as nursery:
        if not verbose:
            found = search_all(request, plan_request_searches(request), nursery=nursery) if request.search else []
            agenda = make_request_agenda(request, found)
            return report_of(request, carry_out(request, agenda, found=found, nursery=nursery), found)
        found = _search_aloud(request, nursery) if request.search else []
        agenda = make_request_agenda(request, found)
        progress = Progress(agenda, jobs=jobs)
        try:
            with progress:
                sweep = carry_out(request, agenda, found=found, tell=progress.hear, nursery=nursery)
        except KeyboardInterrupt:
            progress.say(f"{progress.count_kept()} are kept in {request.address}; the same call goes on from there")
            raise
    for sentence in (*sweep.notices, *tell_failures(sweep.results)):
        progress.say(sentence)
    return report_of(request, sweep, found)


def _search_aloud(request: Request, nursery: Nursery | None) -> list[SearchRecord]:
    from gnz_track.tuning.progress import SearchProgress

    plan = plan_request_searches(request)
    progress = SearchProgress(plan)
    try:
        with progress:
            return search_all(request, plan, listener=progress, nursery=nursery)
    except KeyboardInterrupt:
        Progress.say(f"{progress.count_kept()} are kept; the same call goes on from there")
        raise


def _read_search(given: Any) -> SearchSettings:
    from gnz_track.tuning.search_space import read_search

    return read_search(given)


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


def _plan(request: Request, seeds: Sequence[int]) -> Plan:
    plan = make_plan(
        request.tasks,
        request.models,
        seeds=seeds,
        protocol=request.protocol,
        epochs=request.epochs,
        device=request.device,
        place=request.place,
    )
    return _with_width(plan, request)


def _of_sweep(found: Sequence[SearchRecord], sweep: str) -> tuple[SearchRecord, ...]:
    return tuple(replace(record, sweep=sweep) for record in found)


def _chosen(plan: Plan, found: Sequence[SearchRecord]) -> dict[str, str]:
    if not found:
        return {}
    from gnz_track.tuning.tuned_cells import searches_by_cell

    return searches_by_cell(plan, found)


def _with_width(plan: Plan, request: Request) -> Plan:
    """Give every cell the width that was asked for, as a hyperparameter where it is not the protocol's own."""
    width = request.hidden_channels
    if width is None or width == request.protocol.hidden_channels:
        return plan
    if not isinstance(width, int) or width < 1:
        raise BadValue("hidden_channels", width, "a whole number from 1 upwards")
    cells = tuple(replace(cell, hyperparameters=(("hidden_channels", width),)) for cell in plan.cells)
    return replace(plan, cells=cells)
