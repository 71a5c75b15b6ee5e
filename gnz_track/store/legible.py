"""Runs of which something cannot be read, since it was edited by hand or another tool wrote it: named and left out."""

from __future__ import annotations

import json
import logging
import math
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

import pandas as pd

from gnz_track.kinds import Category, Direction, TaskType
from gnz_track.store import schema
from gnz_track.store.address import Address
from gnz_track.store.results import COLUMNS, REAL, RUN, TEXT, TIME, WHOLE, make_table
from gnz_track.store.run_filter import RunFilter

__all__ = ["finite", "is_real", "legible_table", "read_with"]

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
