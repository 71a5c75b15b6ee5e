"""``gnz run``: train what is left of a benchmark, track it, and print a table of means."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gnz_track.cli.own_data import Directed, Ignore, Label, Unlabelled, read_flags
from gnz_track.cli.terminal.output import choose_place, say, see
from gnz_track.cli.training import (
    AMP_HELP,
    COMPILE_HELP,
    MODELS_HELP,
    PROTOCOL_HELP,
    TASK_HELP,
    SettingsCommand,
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
    from gnz_track.runs.settings import SettingChoice
    from gnz_track.runs.sweep import Sweep
    from gnz_track.store.searches import SearchRecord
    from gnz_track.tuning.settings import SearchSettings

__all__ = ["add_to", "print_remaining_cells"]

FAILED = 1
KEEP = "Files beside each run: predictions, weights too, those of the best cells alone (best), or nothing."
EXAMPLES = """
[bold]Examples[/bold]

  gnz run      (the suite quick, all models, seeds 0-4)

  gnz run --suite quick --models GCN,GAT,MLP --seeds 0-9 --jobs 2

  gnz run --category social --task-type node_cls --mirror FOLDER --dry-run

  gnz run --task cora --protocol best-val --store sqlite:///runs.db --timeout 300

  gnz run --task mutag --models mypackage.nets:MyNet,GIN --fresh

  gnz run --task mutag --models GAT,GCN --set lr=0.01,0.001 --set GAT.heads=4,8 --show-config

  gnz run --task mutag --budget 27000 --encoding lap8 --train-size 50,100

  gnz run --config params.yaml --seeds 0-9

  gnz run --suite quick --executor ray --address local

Interrupted, it goes on where it was with the same command. Past runs: gnz ls, gnz ui.
"""


def add_to(app: typer.Typer) -> None:
    """Add this command."""
    app.command("run", epilog=EXAMPLES, cls=SettingsCommand)(_run)


def _write_names(names: Iterable[str]) -> str:
    return ",".join(names)


# Key of a file of parameters -> the parameter of this command that it stands for, and how its value is written there.
_OF_FILE: dict[str, tuple[str, Callable[[Any], Any]]] = {
    "suite": ("suite", str),
    "tasks": ("task", list),
    "models": ("models", _write_names),
    "seeds": ("seeds", lambda seeds: _write_names(map(str, seeds))),
    "protocol": ("protocol", str),
    "device": ("device", str),
    "jobs": ("jobs", int),
    "timeout": ("timeout", lambda seconds: seconds),
    "store": ("store", str),
    "keep": ("keep", str),
    "keep_at_most": ("keep_at_most", lambda n_bytes: f"{n_bytes / 1024}KiB"),
}


def _take_file(ctx: typer.Context, file: Path | None) -> Path | None:
    """Have what a file says stand where no option of the call does."""
    if file is not None:
        from gnz_track.pipeline.params import import_modules, read_keys

        found = read_keys(file)
        import_modules(found.get("modules", ()))
        said = {key: value for key, value in found.items() if value is not None}
        ctx.default_map = {name: write(said[key]) for key, (name, write) in _OF_FILE.items() if key in said}
    return file


def _check_words(keep: str, keep_at_most: str, **crew: Any) -> int:
    """Refuse words of a call that mean nothing; return the bytes that a file of a cell may have."""
    from gnz_track.runs.executors.choice import Crew, check_crew
    from gnz_track.runs.files_of_cell import check_keep, read_most_bytes

    check_crew(Crew(**crew))
    check_keep(keep)
    return read_most_bytes(keep_at_most)


def _choose(
    config: Path | None, chosen: Sequence[str] | None, *, epochs: int | None, **flags: str
) -> tuple[list[SettingChoice], dict[str, Any]]:
    """Return what a file and then the options of the call choose, a flag as a short form; and the file by its keys.

    Epochs that a file gives to single tasks are such choices, unless the call names a number of them.
    """
    from gnz_track.runs.settings import SettingChoice, read_choice

    found: dict[str, Any] = {}
    if config is not None:
        from gnz_track.pipeline.params import read_keys

        found = read_keys(config)
    settings = [
        SettingChoice(name="epochs", values=(n,), task=task, source=f"{config}: tasks", is_of_file=True)
        for task, n in found.get("tasks", {}).items()
        if n is not None and epochs is None
    ]
    settings += found.get("settings", ())
    settings += [
        read_choice(f"{name}={text}", source=f"--{name.replace('_', '-')}") for name, text in flags.items() if text
    ]
    return [*settings, *map(read_choice, chosen or ())], found


def _run(  # noqa: PLR0913  (one parameter per flag)
    *,
    suite: Annotated[str, typer.Option(help="A named selection of tasks; see gnz tasks.")] = "",
    task: Annotated[list[str] | None, typer.Option(help=TASK_HELP)] = None,
    label: Label = "",
    ignore: Ignore = "",
    directed: Directed = False,
    unlabelled: Unlabelled = False,
    category: Annotated[str, typer.Option(help="All tasks of a research area; several by commas.")] = "",
    task_type: Annotated[str, typer.Option(help="Only tasks of this type; several by commas.")] = "",
    models: Annotated[str, typer.Option("--models", "--model", help=MODELS_HELP)] = "",
    seeds: Annotated[str, typer.Option(help="Such as 0-9, 3 or 0,2,5.")] = "0-4",
    epochs: Annotated[int | None, typer.Option(help="Instead of each task's own number.")] = None,
    protocol: Annotated[str, typer.Option(help=PROTOCOL_HELP)] = "graphnetz",
    device: Annotated[str, typer.Option(help="auto, cpu, cuda, cuda:1, ...")] = "auto",
    compiles: Annotated[bool, typer.Option("--compile", help=COMPILE_HELP)] = False,
    amp: Annotated[str, typer.Option(help=AMP_HELP)] = "",
    home: Annotated[Path | None, typer.Option(help="Folder of frozen data; default GNZ_DATA or the cache.")] = None,
    mirror: Annotated[Path | None, typer.Option(help="Folder of raw files; default GNZ_MIRROR.")] = None,
    jobs: Annotated[
        int | None, typer.Option(help="Worker processes; 1 trains in this one.", show_default="as many as cores")
    ] = None,
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
    chosen: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="NAME=VALUE[,...]", help="A setting; of one model: GAT.heads=4,8."),
    ] = None,
    train_size: Annotated[str, typer.Option(help="Short for --set train_size=...", metavar="N[,...]")] = "",
    budget: Annotated[str, typer.Option(help="Short for --set budget=...: parameters.", metavar="N[,...]")] = "",
    encoding: Annotated[str, typer.Option(help="Short for --set encoding=..., as lap20.", metavar="NAME[,...]")] = "",
    perturb: Annotated[str, typer.Option(help="Graphs perturbed: original,empty-graph; see gnz audit.")] = "",
    config: Annotated[
        Path | None,
        typer.Option(
            help="YAML file with keys of params.yaml; options come first.", callback=_take_file, is_eager=True
        ),
    ] = None,
    show_config: Annotated[
        bool, typer.Option("--show-config", help="Print every setting with where it comes from, and train nothing.")
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Train a grid of more than 10,000 cells.")] = False,
    tune: Annotated[int, typer.Option(help="Tune every model first, by so many trials; see gnz tune.")] = 0,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Print what would be trained, and train nothing.")] = False,
) -> None:
    """Train every compatible (task, model, seed) that is not finished yet, and print the means."""
    from gnz_track.runs.executors.fork_server import open_fork_server_for

    # Words are checked before anything heavy is imported, which workers do at the same time.
    usual = 1 if jobs is None else jobs
    crew: dict[str, Any] = {"executor": executor, "timeout": timeout, "gpu_share": gpu_share, "jobs": usual}
    most_bytes = _check_words(keep, keep_at_most, address=address, **crew)
    forwards = choose_forwards(device, compiles=compiles, amp=amp)
    how, numbers, place = look_up(models, protocol, seeds, store)
    settings, keys = _choose(config, chosen, epochs=epochs, train_size=train_size, budget=budget, encoding=encoding)
    tasks = choose_tasks(suite, task, category, task_type, read_flags(label, ignore, directed, unlabelled))
    needed = None if dry_run or show_config else open_fork_server_for(jobs=usual, timeout=timeout, executor=executor)
    with needed or contextlib.nullcontext() as fork_server:
        from gnz_track.benchmark import LARGEST_GRID, MOST_CELLS, Request
        from gnz_track.models.catalogue import describe_all, usual_models

        request = Request(
            tasks=tasks,
            models=describe_all(split(models)) or usual_models(has_budget=how.budget > 0),
            seeds=numbers,
            protocol=how,
            address=place,
            suite=choose_suite(suite, category, is_chosen=bool(task or task_type)),
            epochs=epochs,
            hidden_channels=keys.get("hidden_channels"),
            settings=settings,
            most_cells=LARGEST_GRID if yes else MOST_CELLS,
            perturbations=split(perturb),
            **forwards,
            place=choose_place(home, mirror),
            is_fresh=not resume,
            source="gnz run",
            cluster=address,
            **{**crew, "chooses_jobs": jobs is None},
            system_metrics=system_metrics,
            keep=keep,
            keep_at_most=most_bytes,
            search=_settings(tune or keys.get("tune"), is_fresh=not resume),
        )
        shown = _print_settings if show_config else print_remaining_cells if dry_run else None
        shown(request) if shown else _carry_out(request, fork_server)


def _carry_out(request: Request, fork_server: ForkServer | None) -> None:
    from gnz_track.benchmark import find_remaining_of

    found = _search(request, fork_server) if request.search else []
    _print_results(request, train(request, find_remaining_of(request, found), fork_server, found), found)


def _print_results(request: Request, sweep: Sweep, found: list[SearchRecord]) -> None:
    """Print means and gains; the call fails where a cell did."""
    _print_sweep(request, sweep)
    if found:
        print_gains(request, sweep, found)
    if (sweep.table["status"] != "finished").any():
        raise typer.Exit(FAILED)


def _settings(asked: int | Mapping[str, Any] | None, *, is_fresh: bool) -> SearchSettings | None:
    """Return the settings of searches: so many trials, or what a file says."""
    if not asked:
        return None
    if isinstance(asked, Mapping):
        from gnz_track.pipeline.stages import read_settings

        return replace(read_settings(asked), is_fresh=is_fresh)
    from gnz_track.tuning.settings import SearchSettings

    return SearchSettings(trials=asked, is_fresh=is_fresh)


def _print_settings(request: Request) -> None:
    """Print every setting of the cells of a request, with where its value comes from."""
    from gnz_track.benchmark import plan_cells
    from gnz_track.cli.terminal.output import print_rows, print_skipped
    from gnz_track.runs.variants import label_cells, trace_settings

    plan = plan_cells(request, request.seeds)
    tasks = tuple(dict.fromkeys(cell.task.name for cell in plan.cells))
    models = tuple(dict.fromkeys(label_cells(plan.cells)))
    said = {"epochs": (request.epochs, "--epochs"), "hidden_channels": (request.hidden_channels, "the file")}
    elsewhere = {name: source for name, (value, source) in said.items() if value is not None}
    rows = [
        (row.name, row.value, row.source, _name_part(row.tasks, tasks), _name_part(row.models, models))
        for row in trace_settings(plan, request.settings, elsewhere=elsewhere)
    ]
    title = f"settings of {len(plan.cells)} cells; others are chosen with --set NAME=VALUE"
    print_rows(title, ("setting", "value", "from", "tasks", "models"), rows)
    print_skipped(plan.skipped)
    for notice in plan.notices:
        say(f"note: {notice}", err=True)


def _name_part(names: Sequence[str], everything: Sequence[str]) -> str:
    return "all" if len(names) == len(everything) else ", ".join(names)


def _search(request: Request, fork_server: ForkServer | None) -> list[SearchRecord]:
    from gnz_track.benchmark import plan_request_searches

    return search_and_print(request, plan_request_searches(request), fork_server)


def print_remaining_cells(request: Request) -> None:
    """Print what of a request would be trained, and how long that may take."""
    from gnz_track.benchmark import find_remaining_of, settle_jobs
    from gnz_track.cli.terminal.output import print_remaining, print_skipped
    from gnz_track.text import format_seconds

    remaining = find_remaining_of(request)
    request = settle_jobs(request, remaining)
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
    from gnz_track.report.tables.summary import summarise

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
