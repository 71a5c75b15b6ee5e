"""``gnz models NAME``: what one model is, what it takes, and what a search would try."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gnz_track.cli.saying import say

if TYPE_CHECKING:
    from gnz_track.types import ModelRow, TaskType

__all__ = ["print_model"]

NOTHING = "-"
_PROTOCOL = "graphnetz"
_ENCODER = "codes of nodes, which heads carry to each kind of problem"
_WHOLE = "a whole model, constructed as it is"


def print_model(name: str, *, task_type: TaskType | None = None) -> None:
    """Print where a model comes from, whom it serves, its hyperparameters, their defaults, and where a search looks.

    The last two are those of ``task_type``; where none is given, of the first one that the model serves.
    """
    from gnz_track.cli.tables import print_rows
    from gnz_track.datasets.catalogue import TASKS
    from gnz_track.errors import BadValue
    from gnz_track.models.catalogue import MODELS, usual_models
    from gnz_track.training.protocols import PROTOCOLS

    row = MODELS.get(name)
    kinds = [kind for kind in row.task_types if kind in PROTOCOLS.get(_PROTOCOL).optimisers]
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
