"""Which pairs of a task and a model can be trained under a protocol, and why others cannot. No torch here."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from gnz_track.types import ModelRow, Protocol, Task

__all__ = ["Skipped", "list_skipped", "reason_against"]


@dataclass(frozen=True, kw_only=True)
class Skipped:
    """A pair that is left out before training."""

    task: str
    model: str
    reason: str


def list_skipped(tasks: Iterable[Task], models: Sequence[ModelRow], protocol: Protocol) -> list[Skipped]:
    """Return the pairs that cannot be trained, each with its reason.

    Parameters
    ----------
    tasks, models
        Tasks and models, of which every pair is wanted.
    protocol
        Protocol of all of them.
    """
    return [
        Skipped(task=task.name, model=model.name, reason=reason)
        for task in tasks
        for model in models
        if (reason := reason_against(task, model, protocol))
    ]


def reason_against(task: Task, model: ModelRow, protocol: Protocol) -> str:
    """Return why a pair cannot be trained, nothing where it can.

    Parameters
    ----------
    task, model
        The pair.
    protocol
        Protocol, which may not train every task type.
    """
    if task.task_type not in model.task_types:
        return f"it serves {', '.join(model.task_types)}, not {task.task_type}"
    if task.task_type not in protocol.optimisers:
        return f"protocol {protocol.name!r} trains {', '.join(protocol.optimisers)}, not {task.task_type}"
    return ""
