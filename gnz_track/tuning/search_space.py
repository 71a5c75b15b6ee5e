"""Argument ``search=`` of scripts, and the search that it asks for."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

from gnz_track.errors import BadValue
from gnz_track.tuning.default_spaces import ALL
from gnz_track.tuning.settings import SearchSettings
from gnz_track.tuning.spaces import make_space

__all__ = ["SearchSpace", "read_search"]


@dataclass(frozen=True)
class SearchSpace:
    """A grid of values, as in the published package; ``n_random`` draws that many of its points and no more.

    An empty list leaves a hyperparameter as it is. The default configuration is tried first in any case.
    """

    lr: Sequence[float] = (1e-3, 1e-2)
    weight_decay: Sequence[float] = (0.0, 5e-4)
    hidden_channels: Sequence[int] = (32, 64)
    n_random: int | None = None


def read_search(given: Any) -> SearchSettings:
    """Return the settings of what a script hands over: a number of trials, a space, or settings as they are."""
    for kind, read in _READERS.items():
        if isinstance(given, kind) and not isinstance(given, bool):
            return read(given)
    allowed = "a number of trials, a mapping as {'lr': [0.001, 0.01]}, a SearchSpace, or SearchSettings"
    raise BadValue("search", given, allowed, command="search=30")


def _of_grid(given: SearchSpace) -> SearchSettings:
    names = [item.name for item in fields(given) if item.name != "n_random"]
    space = make_space("search", {name: list(getattr(given, name)) for name in names if len(getattr(given, name))})
    n_points = 1
    for dimension in space.values():
        n_points *= len(dimension.choices)
    # The grid stops at its last point; a point more is for a default that is none of them.
    trials = n_points + 1 if given.n_random is None else given.n_random
    return SearchSettings(trials=trials, sampler="grid", spaces={ALL: space})


_READERS: dict[type, Callable[[Any], SearchSettings]] = {
    SearchSettings: lambda given: given,
    SearchSpace: _of_grid,
    int: lambda given: SearchSettings(trials=given),
    Mapping: lambda given: SearchSettings(spaces={ALL: make_space("search", given)}),
}
