"""A protocol applied to one task and one model: its overrides, the settings of a cell, and the width of a budget."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from gnz_track.errors import BadValue, SplitImpossible, UnknownName
from gnz_track.runs.owners import is_ours
from gnz_track.runs.settings import OWN_SEEDS, SETTINGS, apply_settings, own_names
from gnz_track.training.compiler import OF_TORCH
from gnz_track.training.metrics import metric_of
from gnz_track.types import Cell, CellSettings, ModelRow, Override, Protocol, Task, Value

if TYPE_CHECKING:
    # Models are looked into, with Torch, where a protocol gives them anything.
    from gnz_track.datasets.frozen import FrozenDataset
    from gnz_track.models.budgets import Width

__all__ = [
    "find_override",
    "given_to",
    "hyperparameters_of",
    "list_widths",
    "name_settings",
    "own_options",
    "resolve",
    "settings_of",
    "width_of",
]


def settings_of(cell: Cell, *, is_multi_label: bool) -> CellSettings:
    """Return the settings of a cell; its data say whether there are several labels, which have another metric."""
    task_type, protocol, given = cell.task.task_type, cell.protocol, dict[str, Any](cell.hyperparameters)
    optimiser = protocol.optimiser_of(task_type)
    if optimiser is None:
        allowed = ", ".join(protocol.task_types)
        raise BadValue(f"task type under protocol {protocol.name!r}", str(task_type), allowed)
    of_torch = {name: given.pop(name) for name in OF_TORCH if name in given and name not in own_options(cell.model)}
    settings = CellSettings(
        task_type=task_type,
        seed=cell.seed,
        metric=metric_of(cell.task, is_multi_label=is_multi_label).name,
        optimiser=optimiser,
        epochs=cell.epochs,
        hours=protocol.hours,
        selection=protocol.selection,
        patience=protocol.patience,
        scoring=protocol.scoring,
        also=protocol.also,
        splits=protocol.splits,
        features=protocol.features,
        encoding=protocol.encoding,
        perturbation=cell.perturbation,
        hidden_channels=protocol.hidden_channels,
        code_channels=protocol.code_channels,
        neighbours=protocol.neighbours,
        options=cell.model.options,
        device=cell.device,
        is_blind=cell.is_blind,
        **of_torch,
    )
    return apply_settings(settings, given, own_names(given, cell.model))


def own_options(model: ModelRow) -> frozenset[str]:
    """Return the hyperparameters that the constructor of a model takes by name, whatever training makes of such."""
    from gnz_track.models.building import options_of

    return frozenset(options_of(model).names)


# More would not fit into one request to a store, beside the names of the cell.
MOST_NAMED = 90


def name_settings(settings: CellSettings, model: ModelRow) -> dict[str, Value]:
    """Return every setting of a cell by the name that a user gives it, the defaults of the model included.

    ``patience`` is that of the schedule where there is one, and of early stopping otherwise. What is no plain value,
    such as a function, has no entry.
    """
    from gnz_track.models.building import options_of

    optimiser, has_schedule = settings.optimiser, settings.optimiser.schedule != "constant"
    plateau = {"factor": optimiser.factor, "min_lr": optimiser.min_lr, "stop_patience": settings.patience}
    found: dict[str, Value] = {
        "optimiser": "Adam",
        "lr": optimiser.lr,
        "weight_decay": optimiser.weight_decay,
        "batch_size": optimiser.batch_size,
        "loss": optimiser.loss or "usual",
        "schedule": optimiser.schedule,
        **(plateau if has_schedule else {}),
        "patience": optimiser.patience if has_schedule else settings.patience,
        "epochs": settings.epochs,
        "selection": str(settings.selection),
        "splits": settings.splits,
        "features": settings.features,
        "encoding": settings.encoding or "none",
        "hidden_channels": settings.hidden_channels,
        # Words only where they are chosen: runs of before have none.
        **({"clip": optimiser.clip} if optimiser.clip else {}),
        **({"scale": settings.scale} if settings.scale else {}),
        **({"train_size": settings.train_size} if settings.train_size else {}),
        **{name: seed for name in OWN_SEEDS if (seed := getattr(settings, name)) >= 0},
        **({"neighbours": settings.neighbours} if settings.neighbours else {}),
        **{name: value for name in OF_TORCH if (value := getattr(settings, name))},
    }
    plain = {
        name: value
        for name, value in {**options_of(model).defaults, **settings.options}.items()
        if isinstance(value, int | float | str)
    }
    return dict([*found.items(), *plain.items()][:MOST_NAMED])


def find_override(protocol: Protocol, task: Task) -> Override:
    """Return what a protocol has otherwise for the dataset of a task."""
    return protocol.override_for(task.dataset)


def resolve(protocol: Protocol, task: Task) -> Protocol:
    """Return a protocol as it is for one task; one that overrides nothing is returned as it is."""
    override = find_override(protocol, task)
    if not (protocol.by_dataset or protocol.options or protocol.by_model or protocol.epochs):
        return protocol
    optimiser = protocol.optimiser_for(task.task_type, task.dataset)
    return replace(
        protocol,
        optimisers={} if optimiser is None else {task.task_type: optimiser},
        splits=override.splits or protocol.splits,
        encoding=override.encoding or protocol.encoding,
        hours=override.hours or protocol.hours,
        # What a cell says itself, or what is not its own.
        epochs=0,
        options={},
        by_model={},
        by_dataset={},
    )


def given_to(model: ModelRow, protocol: Protocol, task: Task) -> dict[str, Value]:
    """Return the hyperparameters that a protocol gives to a model on a task, but for the width of a budget.

    Parameters
    ----------
    model
        Model, whose constructor says which hyperparameters it takes.
    protocol
        Protocol, not resolved yet.
    task
        Task, for which the protocol may name values of its own.
    """
    override = find_override(protocol, task)
    found: dict[str, Value] = {}
    own: set[str] = set()
    for general, by_model in ((protocol.options, protocol.by_model), (override.options, override.by_model)):
        found |= general
        found |= (given := _of_model(by_model, model))
        own |= given.keys()
    if not found and is_ours(model):
        # Classes of others are looked at in any case: one that cannot be had is told before any training.
        return found
    from gnz_track.models.building import options_of

    options = options_of(model)
    allowed = {*SETTINGS, *options.names}
    for name in () if options.takes_any else sorted(own - allowed):
        # What is for all models reaches those that have it; what is for this one is a slip.
        raise UnknownName(f"setting that protocol {protocol.name!r} gives to {model.name}", name, allowed)
    return {name: value for name, value in found.items() if name in allowed}


def _of_model(by_model: Mapping[str, Mapping[str, Value]], model: ModelRow) -> Mapping[str, Value]:
    """Return what is given to a model by name; ``GatedGCN-E`` is given what ``GatedGCN`` is, under any name."""
    of_class = model.target.rpartition(":")[2] if is_ours(model) else ""
    names = (model.name, model.name.partition("-")[0], of_class)
    return next((by_model[name] for name in names if by_model.get(name)), {})


def hyperparameters_of(
    model: ModelRow, task: Task, dataset: FrozenDataset, protocol: Protocol
) -> tuple[tuple[str, Value], ...]:
    """Return what a protocol gives to a model on a task; the width of its budget included.

    A network without a width within the tolerance raises :class:`~gnz_track.errors.BadValue`; a rule has none.

    Parameters
    ----------
    model, task
        The pair.
    dataset
        Data of the task, whose sizes decide how many parameters a width has.
    protocol
        Protocol, not resolved yet.
    """
    given = given_to(model, protocol, task)
    if protocol.budget:
        from gnz_track.models.budgets import refuse_beyond

        found = width_of(model, task, dataset, resolve(protocol, task), given)
        refuse_beyond(found, model.name, tolerance=protocol.tolerance)
        if not found.is_of_rule:
            given["hidden_channels"] = found.hidden_channels
    return tuple(sorted(given.items()))


def list_widths(
    models: Iterable[ModelRow], task: Task, dataset: FrozenDataset, protocol: Protocol
) -> dict[str, tuple[Width | None, str]]:
    """Return the width of each model that serves a task, or why it has none; one beyond the tolerance has both.

    Parameters
    ----------
    models, task
        Models, and the task for which widths are asked.
    dataset
        Data of the task.
    protocol
        Protocol with a budget, not resolved yet.
    """
    resolved = resolve(protocol, task)
    serving = (row for row in models if task.task_type in row.task_types)
    return {row.name: _list_width(row, task, dataset, protocol, resolved) for row in serving}


def _list_width(
    model: ModelRow, task: Task, dataset: FrozenDataset, protocol: Protocol, resolved: Protocol
) -> tuple[Width | None, str]:
    from gnz_track.models.budgets import refuse_beyond

    found: Width | None = None
    try:
        found = width_of(model, task, dataset, resolved, given_to(model, protocol, task))
        refuse_beyond(found, model.name, tolerance=protocol.tolerance)
    except (BadValue, SplitImpossible) as error:
        return found, str(error)
    return found, ""


def width_of(
    model: ModelRow, task: Task, dataset: FrozenDataset, protocol: Protocol, options: Mapping[str, Value]
) -> Width:
    """Return the width at which a model has as many parameters as it is allowed on a task.

    Parameters
    ----------
    model, task
        The pair.
    dataset
        Data of the task.
    protocol
        Protocol, resolved already.
    options
        Hyperparameters of the cell.
    """
    from gnz_track.models.budgets import find_width
    from gnz_track.problems.catalogue import sizes_of

    # Those that sizes depend on.
    settings = CellSettings(
        task_type=task.task_type,
        seed=0,
        splits=protocol.splits,
        features=protocol.features,
        encoding=protocol.encoding,
        hidden_channels=protocol.hidden_channels,
        code_channels=protocol.code_channels,
    )
    settings = apply_settings(settings, options, own_names(options, model))
    sizes = sizes_of(dataset, settings)
    return find_width(model, task.task_type, sizes, budget=protocol.budget, options=settings.options)
