"""The 366 published settings of GLEMOS (Park et al., 2023) as data, and how each of them is run here.

A family is a method and a grid; its settings are the product of the values of sorted names, without those whose only
layer has a width that nothing reads. Each is translated into a model of this package and its hyperparameters. Settings
that can only be the same network are marked: ``same_as`` is the first of them. So is what is published of SGC, whose
number of hops never reached the layer: here it does.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from gnz_track.datasets.catalogue import TASKS
from gnz_track.errors import BadValue, NothingToRun, UnknownName, near_matches
from gnz_track.models.catalogue import MODELS
from gnz_track.records import freeze_mappings
from gnz_track.runs.plan import Place, Plan, make_plan
from gnz_track.selection.matrix import ModelSetting
from gnz_track.training.protocols import PROTOCOLS
from gnz_track.types import Cell, Task, TaskType

__all__ = [
    "CORES",
    "FAMILIES",
    "TRANSLATIONS",
    "PublishedSetting",
    "SettingFamily",
    "Values",
    "list_published_settings",
    "list_scored_settings",
    "plan_published_settings",
]


Values = Mapping[str, Any]


def _without(values: Values, *names: str) -> Values:
    return {name: value for name, value in values.items() if name not in names}


def _core_of_gcn(values: Values) -> Values:
    # One layer: nothing stands between two.
    return _without(values, "act", "dropout") if values["num_layers"] == 1 else values


def _core_of_sage(values: Values) -> Values:
    return _without(values, "act") if values["num_layers"] == 1 and values["jk"] is None else values


def _core_of_gat(values: Values) -> Values:
    # One head beside itself, and its mean, are one; and the last layer, which may be the only one, takes the mean.
    return _without(values, "concat") if 1 in (values["heads"], values["num_layers"]) else values


def _core_of_cheb(values: Values) -> Values:
    # The first polynomial is the node itself.
    return _without(values, "normalization") if values["K"] == 1 else values


def _gcn(values: Values) -> tuple[str, Values]:
    return "GCN", {**_stacked(values, dropout=values["dropout"]), "act": values["act"]}


def _sage(values: Values) -> tuple[str, Values]:
    more = {"act": values["act"], "aggr": values["aggr"], "jumping": values["jk"] or "none"}
    return "GraphSAGE", {**_stacked(values, dropout=0.0), **more}


def _gat(values: Values) -> tuple[str, Values]:
    more = {"heads": values["heads"], "concat": values["concat"]}
    return "AveragedGAT", {**_stacked(values, dropout=values["dropout"]), **more}


def _gin(values: Values) -> tuple[str, Values]:
    return "NodeGIN", {**_stacked(values, dropout=0.0), "eps": values["eps"], "train_eps": values["train_eps"]}


def _egc(values: Values) -> tuple[str, Values]:
    more = {"aggregators": values["aggregators"][0], "num_bases": values["num_bases"]}
    return "EGC", {**_stacked(values, dropout=0.0), **more}


def _pna(values: Values) -> tuple[str, Values]:
    more = {"aggregators": values["aggregators"][0], "scalers": values["scalers"][0], "towers": values["towers"]}
    return "PNA", {**_stacked(values, dropout=0.0), **more}


def _sgc(values: Values) -> tuple[str, Values]:
    return "SGC", {"n_hops": values["k"], "bias": values["bias"]}


def _cheb(values: Values) -> tuple[str, Values]:
    more = {"order": values["K"], "normalisation": values["normalization"] or "none"}
    return "ChebNet", {**_stacked(values, dropout=0.0), **more}


def _stacked(values: Values, *, dropout: float) -> Values:
    return {"n_layers": values["num_layers"], "hidden_channels": values["hidden_channels"], "dropout": dropout}


def _as_it_is(model: str, **fixed: Any) -> Callable[[Values], tuple[str, Values]]:
    # Hyperparameters have the same names here.
    return lambda values: (model, {**values, **fixed})


# Method -> what the network depends on of its hyperparameters, where that is not all of them.
CORES: Mapping[str, Callable[[Values], Values]] = {
    "GCN": _core_of_gcn,
    "GraphSAGE": _core_of_sage,
    "GAT": _core_of_gat,
    "ChebNet": _core_of_cheb,
}
# Method -> from its hyperparameters to the model and hyperparameters of this package. Vectors of length 1 as published:
# scaled, embeddings are other settings, and better ones.
TRANSLATIONS: Mapping[str, Callable[[Values], tuple[str, Values]]] = {
    "GCN": _gcn,
    "GraphSAGE": _sage,
    "GAT": _gat,
    "GIN": _gin,
    "EGC": _egc,
    "SGC": _sgc,
    "ChebNet": _cheb,
    "PNA": _pna,
    "SpectralEmbedding": _as_it_is("SpectralEmbedding", is_scaled=False),
    "GraRep": _as_it_is("GraRep", is_scaled=False),
    "DGI": _as_it_is("DGILinear", is_scaled=False),
    "LabelPropagation": _as_it_is("LabelPropagation"),
    "Node2Vec": _as_it_is("Node2Vec", is_scaled=False),
    "AdamicAdar": _as_it_is("AdamicAdar"),
    "Jaccard": _as_it_is("Jaccard"),
    "ResourceAllocation": _as_it_is("ResourceAllocation"),
    "SEAL": _as_it_is("SEAL"),
}


PROTOCOL = "glemos"
_LISTING = "list_published_settings() in Python"
_NODES, _LINKS = TaskType.node_cls, TaskType.link_pred
_BOTH = (_NODES, _LINKS)


@dataclass(frozen=True, kw_only=True)
class SettingFamily:
    """A method and its grid; translations above say how its settings are written here."""

    method: str
    grid: Mapping[str, tuple[Any, ...]]
    task_types: tuple[TaskType, ...] = _BOTH

    def __post_init__(self) -> None:
        freeze_mappings(self, "grid")


@dataclass(frozen=True, kw_only=True)
class PublishedSetting:
    """One setting under its published name; ``setting`` is what runs here, under the protocol of the publication."""

    name: str
    method: str
    hyperparameters: Mapping[str, Any]
    task_types: tuple[TaskType, ...]
    same_as: str
    setting: ModelSetting

    def __post_init__(self) -> None:
        freeze_mappings(self, "hyperparameters")

    @property
    def is_duplicate(self) -> bool:
        """Whether an earlier setting is the same network."""
        return self.same_as != self.name


def list_published_settings(task_type: TaskType | str | None = None) -> list[PublishedSetting]:
    """Return the published settings in their published order, all or those of a kind of problem.

    >>> len(list_published_settings()), len(list_published_settings("node_cls"))
    (366, 327)
    """
    kind = None if task_type is None else _read_task_type(task_type)
    found = [setting for family in FAMILIES for setting in _settings_of(family)]
    return [one for one in found if kind is None or kind in one.task_types]


def list_scored_settings(task_type: TaskType | str) -> list[PublishedSetting]:
    """Return those that have a column in the published matrices of scores, in the order of the columns.

    The matrix of links leaves out 44 settings, and does not say which. Its columns do: settings that are one network
    have equal scores there only if those of SEAL, and of EGC with variances, are the ones.

    >>> len(list_scored_settings("link_pred")), len(list_scored_settings("node_cls"))
    (306, 327)
    """
    left_out = {("EGC", ("var",)), ("EGC", ("std",))} if _read_task_type(task_type) is _LINKS else set()
    listed = [one for one in list_published_settings(task_type) if one.method != "SEAL"]
    return [one for one in listed if (one.method, one.hyperparameters.get("aggregators")) not in left_out]


def plan_published_settings(
    names: str | PublishedSetting | Sequence[str | PublishedSetting],
    task: Task | str,
    *,
    seeds: Sequence[int],
    epochs: int | None = None,
    device: str = "auto",
    place: Place | None = None,
) -> Plan:
    """Return the cells that train published settings on a task, under the protocol of the publication.

    Parameters
    ----------
    names
        Settings by name or as they are; one that is named twice is trained once.
    task
        Task, or its name.
    seeds, epochs, device, place
        As in :func:`~gnz_track.runs.plan.make_plan`.
    """
    task = TASKS.get(task) if isinstance(task, str) else task
    protocol = PROTOCOLS.get(PROTOCOL)
    plans = []
    for setting in _choose_settings(names, task):
        model = MODELS.get(setting.model)
        plan = make_plan([task], [model], seeds=seeds, protocol=protocol, epochs=epochs, device=device, place=place)
        plans += [replace(cell, hyperparameters=_join_hyperparameters(cell, setting)) for cell in plan.cells]
    return Plan(cells=tuple(plans), skipped=())


def _choose_settings(
    names: str | PublishedSetting | Sequence[str | PublishedSetting], task: Task
) -> list[ModelSetting]:
    """Return the settings of these names, each once and in order; one that does not serve the task is an error."""
    listed = [names] if isinstance(names, str | PublishedSetting) else list(names)
    if not listed:
        raise NothingToRun(["no published setting was chosen"])
    known = {one.name: one for one in list_published_settings()}
    chosen = dict.fromkeys(one.name if isinstance(one, PublishedSetting) else one for one in listed)
    for name in chosen:
        if name not in known:
            raise _unknown_setting(name, list(known))
        if task.task_type not in known[name].task_types:
            kinds = " and ".join(known[name].task_types)
            raise BadValue(f"task for {name}", f"{task.name} ({task.task_type})", f"a task of the kind {kinds}")
    return [known[name].setting for name in chosen]


def _unknown_setting(name: object, known: list[str]) -> UnknownName:
    """Say which settings are near, those of a method that is named, or else which methods there are."""
    same = [one for one in known if one.startswith(f"{name}-")]
    if same:
        return UnknownName("published setting", name, same[:2], command=_LISTING)
    pool = known if near_matches(str(name), known) else [family.method for family in FAMILIES]
    return UnknownName("published setting", name, pool, command=_LISTING)


def _read_task_type(given: TaskType | str) -> TaskType:
    if given not in set(TaskType):
        raise BadValue("kind of problem", given, ", ".join(TaskType))
    return TaskType(given)


def _join_hyperparameters(cell: Cell, setting: ModelSetting) -> tuple[tuple[str, Any], ...]:
    """Return what a setting says beside what the protocol gives to its model."""
    return tuple(sorted({**dict(cell.hyperparameters), **setting.options}.items()))


def _settings_of(family: SettingFamily) -> list[PublishedSetting]:
    names = sorted(family.grid)
    narrowest = min(family.grid.get("hidden_channels", (0,)))
    core = CORES.get(family.method, dict)
    first_of: dict[str, str] = {}
    found = []
    for chosen in itertools.product(*(family.grid[name] for name in names)):
        values = dict(zip(names, chosen, strict=True))
        if values.get("num_layers") == 1 and values.get("hidden_channels", narrowest) > narrowest:
            continue
        name = "-".join([family.method, *(f"{key}={_write_value(value)}" for key, value in values.items())])
        same_as = first_of.setdefault(json.dumps(core(values), sort_keys=True), name)
        found.append(
            PublishedSetting(
                name=name,
                method=family.method,
                hyperparameters=values,
                task_types=family.task_types,
                same_as=same_as,
                setting=_translate(family.method, values),
            )
        )
    return found


def _write_value(value: Any) -> str:
    """Write a value as published names have it: aggregators and scalers as lists of one."""
    return f"['{value[0]}']" if isinstance(value, tuple) else str(value)


def _translate(method: str, values: Values) -> ModelSetting:
    model, options = TRANSLATIONS[method](values)
    return ModelSetting(model, json.dumps(dict(options), sort_keys=True), PROTOCOLS.get(PROTOCOL).label)


_WIDTHS = (16, 64)
_AGGREGATORS = (("sum",), ("mean",), ("symnorm",), ("min",), ("max",), ("var",), ("std",))
_SCALERS = (("identity",), ("amplification",), ("attenuation",), ("linear",))

FAMILIES: tuple[SettingFamily, ...] = (
    SettingFamily(
        method="GCN",
        grid={
            "act": ("relu", "tanh", "elu"),
            "dropout": (0.0, 0.5),
            "hidden_channels": _WIDTHS,
            "num_layers": (1, 2, 3),
        },
    ),
    SettingFamily(
        method="GraphSAGE",
        grid={
            "act": ("relu", "tanh"),
            "aggr": ("mean", "max"),
            "hidden_channels": _WIDTHS,
            "jk": (None, "last"),
            "num_layers": (1, 2),
        },
    ),
    SettingFamily(
        method="GAT",
        grid={
            "concat": (True, False),
            "dropout": (0.0, 0.5),
            "heads": (1, 4),
            "hidden_channels": _WIDTHS,
            "num_layers": (1, 2, 3),
        },
    ),
    SettingFamily(
        method="GIN",
        grid={"eps": (0.0,), "hidden_channels": _WIDTHS, "num_layers": (1, 2, 3), "train_eps": (True, False)},
    ),
    SettingFamily(
        method="EGC",
        grid={"aggregators": _AGGREGATORS, "hidden_channels": _WIDTHS, "num_bases": (4, 8), "num_layers": (2,)},
    ),
    SettingFamily(method="SGC", grid={"bias": (True, False), "k": (1, 2, 3, 4, 5)}),
    SettingFamily(
        method="ChebNet",
        grid={
            "K": (1, 2, 3),
            "hidden_channels": _WIDTHS,
            "normalization": (None, "sym", "rw"),
            "num_layers": (1, 2),
        },
    ),
    SettingFamily(
        method="PNA",
        grid={
            "aggregators": (("sum",), ("mean",), ("max",), ("var",)),
            "hidden_channels": (16,),
            "num_layers": (1, 2),
            "scalers": _SCALERS,
            "towers": (1,),
        },
    ),
    SettingFamily(
        method="SpectralEmbedding",
        grid={"num_components": (16, 64), "tolerance": (0.1, 0.01, 0.001, 0.0001)},
    ),
    SettingFamily(
        method="GraRep",
        grid={"num_components": (16, 32, 64), "power": (1, 2)},
    ),
    SettingFamily(
        method="DGI",
        grid={
            "encoder_act": ("prelu", "relu", "tanh"),
            "hidden_channels": _WIDTHS,
            "summary": ("mean", "max", "min", "var"),
        },
    ),
    SettingFamily(
        method="LabelPropagation",
        grid={"alpha": (0.99, 0.9, 0.8, 0.7), "num_layers": (1, 2, 3, 4)},
        task_types=(_NODES,),
    ),
    SettingFamily(
        method="Node2Vec",
        grid={
            "context_size": (5, 10),
            "hidden_channels": _WIDTHS,
            "p": (1, 2, 4),
            "q": (1, 2, 4),
            "walk_length": (10, 20),
        },
    ),
    *(
        SettingFamily(method=name, grid={}, task_types=(_LINKS,))
        for name in ("AdamicAdar", "Jaccard", "ResourceAllocation")
    ),
    SettingFamily(
        method="SEAL",
        grid={
            "gnn_conv": ("GCN", "SAGE", "GAT"),
            "gnn_hidden_channels": (16, 64, 128),
            "k": (0.6, 0.1),
            "mlp_hidden_channels": (32, 128),
            "num_hops": (1,),
        },
        task_types=(_LINKS,),
    ),
)
