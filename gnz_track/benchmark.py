"""A benchmark as it is asked for, planned, searched and trained: what commands, stages and scripts have in common."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from gnz_track.errors import BadValue, EveryCellFails, ModelInvalid
from gnz_track.runs.executors.choice import AUTO, PROCESSES, RAY, Crew, Executor, check_crew, choose_executor
from gnz_track.runs.executors.crew_size import count_cores, usual_jobs
from gnz_track.runs.executors.events import Tell, ignore
from gnz_track.runs.executors.fork_server import ForkServer
from gnz_track.runs.files_of_cell import PREDICTIONS, check_keep, check_most_bytes
from gnz_track.runs.plan import Place, Plan, make_plan, perturb_plan, tell_scales
from gnz_track.runs.protocol_resolution import own_options
from gnz_track.runs.remaining import RemainingCells, find_remaining
from gnz_track.runs.settings import SettingChoice, check_choices, settle_options
from gnz_track.runs.sweep import Sweep, name_sweep, run_sweep
from gnz_track.runs.sweep_writer import Tracking
from gnz_track.runs.variants import count_variants, vary_plan
from gnz_track.store.address import Address
from gnz_track.store.outbox import keep_search
from gnz_track.store.run_record import check_cells
from gnz_track.store.searches import SearchRecord
from gnz_track.text import failures_command, format_seconds
from gnz_track.training.compiler import OF_TORCH, check_forwards
from gnz_track.training.metrics import METRICS
from gnz_track.types import Cell, ModelRow, Protocol, Task, Value

__all__ = [
    "CUSTOM",
    "LARGEST_GRID",
    "MOST_CELLS",
    "Request",
    "carry_out",
    "find_remaining_of",
    "jobs_of",
    "keep_searches",
    "plan_cells",
    "plan_request_searches",
    "report_of",
    "search_all",
    "settle_jobs",
    "settle_search_jobs",
]


if TYPE_CHECKING:
    # Statistics are imported where there is a report, and Optuna where something is searched for.
    from gnz_track.report.benchmark_report import BenchmarkReport
    from gnz_track.tuning.plan import SearchPlan
    from gnz_track.tuning.search import Listener
    from gnz_track.tuning.settings import SearchSettings


CUSTOM = "custom"
# A grid with more cells is asked about, and one with more than the latter is none that anybody trains.
MOST_CELLS, LARGEST_GRID = 10_000, 1_000_000


@dataclass(frozen=True, kw_only=True)
class Request:
    """A benchmark as it is asked for: cells, how and where they are trained, and where they are written.

    ``suite`` is the first part of the names of experiments and of the sweep. With a ``search``, every model is trained
    twice: as it is, and with the hyperparameters that its search has found. With ``perturbations``, every cell is
    trained under each of them; with ``settings``, in every combination of their values, of which there may be
    ``most_cells`` cells. With ``system_metrics``, the sweep's run has the load of this machine. ``keep``
    says which files cells leave beside their runs: one of
    :data:`gnz_track.runs.files_of_cell.KEEPS`. A file of more than ``keep_at_most`` bytes is not kept. ``compile`` and
    ``amp`` ask Torch for other forwards (:mod:`gnz_track.training.forwards`), and are hyperparameters of the cells.
    Where ``chooses_jobs``, their number is left to :func:`settle_jobs`.
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
    compile: bool = False
    amp: str = ""
    place: Place = field(default_factory=Place)
    jobs: int = 1
    chooses_jobs: bool = False
    timeout: float | None = None
    is_fresh: bool = False
    source: str = "gnz"
    executor: str | Executor = AUTO
    cluster: str = ""
    gpu_share: float = 0.0
    system_metrics: bool = False
    search: SearchSettings | None = None
    perturbations: Sequence[str] = ()
    settings: Sequence[SettingChoice] = ()
    most_cells: int = MOST_CELLS
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
    check_keep(request.keep)
    plan = plan_cells(request, request.seeds)
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

    grid = next((choice for choice in request.settings if len(choice.values) > 1), None)
    if grid is not None:
        allowed = "one value: a search starts from it, and has a space in place of a grid (gnz tune --space FILE)"
        raise BadValue(grid.where + grid.name, ", ".join(map(str, grid.values)), allowed)
    settings = request.search or SearchSettings()
    shares = seeds_to_tune(settings, request.seeds)
    seeds = dict.fromkeys(itertools.chain(*shares.values()))
    return plan_searches(plan_cells(request, tuple(seeds)), settings, shares)


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

    Where every cell fails in the same way, the few that were tried are written, and an error says why.

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

    request = settle_jobs(request, remaining)
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
    if sweep.refusal:
        counts = {"n_tried": len(sweep.results), "n_cells": len(remaining.cells)}
        error = EveryCellFails(sweep.refusal, **counts, command=failures_command(request.address))
        failure = sweep.results[0].failure
        error.add_note(failure.traceback if failure else "")
        raise error
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
    from gnz_track.report.benchmark_report import BenchmarkReport

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


def plan_cells(request: Request, seeds: Sequence[int]) -> Plan:
    """Return the cells of a request for some seeds; data are prepared, nothing is looked up or trained."""
    request = replace(request, models=settle_options(request.models))
    check_choices(request.settings, request.models)
    _refuse_large_grid(request, seeds)
    plan = _plan_unvaried(request, seeds)
    plan = tell_scales(vary_plan(_with_width(plan, request), request.settings))
    plan = perturb_plan(plan, request.perturbations) if request.perturbations else plan
    plan = _with_forwards(_on_device(plan, request), request)
    check_cells(plan.cells, suite=request.suite, sweep="", metrics=METRICS.names())
    return plan


def _refuse_large_grid(request: Request, seeds: Sequence[int]) -> None:
    """Refuse a grid of more cells than were agreed to, with their number and how long they may take."""
    if not request.settings:
        return
    n_variants = sum(
        count_variants(request.settings, model, task)
        for task, model in itertools.product(request.tasks, request.models)
        if task.task_type in model.task_types
    )
    n_cells = n_variants * len(seeds) * max(1, len(request.perturbations))
    if n_cells <= min(request.most_cells, LARGEST_GRID):
        return
    is_askable = n_cells <= LARGEST_GRID
    asked = f"at most {request.most_cells:,} without --yes (most_cells= in Python)"
    allowed, command = (asked, "gnz run --yes") if is_askable else (f"at most {LARGEST_GRID:,}", "fewer values")
    remaining = find_remaining(_plan_unvaried(request, seeds), request.address)
    seconds = remaining.paces.total(remaining.plan.cells)
    jobs = count_cores() if request.chooses_jobs else request.jobs
    of_all = None if seconds is None else seconds * n_cells / len(remaining.plan.cells) / jobs
    time = "an unknown time" if of_all is None else f"about {format_seconds(of_all)}"
    shown = f"{n_cells:,} cells, {time} with --jobs {jobs}"
    raise BadValue("the grid of --set", shown, allowed, command=command)


def _plan_unvaried(request: Request, seeds: Sequence[int]) -> Plan:
    return make_plan(
        request.tasks,
        request.models,
        seeds=seeds,
        protocol=request.protocol,
        epochs=request.epochs,
        device="cpu" if _is_elsewhere(request) else request.device,
        place=request.place,
    )


def jobs_of(jobs: int | None) -> dict[str, Any]:
    """Return the fields of a request for a number of workers, or for none: then it is chosen later."""
    return {"jobs": 1 if jobs is None else jobs, "chooses_jobs": jobs is None}


def settle_jobs(request: Request, remaining: RemainingCells) -> Request:
    """Return a request with a number of workers: where it has none, what is left of its cells decides."""
    return _settle_for(request, remaining, remaining.cells)


def settle_search_jobs(request: Request, plan: SearchPlan) -> Request:
    """Return a request with a number of workers for its searches, whose trials have several cells each."""
    if not request.chooses_jobs:
        return request
    seen = find_remaining(_plan_unvaried(request, request.seeds), request.address)
    cells = [cell for search in plan.searches for cell in search.cells]
    return _settle_for(request, seen, cells, times=plan.n_trials)


def _settle_for(request: Request, seen: RemainingCells, cells: Sequence[Cell], *, times: int = 1) -> Request:
    """Settle the workers for cells that are trained some times, by what was seen of such."""
    if not request.chooses_jobs:
        return request
    if request.executor not in (AUTO, PROCESSES):
        return replace(request, jobs=1, chooses_jobs=False)
    seconds = seen.paces.total(cells)
    jobs = usual_jobs(cells, None if seconds is None else times * seconds, seen.footprints)
    return replace(request, jobs=jobs, chooses_jobs=False)


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


def _with_forwards(plan: Plan, request: Request) -> Plan:
    """Give every cell what is asked of Torch; a model whose constructor means something else by it is refused."""
    asked = {name: value for name in OF_TORCH if (value := getattr(request, name))}
    if not asked:
        return plan
    # The machines of a cluster have compilers of their own.
    for device in {"" if request.executor == RAY else cell.device for cell in plan.cells}:
        check_forwards(compiles=request.compile, amp=request.amp, device=device)
    for model in {cell.model.name: cell.model for cell in plan.cells}.values():
        if own := own_options(model) & set(asked):
            reason = f"its constructor takes {', '.join(sorted(own))} for itself"
            raise ModelInvalid(model.name, reason, remedy="rename that, or leave the model out")
    cells = tuple(replace(cell, hyperparameters=_change_values(cell, **asked)) for cell in plan.cells)
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
