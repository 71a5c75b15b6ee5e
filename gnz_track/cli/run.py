"""``gnz run``: train cells and print a table of means."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gnz_track.cli.home import choose_home

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gnz_track.runs.plan import Plan
    from gnz_track.types import CellResult, Task

__all__ = ["add_to", "run"]

FAILED = 1
EXAMPLES = """
[bold]Examples[/bold]

  gnz run      (the suite quick, all models, seeds 0-4)

  gnz run --suite quick --models GCN,GAT,MLP --seeds 0-9

  gnz run --suite quick --jobs 2 --timeout 300

  gnz run --task cora --mirror FOLDER --protocol best-val

  gnz run --task mutag --models mypackage.nets:MyNet,GIN
"""


def add_to(app: typer.Typer) -> None:
    """Add this command."""
    app.command(epilog=EXAMPLES)(run)


def run(  # noqa: PLR0913  (one parameter per flag)
    *,
    suite: Annotated[str, typer.Option(help="A named selection of tasks; see gnz tasks.")] = "",
    task: Annotated[list[str] | None, typer.Option(help="A task by name; repeat, or separate by commas.")] = None,
    models: Annotated[str, typer.Option("--models", "--model", help="Names or package.module:Class.")] = "",
    seeds: Annotated[str, typer.Option(help="Such as 0-9, 3 or 0,2,5.")] = "0-4",
    epochs: Annotated[int | None, typer.Option(help="Instead of each task's own number.")] = None,
    protocol: Annotated[str, typer.Option(help="How cells are trained and scored; see gnz protocols.")] = "graphnetz",
    device: Annotated[str, typer.Option(help="auto, cpu, cuda, cuda:1, ...")] = "auto",
    home: Annotated[Path | None, typer.Option(help="Folder of frozen data; default GNZ_DATA or the cache.")] = None,
    mirror: Annotated[Path | None, typer.Option(help="Folder of raw files; default GNZ_MIRROR.")] = None,
    jobs: Annotated[int, typer.Option(help="Worker processes; 1 trains in this one.")] = 1,
    timeout: Annotated[float | None, typer.Option(help="Most seconds for one cell; starts workers.")] = None,
) -> None:
    """Train every compatible (task, model, seed) and print the means."""
    from gnz_track.models.catalogue import MODELS, describe
    from gnz_track.runs.plan import Place, make_plan
    from gnz_track.seeds import parse_seeds
    from gnz_track.training.protocols import PROTOCOLS

    chosen = _choose_tasks(suite, task or [])
    rows = [describe(name) for name in _split(models)] or MODELS.rows()
    plan = make_plan(
        chosen,
        rows,
        seeds=parse_seeds(seeds),
        protocol=PROTOCOLS.get(protocol),
        epochs=epochs,
        device=device,
        place=Place(home=choose_home(home), mirror=mirror),
    )
    results = _run_all(plan, jobs=jobs, timeout=timeout)
    _print(plan, results)
    if any(not result.is_finished for result in results):
        raise typer.Exit(FAILED)


def _choose_tasks(suite: str, names: Sequence[str]) -> list[Task]:
    from gnz_track.datasets.catalogue import SUITES, TASKS

    wanted = [name for text in names for name in _split(text)]
    if suite or not wanted:
        wanted = [*SUITES.get(suite or "quick").tasks, *wanted]
    return [TASKS.get(name) for name in dict.fromkeys(wanted)]


def _split(text: str) -> list[str]:
    return [part.strip() for part in text.split(",") if part.strip()]


def _run_all(plan: Plan, *, jobs: int, timeout: float | None) -> list[CellResult]:
    from gnz_track.cli.progress import follow
    from gnz_track.runs.events import results_of
    from gnz_track.runs.on_inline import run_inline
    from gnz_track.runs.on_processes import run_on_processes
    from gnz_track.runs.plan import in_order

    if jobs == 1 and timeout is None:
        return list(follow(run_inline(plan.cells), total=len(plan.cells)))
    results = results_of(run_on_processes(plan.cells, jobs=jobs, timeout=timeout))
    return in_order(follow(results, total=len(plan.cells)), plan)


def _print(plan: Plan, results: Sequence[CellResult]) -> None:
    from gnz_track.cli.tables import print_failures, print_skipped, print_summary
    from gnz_track.runs.summary import summarise

    print_summary(summarise(results))
    print_skipped(plan.skipped)
    print_failures([result for result in results if not result.is_finished])
