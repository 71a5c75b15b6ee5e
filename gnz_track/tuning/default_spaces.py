"""What is searched where nobody says otherwise: one range per hyperparameter, and the models that need another one.

A model is searched over what its constructor takes of the names below, and over the optimiser's settings. Its class may
declare more, or other ranges: ``search_space = {"lr": {"low": 1e-4, "high": 0.1, "log": True}, "depth": [2, 4, 8]}``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gnz_track.errors import BadValue
from gnz_track.models.building import Options
from gnz_track.tuning.spaces import Space, Value, make_space
from gnz_track.types import ModelRow, Optimiser, Protocol, TaskType

__all__ = ["ALL", "borders_of", "defaults_of", "space_of"]

# The key of a file of spaces that holds for models which have none of their own.
ALL = "all"
_OPTIMISER = ("lr", "weight_decay", "batch_size")
_TRAINING = (*_OPTIMISER, "hidden_channels")

_RANGES: dict[str, Any] = {
    "lr": {"low": 1e-4, "high": 0.1, "log": True},
    # No range of orders of magnitude holds 0.
    "weight_decay": [0.0, 1e-5, 1e-4, 5e-4, 1e-3, 1e-2],
    "hidden_channels": [16, 32, 64, 128],
    "n_layers": {"low": 1, "high": 4},
    "dropout": {"low": 0.0, "high": 0.8},
    "heads": [1, 2, 4, 8],
    "jumping": ["none", "cat", "max"],
    "norm": ["none", "batch", "layer"],
}
# By task type, and by model: in place of the ranges above.
_OF_TASK_TYPE: dict[TaskType, dict[str, Any]] = {
    # Whole graphs are read: a step is a batch, whose size matters, and depth must reach across a graph.
    TaskType.graph_cls: {"batch_size": [16, 32, 64, 128], "n_layers": {"low": 1, "high": 5}},
    TaskType.graph_reg: {"batch_size": [16, 32, 64, 128], "n_layers": {"low": 1, "high": 5}},
}
_OF_MODEL: dict[str, dict[str, Any]] = {
    # One hidden layer is as wide as all heads together.
    "GAT": {"hidden_channels": [8, 16, 32, 64]},
    "GraphTransformer": {"hidden_channels": [8, 16, 32, 64]},
    "SGC": {"n_hops": {"low": 1, "high": 5}},
    "ChebNet": {"order": {"low": 1, "high": 4}, "normalisation": ["none", "sym", "rw"]},
}
# Nothing lies below their lowest values: a winner there is no sign that a range was too narrow.
_FROM_THE_START = frozenset({"weight_decay", "n_layers", "dropout", "heads", "n_hops", "order"})


def space_of(
    row: ModelRow, options: Options, optimiser: Optimiser, task_type: TaskType, given: Mapping[str, Space]
) -> Space:
    """Return what is searched of a model: what is ``given`` for it, what it declares, or the usual ranges.

    A name that neither its constructor nor its training knows is refused.
    """
    space = given.get(row.name) or given.get(ALL)
    if space is None and options.search_space is not None:
        space = make_space(row.name, options.search_space)
    if space is None:
        space = make_space(row.name, _usual(row, options, optimiser, task_type))
    allowed = [name for name in _TRAINING if name != "batch_size" or optimiser.batch_size] + list(options.names)
    for name in space:
        if name not in allowed and not (options.takes_any and name not in _TRAINING):
            raise BadValue(f"a name in the search space of {row.name}", name, ", ".join(allowed))
    return space


def defaults_of(options: Options, protocol: Protocol, task_type: TaskType) -> dict[str, Value]:
    """Return what a model takes where no search says otherwise: of the protocol, and of its constructor."""
    optimiser = protocol.optimisers[task_type]
    usual = {name: getattr(optimiser, name) for name in _OPTIMISER}
    own = {name: value for name, value in options.defaults.items() if isinstance(value, int | float | str | bool)}
    return {**own, **usual, "hidden_channels": protocol.hidden_channels}


def borders_of(space: Space, values: Mapping[str, Value]) -> tuple[str, ...]:
    """Return the hyperparameters whose value lies at an end of its range, so that a better one may lie beyond."""
    ends = {name: space[name].end_of(values[name]) for name in sorted(space) if name in values}
    natural = {name for name, end in ends.items() if end == "low" and name in _FROM_THE_START}
    return tuple(name for name, end in ends.items() if end and name not in natural)


def _usual(row: ModelRow, options: Options, optimiser: Optimiser, task_type: TaskType) -> dict[str, Any]:
    of_model = _OF_MODEL.get(row.name, {}) if row.target.startswith("gnz_track.") else {}
    ranges = {**_RANGES, **_OF_TASK_TYPE.get(task_type, {}), **of_model}
    return {
        name: values
        for name, values in ranges.items()
        if (name in _TRAINING and (name != "batch_size" or optimiser.batch_size)) or _fits(options, name)
    }


def _fits(options: Options, name: str) -> bool:
    """Tell whether a constructor has an option of a name that means what it means elsewhere, as far as types tell."""
    if name not in options.defaults:
        return False
    usual: dict[str, type | tuple[type, ...]] = {
        **dict.fromkeys(("n_layers", "heads", "n_hops", "order"), int),
        "dropout": (int, float),
    }
    value = options.defaults[name]
    return isinstance(value, usual.get(name, str)) and not isinstance(value, bool)
