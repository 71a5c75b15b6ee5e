"""``gnz tasks``, ``gnz models`` and ``gnz protocols``: lists of them, and all that is known of one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from textwrap import fill
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gnz_track.cli.terminal.output import say
from gnz_track.text import format_seconds

if TYPE_CHECKING:
    from gnz_track.models.budgets import Width
    from gnz_track.types import ModelRow, Override, Protocol, Task, TaskType

__all__ = ["add_to", "print_model", "print_protocol", "print_task"]


NOTHING = "-"
_PROTOCOL = "graphnetz"
_ENCODER = "codes of nodes, which heads carry to each kind of problem"
_WHOLE = "a whole model, constructed as it is"


def print_model(name: str, *, task_type: TaskType | None = None) -> None:
    """Print where a model comes from, whom it serves, its hyperparameters, their defaults, and where a search looks.

    The last two are those of ``task_type``; where none is given, of the first one that the model serves.
    """
    from gnz_track.cli.terminal.output import print_rows
    from gnz_track.datasets.catalogue import TASKS
    from gnz_track.errors import BadValue
    from gnz_track.models.catalogue import MODELS, usual_models
    from gnz_track.training.protocols import PROTOCOLS

    row = MODELS.get(name)
    kinds = [kind for kind in row.task_types if kind in PROTOCOLS.get(_PROTOCOL).task_types]
    if task_type is not None and task_type not in kinds:
        raise BadValue("--task-type", str(task_type), ", ".join(kinds), command=f"gnz models {name}")
    served = [task for task in TASKS.rows() if task.task_type in row.task_types]
    facts = {
        "kinds of problem": ", ".join(row.task_types),
        "tasks": f"{len(served)} of {len(TASKS)}",
        "gives": _ENCODER if row.is_encoder else _WHOLE,
        "from": row.reference,
        "of the name": " ".join(f"{option}={value}" for option, value in row.options.items()),
        "in a sweep that names no model": "yes" if row in usual_models() else "no; by name only",
    }
    told = [(fact, value) for fact, value in facts.items() if value]
    print_rows(f"{name}: {row.description}", ("fact", "value"), told)
    columns = ("hyperparameter", "default", "searched over")
    for kind in [task_type] if task_type else kinds[:1]:
        print_rows(f"\nhyperparameters for {kind} under {_PROTOCOL}", columns, _hyperparameters(row, kind))
    say(f"\ntrain it: gnz run --task {served[0].name} --models {name}" if served else "")


def _hyperparameters(row: ModelRow, task_type: TaskType) -> list[tuple[str, str, str]]:
    """Return each hyperparameter with its default and what a search tries; ``-`` where there is none."""
    from gnz_track.models.building import options_of
    from gnz_track.training.protocols import PROTOCOLS
    from gnz_track.tuning.default_spaces import defaults_of, space_of
    from gnz_track.tuning.spaces import plain_space

    protocol = PROTOCOLS.get(_PROTOCOL)
    options = options_of(row)
    space = plain_space(space_of(row, options, protocol, task_type, {}))
    defaults = {**defaults_of(options, protocol, task_type), **row.options}
    names = sorted({*defaults, *options.names, *space})
    return [(one, _write_value(one, defaults.get(one)), _write_value(one, space.get(one))) for one in names]


def _write_value(name: str, value: Any) -> str:
    # No batch size is all nodes at once.
    if value is None or (value == 0 and name == "batch_size"):
        return NOTHING
    if isinstance(value, dict):
        return f"{value['low']:g} to {value['high']:g}" + (", by order of magnitude" if value.get("log") else "")
    return ", ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)


# Fields that are tables of their own, or stand in the title.
TABLES = frozenset({"name", "version", "description", "optimisers", "options", "by_model", "by_dataset"})
OF_TRAINING = "training by task type; patience is that of the schedule, and without a batch size all is one batch"
# What it means that a setting is empty or 0, where that is not nothing at all.
UNSET = {
    "patience": "never stops early",
    "epochs": "those of each task",
    "code_channels": "as wide as the layers",
    "neighbours": "all",
}
WIDTH = 100


def print_protocol(name: str) -> None:
    """Print every field of a protocol, what it changes for single models and datasets, and what it serves."""
    from gnz_track.cli.terminal.output import print_rows
    from gnz_track.runs.protocol_files import find_protocol, is_file_of_protocol
    from gnz_track.training.protocols import PROTOCOLS
    from gnz_track.types import Optimiser

    row = {one.label: one for one in PROTOCOLS.rows()}.get(name) or find_protocol(name)
    shown = {field.name: _write_setting(getattr(row, field.name)) for field in fields(row) if field.name not in TABLES}
    settings = [(name, UNSET.get(name, NOTHING) if value == NOTHING else value) for name, value in shown.items()]
    print_rows(f"{row.label}: {row.description}", ("setting", "value"), settings)
    names = [field.name for field in fields(Optimiser)]
    optimisers = [
        (task_type, *(_write_setting(getattr(optimiser, one)) for one in names))
        for task_type, optimiser in row.optimisers.items()
    ]
    print_rows(f"\n{OF_TRAINING}", ("task type", *(f">{one}" for one in names)), optimisers)
    models = [("all that have it", _write_setting(row.options))] if row.options else []
    models += [(model, _write_setting(given)) for model, given in sorted(row.by_model.items())]
    if models:
        print_rows("\nhyperparameters that models are given", ("model", "given"), models)
    if row.by_dataset:
        changed = [(dataset, _overridden(override)) for dataset, override in sorted(row.by_dataset.items())]
        print_rows("\notherwise on datasets, and on those whose names begin so", ("dataset", "otherwise"), changed)
    say()
    for sentence in _served(row, name if is_file_of_protocol(name) else row.name):
        say(fill(sentence, width=WIDTH, subsequent_indent="  ", break_on_hyphens=False))


def _write_setting(value: Any) -> str:
    """Write a value; what is empty or 0 is none."""
    if isinstance(value, Mapping):
        return " ".join(f"{name}={one}" for name, one in value.items()) or NOTHING
    if isinstance(value, tuple):
        return ", ".join(map(str, value)) or NOTHING
    if isinstance(value, float):
        return f"{value:g}" if value else NOTHING
    return (f"{value:,}" if isinstance(value, int) else str(value)) if value else NOTHING


def _overridden(override: Override) -> str:
    """Write what is otherwise for one dataset: its optimiser, options of all models, and of single ones."""
    parts = [_write_setting(override.optimiser), _write_setting(override.options)]
    parts += [f"{model}: {_write_setting(given)}" for model, given in override.by_model.items()]
    parts += [
        f"{field.name}={_write_setting(value)}"
        for field in fields(override)
        if (value := getattr(override, field.name)) and not isinstance(value, Mapping)
    ]
    return "; ".join(part for part in parts if part != NOTHING)


def _served(row: Protocol, name: str) -> list[str]:
    """Say which tasks and models a protocol can train, and how it is asked for."""
    from gnz_track.datasets.catalogue import TASKS
    from gnz_track.models.catalogue import MODELS, usual_models

    kinds = list(row.task_types)
    tasks = [task for task in TASKS.rows() if task.task_type in kinds]
    models = [model for model in MODELS.rows() if {*kinds} & {*model.task_types}]
    usual = [model.name for model in usual_models(has_budget=row.budget > 0) if {*kinds} & {*model.task_types}]
    served = f"{len(tasks)} of {len(TASKS)} tasks ({', '.join(kinds)})"
    found = [
        f"trains {served} and {len(models)} of {len(MODELS)} models that serve one of these",
        f"models where none is named: {', '.join(usual)}",
        f"train with it: gnz run --protocol {name}",
    ]
    widths = f"gnz models --protocol {name} --task NAME"
    return [*found, f"widths that the budget gives: {widths}"] if row.budget else found


_BETTER = {"up": "higher is better", "down": "lower is better"}


def print_task(name: str) -> None:
    """Print what a task asks, how it is scored, how large and how dear it is, and what is wrong with its data."""
    from gnz_track.cli.data import show_download
    from gnz_track.cli.terminal.output import print_rows
    from gnz_track.datasets.catalogue import DATASETS, SUITES, TASKS
    from gnz_track.datasets.rows.suites import SECONDS
    from gnz_track.models.catalogue import MODELS, usual_models
    from gnz_track.training.metrics import presumed_metric
    from gnz_track.training.protocols import PROTOCOLS

    task = TASKS.get(name)
    row = DATASETS.get(task.dataset) if task.dataset in DATASETS else None
    metric = presumed_metric(task)
    serving = [model.name for model in MODELS.rows() if task.task_type in model.task_types]
    usual = [model.name for model in usual_models() if task.task_type in model.task_types]
    protocols = [protocol.label for protocol in PROTOCOLS.rows() if task.task_type in protocol.task_types]
    facts = {
        "kind of problem": task.task_type,
        "category": task.category,
        "metric": f"{metric.name}, {_BETTER[metric.direction]}",
        "epochs": f"{task.epochs:,}",
        "seconds a cell": f"about {SECONDS[name]:.1f} on one core" if name in SECONDS else "not measured",
        "suites": ", ".join(suite for suite in SUITES if name in SUITES.get(suite).tasks),
        "protocols": ", ".join(protocols),
        "models": f"{len(serving)} of {len(MODELS)} serve it; where none is named: {', '.join(usual)}",
        "dataset": task.dataset,
    }
    if row is not None:
        facts |= {
            "source": row.source,
            "licence": row.licence,
            "size": ", ".join(f"{size:,} {what.removeprefix('n_')}" for what, size in row.expected.items()),
            "to be fetched": show_download(row),
            "needs": f"pip install 'gnz-track[{row.extra}]'" if row.extra else "",
            "retired": row.retired,
        }
    print_rows(name, ("fact", "value"), [(fact, value) for fact, value in facts.items() if value])
    say()
    defects = row.defects if row is not None else ()
    for sentence in [*defects, *_following(name, task.dataset, is_known=row is not None)]:
        say(fill(sentence, width=WIDTH, subsequent_indent="  ", break_on_hyphens=False, break_long_words=False))


def _following(name: str, dataset: str, *, is_known: bool) -> list[str]:
    found = [f"train on it: gnz run --task {name}"]
    return [*found, f"all of its dataset, and how to cite it: gnz data card {dataset}"] if is_known else found


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
    from gnz_track.cli.terminal.output import print_rows
    from gnz_track.datasets.catalogue import SUITES, TASKS, iter_tasks
    from gnz_track.datasets.rows.suites import SECONDS
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
    from gnz_track.cli.data import show_download
    from gnz_track.datasets.catalogue import DATASETS, SUITES
    from gnz_track.datasets.rows.suites import SECONDS

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
    from gnz_track.cli.terminal.output import print_rows
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

    from gnz_track.cli.terminal.output import choose_home, print_rows
    from gnz_track.datasets.catalogue import TASKS
    from gnz_track.datasets.preparation import prepare
    from gnz_track.errors import BadValue
    from gnz_track.runs.protocol_files import find_protocol
    from gnz_track.runs.protocol_resolution import list_widths

    if budget is not None and budget < 1:
        raise BadValue("--budget", budget, "a number of parameters, from 1 upwards", command=_EXAMPLE)
    if not name or (budget is None and not protocol):
        raise BadValue("--task and --budget", (name, budget), "both", command=_EXAMPLE)
    task, how = TASKS.get(name), find_protocol(protocol or "graphnetz")
    if budget is None and not how.budget:
        raise BadValue("--protocol", protocol, "one with a budget, or a --budget beside it", command=_EXAMPLE)
    how = replace(how, budget=budget or how.budget)
    dataset = prepare(task, seed=0, home=choose_home(home), mirror=mirror)
    listed = list_widths(models, task, dataset, how)
    rows = [(model, *_show_width(width)) for model, (width, _) in listed.items() if width is not None]
    title = f"widths on {task.name} for {how.budget:,} parameters"
    print_rows(title, ("model", ">hidden_channels", ">parameters", ">error"), rows)
    left_out: dict[str, list[str]] = {}
    for model, (_, reason) in listed.items():
        if reason:
            left_out.setdefault(reason, []).append(model)
    for reason, names in left_out.items():
        # Sentences, which a table would fold into a narrow column or, in a pipe, make as wide as the longest.
        say(fill(f"left out: {', '.join(names)}: {reason}", width=SENTENCE_WIDTH, **_WRAPPED))


def _show_width(width: Width) -> tuple[str, str, str]:
    """Return the width, the parameters and how far these are from the budget, as a table shows them."""
    if width.is_of_rule:
        return "any", f"{width.n_parameters:,}", "a rule"
    return f"{width.hidden_channels}", f"{width.n_parameters:,}", f"{width.error:+.2%}"


def _protocols(
    name: Annotated[str, typer.Argument(help="Show all of one protocol, or of a YAML file.", show_default=False)] = "",
) -> None:
    """List the protocols, how cells are trained and scored, or show one: its numbers, models, tasks and datasets."""
    from gnz_track.cli.terminal.output import print_rows
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
