"""``gnz tasks``, ``gnz models``, ``gnz protocols``: what there is."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from textwrap import fill
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gnz_track.cli.saying import say
from gnz_track.wording import format_seconds

if TYPE_CHECKING:
    from gnz_track.models.budgets import Width
    from gnz_track.types import ModelRow, Task

__all__ = ["add_to"]

# Columns of what is told in sentences below a table.
SENTENCE_WIDTH = 100
_WRAPPED: dict[str, Any] = {"subsequent_indent": "  ", "break_long_words": False, "break_on_hyphens": False}


_EXAMPLE = "gnz models --budget 100000 --task graph_families"


def add_to(app: typer.Typer) -> None:
    """Add these commands."""
    app.command("tasks", epilog="[bold]Examples[/bold]  gnz tasks --suite quick\n\n  gnz tasks cora")(_tasks)
    of_models = f"gnz models --task-type graph_cls\n\n  gnz models GAT\n\n  {_EXAMPLE}"
    app.command("models", epilog=f"[bold]Examples[/bold]  {of_models}")(_models)
    app.command("protocols", epilog="[bold]Examples[/bold]  gnz protocols\n\n  gnz protocols dwivedi-100k")(_protocols)


def _tasks(
    name: Annotated[str, typer.Argument(help="Show all of one task.", show_default=False)] = "",
    *,
    suite: Annotated[str, typer.Option(help="Only the tasks of a suite.")] = "",
    category: Annotated[str, typer.Option(help="Only one research area.")] = "",
    task_type: Annotated[str, typer.Option(help="Only one kind of problem.")] = "",
) -> None:
    """List the tasks: kind of problem, epochs, what is to be fetched, time, licence, size; or show one."""
    from gnz_track.cli.tables import print_rows
    from gnz_track.cli.task_card import print_task
    from gnz_track.datasets.catalogue import SUITES, TASKS, iter_tasks
    from gnz_track.datasets.rows.times import SECONDS
    from gnz_track.errors import BadValue

    if name:
        if suite or category or task_type:
            raise BadValue("a task and what tasks are chosen by", name, "one of both", command=f"gnz tasks {name}")
        print_task(name)
        return
    chosen = iter_tasks(category=category or None, task_type=task_type or None)
    if suite:
        members = SUITES.get(suite).tasks
        chosen = [task for task in chosen if task.name in members]
    rows = [_summary(task) for task in chosen]
    columns = ("task", "category", "task type", ">epochs", ">s/cell", "suites", ">download", "licence", "size")
    print_rows(f"{len(rows)} of {len(TASKS)} tasks", columns, rows)
    known = [SECONDS[task.name] for task in chosen if task.name in SECONDS]
    if known:
        say(
            f"\na seed of a model on {len(known)} of these tasks takes about {format_seconds(sum(known))} on one core; "
            "what past runs say: gnz run --dry-run"
        )


def _summary(task: Task) -> tuple[object, ...]:
    """Return the row of a task in the table of all."""
    from gnz_track.cli.data_list import show_download
    from gnz_track.datasets.catalogue import DATASETS, SUITES
    from gnz_track.datasets.rows.times import SECONDS

    row = DATASETS.get(task.dataset) if task.dataset in DATASETS else None
    return (
        task.name,
        task.category,
        task.task_type,
        task.epochs,
        f"{SECONDS[task.name]:.1f}" if task.name in SECONDS else "-",
        ",".join(name for name in SUITES if task.name in SUITES.get(name).tasks),
        show_download(row) if row else "-",
        row.licence if row else "",
        " ".join(f"{name.removeprefix('n_')}={size}" for name, size in row.expected.items()) if row else "",
    )


def _models(
    name: Annotated[str, typer.Argument(help="Show all of one model.", show_default=False)] = "",
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
    """List the models and the kinds of problem that they serve; show one, or the widths that a budget gives to all."""
    from gnz_track.cli.model_card import print_model
    from gnz_track.cli.tables import print_rows
    from gnz_track.models.catalogue import MODELS
    from gnz_track.types import TaskType

    if budget is not None or protocol or task:
        chosen = [MODELS.get(name)] if name else MODELS.rows()
        _print_widths(chosen, budget, task, protocol, home=home, mirror=mirror)
        return
    wanted = TaskType(task_type) if task_type else None
    if name:
        print_model(name, task_type=wanted)
        return
    rows = [row for row in MODELS.rows() if wanted is None or wanted in row.task_types]
    print_rows(
        f"{len(rows)} of {len(MODELS)} models",
        ("model", "task types", "what"),
        ((row.name, ", ".join(row.task_types), row.description) for row in rows),
    )


def _print_widths(
    models: Sequence[ModelRow],
    budget: int | None,
    name: str,
    protocol: str,
    *,
    home: Path | None,
    mirror: Path | None,
) -> None:
    """Print the width of each model that serves a task, its parameters there, and how far they are from the budget."""
    from dataclasses import replace

    from gnz_track.cli.home import choose_home
    from gnz_track.cli.tables import print_rows
    from gnz_track.datasets.catalogue import TASKS
    from gnz_track.datasets.preparation import prepare
    from gnz_track.errors import BadValue
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
    listed = list_widths(models, task, dataset, how)
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


def _protocols(
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
