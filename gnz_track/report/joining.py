"""Runs of several sweeps, users and machines in one table, as far as they are comparable; the rest with the reason.

The first rows that are taken say what data, splits, protocol and budget a task has. A later row joins where it agrees,
as far as both of them tell.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from gnz_track.types import is_tuned
from gnz_track.variant_labels import read_changes

__all__ = ["NotMerged", "join_tables", "order_for_joining"]

BY_SEED = ("dataset_digest", "split_digest")
BY_TASK = ("protocol", "epochs")
# Only a finished row tells these: those of a cell that failed early are presumed.
OF_SCORES = ("metric", "direction")
BY_MODEL = ("hyperparameters",)
FINISHED = "finished"
TRAIN_SIZE = "train_size"
# All columns in which rows are compared, beside task, model, seed and score.
TEXTS = ("run_id", "fingerprint", "status", *BY_SEED, *BY_TASK, *OF_SCORES, *BY_MODEL)

Row = dict[str, Any]
Place = tuple[int, int]


@dataclass(frozen=True, kw_only=True)
class NotMerged:
    """A row that did not join a report."""

    task: str
    model: str
    seed: int
    run_id: str
    reason: str

    def __str__(self) -> str:
        run = f" (run {self.run_id})" if self.run_id else ""
        return f"{self.task} {self.model} s{self.seed}{run}: {self.reason}"


def join_tables(
    base: pd.DataFrame | None, others: Sequence[pd.DataFrame], *, free: Collection[str] = ()
) -> tuple[pd.DataFrame, tuple[NotMerged, ...]]:
    """Return one table with the rows of ``base``, and those of ``others`` that are comparable; and all that are not.

    The same cell (by fingerprint) is one row, the finished one where one of two failed.

    Parameters
    ----------
    base
        Rows that are all kept.
    others
        Tables whose rows are kept where they are comparable.
    free
        Columns in which cells of one model, task and seed may differ, because a comparison tells them apart.
    """
    tables = [*(() if base is None else (base,)), *others]
    rows = _Rows(free)
    for number, table in enumerate(tables):
        for place, row in enumerate(_plain_rows(table)):
            (rows.take if base is None or number else rows.enter)(row, (number, place))
    kept = [[place for number, place in rows.kept if number == wanted] for wanted in range(len(tables))]
    parts = [table.iloc[places] for table, places in zip(tables, kept, strict=True) if places]
    joined = pd.concat(parts, ignore_index=True) if parts else pd.concat(tables[:1])
    return joined, tuple(rows.left)


def order_for_joining(table: pd.DataFrame) -> pd.DataFrame:
    """Sort so that the sweep with the most finished cells of a task comes first there, and of equal ones the latest."""
    is_finished = table["status"] == FINISHED
    size = is_finished.groupby([table["task"], table["sweep"]]).transform("sum")
    latest = table.groupby(["task", "sweep"])["start_time"].transform("max")
    ordered = table.assign(size=size, latest=latest, is_finished=is_finished).sort_values(
        ["size", "latest", "is_finished"], ascending=False, kind="stable"
    )
    return ordered[list(table.columns)]


class _Rows:
    """The rows taken so far, and what they tell of each task."""

    def __init__(self, free: Collection[str]) -> None:
        self.left: list[NotMerged] = []
        # (number of the table, place in it), in the order of taking.
        self.kept: dict[Place, None] = {}
        self._free = tuple(free)
        self._cells: dict[str, tuple[Place, Row]] = {}
        self._slots: dict[tuple[Any, ...], tuple[Place, Row]] = {}
        # Where a column must be one -> its value, and the run that tells it.
        self._told: dict[tuple[Any, ...], tuple[str, str]] = {}

    def take(self, row: Row, place: Place) -> None:
        """Keep a row, leave it with a reason, or pass over it in silence where it is there already."""
        known = self._cells.get(_text(row, "fingerprint")) or self._slots.get(self._slot(row))
        reason = self._why_not(row, known)
        if reason:
            self._leave(row, reason)
        elif known is None:
            self.enter(row, place)
        elif _is_finished(row) and not _is_finished(known[1]):
            self.kept.pop(known[0], None)
            self.enter(row, place)

    def enter(self, row: Row, place: Place) -> None:
        """Keep a row, unchecked."""
        self.kept[place] = None
        if name := _text(row, "fingerprint"):
            self._cells[name] = (place, row)
        slot = self._slot(row)
        if slot not in self._slots or _is_finished(row):
            self._slots[slot] = (place, row)
        for key, value in self._tells(row):
            self._told.setdefault(key, (value, _text(row, "run_id")))

    def _why_not(self, row: Row, known: tuple[Place, Row] | None) -> str:
        differing = [
            f"{key[0]} is {value!r} here and {told[0]!r} in the report{_run(told[1])}"
            for key, value in self._tells(row)
            if (told := self._told.get(key)) and told[0] != value
        ]
        if differing:
            return "; ".join(differing)
        return "" if known is None else _why_not_twice(row, known[1], self._free_of(row))

    def _tells(self, row: Row) -> Iterator[tuple[tuple[Any, ...], str]]:
        scored = OF_SCORES if _is_finished(row) else ()
        for names, where in ((BY_TASK + scored, ()), (BY_SEED, (row["seed"],))):
            for name in names:
                if name not in self._free and (value := _text(row, name)):
                    # A training part of another size is another split, with the same validation and test.
                    size = _train_size(row) if name == "split_digest" else ""
                    yield (name, row["task"], *where, size), value

    def _slot(self, row: Row) -> tuple[Any, ...]:
        return (row["task"], row["model"], row["seed"], *(_text(row, name) for name in self._free_of(row)))

    def _free_of(self, row: Row) -> tuple[str, ...]:
        """Return in what cells of a row's model, task and seed may differ; of tuned ones a report holds one finding."""
        return tuple(name for name in self._free if not (name in BY_MODEL and is_tuned(row["model"])))

    def _leave(self, row: Row, reason: str) -> None:
        run_id = _text(row, "run_id")
        found = NotMerged(task=row["task"], model=row["model"], seed=int(row["seed"]), run_id=run_id, reason=reason)
        self.left.append(found)


def _why_not_twice(row: Row, known: Row, free: Iterable[str]) -> str:
    """Return why a second row of one model, task and seed is another result than the first; empty where it is not."""
    run = _run(_text(known, "run_id"))
    for name in BY_MODEL:
        here, there = _text(row, name) or "{}", _text(known, name) or "{}"
        if name not in free and here != there:
            return f"{name} is {here!r} here and {there!r} in the report{run}"
    is_another = len({_text(row, "fingerprint"), _text(known, "fingerprint")} - {""}) > 1
    if _is_finished(row) and _is_finished(known):
        if is_another:
            return f"another cell of this model, task and seed is in the report{run}"
        if row["score"] != known["score"]:
            return f"the same cell has the score {row['score']!r} here and {known['score']!r} in the report{run}"
    if is_another and not _is_finished(row):
        return f"it has no score, and another cell of this model, task and seed is in the report{run}"
    return ""


def _plain_rows(table: pd.DataFrame) -> list[Row]:
    """Return of each row what is looked at, missing texts as empty ones."""
    found = {name: table[name].tolist() for name in ("task", "model", "seed", "score") if name in table}
    for name in TEXTS:
        if name in table:
            values = table[name]
            found[name] = [
                "" if is_missing else str(value) for value, is_missing in zip(values, values.isna(), strict=True)
            ]
    names = tuple(found)
    return [dict(zip(names, values, strict=True)) for values in zip(*found.values(), strict=True)]


def _train_size(row: Row) -> str:
    text = _text(row, "hyperparameters")
    return str((read_changes(text) or {}).get(TRAIN_SIZE, "")) if TRAIN_SIZE in text else ""


def _is_finished(row: Row) -> bool:
    return _text(row, "status") == FINISHED


def _run(run_id: str) -> str:
    return f" (run {run_id})" if run_id else ""


def _text(row: Row, name: str) -> str:
    return str(row.get(name, ""))
