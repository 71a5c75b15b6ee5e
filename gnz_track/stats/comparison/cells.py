"""The cells of a results table as plain records: read, labelled and laid out by task, model and seed."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from gnz_track.errors import BadValue, DuplicateCells, MetricsMixed, NothingToCompare
from gnz_track.types import Direction
from gnz_track.variant_labels import label_variants

__all__ = [
    "COMPARED",
    "FACTORS",
    "OPTIONAL",
    "REQUIRED",
    "ModelCells",
    "ScoreFrame",
    "ScoredCell",
    "TaskCells",
    "lay_out",
    "read_cells",
]

REQUIRED = ("task", "model", "seed", "score", "metric", "direction")
# Optional columns whose values must, or should, agree between compared cells.
COMPARED = (
    "dataset_digest",
    "split_digest",
    "protocol",
    "epochs",
    "hyperparameters",
    "version",
    "git_commit",
    "environment",
    "instructions",
)
# Optional columns that tell what a seed stands for, where runs of one seed differ in it.
FACTORS = ("split_seed", "init_seed")
# Optional columns that tell how large a model is, both parts of the split, and the score of whoever learnt nothing.
MEASURED = ("n_parameters", "n_train", "n_test", "baseline")
FACTS = (*COMPARED, *FACTORS, *MEASURED)
OPTIONAL = ("run_id", "status", *FACTS)


class ScoreFrame(Protocol):
    """The part of a pandas DataFrame that is needed of a table."""

    @property
    def columns(self) -> Iterable[Any]:
        """The names of the columns."""
        ...

    def __getitem__(self, name: str) -> Any: ...

    def __len__(self) -> int: ...


@dataclass(frozen=True, kw_only=True)
class ScoredCell:
    """One row: ``model`` is the name, ``label`` tells its variants apart, ``score`` is None where there is none."""

    task: str
    model: str
    label: str
    seed: int
    score: float | None
    metric: str
    direction: str
    run_id: str
    has_failed: bool
    facts: Mapping[str, str]

    def __str__(self) -> str:
        name = f"{self.task} {self.label} s{self.seed}"
        return f"{name} ({self.run_id})" if self.run_id else name


@dataclass(frozen=True, kw_only=True)
class ModelCells:
    """The scored cells of one model on one task, seeds rising, and the seeds without a score.

    ``was_run`` is False where the table has no row at all: the pair of this model and task was not planned.
    ``lost_seeds`` have a score of no model: they tell nothing of this one.
    """

    label: str
    cells: tuple[ScoredCell, ...]
    was_run: bool
    failed_seeds: tuple[int, ...] = ()
    missing_seeds: tuple[int, ...] = ()
    lost_seeds: tuple[int, ...] = ()

    @property
    def scores(self) -> dict[int, float | None]:
        """Seed -> score."""
        return {cell.seed: cell.score for cell in self.cells}

    @property
    def is_complete(self) -> bool:
        """Whether every seed of which any model has a score has one of this model."""
        return {*self.failed_seeds, *self.missing_seeds} <= set(self.lost_seeds)


@dataclass(frozen=True, kw_only=True)
class TaskCells:
    """The cells of one task; ``seeds`` are all that any model was run with, ``models`` all that any task was."""

    task: str
    metric: str
    direction: Direction
    seeds: tuple[int, ...]
    models: tuple[ModelCells, ...] = field(default=())

    @property
    def cells(self) -> list[ScoredCell]:
        """The scored cells of all models."""
        return [cell for model in self.models for cell in model.cells]


def read_cells(table: ScoreFrame) -> tuple[ScoredCell, ...]:
    """Return one record per row, sorted by task, label and seed; a score that is no finite number is missing."""
    if not hasattr(table, "columns"):
        raise BadValue("results table", type(table).__name__, "a DataFrame; make one by pandas.DataFrame(rows)")
    names = [str(name) for name in table.columns]
    absent = [name for name in REQUIRED if name not in names]
    if absent:
        allowed = f"a table that also has the column{'s' if len(absent) > 1 else ''} {', '.join(absent)}"
        raise BadValue("columns of a results table", ", ".join(names), allowed)
    if not len(table):
        raise NothingToCompare("the table has no row")
    texts = {name: _read_texts(table[name]) for name in (*REQUIRED, *OPTIONAL) if name in names and name != "score"}
    scores = _read_scores(table["score"])
    # Only a row whose status says so has finished.
    statuses = texts.get("status", ["finished"] * len(table))
    labels = label_variants(
        texts["model"],
        tasks=texts["task"],
        protocols=texts.get("protocol", ()),
        hyperparameters=texts.get("hyperparameters", ()),
    )
    blank = [""] * len(table)
    columns = [texts.get(name, blank) for name in FACTS]
    found = [
        ScoredCell(
            task=texts["task"][row],
            model=texts["model"][row],
            label=labels[row],
            seed=_read_seed(texts["seed"][row]),
            score=scores[row] if statuses[row] == "finished" else None,
            metric=texts["metric"][row],
            direction=texts["direction"][row],
            run_id=texts.get("run_id", blank)[row],
            has_failed=statuses[row] == "failed",
            facts={name: column[row] for name, column in zip(FACTS, columns, strict=True) if column[row]},
        )
        for row in range(len(table))
    ]
    return _one_per_cell(found)


def lay_out(cells: Sequence[ScoredCell]) -> tuple[TaskCells, ...]:
    """Return the cells task by task, tasks and models sorted by name; every model is listed under every task."""
    if all(cell.score is None for cell in cells):
        raise NothingToCompare(f"none of the {len(cells)} cells has a score")
    labels = sorted({cell.label for cell in cells})
    found = []
    for task, group in itertools.groupby(cells, key=lambda cell: cell.task):
        rows = list(group)
        seeds = tuple(sorted({cell.seed for cell in rows}))
        metric, direction = _task_metric(task, rows)
        by_label = {label: [cell for cell in rows if cell.label == label] for label in labels}
        lost = tuple(sorted(set(seeds) - {cell.seed for cell in rows if cell.score is not None}))
        models = tuple(_model_cells(label, by_label[label], seeds, lost) for label in labels)
        found.append(TaskCells(task=task, metric=metric, direction=direction, seeds=seeds, models=models))
    return tuple(found)


def _model_cells(label: str, rows: Sequence[ScoredCell], seeds: Sequence[int], lost: tuple[int, ...]) -> ModelCells:
    failed = tuple(cell.seed for cell in rows if cell.has_failed)
    scored = tuple(cell for cell in rows if cell.score is not None)
    known = {cell.seed for cell in scored} | set(failed)
    missing = tuple(seed for seed in seeds if seed not in known)
    return ModelCells(
        label=label,
        cells=scored,
        was_run=bool(rows),
        failed_seeds=failed,
        missing_seeds=missing,
        lost_seeds=lost,
    )


def _task_metric(task: str, rows: Sequence[ScoredCell]) -> tuple[str, Direction]:
    """Return the one metric of a task and its direction; cells without a score need none."""
    counted = [cell for cell in rows if cell.score is not None] or list(rows)
    for name in ("metric", "direction"):
        examples = {getattr(cell, name): cell for cell in reversed(counted)}
        if len(examples) > 1:
            raise MetricsMixed(task, name, {value: str(cell) for value, cell in sorted(examples.items())})
    direction = counted[0].direction
    if direction not in list(Direction):
        raise BadValue(f"direction of {task}", direction, "up (larger is better) or down (smaller is better)")
    return counted[0].metric, Direction(direction)


def _one_per_cell(cells: Iterable[ScoredCell]) -> tuple[ScoredCell, ...]:
    """Return cells sorted; a scored one replaces attempts without a score, and two scored ones are refused."""
    ordered = sorted(
        cells, key=lambda cell: (cell.task, cell.label, cell.seed, cell.score is None, not cell.has_failed)
    )
    found, doubled = [], []
    for _, group in itertools.groupby(ordered, key=lambda cell: (cell.task, cell.label, cell.seed)):
        rows = list(group)
        found.append(rows[0])
        if len(rows) > 1 and rows[1].score is not None:
            doubled.append(" and ".join(str(cell) for cell in rows if cell.score is not None))
    if doubled:
        raise DuplicateCells(doubled)
    return tuple(found)


def _read_texts(column: Any) -> list[str]:
    return [
        "" if is_absent else str(value)
        for value, is_absent in zip(column.tolist(), column.isna().tolist(), strict=True)
    ]


def _read_scores(column: Any) -> list[float | None]:
    return list(_read_numbers(column.tolist(), column.isna().tolist()))


def _read_numbers(values: Sequence[Any], absent: Sequence[bool]) -> Iterator[float | None]:
    for value, is_absent in zip(values, absent, strict=True):
        try:
            number = math.nan if is_absent else float(value)
        except (TypeError, ValueError):
            raise BadValue("score", value, "a number, or nothing where a cell has none") from None
        yield number if math.isfinite(number) else None


def _read_seed(text: str) -> int:
    try:
        value = float(text)
        whole = int(text) if text.lstrip("+-").isdigit() else int(value)
    except (ValueError, OverflowError):
        raise BadValue("seed", text, "a whole number in every row of the table") from None
    if whole != value:
        raise BadValue("seed", text, "a whole number in every row of the table")
    return whole
