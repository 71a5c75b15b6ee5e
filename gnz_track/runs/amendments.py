"""A protocol applied to one task and one model. A cell carries the result."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from gnz_track.models.building import options_of
from gnz_track.types import Amendment, ModelRow, Protocol, Task, Value

__all__ = ["OF_TRAINING", "amend", "find_amendment", "given_to"]

# Hyperparameters that training reads; all others are keywords of a model's constructor.
OF_TRAINING = frozenset({"lr", "weight_decay", "batch_size", "patience", "min_lr", "hidden_channels", "encoding"})


def find_amendment(protocol: Protocol, task: Task) -> Amendment:
    """Return what a protocol has otherwise for the dataset of a task."""
    return protocol.amendment_for(task.dataset)


def amend(protocol: Protocol, task: Task) -> Protocol:
    """Return a protocol as it is for one task; one that amends nothing is returned as it is."""
    amendment = find_amendment(protocol, task)
    if not (protocol.by_dataset or protocol.options or protocol.by_model or protocol.epochs):
        return protocol
    optimiser = protocol.optimiser_for(task.task_type, task.dataset)
    return replace(
        protocol,
        optimisers={} if optimiser is None else {task.task_type: optimiser},
        splits=amendment.splits or protocol.splits,
        encoding=amendment.encoding or protocol.encoding,
        hours=amendment.hours or protocol.hours,
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
        Protocol, not amended yet.
    task
        Task, for which the protocol may name values of its own.
    """
    amendment = find_amendment(protocol, task)
    found: dict[str, Value] = {}
    for general, by_model in ((protocol.options, protocol.by_model), (amendment.options, amendment.by_model)):
        found |= general
        found |= _of_model(by_model, model)
    allowed = {*OF_TRAINING, *options_of(model).names}
    return {name: value for name, value in found.items() if name in allowed}


def _of_model(by_model: Mapping[str, Mapping[str, Value]], model: ModelRow) -> Mapping[str, Value]:
    """Return what is given to a model by name; ``GatedGCN-E`` is given what ``GatedGCN`` is."""
    return by_model.get(model.name) or by_model.get(model.name.partition("-")[0]) or {}
