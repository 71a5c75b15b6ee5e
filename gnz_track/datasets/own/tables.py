"""Tables of one's own, a file or a frame each: columns are taken, checked and turned into tensors.

Every complaint names the table, the column and the line, and says what to do.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch
from pandas.errors import ParserWarning
from torch import Tensor

from gnz_track.errors import BadValue, UnknownName

__all__ = [
    "SPLITS",
    "TIME",
    "Reading",
    "Table",
    "labels_of",
    "numbers_of",
    "open_table",
    "read_options",
    "split_of",
    "times_of",
]

# Option -> how it is written on the command line, and in Python.
_SAID = {
    "label": ("--label {}", "label={}"),
    "ignore": ("--ignore {}", "ignore=({},)"),
    "is_directed": ("--directed", "is_directed=True"),
    "allow_unlabelled": ("--unlabelled", "allow_unlabelled=True"),
}
# Column of the times by which a temporal split divides.
TIME = "time"
SPLITS = {"train": 0, "val": 1, "valid": 1, "validation": 1, "test": 2}


@dataclass(frozen=True, kw_only=True)
class Reading:
    """Options for reading tables: the column (or columns) of labels, those to leave out, and what is allowed.

    Where it ``speaks_flags``, errors name options of the command line in place of arguments.
    """

    label: str | tuple[str, ...] = "label"
    ignore: tuple[str, ...] = ()
    is_directed: bool = False
    allow_unlabelled: bool = False
    speaks_flags: bool = False

    def say(self, option: str, value: str = "") -> str:
        """Return an option as it is given: a flag on the command line, an argument in Python."""
        flag, argument = _SAID[option]
        return flag.format(value) if self.speaks_flags else argument.format(repr(value))

    @property
    def labels(self) -> tuple[str, ...]:
        """Names of the columns of labels."""
        return (self.label,) if isinstance(self.label, str) else self.label


@dataclass(frozen=True, eq=False)
class Table:
    """Rows of a table; ``place`` says where row number ``i`` stands, for messages."""

    name: str
    frame: pd.DataFrame
    place: Callable[[int], str]

    def __contains__(self, column: str) -> bool:
        return column in self.frame.columns

    def column(self, name: str) -> pd.Series:
        """Return a column; one that is not there is an error with near matches."""
        if name not in self:
            raise UnknownName(f"column of {self.name}", name, map(str, self.frame.columns))
        return self.frame[name]

    def ids(self, name: str) -> list[str]:
        """Return a column of ids as texts, so that 7 in one file is "7" in another; an empty one is an error."""
        found = self.column(name)
        self.refuse(found.isna(), name, "an id in every line")
        if found.dtype.kind == "f":
            self.refuse(np.isinf(found), name, "an id in every line, not infinity")
            found = found.astype("int64") if (found == found.round()).all() else found
        return [str(value) for value in found]

    def refuse(self, is_wrong: pd.Series | np.ndarray[Any, Any], column: str, allowed: str) -> None:
        """Raise at the first line of a column that is wrong.

        Parameters
        ----------
        is_wrong
            Whether each row is wrong ``[n]``.
        column, allowed
        """
        wrong = np.flatnonzero(np.asarray(is_wrong))
        if wrong.size:
            value = self.frame[column].iloc[wrong[0]]
            shown = "empty or NaN" if pd.isna(value) else getattr(value, "item", lambda: value)()
            more = f" ({wrong.size - 1} more)" if wrong.size > 1 else ""
            where = f"{column!r} in {self.place(int(wrong[0]))} of {self.name}{more}"
            raise BadValue(where, shown, allowed)


def read_options(options: dict[str, Any]) -> Reading:
    """Return the options of a reading; an unknown one is an error with near matches."""
    known = [field.name for field in fields(Reading)]
    for name in options:
        if name not in known:
            raise UnknownName("option", name, known)
    given = {name: tuple(value) if isinstance(value, list) else value for name, value in options.items()}
    if isinstance(given.get("ignore"), str):
        given["ignore"] = (given["ignore"],)
    return Reading(**given)


_READERS: dict[str, Callable[[Path], pd.DataFrame]] = {
    ".csv": lambda path: pd.read_csv(path, skip_blank_lines=False, index_col=False),
    ".tsv": lambda path: pd.read_csv(path, sep="\t", skip_blank_lines=False, index_col=False),
    ".parquet": pd.read_parquet,
}


def open_table(source: str | Path | pd.DataFrame, role: str) -> Table:
    """Open a CSV, TSV or parquet file, or take a frame, as the table of a role such as ``edges``."""
    if isinstance(source, pd.DataFrame):
        return Table(f"the table of {role}", source.reset_index(drop=True), lambda row: f"row {row}")
    path = Path(source)
    if path.suffix.lower() not in _READERS or not path.is_file():
        allowed = f"a file that exists and ends in {', '.join(_READERS)}, or a pandas frame"
        raise BadValue(f"the table of {role}", str(source), allowed)
    try:
        with warnings.catch_warnings():
            # Lines longer than the header would lose what is too much.
            warnings.simplefilter("error", ParserWarning)
            frame = _READERS[path.suffix.lower()](path)
    except (ValueError, OSError, ParserWarning) as error:
        # Some parsers say it in several lines.
        said = " ".join(str(error).split())
        raise BadValue(f"the table of {role}", str(source), f"a table that reads ({said})") from error
    is_text = path.suffix.lower() != ".parquet"
    # Blank lines are no rows; the others keep the number that an editor shows.
    frame = frame[frame.notna().any(axis=1)] if is_text else frame
    lines = frame.index.to_numpy() + 2 if is_text else np.arange(len(frame))
    word = "line" if is_text else "row"
    return Table(path.name, frame.reset_index(drop=True), lambda row: f"{word} {lines[row]}")


def numbers_of(table: Table, taken: Sequence[str], reading: Reading) -> Tensor | None:
    """Return columns as features ``[n, columns]`` float32; None where there are none.

    Parameters
    ----------
    table
    taken
        Columns that are no features.
    reading
        Names more columns to leave out.
    """
    names = [name for name in table.frame.columns if name not in {*taken, *reading.ignore}]
    for name in names:
        _check_number(table, name, reading)
    if not names:
        return None
    return torch.from_numpy(table.frame[names].to_numpy(dtype=np.float32, copy=True))


def _check_number(table: Table, name: str, reading: Reading) -> None:
    found, called = table.frame[name], str(name)
    if found.dtype.kind not in "biuf":
        is_text = pd.to_numeric(found, errors="coerce").isna() & found.notna()
        remedy = (
            f"numbers. If it is what is to be predicted: {reading.say('label', called)}. Else leave it out by "
            f"{reading.say('ignore', called)}, or encode it: "
            f"pandas.get_dummies(frame, columns=[{called!r}], dtype=float)"
        )
        table.refuse(is_text if is_text.any() else np.ones(len(found), dtype=bool), name, remedy)
    is_odd = ~np.isfinite(found.to_numpy(dtype=np.float64))
    left_out = reading.say("ignore", called)
    table.refuse(is_odd, name, f"finite numbers: fill in or drop such lines, or leave the column out by {left_out}")


def labels_of(table: Table, reading: Reading) -> Tensor | None:
    """Return the labels of a table's rows ``[n]`` or ``[n, columns]``; None where it has no such column.

    Whole numbers stay as they are, texts become classes in alphabetical order, real ones are numbers to predict.
    Missing ones are -1 or NaN where they are allowed.
    """
    names = [name for name in reading.labels if name in table]
    if not names:
        return None
    if len(reading.labels) == 1:
        return _one_label(table, names[0], reading)
    columns = [_one_label(table, name, reading).double() for name in reading.labels]
    return torch.stack(columns, dim=1).float()


def _one_label(table: Table, name: str, reading: Reading) -> Tensor:
    found = table.column(name)
    is_missing = found.isna()
    if not reading.allow_unlabelled:
        table.refuse(is_missing, name, f"a label in every line. If some have none: {reading.say('allow_unlabelled')}")
    known = found[~is_missing]
    if known.dtype.kind not in "biuf":
        classes = sorted({str(value) for value in known})
        codes = {text: number for number, text in enumerate(classes)}
        return torch.tensor([-1 if gone else codes[str(value)] for value, gone in zip(found, is_missing, strict=True)])
    is_whole = known.dtype.kind in "biu" or bool((known == known.round()).all() and is_missing.any())
    if not is_whole:
        table.refuse(np.isinf(found.to_numpy(dtype=np.float64)), name, "finite numbers")
        return torch.from_numpy(found.to_numpy(dtype=np.float32, copy=True))
    table.refuse(
        (known < 0).reindex(found.index, fill_value=False),
        name,
        "classes from 0 upwards; numbers to predict are real ones, as in -3.0",
    )
    return torch.from_numpy(found.fillna(-1).to_numpy(dtype=np.int64, copy=True))


def split_of(table: Table) -> Tensor | None:
    """Return the part of each row ``[n]``: 0 train, 1 validation, 2 test, -1 none; None without a column ``split``."""
    if "split" not in table:
        return None
    found = table.frame["split"]
    parts = found.map(SPLITS)
    table.refuse(parts.isna() & found.notna(), "split", ", ".join(SPLITS) + " or nothing")
    return torch.from_numpy(parts.fillna(-1).to_numpy(dtype=np.int64, copy=True))


def times_of(table: Table) -> Tensor | None:
    """Return the time of each row ``[n]``, a number or a date as days since 1970; None without a column ``time``."""
    if TIME not in table:
        return None
    found = table.frame[TIME]
    if found.dtype.kind not in "biuf":
        dates = pd.to_datetime(found, errors="coerce", utc=True, format="ISO8601")
        table.refuse(dates.isna(), TIME, "a number or a date as 2026-11-20 in every line")
        found = (dates - pd.Timestamp(0, tz="UTC")) / pd.Timedelta(days=1)
    table.refuse(~np.isfinite(found.to_numpy(dtype=np.float64)), TIME, "a number or a date in every line")
    return torch.from_numpy(found.to_numpy(dtype=np.int64 if found.dtype.kind in "biu" else np.float64, copy=True))
