"""The one call behind ``gnz run``, scripts and notebooks: a benchmark as asked for, planned, searched and trained."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gnz_track.datasets.catalogue import choose_tasks
from gnz_track.errors import BadValue, UnknownName
from gnz_track.models.catalogue import describe_all, usual_models
from gnz_track.report.benchmark_report import BenchmarkReport
from gnz_track.runs.executors.choice import AUTO, RAY, Crew, Executor, check_crew, choose_executor
from gnz_track.runs.executors.events import Tell, ignore
from gnz_track.runs.executors.fork_server import ForkServer, open_fork_server_for
from gnz_track.runs.files_of_cell import KEEPS, PREDICTIONS, check_most_bytes, read_most_bytes
from gnz_track.runs.plan import Place, Plan, make_plan, perturb_plan
from gnz_track.runs.progress import Progress, tell_failures
from gnz_track.runs.remaining import RemainingCells, find_remaining
from gnz_track.runs.sweep import Sweep, name_sweep, run_sweep
from gnz_track.runs.sweep_writer import Tracking
from gnz_track.store.address import Address, parse_address
from gnz_track.store.outbox import keep_search
from gnz_track.store.run_record import check_cells
from gnz_track.store.searches import SearchRecord
from gnz_track.text import format_size
from gnz_track.training.metrics import METRICS
from gnz_track.training.protocols import PROTOCOLS
from gnz_track.types import Cell, ModelRow, Protocol, Task, TaskType, Value

__all__ = [
    "CUSTOM",
    "Request",
    "carry_out",
    "find_remaining_of",
    "keep_searches",
    "plan_request_searches",
    "report_of",
    "run_benchmark",
    "search_all",
]


if TYPE_CHECKING:
    # Optuna is imported where something is searched for, and nowhere else.
    from gnz_track.tuning.plan import SearchPlan
    from gnz_track.tuning.search import Listener
    from gnz_track.tuning.settings import SearchSettings


CUSTOM = "custom"


@dataclass(frozen=True, kw_only=True)
class Request:
    """A benchmark as it is asked for: cells, how and where they are trained, and where they are written.

    ``suite`` is the first part of the names of experiments and of the sweep. With a ``search``, every model is trained
    twice: as it is, and with the hyperparameters that its search has found. With ``perturbations``, every cell is
    trained under each of them. With ``system_metrics``, the sweep's run has the load of this machine. ``keep``
    says which files cells leave beside their runs: one of
    :data:`gnz_track.runs.files_of_cell.KEEPS`. A file of more than ``keep_at_most`` bytes is not kept.
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
    executor: str | Executor = AUTO
    cluster: str = ""
    gpu_share: float = 0.0
    system_metrics: bool = False
    search: SearchSettings | None = None
    perturbations: Sequence[str] = ()
    keep: str = PREDICTIONS
    keep_at_most: int = Cell.keep_at_most

    @property
    def crew(self) -> Crew:
        """Crew that trains."""
        return Crew(
            executor=self.executor,
            address=self.cluster,
            jobs=self.jobs,
            timeout=self.timeout,
            gpu_share=self.gpu_share,
        )


def find_remaining_of(request: Request, found: Sequence[SearchRecord] = ()) -> RemainingCells:
    """Plan a request and look up what of it is finished; data are prepared, nothing is trained or written.

    ``found`` is what searches have found, each of which asks for more cells.
    """
    check_crew(request.crew)
    if request.keep not in KEEPS:
        raise UnknownName("files to keep", request.keep, KEEPS, command="gnz run --help")
    plan = _plan_cells(request, request.seeds)
    if found:
        from gnz_track.tuning.plan import with_tuned_cells

        plan = with_tuned_cells(plan, found)
    # Trials of searches are no runs, and leave nothing.
    most = check_most_bytes(request.keep_at_most)
    plan = replace(plan, cells=tuple(replace(cell, keep=request.keep, keep_at_most=most) for cell in plan.cells))
    return find_remaining(plan, request.address, is_fresh=request.is_fresh)


def plan_request_searches(request: Request) -> SearchPlan:
    """Plan the searches of a request; data are prepared, nothing is tried."""
    from gnz_track.tuning.plan import plan_searches
    from gnz_track.tuning.settings import SearchSettings, seeds_to_tune

    settings = request.search or SearchSettings()
    shares = seeds_to_tune(settings, request.seeds)
    seeds = dict.fromkeys(itertools.chain(*shares.values()))
    return plan_searches(_plan_cells(request, tuple(seeds)), settings, shares)


def search_all(
    request: Request, plan: SearchPlan, *, listener: Listener | None = None, fork_server: ForkServer | None = None
) -> list[SearchRecord]:
    """Do what is left of the searches of a request, and return what all of them found; an interrupt keeps it.

    Parameters
    ----------
    request
        Benchmark that was asked for.
    plan
        Its searches.
    listener
        Hears of searches and trials as they go.
    fork_server
        Workers of :func:`open_fork_server_for` that are ready already.
    """
    from gnz_track import __version__
    from gnz_track.tuning.search import SearchContext, Silence, run_searches
    from gnz_track.tuning.settings import SearchSettings

    context = SearchContext(
        address=request.address,
        suite=request.suite,
        version=__version__,
        jobs=request.jobs,
        timeout=request.timeout,
        fork_server=fork_server,
        listener=listener or Silence(),
    )
    return run_searches(plan, request.search or SearchSettings(), context)


def carry_out(
    request: Request,
    remaining: RemainingCells,
    *,
    found: Sequence[SearchRecord] = (),
    tell: Tell = ignore,
    fork_server: ForkServer | None = None,
) -> Sweep:
    """Train what is left of a request and write it; an interrupt keeps what was done.

    Parameters
    ----------
    request
        Benchmark that was asked for.
    remaining
        Its cells, finished or to be trained.
    found
        Searches that the remaining cells were made with: they are written too, and their cells bear their names.
    tell
        Hears of every event once it is written.
    fork_server
        Workers of :func:`open_fork_server_for` that are ready already.
    """
    from gnz_track import __version__

    tracking = Tracking(
        address=request.address,
        sweep=name_sweep(remaining.plan.cells, suite=request.suite, is_fresh=request.is_fresh),
        suite=request.suite,
        version=__version__,
        source=request.source,
        searches=_searches_by_cell(remaining.plan, found),
        system_metrics=request.system_metrics,
    )
    execute = choose_executor(**vars(request.crew), fork_server=fork_server, footprints=remaining.footprints)
    sweep = run_sweep(remaining, tracking, execute=execute, tell=tell)
    return replace(sweep, notices=(*sweep.notices, *keep_searches(request, _of_sweep(found, sweep.name))))


def keep_searches(request: Request, found: Sequence[SearchRecord]) -> tuple[str, ...]:
    """Write searches to the store of a request; return a sentence for each that waits on this disk.

    Those that name no sweep are of the first one that is made with them.
    """
    kept = [keep_search(request.address, record) for record in found]
    return tuple(sentence for _, sentence in kept if sentence)


def report_of(request: Request, sweep: Sweep, found: Sequence[SearchRecord] = ()) -> BenchmarkReport:
    """Return the report of a sweep.

    Parameters
    ----------
    request
        Benchmark that was asked for.
    sweep
        Its sweep, carried out.
    found
        Searches that the sweep was made with.
    """
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


def _plan_cells(request: Request, seeds: Sequence[int]) -> Plan:
    plan = make_plan(
        request.tasks,
        request.models,
        seeds=seeds,
        protocol=request.protocol,
        epochs=request.epochs,
        device="cpu" if _is_elsewhere(request) else request.device,
        place=request.place,
    )
    plan = perturb_plan(plan, request.perturbations) if request.perturbations else plan
    plan = _on_device(_with_width(plan, request), request)
    check_cells(plan.cells, suite=request.suite, sweep="", metrics=METRICS.names())
    return plan


def _of_sweep(found: Sequence[SearchRecord], sweep: str) -> tuple[SearchRecord, ...]:
    return tuple(replace(record, sweep=sweep) for record in found)


def _searches_by_cell(plan: Plan, found: Sequence[SearchRecord]) -> dict[str, str]:
    if not found:
        return {}
    from gnz_track.tuning.plan import searches_by_cell

    return searches_by_cell(plan, found)


def _with_width(plan: Plan, request: Request) -> Plan:
    """Give every cell the width that was asked for, as a hyperparameter where it is not the protocol's own."""
    width = request.hidden_channels
    if width is None or width == request.protocol.hidden_channels:
        return plan
    if not isinstance(width, int) or width < 1:
        raise BadValue("hidden_channels", width, "a whole number from 1 upwards")
    cells = tuple(replace(cell, hyperparameters=_change_values(cell, hidden_channels=width)) for cell in plan.cells)
    return replace(plan, cells=cells)


def _is_elsewhere(request: Request) -> bool:
    """Tell whether GPUs are asked of a cluster; the machine that plans need not have one."""
    return request.executor == RAY and request.device.startswith("cuda")


def _on_device(plan: Plan, request: Request) -> Plan:
    if not _is_elsewhere(request):
        return plan
    return replace(plan, cells=tuple(replace(cell, device="cuda") for cell in plan.cells))


def _change_values(cell: Cell, **values: Value) -> tuple[tuple[str, Value], ...]:
    return tuple(sorted({**dict(cell.hyperparameters), **values}.items()))


if TYPE_CHECKING:
    # Optuna is imported where something is searched for, and nowhere else.
    from gnz_track.tuning.settings import SearchSettings


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
    executor: str | Executor = AUTO,
    resume: bool = True,
    keep: str = PREDICTIONS,
    keep_at_most: str = format_size(Cell.keep_at_most),
    verbose: bool = True,
) -> BenchmarkReport:
    """Train every compatible (task, model, seed), track each as an MLflow run, and return a report.

    Parameters
    ----------
    category
        Suite or category whose tasks are trained; ``task_type`` and ``only`` (names) narrow it.
    models
        A class, a name, a ``(class, task_types, factory)``, a list of these, or a mapping from names to them. None: all
        but the deep ones.
    tasks
        Tasks, or their names, in place of a category.
    task_type, only
        What narrows a category: one task type, and names of tasks.
    seeds, seed
        A list of seeds (0 to 9), or one seed.
    epochs, hidden_channels, device
        Length of training (None: the protocol's), width of the models, and where they are trained.
    root
        Folder of frozen data.
    search
        Tunes every model on every task first: a number of trials, a mapping as ``{"lr": [0.001, 0.01]}``, a
        :class:`SearchSpace` or :class:`SearchSettings`. The report then has each model as it is and tuned.
    protocol, store
        Name of a protocol or a protocol; file or address of a store. See ``gnz run --help``.
    jobs, timeout
        Most cells at once, and the longest time of one in seconds.
    executor
        ``"inline"``, ``"processes"``, ``"ray"``, or a function of cells and a listener that yields their results.
    resume
        False trains again what the store has already.
    keep
        Files that cells leave beside their runs: ``"predictions"`` (with settings and curves), ``"weights"``
        too, ``"best"`` (weights of the best cell of each task and model by validation alone), or ``"nothing"``.
    keep_at_most
        Size above which a file of a cell is not kept.
    verbose
        Whether progress is shown.
    """
    how = protocol if isinstance(protocol, Protocol) else PROTOCOLS.get(protocol)
    request = Request(
        tasks=choose_tasks(category, tasks, TaskType(task_type) if task_type else None, only),
        models=usual_models(has_budget=how.budget > 0) if models is None else describe_all(models),
        seeds=_read_seeds(seeds, seed),
        protocol=how,
        address=parse_address(store),
        suite=category or CUSTOM,
        epochs=epochs,
        hidden_channels=hidden_channels,
        device=device,
        place=Place(home=Path(root).expanduser().absolute() if root else None),
        jobs=jobs,
        timeout=timeout,
        executor=executor,
        is_fresh=not resume,
        keep=keep,
        keep_at_most=read_most_bytes(keep_at_most),
        source="run_benchmark",
        search=None if search is None else _read_search(search),
    )
    with open_fork_server_for(jobs=jobs, timeout=timeout, executor=executor) as fork_server:
        if not verbose:
            found = (
                search_all(request, plan_request_searches(request), fork_server=fork_server) if request.search else []
            )
            remaining = find_remaining_of(request, found)
            return report_of(request, carry_out(request, remaining, found=found, fork_server=fork_server), found)
        found = _search_aloud(request, fork_server) if request.search else []
        remaining = find_remaining_of(request, found)
        progress = Progress(remaining, jobs=jobs)
        try:
            with progress:
                sweep = carry_out(request, remaining, found=found, tell=progress.hear, fork_server=fork_server)
        except KeyboardInterrupt:
            progress.say(f"{progress.count_kept()} are kept in {request.address}; the same call goes on from there")
            raise
    for sentence in (*sweep.notices, *tell_failures(sweep.results)):
        progress.say(sentence)
    return report_of(request, sweep, found)


def _search_aloud(request: Request, fork_server: ForkServer | None) -> list[SearchRecord]:
    from gnz_track.tuning.plan import note_on_lengths
    from gnz_track.tuning.progress import SearchProgress

    plan = plan_request_searches(request)
    progress = SearchProgress(plan)
    try:
        with progress:
            found = search_all(request, plan, listener=progress, fork_server=fork_server)
    except KeyboardInterrupt:
        Progress.say(f"{progress.count_kept()} are kept; the same call goes on from there")
        raise
    if note := note_on_lengths(plan, found):
        Progress.say(note)
    return found


def _read_search(given: Any) -> SearchSettings:
    from gnz_track.tuning.settings import read_search

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
