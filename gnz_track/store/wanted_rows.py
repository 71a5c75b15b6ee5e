"""Which rows of the results table are wanted: columns, and the value or values that each row must have there.

A slip is told and never answered by nothing: a column that a table does not have, and a value of another kind than the
column's, are errors. A value that no cell has is a question like any other, and the table that answers it has no row.
Where nobody would see that, :func:`refuse_unknown` tells it from a name that is mistyped.
"""

from __future__ import annotations

import numbers
from collections.abc import Iterable, Mapping
from typing import Any

import pandas as pd

from gnz_track.errors import BadValue, UnknownName
from gnz_track.store import schema
from gnz_track.store.results import COLUMNS, REAL, TEXT, WHOLE

__all__ = [
    "NAMES",
    "Names",
    "Where",
    "asked_names",
    "check_columns",
    "experiments_of",
    "missing_names",
    "read_where",
    "refuse_unknown",
    "rows_where",
    "several",
]

# Column -> the value, or a collection of the values, that rows must have.
Where = Mapping[str, object]
# Column -> names that are asked for.
Names = Mapping[str, list[str]]
# Columns whose values somebody names and may mistype. How a cell ended is none: that none failed is an answer.
NAMES = ("sweep", "suite", "task", "category", "task_type", "model", "metric", "protocol", "dataset", "search")
# Kind of column -> what its values are, and how an error calls it.
KINDS: dict[str, tuple[type, str]] = {
    TEXT: (str, "a text, or several"),
    WHOLE: (numbers.Real, "a number, or several"),
    REAL: (numbers.Real, "a number, or several"),
}


def several(value: object) -> list[Any]:
    """Return the values that are meant: those of a collection, or the one; a text is one value.

    >>> several("GCN"), several(("GCN", "MLP")), several(3)
    (['GCN'], ['GCN', 'MLP'], [3])
    """
    return list(value) if isinstance(value, Iterable) and not isinstance(value, str | bytes) else [value]


def read_where(where: Where | None) -> dict[str, list[Any]]:
    """Return the values that are wanted of each column, each of the kind that the column holds."""
    if not isinstance(where or {}, Mapping):
        raise BadValue("where", where, "columns and what they are to be, such as {'model': 'GCN', 'seed': [0, 1]}")
    found = {name: several(value) for name, value in (where or {}).items()}
    check_columns(found)
    for name, values in found.items():
        kind, allowed = KINDS.get(COLUMNS[name][2], (object, ""))
        for value in values:
            if value is not None and not isinstance(value, kind):
                raise BadValue(f"wanted {name}", value, allowed)
    return found


def check_columns(names: Iterable[str]) -> None:
    """Refuse what is no column of the results table."""
    for name in names:
        if name not in COLUMNS:
            raise UnknownName("column", name, COLUMNS)


def rows_where(table: pd.DataFrame, where: Mapping[str, list[Any]]) -> pd.DataFrame:
    """Return the rows that have, in each column, one of the values that are wanted."""
    for name, values in where.items():
        table = table[table[name].isin(values)]
    return table.reset_index(drop=True)


def asked_names(where: Where, **columns: object) -> Names:
    """Return the names that are asked for, by column: those of ``where``, and those of the other arguments."""
    found: dict[str, list[str]] = {}
    for name, value in (*columns.items(), *where.items()):
        values = [str(one) for one in several(value) if one] if name in {*NAMES, *columns} else []
        if values:
            found.setdefault(name, []).extend(values)
    return found


def missing_names(asked: Names, rows: pd.DataFrame) -> Names:
    """Return the names that none of the rows bears."""
    known = {column: set(_column_of(rows, column)) for column in asked}
    found = {column: [name for name in names if name not in known[column]] for column, names in asked.items()}
    return {column: names for column, names in found.items() if names}


def refuse_unknown(missing: Names, known: pd.DataFrame) -> None:
    """Refuse names that nothing in a store bears; ``known`` has the columns ``NAMES`` of all that it holds.

    Names that are known and were not found, because no cell has all that was asked for, are no mistake.
    """
    for column, names in missing_names(missing, known).items():
        raise UnknownName(column.replace("_", " "), names[0], set(_column_of(known, column)) - {""}, command="gnz ls")


def experiments_of(rows: pd.DataFrame) -> pd.Series:
    """Return the experiment in which each row lies."""
    return schema.PREFIX + "/" + rows["suite"] + "/" + rows["task"]


def _column_of(rows: pd.DataFrame, name: str) -> pd.Series:
    return experiments_of(rows) if name == "experiment" else rows[name]
