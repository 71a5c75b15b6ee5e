"""Cells of a results table that belong to a search: those of the default, and those of its winner."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import pandas as pd

from gnz_track.store.search_record import SearchRecord
from gnz_track.types import tuned_name

__all__ = ["SearchCells", "SearchGroup", "find_cells", "group_searches"]


@dataclass(frozen=True, kw_only=True)
class SearchGroup:
    """The searches for one model on one task: one, or where they are nested one for each seed."""

    searches: tuple[SearchRecord, ...]

    @property
    def first(self) -> SearchRecord:
        """Any of them, for what they share."""
        return self.searches[0]

    @property
    def has_other_winner(self) -> bool:
        """Whether any of them found something else than the default."""
        return any(search.best and dict(search.best) != dict(search.default) for search in self.searches)


@dataclass(frozen=True, kw_only=True)
class SearchCells:
    """Places of rows in a table, by seed: cells that are trained as the default, and as the winner of a search."""

    default: Mapping[int, int]
    tuned: Mapping[int, int]


def group_searches(searches: Iterable[SearchRecord]) -> tuple[SearchGroup, ...]:
    """Return the searches by task and model; nested ones that differ in nothing but the seed are together."""
    found: dict[tuple[str, ...], list[SearchRecord]] = {}
    for search in searches:
        name = search.name if search.seed is None else f"{search.space_digest} {search.sampler} {search.protocol}"
        key = (search.task, search.model, search.suite, search.sweep, search.kind, name)
        found.setdefault(key, []).append(search)
    return tuple(SearchGroup(searches=tuple(group)) for _, group in sorted(found.items()))


def find_cells(table: pd.DataFrame, search: SearchRecord) -> SearchCells:
    """Return the rows of a search in a results table.

    Cells of its model are those of the default where they change nothing of what was searched. Tuned ones are those
    that bear the name of the search; where a cell had been trained before, by another search that found the same, it
    is known by its values.
    """
    wanted = (table["task"] == search.task) & (table["protocol"] == search.protocol)
    if search.seed is not None:
        wanted &= table["seed"] == search.seed
    default: dict[int, int] = {}
    found: dict[int, int] = {}
    by_values: dict[int, int] = {}
    tuned = tuned_name(search.model)
    for place in wanted.to_numpy().nonzero()[0].tolist():
        row = table.iloc[place]
        seed, values = int(row["seed"]), _values_of_cell(row["hyperparameters"], search)
        if row["model"] == search.model and values == dict(search.default):
            default.setdefault(seed, place)
        elif row["model"] == tuned and row["search"] == search.name:
            found.setdefault(seed, place)
        elif row["model"] == tuned and values == dict(search.best):
            by_values.setdefault(seed, place)
    return SearchCells(default=default, tuned={**by_values, **found} if search.best else {})


def _values_of_cell(hyperparameters: str, search: SearchRecord) -> dict[str, Any]:
    """Return the values that a cell has of what was searched; what it does not name has its default."""
    named = json.loads(hyperparameters or "{}")
    return {**search.default, **{name: value for name, value in named.items() if name in search.space}}
