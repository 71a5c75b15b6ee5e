"""The width at which a model has about as many parameters as it is allowed.

Comparing architectures at one width compares their sizes too: at one budget it does not (Dwivedi et al., JMLR 2023,
section 3.2). Models are built on the device ``meta``, where a parameter has a shape and no numbers, so that a search
takes milliseconds for any model that can be built there, and a little longer for others.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import torch

from gnz_track.errors import BadValue
from gnz_track.models.building import build, count_parameters
from gnz_track.models.options import Sizes
from gnz_track.types import ModelRow, TaskType, is_rule

__all__ = ["TOLERANCE", "Width", "count_at", "find_width", "nearest_width", "refuse_beyond"]

NARROWEST, WIDEST = 4, 4096
# The largest share of a budget that a model may have too much or too little.
TOLERANCE = 0.05


@dataclass(frozen=True, kw_only=True)
class Width:
    """The width found for a budget, and the parameters that a model has there."""

    hidden_channels: int
    n_parameters: int
    budget: int

    @property
    def error(self) -> float:
        """The distance of the parameters from the budget, as a share of it; below 0 where there are too few."""
        return self.n_parameters / self.budget - 1

    @property
    def is_of_rule(self) -> bool:
        """Whether the model is a rule, which a budget does not concern."""
        return is_rule(self.n_parameters)


def find_width(
    row: ModelRow,
    task_type: TaskType,
    sizes: Sizes,
    *,
    budget: int,
    options: Mapping[str, Any] | None = None,
) -> Width:
    """Return the width at which a model has the number of parameters nearest to a budget.

    Parameters
    ----------
    row
        the model
    task_type
        the kind of problem, by whose head a model has more or fewer parameters
    sizes
        facts of the data; the width in them does not matter
    budget
        number of parameters, from 1 upwards
    options
        keywords of the model's constructor
    """
    if type(budget) is not int or budget < 1:
        raise BadValue("budget", budget, "a whole number of parameters from 1 upwards", command="--budget 100000")
    count = functools.cache(lambda width: count_at(row, task_type, sizes, width, options=options))
    width = nearest_width(count, budget)
    return Width(hidden_channels=width, n_parameters=count(width), budget=budget)


def count_at(
    row: ModelRow, task_type: TaskType, sizes: Sizes, width: int, *, options: Mapping[str, Any] | None = None
) -> int:
    """Count the parameters of a model at some width, without drawing any of them where that can be avoided.

    Parameters
    ----------
    row
        the model
    task_type
        the kind of problem
    sizes
        facts of the data; the width in them does not matter
    width
        ``hidden_channels`` of the model
    options
        keywords of the model's constructor
    """
    # Links are scored by codes, which are as wide as the layers.
    out_channels = width if task_type is TaskType.link_pred else sizes.out_channels
    at_width = replace(sizes, hidden_channels=width, out_channels=out_channels)
    with torch.random.fork_rng(devices=[]):
        try:
            with torch.device("meta"):
                return count_parameters(build(row, task_type, at_width, options=options))
        except (NotImplementedError, RuntimeError):
            # A constructor that looks at its own numbers, which a shape alone does not have.
            return count_parameters(build(row, task_type, at_width, options=options))


def nearest_width(count: Callable[[int], int], budget: int) -> int:
    """Return the whole number whose count is nearest to a budget, the smaller one of two; counts never fall.

    >>> nearest_width(lambda width: width * width, 30)
    5
    """
    low, high = NARROWEST, NARROWEST
    # Doubling first: a width far beyond the budget would take long to build where ``meta`` does not do.
    while high < WIDEST and count(high) <= budget:
        low, high = high, min(2 * high, WIDEST)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if count(middle) <= budget else (low, middle)
    return min((low, high), key=lambda width: (abs(count(width) - budget), width))


def refuse_beyond(found: Width, model: str, *, tolerance: float = TOLERANCE) -> None:
    """Raise where a network has no width whose parameters are within the tolerance of the budget.

    Parameters
    ----------
    found
        the width nearest to the budget
    model
        the name under which it is refused
    tolerance
        the largest error, as a share of the budget
    """
    if not found.is_of_rule and abs(found.n_parameters - found.budget) > tolerance * found.budget:
        nearest = f"hidden_channels={found.hidden_channels} has {found.n_parameters:,} ({found.error:+.1%})"
        allowed = f"{found.budget:,} within {tolerance:.0%}, and no width has that: {nearest}"
        raise BadValue(f"the parameters of {model}", found.n_parameters, allowed, command="gnz models --budget NUMBER")
