"""The one call for scripts and notebooks, as the published package has it: a benchmark trained, and its report."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

# First of all: whoever imports this may import models of theirs next, which may change how this process computes.
import gnz_track.runs.isolation.canary  # noqa: F401
from gnz_track.benchmark import (
    CUSTOM,
    MOST_CELLS,
    Request,
    carry_out,
    find_remaining_of,
    jobs_of,
    plan_request_searches,
    report_of,
    search_all,
    settle_jobs,
)
from gnz_track.datasets.catalogue import choose_tasks
from gnz_track.errors import BadValue
from gnz_track.models.catalogue import describe_all, usual_models
from gnz_track.report.benchmark_report import BenchmarkReport
from gnz_track.runs.executors.choice import AUTO, Executor
from gnz_track.runs.executors.fork_server import ForkServer, open_fork_server_for
from gnz_track.runs.files_of_cell import PREDICTIONS, read_most_bytes
from gnz_track.runs.plan import Place
from gnz_track.runs.progress import Progress, tell_failures
from gnz_track.runs.protocol_files import find_protocol
from gnz_track.runs.remaining import RemainingCells
from gnz_track.runs.settings import read_choices
from gnz_track.store.address import parse_address
from gnz_track.store.searches import SearchRecord
from gnz_track.text import format_size
from gnz_track.types import Cell, Protocol, Task, TaskType

if TYPE_CHECKING:
    # Optuna is imported where something is searched for, and nowhere else.
    from gnz_track.tuning.settings import SearchSettings

__all__ = ["run_benchmark"]


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
    compile: bool = False,  # noqa: A002  (as the flag of the command)
    amp: str = "",
    search: Any = None,
    protocol: str | Protocol = "graphnetz",
    settings: Mapping[str, Any] | None = None,
    most_cells: int = MOST_CELLS,
    store: str = "",
    jobs: int | None = None,
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
    compile, amp
        Whether Torch compiles the models, and the half precision that they compute in: ``"bfloat16"``, ``"float16"``.
    root
        Folder of frozen data.
    search
        Tunes every model on every task first: a number of trials, a mapping as ``{"lr": [0.001, 0.01]}``, a
        :class:`SearchSpace` or :class:`SearchSettings`. The report then has each model as it is and tuned.
    settings
        What is chosen otherwise than the protocol and the models have it, as ``{"lr": [0.01, 0.001], "GAT": {"heads":
        4}}``; lists make a grid, of at most ``most_cells`` cells. See ``gnz run --show-config``.
    most_cells
        See ``settings``.
    protocol, store
        Name of a protocol or a protocol; file or address of a store. See ``gnz run --help``.
    jobs, timeout
        Most cells at once, and the longest time of one in seconds. Without a number of them it is that of the cores,
        where past runs of such cells say that they take long, and one elsewhere.
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
    how = protocol if isinstance(protocol, Protocol) else find_protocol(protocol)
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
        compile=compile,
        amp=amp,
        place=Place(home=Path(root).expanduser().absolute() if root else None),
        **jobs_of(jobs),
        timeout=timeout,
        executor=executor,
        is_fresh=not resume,
        keep=keep,
        keep_at_most=read_most_bytes(keep_at_most),
        source="run_benchmark",
        search=None if search is None else _read_search(search),
        settings=read_choices(settings),
        most_cells=most_cells,
    )
    with open_fork_server_for(jobs=request.jobs, timeout=timeout, executor=executor) as fork_server:
        found = _search(request, fork_server, is_aloud=verbose) if request.search else []
        request, remaining = _find_remaining(request, found)
        if not verbose:
            return report_of(request, carry_out(request, remaining, found=found, fork_server=fork_server), found)
        progress = Progress(remaining, jobs=request.jobs)
        try:
            with progress:
                sweep = carry_out(request, remaining, found=found, tell=progress.hear, fork_server=fork_server)
        except KeyboardInterrupt:
            progress.say(f"{progress.count_kept()} are kept in {request.address}; the same call goes on from there")
            raise
    for sentence in (*sweep.notices, *tell_failures(sweep.results)):
        progress.say(sentence)
    return report_of(request, sweep, found)


def _find_remaining(request: Request, found: Sequence[SearchRecord]) -> tuple[Request, RemainingCells]:
    """Return what is left of a request, and the request with a number of workers for it."""
    remaining = find_remaining_of(request, found)
    # Of what was never seen, nobody knows that it is worth the seconds in which workers get ready.
    is_known = remaining.paces.total(remaining.cells) is not None
    return settle_jobs(replace(request, chooses_jobs=request.chooses_jobs and is_known), remaining), remaining


def _search(request: Request, fork_server: ForkServer | None, *, is_aloud: bool) -> list[SearchRecord]:
    from gnz_track.tuning.plan import note_on_lengths
    from gnz_track.tuning.progress import SearchProgress

    plan = plan_request_searches(request)
    if not is_aloud:
        return search_all(request, plan, fork_server=fork_server)
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
