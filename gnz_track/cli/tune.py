"""``gnz tune``: search hyperparameters by validation alone, then train default and winner on the seeds reported."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gnz_track.cli.own_data import Directed, Ignore, Label, Unlabelled, read_flags
from gnz_track.cli.terminal.output import choose_home, choose_place, say, see
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
    print_plan,
    search_and_print,
    split,
    train,
)
from gnz_track.errors import BadValue, UnknownName
from gnz_track.seeds import parse_seeds

if TYPE_CHECKING:
    from gnz_track.benchmark import Request
    from gnz_track.runs.executors.fork_server import ForkServer
    from gnz_track.store.address import Address
    from gnz_track.tuning.settings import SearchSettings
    from gnz_track.types import Cell

__all__ = ["add_to"]

FAILED = 1
EXAMPLES = """
[bold]Examples[/bold]

  gnz tune --task cora --models GCN,GAT --trials 30

  gnz tune --suite quick --trials 20 --jobs 4 --max-epochs 20000 --dry-run

  gnz tune --task cora --models GCN --kind nested --sampler random --seeds 0-9

  gnz tune --task mutag --models mypackage.nets:MyNet --space spaces.yaml --warm-start 3

  gnz tune --task mutag --models GAT --set encoding=lap8 --set budget=27000

A trial is scored on the validation parts of its seeds, and test labels are not there while it trains. Trial 0 is the
default. Interrupted, the search goes on where it was with the same command. A file of spaces looks like this:

  GCN: {lr: {low: 0.0001, high: 0.1, log: true}, hidden_channels: [16, 64]}

  all: {dropout: {low: 0.0, high: 0.8}}
"""


def add_to(app: typer.Typer) -> None:
    """Add this command."""
    app.command("tune", epilog=EXAMPLES, cls=SettingsCommand)(_tune)


def _tune(  # noqa: PLR0913  (one parameter per flag)
    *,
    task: Annotated[list[str] | None, typer.Option(help=TASK_HELP)] = None,
    label: Label = "",
    ignore: Ignore = "",
    directed: Directed = False,
    unlabelled: Unlabelled = False,
    suite: Annotated[str, typer.Option(help="A named selection of tasks; see gnz tasks.")] = "",
    task_type: Annotated[str, typer.Option(help="Only tasks of this type; of a file, what is asked.")] = "",
    models: Annotated[str, typer.Option("--models", "--model", help=MODELS_HELP)] = "",
    trials: Annotated[int, typer.Option("--trials", "--tune", help="Trials for each model on each task.")] = 30,
    sampler: Annotated[str, typer.Option(help="tpe, random, qmc or grid.")] = "tpe",
    pruner: Annotated[str, typer.Option(help="none, or median or hyperband: gives trials up between seeds.")] = "none",
    kind: Annotated[str, typer.Option(help="per-task: one search for all seeds; nested: one for each.")] = "per-task",
    space: Annotated[Path | None, typer.Option(help="YAML file of search spaces by model.")] = None,
    seeds: Annotated[str, typer.Option(help="Seeds to report, such as 0-9, 3 or 0,2,5.")] = "0-4",
    tuning_seeds: Annotated[str, typer.Option(help="Seeds to search on; default three far from those.")] = "",
    seed: Annotated[int, typer.Option(help="Seed of the sampler.")] = 0,
    max_epochs: Annotated[int | None, typer.Option(help="Most epochs of one search in all.")] = None,
    max_seconds: Annotated[float | None, typer.Option(help="No trial begins after so many.")] = None,
    warm_start: Annotated[int, typer.Option(help="Try so many findings from similar tasks first.")] = 0,
    chosen: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="NAME=VALUE", help="A setting of all trials; of one model: GAT.heads=4."),
    ] = None,
    epochs: Annotated[int | None, typer.Option(help="Of a cell, instead of each task's own number.")] = None,
    protocol: Annotated[str, typer.Option(help=PROTOCOL_HELP)] = "graphnetz",
    device: Annotated[str, typer.Option(help="auto, cpu, cuda, cuda:1, ...")] = "auto",
    compiles: Annotated[bool, typer.Option("--compile", help=COMPILE_HELP)] = False,
    amp: Annotated[str, typer.Option(help=AMP_HELP)] = "",
    home: Annotated[Path | None, typer.Option(help="Folder of frozen data; default GNZ_DATA or the cache.")] = None,
    mirror: Annotated[Path | None, typer.Option(help="Folder of raw files; default GNZ_MIRROR.")] = None,
    jobs: Annotated[
        int | None, typer.Option(help="Worker processes; they change no trial.", show_default="as many as cores")
    ] = None,
    timeout: Annotated[float | None, typer.Option(help="Most seconds for one cell; starts workers.")] = None,
    store: Annotated[str, typer.Option(help="File, sqlite:///, postgresql:// or http://; default GNZ_STORE.")] = "",
    study_store: Annotated[str, typer.Option(help="File or postgresql:// of trials; default beside the store.")] = "",
    fresh: Annotated[bool, typer.Option("--fresh", help="Begin the searches anew, and keep the old ones.")] = False,
    search_only: Annotated[bool, typer.Option("--search-only", help="Leave the winners untrained.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Print what would be searched, and do nothing.")] = False,
) -> None:
    """Search hyperparameters of models by validation alone, then compare default and winner on the seeds reported."""
    from gnz_track.runs.executors.fork_server import open_fork_server_for
    from gnz_track.runs.settings import read_choice

    forwards = choose_forwards(device, compiles=compiles, amp=amp)
    how_long = {"trials": trials, "max_epochs": max_epochs, "max_seconds": max_seconds}
    how_proposed = {"sampler": sampler, "pruner": pruner, "kind": kind, "seed": seed, "warm_start": warm_start}
    how, numbers, address = look_up(models, protocol, seeds, store)  # before anything heavy is imported
    settings = list(map(read_choice, chosen or ()))
    tasks = choose_tasks(suite, task, "", task_type, read_flags(label, ignore, directed, unlabelled))
    with contextlib.nullcontext() if dry_run else open_fork_server_for(jobs=jobs or 1, timeout=timeout) as fork_server:
        from gnz_track.benchmark import Request, jobs_of
        from gnz_track.models.catalogue import MODELS, describe_all

        request = Request(
            tasks=tasks,
            models=describe_all(split(models)) or MODELS.rows(),
            seeds=numbers,
            protocol=how,
            address=address,
            suite=choose_suite(suite, "", is_chosen=bool(task)),
            epochs=epochs,
            settings=settings,
            **forwards,
            place=choose_place(home, mirror),
            **jobs_of(jobs),
            timeout=timeout,
            source="gnz tune",
            search=_settings(
                study_store,
                address,
                space=space,
                tuning_seeds=tuning_seeds,
                **how_long,
                **how_proposed,
                recommend=_recommender(address, choose_home(home)) if warm_start else None,
                is_fresh=fresh,
            ),
        )
        _carry_out(request, fork_server, is_dry=dry_run, is_search_only=search_only)


def _settings(place: str, address: Address, *, space: Path | None, tuning_seeds: str, **given: Any) -> SearchSettings:
    from gnz_track.tuning.settings import SearchSettings
    from gnz_track.tuning.spaces import read_spaces
    from gnz_track.tuning.study_storage import parse_place

    return SearchSettings(
        place=parse_place(place, address),
        spaces=read_spaces(space) if space else {},
        tuning_seeds=parse_seeds(tuning_seeds) if tuning_seeds else None,
        **given,
    )


def _recommender(address: Address, home: Path) -> Callable[[Cell], list[Mapping[str, Any]]]:
    """Return what says with which hyperparameters a model was good on tasks like one; where nothing says so, none.

    The cell is a blind one of the search: of its task, only what training and validation of its seed see is looked at.
    """
    told: set[str] = set()

    def recommend(cell: Cell) -> list[Mapping[str, Any]]:
        from gnz_track.selection.confirmation import warm_starts

        try:
            return warm_starts(cell, cell.model.name, store=address, home=home, n=None)
        except (BadValue, UnknownName) as error:
            if str(error) not in told:
                told.add(str(error))
                say(f"note: past searches alone say where to begin: {error}", err=True)
            return []

    return recommend


def _carry_out(request: Request, fork_server: ForkServer | None, *, is_dry: bool, is_search_only: bool) -> None:
    from gnz_track.benchmark import find_remaining_of, keep_searches, plan_request_searches, settle_search_jobs

    plan = plan_request_searches(request)
    if is_dry:
        print_plan(settle_search_jobs(request, plan), plan)
        return
    found = search_and_print(request, plan, fork_server)
    if is_search_only:
        for notice in keep_searches(request, found):
            say(f"note: {notice}", err=True)
        say(f"in {request.address}; {see('gnz ls --searches, gnz ls --trials', request.address)}", err=True)
        return
    sweep = train(request, find_remaining_of(request, found), fork_server, found)
    print_gains(request, sweep, found)
    if (sweep.table["status"] != "finished").any():
        raise typer.Exit(FAILED)
