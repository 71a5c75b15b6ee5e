"""``gnz tasks``, ``gnz models``, ``gnz protocols``: what there is."""

from __future__ import annotations

from typing import Annotated

import typer

__all__ = ["add_to", "models", "protocols", "tasks"]


def add_to(app: typer.Typer) -> None:
    """Add these commands."""
    app.command(epilog="[bold]Example[/bold]  gnz tasks --suite quick")(tasks)
    app.command(epilog="[bold]Example[/bold]  gnz models --task-type graph_cls")(models)
    app.command(epilog="[bold]Example[/bold]  gnz protocols")(protocols)


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
        typer.echo(
            f"\na seed of a model on {len(known)} of these tasks takes about {sum(known) / 60:.1f} min on one core; "
            "what past runs say: gnz run --dry-run"
        )


def models(*, task_type: Annotated[str, typer.Option(help="Only models that serve it.")] = "") -> None:
    """List the models and the kinds of problem that they serve."""
    from gnz_track.cli.tables import print_rows
    from gnz_track.models.catalogue import MODELS
    from gnz_track.types import TaskType

    wanted = TaskType(task_type) if task_type else None
    rows = [row for row in MODELS.rows() if wanted is None or wanted in row.task_types]
    print_rows(
        f"{len(rows)} of {len(MODELS)} models",
        ("model", "task types", "what"),
        ((row.name, ", ".join(row.task_types), row.description) for row in rows),
    )


def protocols() -> None:
    """List the protocols: how cells are trained and scored."""
    from gnz_track.cli.tables import print_rows
    from gnz_track.training.protocols import PROTOCOLS

    print_rows(
        f"{len(PROTOCOLS)} protocols",
        ("protocol", "selection", ">patience", ">hidden", "what"),
        (
            (row.label, row.selection, row.patience or "", row.hidden_channels, row.description)
            for row in PROTOCOLS.rows()
        ),
    )
