"""The closed lists among the words: each a small enumeration whose values are the names users type."""

from __future__ import annotations

import enum

from gnz_track.errors import BadValue

__all__ = [
    "Category",
    "Direction",
    "Selection",
    "Status",
    "TaskType",
    "is_rule",
    "is_tuned",
    "tuned_name",
    "untuned_name",
]


class TaskType(enum.StrEnum):
    """The kinds of problem."""

    node_cls = "node_cls"
    graph_cls = "graph_cls"
    graph_reg = "graph_reg"
    link_pred = "link_pred"
    edge_cls = "edge_cls"
    multi_task = "multi_task"

    @classmethod
    def _missing_(cls, value: object) -> TaskType:
        raise BadValue("task type", value, ", ".join(cls), command="gnz tasks")


class Category(enum.StrEnum):
    """The ten research areas of the catalogue, and the one for what users bring."""

    combinatorial = "combinatorial"
    biology = "biology"
    social = "social"
    knowledge = "knowledge"
    infrastructure = "infrastructure"
    finance = "finance"
    computing = "computing"
    vision = "vision"
    physics = "physics"
    security = "security"
    custom = "custom"

    @classmethod
    def _missing_(cls, value: object) -> Category:
        raise BadValue("category", value, ", ".join(cls), command="gnz tasks")


class Direction(enum.StrEnum):
    """Sense of a metric: whether a larger (up) or a smaller (down) score is better."""

    up = "up"
    down = "down"

    def better(self, a: float, b: float) -> bool:
        """Tell whether score ``a`` is strictly better than score ``b``."""
        return a > b if self is Direction.up else a < b


class Status(enum.StrEnum):
    """End of a cell."""

    finished = "finished"
    failed = "failed"


class Selection(enum.StrEnum):
    """Which epoch a score is read at."""

    last_epoch = "last_epoch"
    best_validation = "best_validation"


MOST_OF_RULE = 4
_TUNED = " (tuned)"


def tuned_name(model: str) -> str:
    """Return the name of a model whose hyperparameters a search has chosen: whatever was found, it is one model.

    >>> tuned_name("GCN")
    'GCN (tuned)'
    """
    return model + _TUNED


def is_tuned(model: str) -> bool:
    """Tell whether a name is one of :func:`tuned_name`."""
    return model.endswith(_TUNED)


def untuned_name(model: str) -> str:
    """Return the name of the model itself, whether or not a search has chosen its hyperparameters.

    >>> untuned_name("GCN (tuned)")
    'GCN'
    """
    return model.removesuffix(_TUNED)


def is_rule(n_parameters: float) -> bool:
    """Tell whether a model is a rule: with hardly a parameter at any width, so that no budget concerns it."""
    # A scale and an offset are no network.
    return n_parameters <= MOST_OF_RULE
