"""The 366 published settings of GLEMOS (Park et al., 2023) as data, and what of them can be run here.

A family is a method and a grid; its settings are the product of the values of sorted names, without those whose only
layer has a width that nothing reads. Settings that can only be the same network are marked: ``same_as`` is the first of
them. So is what is published of SGC, whose number of hops never reached the layer: here it does.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from gnz_track.kinds import TaskType
from gnz_track.records import freeze_mappings
from gnz_track.selection.matrix import Setting

__all__ = ["FAMILIES", "Family", "PublishedSetting", "list_published_settings"]

_NODES, _LINKS = TaskType.node_cls, TaskType.link_pred
_BOTH = (_NODES, _LINKS)
Values = Mapping[str, Any]


@dataclass(frozen=True, kw_only=True)
class Family:
    """A method, its grid, and how its settings are written here.

    ``core`` keeps of the hyperparameters what the network depends on; ``translate`` gives the model and hyperparameters
    of this package, or None where there is no such model.
    """

    method: str
    grid: Mapping[str, tuple[Any, ...]]
    task_types: tuple[TaskType, ...] = _BOTH
    core: Callable[[Values], Values] = field(default=lambda values: values)
    translate: Callable[[Values], tuple[str, Values] | None] = field(default=lambda _: None)

    def __post_init__(self) -> None:
        freeze_mappings(self, "grid")


@dataclass(frozen=True, kw_only=True)
class PublishedSetting:
    """One setting under its published name; ``setting`` is what runs here, None where nothing does."""

    name: str
    method: str
    hyperparameters: Mapping[str, Any]
    task_types: tuple[TaskType, ...]
    same_as: str
    setting: Setting | None

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
    found = [setting for family in FAMILIES for setting in _settings_of(family)]
    return [one for one in found if task_type is None or TaskType(task_type) in one.task_types]


def _settings_of(family: Family) -> list[PublishedSetting]:
    names = sorted(family.grid)
    narrowest = min(family.grid.get("hidden_channels", (0,)))
    first_of: dict[str, str] = {}
    found = []
    for chosen in itertools.product(*(family.grid[name] for name in names)):
        values = dict(zip(names, chosen, strict=True))
        if values.get("num_layers") == 1 and values.get("hidden_channels", narrowest) > narrowest:
            continue
        name = "-".join([family.method, *(f"{key}={_write(value)}" for key, value in values.items())])
        same_as = first_of.setdefault(json.dumps(family.core(values), sort_keys=True), name)
        found.append(
            PublishedSetting(
                name=name,
                method=family.method,
                hyperparameters=values,
                task_types=family.task_types,
                same_as=same_as,
                setting=_translate(family, values),
            )
        )
    return found


def _write(value: Any) -> str:
    """Write a value as published names have it: aggregators and scalers as lists of one."""
    return f"['{value[0]}']" if isinstance(value, tuple) else str(value)


def _translate(family: Family, values: Values) -> Setting | None:
    found = family.translate(values)
    return None if found is None else Setting(found[0], json.dumps(dict(found[1]), sort_keys=True))


def _without(values: Values, *names: str) -> Values:
    return {name: value for name, value in values.items() if name not in names}


def _core_of_gcn(values: Values) -> Values:
    # One layer: nothing stands between two.
    return _without(values, "act", "dropout") if values["num_layers"] == 1 else values


def _core_of_sage(values: Values) -> Values:
    return _without(values, "act") if values["num_layers"] == 1 and values["jk"] is None else values


def _core_of_gat(values: Values) -> Values:
    # One head beside itself, and its mean, are one.
    return _without(values, "concat") if values["heads"] == 1 else values


def _core_of_cheb(values: Values) -> Values:
    # The first polynomial is the node itself.
    return _without(values, "normalization") if values["K"] == 1 else values


def _gcn(values: Values) -> tuple[str, Values] | None:
    if values["act"] != "relu" and values["num_layers"] > 1:
        return None
    return "GCN", _stacked(values, dropout=values["dropout"])


def _sage(values: Values) -> tuple[str, Values] | None:
    is_ours = values["aggr"] == "mean" and values["jk"] is None
    if not is_ours or (values["act"] != "relu" and values["num_layers"] > 1):
        return None
    return "GraphSAGE", _stacked(values, dropout=0.0)


def _sgc(values: Values) -> tuple[str, Values]:
    return "SGC", {"n_hops": values["k"], "bias": values["bias"]}


def _cheb(values: Values) -> tuple[str, Values]:
    more = {"order": values["K"], "normalisation": values["normalization"] or "none"}
    return "ChebNet", {**_stacked(values, dropout=0.0), **more}


def _stacked(values: Values, *, dropout: float) -> Values:
    return {"n_layers": values["num_layers"], "hidden_channels": values["hidden_channels"], "dropout": dropout}


_WIDTHS = (16, 64)
_AGGREGATORS = (("sum",), ("mean",), ("symnorm",), ("min",), ("max",), ("var",), ("std",))
_SCALERS = (("identity",), ("amplification",), ("attenuation",), ("linear",))

FAMILIES: tuple[Family, ...] = (
    Family(
        method="GCN",
        grid={
            "act": ("relu", "tanh", "elu"),
            "dropout": (0.0, 0.5),
            "hidden_channels": _WIDTHS,
            "num_layers": (1, 2, 3),
        },
        core=_core_of_gcn,
        translate=_gcn,
    ),
    Family(
        method="GraphSAGE",
        grid={
            "act": ("relu", "tanh"),
            "aggr": ("mean", "max"),
            "hidden_channels": _WIDTHS,
            "jk": (None, "last"),
            "num_layers": (1, 2),
        },
        core=_core_of_sage,
        translate=_sage,
    ),
    Family(
        method="GAT",
        grid={
            "concat": (True, False),
            "dropout": (0.0, 0.5),
            "heads": (1, 4),
            "hidden_channels": _WIDTHS,
            "num_layers": (1, 2, 3),
        },
        core=_core_of_gat,
    ),
    Family(
        method="GIN",
        grid={"eps": (0.0,), "hidden_channels": _WIDTHS, "num_layers": (1, 2, 3), "train_eps": (True, False)},
    ),
    Family(
        method="EGC",
        grid={"aggregators": _AGGREGATORS, "hidden_channels": _WIDTHS, "num_bases": (4, 8), "num_layers": (2,)},
    ),
    Family(method="SGC", grid={"bias": (True, False), "k": (1, 2, 3, 4, 5)}, translate=_sgc),
    Family(
        method="ChebNet",
        grid={
            "K": (1, 2, 3),
            "hidden_channels": _WIDTHS,
            "normalization": (None, "sym", "rw"),
            "num_layers": (1, 2),
        },
        core=_core_of_cheb,
        translate=_cheb,
    ),
    Family(
        method="PNA",
        grid={
            "aggregators": (("sum",), ("mean",), ("max",), ("var",)),
            "hidden_channels": (16,),
            "num_layers": (1, 2),
            "scalers": _SCALERS,
            "towers": (1,),
        },
    ),
    Family(method="SpectralEmbedding", grid={"num_components": (16, 64), "tolerance": (0.1, 0.01, 0.001, 0.0001)}),
    Family(method="GraRep", grid={"num_components": (16, 32, 64), "power": (1, 2)}),
    Family(
        method="DGI",
        grid={
            "encoder_act": ("prelu", "relu", "tanh"),
            "hidden_channels": _WIDTHS,
            "summary": ("mean", "max", "min", "var"),
        },
    ),
    Family(
        method="LabelPropagation",
        grid={"alpha": (0.99, 0.9, 0.8, 0.7), "num_layers": (1, 2, 3, 4)},
        task_types=(_NODES,),
    ),
    Family(
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
        Family(method=name, grid={}, task_types=(_LINKS,), translate=lambda _, name=name: (name, {}))  # type: ignore[misc]
        for name in ("AdamicAdar", "Jaccard", "ResourceAllocation")
    ),
    Family(
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
