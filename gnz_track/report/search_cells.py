"""Which cells of a results table a search is about: those of the default, and those of its winner."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from gnz_track.store.search_record import SearchRecord

__all__ = ["SearchCells", "SearchGroup", "find_cells", "group_searches", "with_winners"]

# Stands for a value that nobody named.
UNKNOWN = object()


@dataclass(frozen=True, kw_only=True, eq=False)
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
        return any(search.best and not _is_default(search) for search in self.searches)


@dataclass(frozen=True, kw_only=True, eq=False)
class SearchCells:
    """Places of rows in a table, by seed: cells that are trained as the default, and as the winner of a search."""

    default: Mapping[int, int]
    tuned: Mapping[int, int]


def group_searches(searches: Iterable[SearchRecord]) -> tuple[SearchGroup, ...]:
    """Return the searches by task and model; of nested ones those that differ in nothing but the seed are together."""
    found: dict[tuple[Any, ...], list[SearchRecord]] = {}
    for search in searches:
        # Two searches for one model are two, whatever they differ in; those for seeds share all but their names.
        name = search.name if search.seed is None else (search.space_digest, search.sampler, search.protocol)
        found.setdefault((search.task, search.model, search.suite, search.sweep, search.kind, name), []).append(search)
    return tuple(SearchGroup(searches=tuple(group)) for _, group in sorted(found.items(), key=lambda item: item[0][:4]))


def find_cells(table: pd.DataFrame, search: SearchRecord) -> SearchCells:
    """Return the rows of a search in a table with all columns.

    A row is one of the default, or of the winner, where all hyperparameters that were searched have those values; what
    a cell does not name has its default. So a cell is found whoever trained it, and may be both.
    """
    wanted = (table["task"] == search.task) & (table["model"] == search.model)
    wanted &= table["protocol"] == search.protocol
    if search.seed is not None:
        wanted &= table["seed"] == search.seed
    default: dict[int, int] = {}
    tuned: dict[int, int] = {}
    places = {place: table.iloc[place] for place in wanted.to_numpy().nonzero()[0].tolist()}
    # What the search itself had trained comes first, then what names least.
    ordered = sorted(places, key=lambda place: (places[place]["search"] != search.name, _n_named(places[place]), place))
    for place in ordered:
        row = places[place]
        values = _values(row, search)
        if values == dict(search.default) and not row["search"]:
            default.setdefault(int(row["seed"]), place)
        if search.best and (row["search"] == search.name or values == dict(search.best)):
            tuned.setdefault(int(row["seed"]), place)
    # Where nobody trained the default by itself, a cell that was chosen may be one.
    for place in ordered:
        if _values(places[place], search) == dict(search.default):
            default.setdefault(int(places[place]["seed"]), place)
    return SearchCells(default=default, tuned=tuned)


def with_winners(table: pd.DataFrame, searches: Sequence[SearchRecord]) -> pd.DataFrame:
    """Return the table in which all cells that a search chose bear its name, whoever trained them.

    A nested search may choose the default for some seeds: their cells are there twice then, as the default and as the
    winner, since both models have them.
    """
    names, added = list(table["search"]), []
    for group in group_searches(searches):
        if not group.has_other_winner:
            continue
        for search in group.searches:
            cells = find_cells(table, search)
            for seed, place in cells.tuned.items():
                if cells.default.get(seed) == place:
                    added.append(table.iloc[[place]].assign(search=search.name))
                else:
                    names[place] = names[place] or search.name
    marked = table.assign(search=pd.Series(names, index=table.index, dtype=table["search"].dtype))
    return pd.concat([marked, *added], ignore_index=True) if added else marked


def _is_default(search: SearchRecord) -> bool:
    return dict(search.best) == dict(search.default)


def _values(row: pd.Series, search: SearchRecord) -> dict[str, Any]:
    """Return the values that a cell has of what was searched."""
    named = _named(row)
    names = {*search.space, *search.default, *search.best}
    return {name: named.get(name, search.default.get(name, UNKNOWN)) for name in names}


def _named(row: pd.Series) -> dict[str, Any]:
    try:
        found = json.loads(row["hyperparameters"] or "{}")
    except json.JSONDecodeError:
        return {}
    return found if isinstance(found, dict) else {}


def _n_named(row: pd.Series) -> int:
    return len(_named(row))
