"""``gnz run``: train what is left of a benchmark, track it, and print a table of means."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gnz_track.cli.terminal.output import choose_place, say, see
from gnz_track.cli.training import (
    AMP_HELP,
    COMPILE_HELP,
    choose_forwards,
    choose_suite,
    choose_tasks,
    look_up,
    print_gains,
    search_and_print,
    split,
    train,
)

if TYPE_CHECKING:
    from gnz_track.benchmark import Request
    from gnz_track.runs.executors.fork_server import ForkServer
    from gnz_track.runs.remaining import RemainingCells
    from gnz_track.runs.sweep import Sweep
    from gnz_track.store.searches import SearchRecord
    from gnz_track.tuning.settings import SearchSettings

__all__ = ["add_to"]

FAILED = 1
KEEP = "Files beside each run: predictions, weights too, those of the best cells alone (best), or nothing."
EXAMPLES = """
[bold]Examples[/bold]

  gnz run      (the suite quick, all models, seeds 0-4)

  gnz run --suite quick --models GCN,GAT,MLP --seeds 0-9 --jobs 2

  gnz run --category social --task-type node_cls --mirror FOLDER --dry-run

  gnz run --task cora --protocol best-val --store sqlite:///runs.db --timeout 300

  gnz run --task mutag --models mypackage.nets:MyNet,GIN --fresh

  gnz run --suite quick --executor ray --address local

Interrupted, it goes on where it was with the same command. Past runs: gnz ls, gnz ui.
"""


def add_to(app: typer.Typer) -> None:
    """Add this command."""
    app.command("run", epilog=EXAMPLES)(_run)


def _run(  # noqa: PLR0913  (one parameter per flag)
    *,
    suite: Annotated[str, typer.Option(help="A named selection of tasks; see gnz tasks.")] = "",
    task: Annotated[
        list[str] | None, typer.Option(help="A task by name, of the suite where one is named; repeat, or use commas.")
    ] = None,
    category: Annotated[str, typer.Option(help="All tasks of a research area; several by commas.")] = "",
    task_type: Annotated[str, typer.Option(help="Only tasks of this type; several by commas.")] = "",
    models: Annotated[str, typer.Option("--models", "--model", help="Names or package.module:Class.")] = "",
    seeds: Annotated[str, typer.Option(help="Such as 0-9, 3 or 0,2,5.")] = "0-4",
    epochs: Annotated[int | None, typer.Option(help="Instead of each task's own number.")] = None,
    protocol: Annotated[str, typer.Option(help="How cells are trained and scored; see gnz protocols.")] = "graphnetz",
    device: Annotated[str, typer.Option(help="auto, cpu, cuda, cuda:1, ...")] = "auto",
    compiles: Annotated[bool, typer.Option("--compile", help=COMPILE_HELP)] = False,
    amp: Annotated[str, typer.Option(help=AMP_HELP)] = "",
    home: Annotated[Path | None, typer.Option(help="Folder of frozen data; default GNZ_DATA or the cache.")] = None,
    mirror: Annotated[Path | None, typer.Option(help="Folder of raw files; default GNZ_MIRROR.")] = None,
    jobs: Annotated[int, typer.Option(help="Worker processes; 1 trains in this one.")] = 1,
    timeout: Annotated[float | None, typer.Option(help="Most seconds for one cell; starts workers.")] = None,
    executor: Annotated[str, typer.Option(help="auto, inline, processes, or ray: cells on a cluster.")] = "auto",
    address: Annotated[str, typer.Option(help="Of a Ray cluster: HOST:PORT, auto, or local to start one.")] = "",
    gpu_share: Annotated[float, typer.Option(help="Part of a GPU for each cell on a cluster; 0 measures.")] = 0.0,
    store: Annotated[str, typer.Option(help="File, sqlite:///, postgresql:// or http://; default GNZ_STORE.")] = "",
    resume: Annotated[
        bool, typer.Option("--resume/--fresh", help="Count cells that are finished, or train all anew.")
    ] = True,
    system_metrics: Annotated[
        bool, typer.Option("--system-metrics", help="Log the load of this machine into the run of the sweep.")
    ] = False,
    keep: Annotated[str, typer.Option(help=KEEP)] = "predictions",
    keep_at_most: Annotated[str, typer.Option(help="Size above which a file of a cell is not kept.")] = "4MiB",
    tune: Annotated[int, typer.Option(help="Tune every model first, by so many trials; see gnz tune.")] = 0,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Print what would be trained, and train nothing.")] = False,
) -> None:
    """Train every compatible (task, model, seed) that is not finished yet, and print the means."""
    from gnz_track.runs.executors.choice import Crew, check_crew
    from gnz_track.runs.executors.fork_server import open_fork_server_for
    from gnz_track.runs.files_of_cell import check_keep, read_most_bytes

    # Words are checked before anything heavy is imported.
    check_crew(Crew(executor=executor, address=address, jobs=jobs, timeout=timeout, gpu_share=gpu_share))
    forwards = choose_forwards(device, compiles=compiles, amp=amp)
    check_keep(keep)
    most_bytes = read_most_bytes(keep_at_most)
    how, numbers, place = look_up(models, protocol, seeds, store)
    tasks = choose_tasks(suite, task or [], split(category), split(task_type))
    # Workers import it at the same time.
    needed = None if dry_run else open_fork_server_for(jobs=jobs, timeout=timeout, executor=executor)
    with needed or contextlib.nullcontext() as fork_server:
        from gnz_track.benchmark import Request
        from gnz_track.models.catalogue import describe, usual_models

        request = Request(
            tasks=tasks,
            models=[describe(name) for name in split(models)] or usual_models(has_budget=how.budget > 0),
            seeds=numbers,
            protocol=how,
            address=place,
            suite=choose_suite(suite, category, is_chosen=bool(task or task_type)),
            epochs=epochs,
            **forwards,
            place=choose_place(home, mirror),
            jobs=jobs,
            timeout=timeout,
            is_fresh=not resume,
            source="gnz run",
            executor=executor,
            cluster=address,
            gpu_share=gpu_share,
            system_metrics=system_metrics,
            keep=keep,
            keep_at_most=most_bytes,
            search=_settings(tune, is_fresh=not resume) if tune else None,
        )
        _carry_out(request, fork_server, is_dry=dry_run)


def _carry_out(request: Request, fork_server: ForkServer | None, *, is_dry: bool) -> None:
    from gnz_track.benchmark import find_remaining_of

    if is_dry:
        _print_remaining_cells(request, find_remaining_of(request))
        return
    found = _search(request, fork_server) if request.search else []
    _print_results(request, train(request, find_remaining_of(request, found), fork_server, found), found)


def _print_results(request: Request, sweep: Sweep, found: list[SearchRecord]) -> None:
    """Print means and gains; the call fails where a cell did."""
    _print_sweep(request, sweep)
    if found:
        print_gains(request, sweep, found)
    if (sweep.table["status"] != "finished").any():
        raise typer.Exit(FAILED)


def _settings(n_trials: int, *, is_fresh: bool) -> SearchSettings:
    from gnz_track.tuning.settings import SearchSettings

    return SearchSettings(trials=n_trials, is_fresh=is_fresh)


def _search(request: Request, fork_server: ForkServer | None) -> list[SearchRecord]:
    from gnz_track.benchmark import plan_request_searches

    return search_and_print(request, plan_request_searches(request), fork_server)


def _print_remaining_cells(request: Request, remaining: RemainingCells) -> None:
    from gnz_track.cli.terminal.output import print_remaining, print_skipped
    from gnz_track.text import format_seconds

    print_remaining(remaining)
    print_skipped(remaining.plan.skipped)
    left = remaining.paces.time(remaining.cells, jobs=request.jobs)
    time_left = "an unknown time (nothing like it was run before)" if left is None else f"about {format_seconds(left)}"
    n_left = len(remaining.cells)
    say(f"\n{n_left} of {len(remaining.plan.cells)} cells to train with --jobs {request.jobs}: {time_left}")
    for notice in remaining.notices:
        say(f"note: {notice}", err=True)


def _print_sweep(request: Request, sweep: Sweep) -> None:
    from gnz_track.cli.terminal.output import print_failures, print_skipped, print_summary, say_links
    from gnz_track.errors import StoreUnusable
    from gnz_track.report.tables.scores import summarise

    print_summary(summarise(sweep.table))
    print_skipped(sweep.skipped)
    for notice in sweep.notices:
        say(f"note: {notice}", err=True)
    waits = (sweep.table["run_id"] == "").any()
    seen = f"in {request.address}; {see('gnz ls, gnz ui', request.address)}"
    where = f"waits on this disk for {request.address}" if waits else seen
    say(f"tracked as sweep {sweep.name} {where}", err=True)
    print_failures([result for result in sweep.results if not result.is_finished])
    if not waits:
        with contextlib.suppress(StoreUnusable):
            # It was there a moment ago, and has all results.
            say_links(request.address, sweep.name, err=True)
