"""``gnz protocols NAME``: all that one protocol lays down, and whom it concerns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from textwrap import fill
from typing import TYPE_CHECKING, Any

from gnz_track.cli.saying import say

if TYPE_CHECKING:
    from gnz_track.settings import Amendment, Protocol

__all__ = ["print_protocol"]

# Fields that are tables of their own, or stand in the title.
TABLES = frozenset({"name", "version", "description", "optimisers", "options", "by_model", "by_dataset"})
NOTHING = "-"
OF_TRAINING = "training by task type; patience is that of the schedule, and without a batch size all is one batch"
# What it means that a setting is empty or 0, where that is not nothing at all.
UNSET = {
    "patience": "never stops early",
    "epochs": "those of each task",
    "code_channels": "as wide as the layers",
}
WIDTH = 100


def print_protocol(name: str) -> None:
    """Print every field of a protocol, what it changes for single models and datasets, and what it serves."""
    from gnz_track.cli.tables import print_rows
    from gnz_track.settings import Optimiser
    from gnz_track.training.protocols import PROTOCOLS

    row = {one.label: one for one in PROTOCOLS.rows()}.get(name) or PROTOCOLS.get(name)
    shown = {field.name: _write_value(getattr(row, field.name)) for field in fields(row) if field.name not in TABLES}
    settings = [(name, UNSET.get(name, NOTHING) if value == NOTHING else value) for name, value in shown.items()]
    print_rows(f"{row.label}: {row.description}", ("setting", "value"), settings)
    names = [field.name for field in fields(Optimiser)]
    optimisers = [
        (task_type, *(_write_value(getattr(optimiser, one)) for one in names))
        for task_type, optimiser in row.optimisers.items()
    ]
    print_rows(f"\n{OF_TRAINING}", ("task type", *(f">{one}" for one in names)), optimisers)
    models = [("all that have it", _write_value(row.options))] if row.options else []
    models += [(model, _write_value(given)) for model, given in sorted(row.by_model.items())]
    if models:
        print_rows("\nhyperparameters that models are given", ("model", "given"), models)
    if row.by_dataset:
        changed = [(dataset, _amended(amendment)) for dataset, amendment in sorted(row.by_dataset.items())]
        print_rows("\notherwise on datasets, and on those whose names begin so", ("dataset", "otherwise"), changed)
    say()
    for sentence in _served(row):
        say(fill(sentence, width=WIDTH, subsequent_indent="  ", break_on_hyphens=False))


def _write_value(value: Any) -> str:
    """Write a value; what is empty or 0 is none."""
    if isinstance(value, Mapping):
        return " ".join(f"{name}={one}" for name, one in value.items()) or NOTHING
    if isinstance(value, tuple):
        return ", ".join(map(str, value)) or NOTHING
    if isinstance(value, float):
        return f"{value:g}" if value else NOTHING
    return (f"{value:,}" if isinstance(value, int) else str(value)) if value else NOTHING


def _amended(amendment: Amendment) -> str:
    """Write what is otherwise for one dataset: its optimiser, options of all models, and of single ones."""
    parts = [_write_value(amendment.optimiser), _write_value(amendment.options)]
    parts += [f"{model}: {_write_value(given)}" for model, given in amendment.by_model.items()]
    parts += [
        f"{field.name}={_write_value(value)}"
        for field in fields(amendment)
        if (value := getattr(amendment, field.name)) and not isinstance(value, Mapping)
    ]
    return "; ".join(part for part in parts if part != NOTHING)


def _served(row: Protocol) -> list[str]:
    """Say which tasks and models a protocol can train, and how it is asked for."""
    from gnz_track.datasets.catalogue import TASKS
    from gnz_track.models.catalogue import MODELS, usual_models

    kinds = list(row.optimisers)
    tasks = [task for task in TASKS.rows() if task.task_type in kinds]
    models = [model for model in MODELS.rows() if {*kinds} & {*model.task_types}]
    usual = [model.name for model in usual_models(has_budget=row.budget > 0) if {*kinds} & {*model.task_types}]
    served = f"{len(tasks)} of {len(TASKS)} tasks ({', '.join(kinds)})"
    found = [
        f"trains {served} and {len(models)} of {len(MODELS)} models that serve one of these",
        f"models where none is named: {', '.join(usual)}",
        f"train with it: gnz run --protocol {row.name}",
    ]
    widths = f"gnz models --protocol {row.name} --task NAME"
    return [*found, f"widths that the budget gives: {widths}"] if row.budget else found
