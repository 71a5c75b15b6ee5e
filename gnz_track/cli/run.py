"""``gnz run``: train what is left of a benchmark, track it, and print a table of means."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gnz_track.cli.home import choose_home
from gnz_track.kinds import Category, TaskType

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gnz_track.benchmark import Request
    from gnz_track.runs.agenda import Agenda
    from gnz_track.runs.nursery import Nursery
    from gnz_track.runs.sweep import Sweep
    from gnz_track.types import Task

__all__ = ["add_to", "run"]

FAILED, INTERRUPTED = 1, 130
QUICK, CUSTOM = "quick", "custom"
EXAMPLES = """
[bold]Examples[/bold]

  gnz run      (the suite quick, all models, seeds 0-4)

  gnz run --suite quick --models GCN,GAT,MLP --seeds 0-9 --jobs 2

  gnz run --category social --task-type node_cls --mirror FOLDER --dry-run

  gnz run --task cora --protocol best-val --store sqlite:///runs.db --timeout 300

  gnz run --task mutag --models mypackage.nets:MyNet,GIN --fresh

Interrupted, it goes on where it was with the same command. Past runs: gnz ls, gnz ui.
"""


def add_to(app: typer.Typer) -> None:
    """Add this command."""
    app.command(epilog=EXAMPLES)(run)


def run(  # noqa: PLR0913  (one parameter per flag)
    *,
    suite: Annotated[str, typer.Option(help="A named selection of tasks; see gnz tasks.")] = "",
    task: Annotated[list[str] | None, typer.Option(help="A task by name; repeat, or separate by commas.")] = None,
    category: Annotated[str, typer.Option(help="All tasks of a research area; several by commas.")] = "",
    task_type: Annotated[str, typer.Option(help="Only tasks of this type; several by commas.")] = "",
    models: Annotated[str, typer.Option("--models", "--model", help="Names or package.module:Class.")] = "",
    seeds: Annotated[str, typer.Option(help="Such as 0-9, 3 or 0,2,5.")] = "0-4",
    epochs: Annotated[int | None, typer.Option(help="Instead of each task's own number.")] = None,
    protocol: Annotated[str, typer.Option(help="How cells are trained and scored; see gnz protocols.")] = "graphnetz",
    device: Annotated[str, typer.Option(help="auto, cpu, cuda, cuda:1, ...")] = "auto",
    home: Annotated[Path | None, typer.Option(help="Folder of frozen data; default GNZ_DATA or the cache.")] = None,
    mirror: Annotated[Path | None, typer.Option(help="Folder of raw files; default GNZ_MIRROR.")] = None,
    jobs: Annotated[int, typer.Option(help="Worker processes; 1 trains in this one.")] = 1,
    timeout: Annotated[float | None, typer.Option(help="Most seconds for one cell; starts workers.")] = None,
    store: Annotated[str, typer.Option(help="File, sqlite:///, postgresql:// or http://; default GNZ_STORE.")] = "",
    resume: Annotated[
        bool, typer.Option("--resume/--fresh", help="Count cells that are finished, or train all anew.")
    ] = True,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Print what would be trained, and train nothing.")] = False,
) -> None:
    """Train every compatible (task, model, seed) that is not finished yet, and print the means."""
    from gnz_track.runs.nursery import open_nursery_for

    # Before anything heavy is imported here: workers get ready meanwhile.
    needed = contextlib.nullcontext() if dry_run else open_nursery_for(jobs=jobs, timeout=timeout)
    with needed as nursery:
        from gnz_track.benchmark import Request, make_request_agenda
        from gnz_track.models.catalogue import describe, usual_models
        from gnz_track.runs.plan import Place
        from gnz_track.seeds import parse_seeds
        from gnz_track.store.address import parse_address
        from gnz_track.training.protocols import PROTOCOLS

        how = PROTOCOLS.get(protocol)
        request = Request(
            tasks=_choose_tasks(suite, task or [], _split(category), _split(task_type)),
            models=[describe(name) for name in _split(models)] or usual_models(has_budget=how.budget > 0),
            seeds=parse_seeds(seeds),
            protocol=how,
            address=parse_address(store),
            suite=suite or category.replace(",", "+") or (CUSTOM if task or task_type else QUICK),
            epochs=epochs,
            device=device,
            place=Place(home=choose_home(home), mirror=mirror),
            jobs=jobs,
            timeout=timeout,
            is_fresh=not resume,
            source="gnz run",
        )
        agenda = make_request_agenda(request)
        if dry_run:
            _print_agenda(request, agenda)
            return
        sweep = _train(request, agenda, nursery)
    _print(request, sweep)
    if (sweep.table["status"] != "finished").any():
        raise typer.Exit(FAILED)


def _choose_tasks(suite: str, names: Sequence[str], categories: Sequence[str], types: Sequence[str]) -> list[Task]:
    """Return the tasks of a suite, those named, and those of categories, as far as they are of the types asked for."""
    from gnz_track.datasets.catalogue import SUITES, TASKS, iter_benchmark_tasks
    from gnz_track.errors import NothingToRun

    wanted = [name for text in names for name in _split(text)]
    of_areas = [task for name in categories for task in iter_benchmark_tasks(Category(name))]
    if suite or not (wanted or categories):
        wanted = [*SUITES.get(suite or QUICK).tasks, *wanted]
    chosen = {task.name: task for task in [*(TASKS.get(name) for name in wanted), *of_areas]}
    allowed = {TaskType(name) for name in types} or set(TaskType)
    found = [task for task in chosen.values() if task.task_type in allowed]
    if not found:
        asked = " and ".join(filter(None, [", ".join(categories), ", ".join(types)])) or "nothing"
        raise NothingToRun([f"no task is of {asked}"])
    return found


def _split(text: str) -> list[str]:
    return [part.strip() for part in text.split(",") if part.strip()]


def _train(request: Request, agenda: Agenda, nursery: Nursery | None) -> Sweep:
    from gnz_track.benchmark import carry_out
    from gnz_track.runs.progress import Progress

    n_finished = len(agenda.finished)
    if n_finished:
        n_wanted = len(agenda.plan.cells)
        typer.echo(f"{n_finished} of {n_wanted} cells are finished already; --fresh trains them again", err=True)
    progress = Progress(agenda, jobs=request.jobs)
    try:
        with progress:
            return carry_out(request, agenda, tell=progress.hear, nursery=nursery)
    except KeyboardInterrupt:
        kept = f"{progress.count_kept()} are kept in {request.address}"
        typer.echo(f"{kept}; the same command goes on from there", err=True)
        raise typer.Exit(INTERRUPTED) from None


def _print_agenda(request: Request, agenda: Agenda) -> None:
    from gnz_track.cli.tables import print_agenda, print_skipped
    from gnz_track.runs.progress import format_seconds

    print_agenda(agenda)
    print_skipped(agenda.plan.skipped)
    left = agenda.paces.time(agenda.cells, jobs=request.jobs)
    time_left = "an unknown time (nothing like it was run before)" if left is None else f"about {format_seconds(left)}"
    n_left = len(agenda.cells)
    typer.echo(f"\n{n_left} of {len(agenda.plan.cells)} cells to train with --jobs {request.jobs}: {time_left}")
    for notice in agenda.notices:
        typer.echo(f"note: {notice}", err=True)


def _print(request: Request, sweep: Sweep) -> None:
    from gnz_track.cli.tables import print_failures, print_skipped, print_summary
    from gnz_track.report.summary import summarise

    print_summary(summarise(sweep.table))
    print_skipped(sweep.skipped)
    for notice in sweep.notices:
        typer.echo(f"note: {notice}", err=True)
    waits = (sweep.table["run_id"] == "").any()
    where = f"waits on this disk for {request.address}" if waits else f"in {request.address}; see: gnz ls, gnz ui"
    typer.echo(f"tracked as sweep {sweep.name} {where}", err=True)
    print_failures([result for result in sweep.results if not result.is_finished])
