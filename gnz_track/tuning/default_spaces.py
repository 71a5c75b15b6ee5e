"""Search spaces where nobody names one: one range per hyperparameter, and the models that need another one.

A model is searched over what its constructor takes of the names below, and over the optimiser's settings. Its class may
declare more, or other ranges: ``search_space = {"lr": {"low": 1e-4, "high": 0.1, "log": True}, "depth": [2, 4, 8]}``.
What changes nothing is not searched: a rule without weights has no learning rate, and some models have no width. Where
nothing is left, the space is empty, as it is for a class that declares ``search_space = {}``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from gnz_track.errors import BadValue
from gnz_track.models.building import Options
from gnz_track.tuning.spaces import Space, Value, make_space
from gnz_track.types import ModelRow, Protocol, TaskType
from gnz_track.user_code.modules import is_ours

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
# Rules: what is fitted of them scales their logits, which changes no decision and no ranking.
_NO_WEIGHTS: dict[str, Any] = dict.fromkeys(_TRAINING)
_LAYERED = ("DeepGCN", "DeepMeanGCN", "DeepGraphSAGE", "DeepGIN", "DeepGAT", "GatedGCN", "MoNet")
# By class; None for what it makes nothing of.
_OF_MODEL: dict[str, dict[str, Any]] = {
    # Deep layers know no other norm.
    **{name: {"norm": ["none", "batch"]} for name in _LAYERED},
    # One hidden layer is as wide as all heads together.
    "GAT": {"hidden_channels": [8, 16, 32, 64]},
    "GraphTransformer": {"hidden_channels": [8, 16, 32, 64]},
    "SGC": {"n_hops": {"low": 1, "high": 5}},
    "ChebNet": {"order": {"low": 1, "high": 4}, "normalisation": ["none", "sym", "rw"]},
    "AveragedGAT": {"concat": [True, False]},
    "NodeGIN": {"train_eps": [False, True]},
    "EGC": {"aggregators": ["sum", "mean", "symnorm", "min", "max", "var", "std"], "num_bases": [2, 4, 8, 16]},
    "PNA": {
        "aggregators": ["sum", "mean", "max", "var"],
        "scalers": ["identity", "amplification", "attenuation", "linear"],
    },
    "SpectralEmbedding": {"num_components": [16, 32, 64, 128], "tolerance": {"low": 1e-4, "high": 0.1, "log": True}},
    "GraRep": {"num_components": [16, 32, 64, 128], "power": {"low": 1, "high": 4}},
    "DGILinear": {"encoder_act": ["prelu", "relu", "tanh"], "summary": ["mean", "max", "min", "var"]},
    "Node2Vec": {
        "walk_length": [10, 20, 40],
        "context_size": [5, 10],
        "p": {"low": 0.25, "high": 4.0, "log": True},
        "q": {"low": 0.25, "high": 4.0, "log": True},
    },
    "SEAL": {
        # Its widths are those of the parts of its network.
        "hidden_channels": None,
        "num_hops": [1, 2],
        "k": {"low": 0.1, "high": 0.9},
        "gnn_conv": ["GCN", "SAGE", "GAT"],
        "gnn_hidden_channels": [16, 32, 64, 128],
        "mlp_hidden_channels": [32, 64, 128],
    },
    "LabelPropagation": {**_NO_WEIGHTS, "alpha": {"low": 0.5, "high": 0.99}, "num_layers": {"low": 1, "high": 10}},
    "NearestNeighbours": {**_NO_WEIGHTS, "k": {"low": 1, "high": 5}},
    "Jaccard": _NO_WEIGHTS,
    "AdamicAdar": _NO_WEIGHTS,
    "ResourceAllocation": _NO_WEIGHTS,
}
# Without layers in between: their only width is that of the codes which a head reads, and nodes are classified without.
_HEADS_ALONE = frozenset({"SGC", "SpectralEmbedding", "GraRep"})
# Nothing lies below their lowest values: a winner there is no sign that a range was too narrow.
_FROM_THE_START = frozenset({"weight_decay", "n_layers", "dropout", "heads", "n_hops", "order", "power", "num_layers"})


def space_of(
    row: ModelRow, options: Options, protocol: Protocol, task_type: TaskType, given: Mapping[str, Space]
) -> Space:
    """Return what is searched of a model: what is given for it, what it declares, or the usual ranges.

    A name that neither its constructor nor its training knows is refused; of a space for all models, what changes
    nothing of this one is left out. An empty space is that of a model which no hyperparameter changes.

    Parameters
    ----------
    row, options
        Model, and what its constructor takes.
    protocol, task_type
        How it is trained.
    given
        Spaces by model; one may be for all models.
    """
    unused = _unused_by(row, protocol, task_type)
    optimiser = protocol.optimiser_of(task_type)
    has_batches = optimiser is not None and optimiser.batch_size
    trained = [name for name in _TRAINING if name not in unused and (name != "batch_size" or has_batches)]
    space = given.get(row.name)
    if space is None and ALL in given:
        space = {name: dimension for name, dimension in given[ALL].items() if name not in unused}
    if space is None:
        usual = _usual_space(row, options, trained, task_type) if options.search_space is None else options.search_space
        # What is declared to be empty is meant to be.
        space = make_space(row.name, usual) if usual != {} else {}
    allowed = trained + list(options.names)
    for name in space:
        if name not in allowed and not (options.takes_any and name not in _TRAINING):
            raise BadValue(f"a name in the search space of {row.name}", name, ", ".join(allowed) or "none")
    return space


def defaults_of(options: Options, protocol: Protocol, task_type: TaskType) -> dict[str, Value]:
    """Return what a model takes where no search says otherwise: of the protocol, and of its constructor.

    Parameters
    ----------
    options
        What the constructor takes.
    protocol, task_type
        How the model is trained.
    """
    optimiser = protocol.optimiser_of(task_type)
    usual = {name: getattr(optimiser, name) for name in _OPTIMISER}
    own = {name: value for name, value in options.defaults.items() if isinstance(value, int | float | str | bool)}
    return {**own, **usual, "hidden_channels": protocol.hidden_channels}


def borders_of(space: Space, values: Mapping[str, Value]) -> tuple[str, ...]:
    """Return the hyperparameters whose value lies at an end of its range, so that a better one may lie beyond."""
    ends = {name: space[name].end_of(values[name]) for name in sorted(space) if name in values}
    natural = {name for name, end in ends.items() if end == "low" and name in _FROM_THE_START}
    return tuple(name for name, end in ends.items() if end and name not in natural)


def _own_of(row: ModelRow) -> dict[str, Any]:
    return _OF_MODEL.get(_class_of(row), {})


def _class_of(row: ModelRow) -> str:
    """Return the class of a model of this package, under whatever name it goes; nothing of one's own."""
    room, _, name = row.target.rpartition(":")
    return name if is_ours(room) else ""


def _unused_by(row: ModelRow, protocol: Protocol, task_type: TaskType) -> frozenset[str]:
    """Return the settings of training that change nothing of a model."""
    is_headless = task_type.unit == "node" or (task_type is TaskType.link_pred and protocol.code_channels)
    width = {"hidden_channels"} if is_headless and _class_of(row) in _HEADS_ALONE else set()
    return frozenset(width | {name for name, values in _own_of(row).items() if values is None})


def _usual_space(row: ModelRow, options: Options, trained: Sequence[str], task_type: TaskType) -> dict[str, Any]:
    own = _own_of(row)
    ranges = {**_RANGES, **_OF_TASK_TYPE.get(task_type, {}), **own}
    return {
        name: values
        for name, values in ranges.items()
        if name in trained or (name not in _TRAINING and (name in own or _fits(options, name)))
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
