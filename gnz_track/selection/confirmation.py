"""The first of a ranking, put to use: trained as ordinary cells, or taken as starting points of a search."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from gnz_track.datasets.own.tasks import task_from_dataset
from gnz_track.errors import BadValue, UnknownName, near_matches
from gnz_track.models.catalogue import MODELS
from gnz_track.runs.plan import Place, Plan, make_plan
from gnz_track.selection.graph_input import OpenedGraph
from gnz_track.selection.matrix import ModelSetting
from gnz_track.selection.recommendation import Recommendation, recommend
from gnz_track.store.address import Address
from gnz_track.training.protocols import PROTOCOLS
from gnz_track.types import ModelRow, Protocol, Task, TaskType, untuned_name

__all__ = ["model_of", "plan_confirmation", "scores_of", "task_of", "warm_starts"]


def warm_starts(
    graph: object,
    model: str,
    task_type: TaskType | str | None = None,
    *,
    store: str | Address = "",
    home: str | Path | None = None,
    mirror: str | Path | None = None,
    n: int | None = 3,
) -> list[Mapping[str, Any]]:
    """Return hyperparameters of a model that were run on past graphs, those with the best expected score first.

    They changed something, winners of searches among them; runs on this very task are left out. A ``Cell`` is a task as
    a search may see it: no label and no link that the split of its seed keeps for tests has a say. A model that past
    graphs know by its defaults alone has none. A store that holds too little is an error that says so, and so is a name
    that looks like a slip of one that is known.

    Parameters
    ----------
    graph
        The graph, as in :func:`~gnz_track.selection.recommendation.recommend`.
    model
        Name of the model.
    task_type, store, home, mirror
        As in :func:`~gnz_track.selection.recommendation.recommend`.
    n
        Most sets that are returned; None for all.
    """
    found = recommend(graph, task_type, store=store, home=home, mirror=mirror, is_unseen=True)
    known = {one.setting.model for one in found.ranking} | set(MODELS.names())
    # A model of the user's own that was never run is no mistake.
    if model not in known and near_matches(model, sorted(known)):
        raise UnknownName("model", model, known, command="gnz models")
    of_model = [one.setting.options for one in found.ranking if one.setting.model == model]
    return [values for number, values in enumerate(of_model) if values and values not in of_model[:number]][:n]


def plan_confirmation(
    recommendation: Recommendation,
    task: Task,
    *,
    k: int,
    seeds: Sequence[int],
    epochs: int | None = None,
    device: str = "auto",
    place: Place | None = None,
) -> Plan:
    """Return the cells that train the first settings on a task, each under the protocol that it was ranked for.

    A setting whose model or protocol is not registered here cannot be trained, and is an error that names it.

    Parameters
    ----------
    recommendation, task
        Ranked settings, and the task to train them on.
    k
        Settings to train.
    seeds
        Seeds of each.
    epochs
        Epochs; without, as many as past runs had, so that the next recommendation can learn from them.
    device, place
        Device, and store and folders, as in :func:`~gnz_track.runs.plan.make_plan`.
    """
    if k < 1:
        raise BadValue("number of settings to confirm", k, "at least 1")
    plans = []
    for ranked in recommendation.ranking[:k]:
        plan = make_plan(
            [task],
            [model_of(ranked.setting)],
            seeds=seeds,
            protocol=protocol_of(ranked.setting),
            epochs=epochs or ranked.epochs,
            device=device,
            place=place,
        )
        values = tuple(sorted(ranked.setting.options.items()))
        plans.append(replace(plan, cells=tuple(replace(cell, hyperparameters=values) for cell in plan.cells)))
    cells = tuple(cell for plan in plans for cell in plan.cells)
    return Plan(cells=cells, skipped=tuple(pair for plan in plans for pair in plan.skipped))


def model_of(setting: ModelSetting) -> ModelRow:
    """Return the row of a setting's model."""
    return MODELS.get(setting.model)


def scores_of(setting: ModelSetting, table: pd.DataFrame) -> pd.Series:
    """Return the scores of a setting's finished cells in a results table."""
    is_own = [
        ModelSetting(untuned_name(model), values or "{}", protocol) == setting
        for model, values, protocol in zip(table["model"], table["hyperparameters"], table["protocol"], strict=True)
    ]
    return table.loc[np.array(is_own, dtype=bool) & (table["status"] == "finished"), "score"]


def protocol_of(setting: ModelSetting) -> Protocol:
    """Return the protocol of a setting, at the version that it was run under."""
    name = setting.protocol.partition("@")[0]
    found = PROTOCOLS.get(name)
    if found.label != setting.protocol:
        raise BadValue("protocol of a setting", setting.protocol, f"{found.label}, which is what there is now")
    return found


def task_of(opened: OpenedGraph, task_type: TaskType, *, name: str = "") -> Task:
    """Return the task that an opened graph poses: that of the catalogue, or one of the user's own.

    Parameters
    ----------
    opened
        The graph.
    task_type
        The kind of problem.
    name
        Name of a task of the user's own; without, that of the graph.
    """
    if opened.task is not None and opened.task.task_type is task_type:
        return opened.task
    graphs = list(opened.graphs)
    return task_from_dataset(name or opened.name, task_type, graphs[0] if len(graphs) == 1 else graphs)
