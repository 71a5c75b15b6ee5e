"""The first of a ranking, trained: ordinary cells for the ordinary runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pandas as pd

from gnz_track.datasets.own.own_tasks import task_from_dataset
from gnz_track.errors import BadValue
from gnz_track.models.catalogue import MODELS
from gnz_track.runs.plan import Place, Plan, make_plan
from gnz_track.selection.graph_sources import OpenedGraph
from gnz_track.selection.matrix import ModelSetting
from gnz_track.selection.recommendation import Recommendation
from gnz_track.training.protocols import PROTOCOLS
from gnz_track.types import ModelRow, Protocol, Task, TaskType, untuned_name

__all__ = ["model_of", "plan_confirmation", "scores_of", "task_of"]


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
