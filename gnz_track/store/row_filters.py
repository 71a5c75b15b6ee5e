"""Rows and runs of a store: which a reader is asked for, and what of them can be read.

A slip is told and never answered by nothing: a column that a table does not have, and a value of another kind than the
column's, are errors. A value that no cell has is a question like any other, and the table that answers it has no row.
Where nobody would see that, :func:`refuse_unknown` tells it from a name that is mistyped. Runs of which something
cannot be read, since they were edited by hand or another tool wrote them, are named and left out.
"""

from __future__ import annotations

import json
import logging
import math
import numbers
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from gnz_track.errors import BadValue, UnknownName
from gnz_track.records import freeze_mappings
from gnz_track.store import schema
from gnz_track.store.address import Address
from gnz_track.store.results_table import COLUMNS, REAL, RUN, STATES, STATUSES, TEXT, TIME, WHOLE, make_table
from gnz_track.types import Category, Direction, TaskType

__all__ = [
    "NAMES",
    "Names",
    "PastRun",
    "Point",
    "RunFilter",
    "Where",
    "asked_names",
    "check_columns",
    "experiments_of",
    "finite",
    "is_real",
    "legible_table",
    "missing_names",
    "read_where",
    "read_with",
    "refuse_unknown",
    "rows_where",
    "several",
]


@dataclass(frozen=True, kw_only=True)
class RunFilter:
    """Runs that bear all names given, and one of ``tasks``; an empty name, or no task, selects everything.

    Results are cells that ended by themselves; ``in_any_state`` selects running and killed ones too, and ``kind`` the
    runs that stand for whole sweeps.
    """

    sweep: str = ""
    experiment: str = ""
    suite: str = ""
    tasks: tuple[str, ...] = ()
    kind: str = schema.CELL
    in_any_state: bool = False

    @property
    def tags(self) -> dict[str, str]:
        """The tags that selected runs bear, beside that of their task."""
        wanted = {schema.KIND: self.kind, schema.SWEEP: self.sweep, schema.SUITE: self.suite}
        return {key: value for key, value in wanted.items() if value}

    @property
    def statuses(self) -> Mapping[str, str]:
        """MLflow's words for how selected runs stand, and ours."""
        return STATES if self.in_any_state else STATUSES


@dataclass(frozen=True, kw_only=True)
class PastRun:
    """A run: its id, MLflow's word for how it stands, where its artifacts lie, its tags, its final metrics."""

    run_id: str
    status: str
    artifacts: str
    tags: Mapping[str, str]
    metrics: Mapping[str, float]

    def __post_init__(self) -> None:
        final = {
            key: float(value)
            for key, value in self.metrics.items()
            if not key.startswith(schema.CURVE_PREFIX) and is_real(value)
        }
        object.__setattr__(self, "metrics", final)
        freeze_mappings(self, "tags", "metrics")


# Run, key, epoch and value of a point of a curve.
Point = tuple[str, str, int, float]
LOG = logging.getLogger(__name__)
Found = Mapping[str, Sequence[Any]]
# What is looked at of every run, whichever columns are asked for: one run is left out by all readers, or by none.
OF_CELLS = (
    "run_id",
    "sweep",
    "suite",
    "task",
    "category",
    "task_type",
    "model",
    "seed",
    "metric",
    "direction",
    "score",
    "status",
    "fingerprint",
    "hyperparameters",
    "epochs",
    "start_time",
)
OF_OTHERS = ("run_id", "sweep", "suite", "status", "start_time")
# Without these a run is no cell of anything; without those, no sweep.
NEEDED = frozenset({"run_id", "sweep", "suite", "task", "model", "seed", "direction", "fingerprint", "start_time"})
NEEDED_OF_OTHERS = frozenset({"run_id", "sweep", "suite", "start_time"})
NEEDED_IF_FINISHED = frozenset({"metric", "score"})
WORDS = {"direction": frozenset(Direction), "category": frozenset(Category), "task_type": frozenset(TaskType)}
# MLflow writes this for what is infinite; the end of the year 9999 is the last time that anything can show.
INFINITE, LAST_TIME, MOST_WHOLE = 1.7e308, 253_402_300_799_999, 2**53
MOST_NAMED, MOST_SHOWN = 5, 80
# Said once for a run, and not by each question.
_TOLD: set[tuple[str, str]] = set()


def read_with(columns: Collection[str], wanted: RunFilter) -> list[str]:
    """Return the columns to read where some are asked for, so that it can be told which runs can be read."""
    checked = OF_CELLS if wanted.kind == schema.CELL else OF_OTHERS
    return [name for name in COLUMNS if name in {*columns, *checked}]


def legible_table(address: Address, found: Found, *, wanted: RunFilter, columns: Collection[str]) -> pd.DataFrame:
    """Return the table of the runs that can be read; the others are named, each once, and left out.

    What a run took, and whatever else is neither its name nor its score, is missing where it cannot be read.

    Parameters
    ----------
    address
        Store, for warnings.
    found
        Values of :func:`read_with` as they stand in the store; the status is MLflow's word.
    wanted
        Kind and states of the runs.
    columns
        Columns of the table.
    """
    broken: dict[int, tuple[str, Any]] = {}
    spoilt: dict[int, tuple[str, Any]] = {}
    found = dict(found)
    checked = OF_CELLS if wanted.kind == schema.CELL else OF_OTHERS
    for name, values in found.items():
        # Most values are there many times.
        bad = {value for value in set(values) if not _can_read(name, value, wanted)}
        if bad:
            named = {n: (name, value) for n, value in enumerate(values) if value in bad}
            broken, spoilt = (named | broken, spoilt) if name in checked else (broken, named | spoilt)
            found[name] = [None if value in bad else value for value in values]
    if wanted.kind == schema.CELL:
        for n, status in enumerate(found["status"]):
            if status == "FINISHED" and n not in broken:
                missing = next((name for name in NEEDED_IF_FINISHED if found[name][n] in {None, ""}), "")
                broken |= {n: (missing, None)} if missing else {}
    _warn_of_unreadable(
        address, {str(found["run_id"][n]): (*what, "the run is left out") for n, what in broken.items()}
    )
    _warn_of_unreadable(address, {str(found["run_id"][n]): (*what, "it is missing here") for n, what in spoilt.items()})
    kept = {name: [value for n, value in enumerate(found[name]) if n not in broken] for name in columns}
    if "status" in kept:
        kept["status"] = [wanted.statuses[status] for status in kept["status"]]
    return make_table(kept, names=columns)


def finite(value: Any) -> Any:
    """Return a metric as it is, and None for one that is not a number."""
    return None if isinstance(value, float) and math.isnan(value) else value


def _can_read(name: str, value: Any, wanted: RunFilter) -> bool:
    # The writer leaves out what is empty; a number, or JSON, that is there and empty was emptied.
    if value is None or (value == "" and COLUMNS[name][2] == TEXT and name != "hyperparameters"):
        return name not in (NEEDED if wanted.kind == schema.CELL else NEEDED_OF_OTHERS)
    if name in WORDS:
        return value in WORDS[name]
    if name == "hyperparameters":
        return _is_settings(value)
    return _READS[COLUMNS[name][2]](value)


def _is_whole(value: Any) -> bool:
    if isinstance(value, str):
        return re.fullmatch(r"-?\d{1,15}", value, re.ASCII) is not None
    return isinstance(value, int | float) and abs(value) < MOST_WHOLE and value == int(value)


def is_real(value: Any) -> bool:
    """Tell whether a value of a metric is a finite number."""
    return isinstance(value, int | float) and abs(value) < INFINITE


def _is_real(value: Any) -> bool:
    # A tag is a text, whatever it says.
    if isinstance(value, str):
        return re.fullmatch(r"-?\d+(\.\d+)?(e[+-]?\d+)?", value, re.ASCII) is not None and is_real(float(value))
    return is_real(value)


def _is_time(value: Any) -> bool:
    return isinstance(value, int) and 0 <= value <= LAST_TIME


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


_READS: Mapping[str, Callable[[Any], bool]] = {WHOLE: _is_whole, REAL: _is_real, TIME: _is_time, TEXT: _is_text}


def _is_settings(text: Any) -> bool:
    """Tell whether a text is JSON of names and plain values, each name once."""
    try:
        pairs = json.loads(text, object_pairs_hook=tuple, parse_constant=_refuse_constant)
    except (ValueError, TypeError, RecursionError):
        return False
    names = [name for name, _ in pairs] if isinstance(pairs, tuple) else []
    is_plain = isinstance(pairs, tuple) and all(isinstance(value, str | int | float) for _, value in pairs)
    return is_plain and len(set(names)) == len(names)


def _refuse_constant(word: str) -> None:
    raise ValueError(word)


def _warn_of_unreadable(address: Address, what: Mapping[str, tuple[str, Any, str]]) -> None:
    new = {run_id: said for run_id, said in what.items() if (str(address), run_id) not in _TOLD}
    _TOLD.update((str(address), run_id) for run_id in new)
    for run_id, (name, value, follows) in list(new.items())[:MOST_NAMED]:
        place, key, _ = COLUMNS[name]
        of_run = name.replace("_", " ") if place == RUN else f"{place} {key}"
        shown = "missing" if value is None else f"{repr(value)[:MOST_SHOWN]}, which cannot be read"
        LOG.warning("run %s in %s: its %s is %s; %s", run_id, address, of_run, shown, follows)
    if len(new) > MOST_NAMED:
        LOG.warning("%d more runs in %s: the same, or the like", len(new) - MOST_NAMED, address)


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
