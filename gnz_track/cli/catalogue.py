"""``gnz tasks``, ``gnz models``, ``gnz protocols``: what there is."""

from __future__ import annotations

from pathlib import Path
from textwrap import fill
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gnz_track.cli.saying import say

if TYPE_CHECKING:
    from gnz_track.models.budgets import Width

__all__ = ["add_to", "models", "protocols", "tasks"]

# Columns of what is told in sentences below a table.
SENTENCE_WIDTH = 100
_WRAPPED: dict[str, Any] = {"subsequent_indent": "  ", "break_long_words": False, "break_on_hyphens": False}


_EXAMPLE = "gnz models --budget 100000 --task graph_families"


def add_to(app: typer.Typer) -> None:
    """Add these commands."""
    app.command(epilog="[bold]Example[/bold]  gnz tasks --suite quick")(tasks)
    app.command(epilog=f"[bold]Examples[/bold]  gnz models --task-type graph_cls\n\n  {_EXAMPLE}")(models)
    app.command(epilog="[bold]Examples[/bold]  gnz protocols\n\n  gnz protocols dwivedi-100k")(protocols)


def tasks(
    *,
    suite: Annotated[str, typer.Option(help="Only the tasks of a suite.")] = "",
    category: Annotated[str, typer.Option(help="Only one research area.")] = "",
    task_type: Annotated[str, typer.Option(help="Only one kind of problem.")] = "",
) -> None:
    """List the tasks: kind of problem, epochs, what is to be fetched, how long a cell takes, licence and size."""
    from gnz_track.cli.data_list import show_download
    from gnz_track.cli.tables import print_rows
    from gnz_track.datasets.catalogue import DATASETS, SUITES, TASKS, iter_tasks
    from gnz_track.datasets.rows.times import SECONDS

    chosen = iter_tasks(category=category or None, task_type=task_type or None)
    if suite:
        members = SUITES.get(suite).tasks
        chosen = [task for task in chosen if task.name in members]
    rows = []
    for task in chosen:
        row = DATASETS.get(task.dataset) if task.dataset in DATASETS else None
        sizes = " ".join(f"{name.removeprefix('n_')}={size}" for name, size in row.expected.items()) if row else ""
        suites = ",".join(name for name in SUITES if task.name in SUITES.get(name).tasks)
        seconds = f"{SECONDS[task.name]:.1f}" if task.name in SECONDS else "-"
        rows.append(
            (
                task.name,
                task.category,
                task.task_type,
                task.epochs,
                seconds,
                suites,
                show_download(row) if row else "-",
                row.licence if row else "",
                sizes,
            )
        )
    columns = ("task", "category", "task type", ">epochs", ">s/cell", "suites", ">download", "licence", "size")
    print_rows(f"{len(rows)} of {len(TASKS)} tasks", columns, rows)
    known = [SECONDS[task.name] for task in chosen if task.name in SECONDS]
    if known:
        say(
            f"\na seed of a model on {len(known)} of these tasks takes about {sum(known) / 60:.1f} min on one core; "
            "what past runs say: gnz run --dry-run"
        )


def models(
    *,
    task_type: Annotated[str, typer.Option(help="Only models that serve it.")] = "",
    budget: Annotated[
        int | None, typer.Option(help="Print the width at which each has so many parameters.", show_default=False)
    ] = None,
    task: Annotated[str, typer.Option(help="The task that widths are for; needed with --budget.")] = "",
    protocol: Annotated[str, typer.Option(help="Whose settings widths are for; its budget where none is given.")] = "",
    home: Annotated[Path | None, typer.Option(help="Folder of frozen data; default GNZ_DATA or the cache.")] = None,
    mirror: Annotated[Path | None, typer.Option(help="Folder of raw files; default GNZ_MIRROR.")] = None,
) -> None:
    """List the models and the kinds of problem that they serve, or what width a budget of parameters gives to each."""
    from gnz_track.cli.tables import print_rows
    from gnz_track.models.catalogue import MODELS
    from gnz_track.types import TaskType

    if budget is not None or protocol or task:
        _print_widths(budget, task, protocol, home=home, mirror=mirror)
        return
    wanted = TaskType(task_type) if task_type else None
    rows = [row for row in MODELS.rows() if wanted is None or wanted in row.task_types]
    print_rows(
        f"{len(rows)} of {len(MODELS)} models",
        ("model", "task types", "what"),
        ((row.name, ", ".join(row.task_types), row.description) for row in rows),
    )


def _print_widths(budget: int | None, name: str, protocol: str, *, home: Path | None, mirror: Path | None) -> None:
    """Print the width of every model that serves a task, its parameters there, and how far they are from the budget."""
    from dataclasses import replace

    from gnz_track.cli.home import choose_home
    from gnz_track.cli.tables import print_rows
    from gnz_track.datasets.catalogue import TASKS
    from gnz_track.datasets.preparation import prepare
    from gnz_track.errors import BadValue
    from gnz_track.models.catalogue import MODELS
    from gnz_track.runs.widths import list_widths
    from gnz_track.training.protocols import PROTOCOLS

    if budget is not None and budget < 1:
        raise BadValue("--budget", budget, "a number of parameters, from 1 upwards", command=_EXAMPLE)
    if not name or (budget is None and not protocol):
        raise BadValue("--task and --budget", (name, budget), "both", command=_EXAMPLE)
    task, how = TASKS.get(name), PROTOCOLS.get(protocol or "graphnetz")
    if budget is None and not how.budget:
        raise BadValue("--protocol", protocol, "one with a budget, or a --budget beside it", command=_EXAMPLE)
    how = replace(how, budget=budget or how.budget)
    dataset = prepare(task, seed=0, home=choose_home(home), mirror=mirror)
    listed = list_widths(MODELS.rows(), task, dataset, how)
    rows = [(item.model, *_show_width(item.width)) for item in listed if item.width is not None]
    title = f"widths on {task.name} for {how.budget:,} parameters"
    print_rows(title, ("model", ">hidden_channels", ">parameters", ">error"), rows)
    left_out: dict[str, list[str]] = {}
    for item in listed:
        if item.reason:
            left_out.setdefault(item.reason, []).append(item.model)
    for reason, names in left_out.items():
        # Sentences, which a table would fold into a narrow column or, in a pipe, make as wide as the longest.
        say(fill(f"left out: {', '.join(names)}: {reason}", width=SENTENCE_WIDTH, **_WRAPPED))


def _show_width(width: Width) -> tuple[str, str, str]:
    """Return the width, the parameters and how far these are from the budget, as a table shows them."""
    if width.is_of_rule:
        return "any", f"{width.n_parameters:,}", "a rule"
    return f"{width.hidden_channels}", f"{width.n_parameters:,}", f"{width.error:+.2%}"


def protocols(
    name: Annotated[str, typer.Argument(help="Show all of one protocol.", show_default=False)] = "",
) -> None:
    """List the protocols, how cells are trained and scored, or show one: its numbers, models, tasks and datasets."""
    from gnz_track.cli.protocol_card import print_protocol
    from gnz_track.cli.tables import print_rows
    from gnz_track.training.protocols import PROTOCOLS

    if name:
        print_protocol(name)
        return
    print_rows(
        f"{len(PROTOCOLS)} protocols",
        ("protocol", "selection", ">patience", ">hidden", "what"),
        (
            (row.label, row.selection, row.patience or "", row.hidden_channels, row.description)
            for row in PROTOCOLS.rows()
        ),
    )
