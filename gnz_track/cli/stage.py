"""``gnz stage``: the stages of the pipeline, which DVC calls; each can be called by hand as well."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gnz_track.cli.terminal.commands import Commands
from gnz_track.cli.terminal.interrupts import INTERRUPTED
from gnz_track.cli.terminal.output import say
from gnz_track.cli.training import AMP_HELP, COMPILE_HELP, MODELS_HELP

if TYPE_CHECKING:
    from gnz_track.pipeline.params import Params
    from gnz_track.runs.executors.fork_server import ForkServer
    from gnz_track.runs.sweep import Sweep

__all__ = ["add_to"]

FAILED = 1
EXAMPLES = """
[bold]Examples[/bold]

  dvc repro      (all stages, as far as something has changed)

  gnz stage run cora --seeds 0-1 --jobs 2

Flags stand in place of the keys of the same name in params.yaml.
"""
DATA_EXAMPLE = "[bold]Example[/bold]  gnz stage data cora --seeds 0-9"
TUNE_EXAMPLE = "[bold]Example[/bold]  gnz stage tune cora --models GCN,MLP --seeds 0-1"
RUN_EXAMPLE = "[bold]Example[/bold]  gnz stage run cora --models GCN,MLP --seeds 0-1 --epochs 5"
QUALITY_EXAMPLE = "[bold]Example[/bold]  gnz stage quality cora"
REPORT_EXAMPLE = "[bold]Example[/bold]  gnz stage report --alpha 0.01 --margin 0.005"
Name = Annotated[str, typer.Argument(help="A task of params.yaml.", show_default=False)]
File = Annotated[Path, typer.Option("--params", help="The file of parameters.")]
Seeds = Annotated[str | None, typer.Option(help="Such as 0-9, 3 or 0,2,5.")]
Models = Annotated[str | None, typer.Option("--models", help=MODELS_HELP)]
Modules = Annotated[str | None, typer.Option(help="Modules that register tasks and models, by commas.")]
PARAMS = Path("params.yaml")


def add_to(app: typer.Typer) -> None:
    """Add this group of commands."""
    group = Commands(no_args_is_help=True, help="Run one stage of the pipeline of dvc.yaml.", epilog=EXAMPLES)
    group.command("data", epilog=DATA_EXAMPLE)(_data)
    group.command("tune", epilog=TUNE_EXAMPLE)(_tune)
    group.command("run", epilog=RUN_EXAMPLE)(_run)
    group.command("quality", epilog=QUALITY_EXAMPLE)(_quality)
    group.command("report", epilog=REPORT_EXAMPLE)(_report)
    app.add_typer(group, name="stage")


def _data(name: Name, *, seeds: Seeds = None, modules: Modules = None, params: File = PARAMS) -> None:
    """Freeze the data of a task below data/TASK; what is not here is fetched."""
    from gnz_track.cli.terminal.output import print_rows
    from gnz_track.pipeline.params import read_params
    from gnz_track.pipeline.stages import freeze_task

    read = read_params(params, seeds=seeds, modules=modules)
    datasets = freeze_task(read, name, say=lambda text: say(text, err=True))
    rows = [(item.name, len(item), item.n_nodes, item.n_edges, item.digest) for item in datasets]
    print_rows(f"frozen for {name}", ("dataset", ">graphs", ">nodes", ">edges", "digest"), rows)


def _tune(
    name: Name,
    *,
    models: Models = None,
    seeds: Seeds = None,
    modules: Modules = None,
    jobs: Annotated[int | None, typer.Option(help="Worker processes; 1 trains in this one.")] = None,
    store: Annotated[str | None, typer.Option(help="File, sqlite:///, postgresql:// or http://.")] = None,
    params: File = PARAMS,
) -> None:
    """Search what the key tune asks for on a task, and write searches/TASK.jsonl."""
    from gnz_track.cli.training import print_found
    from gnz_track.pipeline.params import read_params
    from gnz_track.runs.executors.fork_server import open_fork_server_for

    read = read_params(params, models=models, seeds=seeds, modules=modules, jobs=jobs, store=store)
    with open_fork_server_for(jobs=read.jobs or 1, timeout=read.timeout) as fork_server:
        from gnz_track.pipeline.stages import make_tuning, tune_task
        from gnz_track.tuning.progress import SearchProgress

        tuning = make_tuning(read, name)
        progress = SearchProgress(tuning.plan)
        try:
            with progress:
                found = tune_task(tuning, listener=progress, fork_server=fork_server)
        except KeyboardInterrupt:
            say(f"{progress.count_kept()} are kept; the same command goes on from there", err=True)
            raise typer.Exit(INTERRUPTED) from None
    print_found(tuning.plan, found)


def _run(  # noqa: PLR0913  (one parameter per flag)
    name: Name,
    *,
    models: Models = None,
    seeds: Seeds = None,
    epochs: Annotated[int | None, typer.Option(help="Instead of the task's own number.")] = None,
    suite: Annotated[str | None, typer.Option(help="First part of the names of experiments.")] = None,
    protocol: Annotated[str | None, typer.Option(help="How cells are trained and scored; see gnz protocols.")] = None,
    hidden_channels: Annotated[int | None, typer.Option(help="The width of all models.")] = None,
    device: Annotated[str | None, typer.Option(help="auto, cpu, cuda, cuda:1, ...")] = None,
    compiles: Annotated[bool | None, typer.Option("--compile/--no-compile", help=COMPILE_HELP)] = None,
    amp: Annotated[str | None, typer.Option(help=AMP_HELP)] = None,
    modules: Modules = None,
    jobs: Annotated[int | None, typer.Option(help="Worker processes; 1 trains in this one.")] = None,
    timeout: Annotated[float | None, typer.Option(help="Most seconds for one cell.")] = None,
    store: Annotated[str | None, typer.Option(help="File, sqlite:///, postgresql:// or http://.")] = None,
    params: File = PARAMS,
) -> None:
    """Train what is left of a task, and write results/TASK.parquet and curves/TASK.parquet."""
    from gnz_track.pipeline.params import read_params
    from gnz_track.runs.executors.fork_server import open_fork_server_for

    read = read_params(
        params,
        tasks=None if epochs is None else {name: {"epochs": epochs}},
        models=models,
        seeds=seeds,
        suite=suite,
        protocol=protocol,
        hidden_channels=hidden_channels,
        device=device,
        compile=compiles,
        amp=amp,
        modules=modules,
        jobs=jobs,
        timeout=timeout,
        store=store,
    )
    # Before anything heavy is imported here: workers get ready meanwhile.
    with open_fork_server_for(jobs=read.jobs or 1, timeout=read.timeout) as fork_server:
        sweep = _train_left(read, name, fork_server)
    _print_sweep(sweep)


def _quality(name: Name, *, seeds: Seeds = None, modules: Modules = None, params: File = PARAMS) -> None:
    """Audit the frozen data of a task without training, and write quality/TASK."""
    from gnz_track.pipeline.params import read_params
    from gnz_track.pipeline.stages import audit_task

    record, page = audit_task(read_params(params, seeds=seeds, modules=modules), name)
    say(f"{name}: {record.decision}: {record.rule}; page: {page}")


def _report(
    *,
    alpha: Annotated[float | None, typer.Option(help="Level of tests and intervals.")] = None,
    margin: Annotated[float | None, typer.Option(help="Largest difference that does not matter.")] = None,
    posthoc: Annotated[str | None, typer.Option(help="Across tasks: wilcoxon-holm or nemenyi.")] = None,
    test: Annotated[str | None, typer.Option(help="Within tasks; see gnz report --help.")] = None,
    modules: Modules = None,
    params: File = PARAMS,
) -> None:
    """Write the report of all tasks to report/, metrics.json, and the tables of plots."""
    from gnz_track.pipeline.params import read_params
    from gnz_track.pipeline.stages import report_all

    read = read_params(params, alpha=alpha, margin=margin, posthoc=posthoc, test=test, modules=modules)
    found, bundle = report_all(read)
    comparison = found.comparison
    say(f"{comparison.n_finished} of {comparison.n_cells} cells; page: {bundle.page}")


def _train_left(params: Params, name: str, fork_server: ForkServer | None) -> Sweep:
    from gnz_track.benchmark import settle_jobs
    from gnz_track.pipeline.stages import load_searches, make_training, train
    from gnz_track.runs.progress import Progress

    training = make_training(params, name, load_searches(params, name))
    progress = Progress(training.remaining, jobs=settle_jobs(training.request, training.remaining).jobs)
    n_finished, n_wanted = len(training.remaining.done), len(training.remaining.plan.cells)
    if n_finished:
        say(f"{n_finished} of {n_wanted} cells of {name} are finished already", err=True)
    try:
        with progress:
            return train(training, tell=progress.hear, fork_server=fork_server)
    except KeyboardInterrupt:
        kept = f"{progress.count_kept()} of {name} are kept in {training.request.address}"
        say(f"{kept}; the same command goes on from there", err=True)
        raise typer.Exit(INTERRUPTED) from None


def _print_sweep(sweep: Sweep) -> None:
    """Say what came of a sweep: cells that failed are part of its results, unless all of them did."""
    from gnz_track.cli.terminal.output import print_failures, print_summary
    from gnz_track.report.tables.summary import summarise

    print_summary(summarise(sweep.table))
    for notice in sweep.notices:
        say(f"note: {notice}", err=True)
    print_failures([result for result in sweep.results if not result.is_finished])
    n_failed = int((sweep.table["status"] != "finished").sum())
    if n_failed == len(sweep.table):
        say("no cell finished, so this stage has no results", err=True)
        raise typer.Exit(FAILED)
    if n_failed:
        again = "dvc repro --force --single-item run@TASK tries them again"
        say(f"{n_failed} of {len(sweep.table)} cells failed, and the report will say so; {again}", err=True)
