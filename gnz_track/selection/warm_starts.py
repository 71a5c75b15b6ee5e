"""Starting points of a search: hyperparameters that were good on graphs like this one."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from gnz_track.errors import UnknownName
from gnz_track.kinds import TaskType
from gnz_track.models.catalogue import MODELS
from gnz_track.near_names import near_matches
from gnz_track.selection.recommendation import recommend
from gnz_track.store.address import Address

__all__ = ["warm_starts"]


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
