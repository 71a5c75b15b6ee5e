"""Training as a table: size, scores of both parts, effort, and a place that the paired verdicts back."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import pandas as pd

from gnz_track.report.figures.labels import ARROWS
from gnz_track.report.tables.latex import LatexLook, Tabular, tex_lines, tex_name, tex_task, write_document
from gnz_track.report.tables.table import ReportTable
from gnz_track.report.tuned_models import write_seconds
from gnz_track.stats.comparison.cells import ScoreFrame
from gnz_track.stats.comparison.comparison import CellSummary, Comparison, TaskComparison
from gnz_track.stats.comparison.costs import cost_doubts, costs_by_seed
from gnz_track.types import Direction

__all__ = [
    "PLACES",
    "TrainingFacts",
    "training_facts",
    "training_frame",
    "training_table",
]

# Column of the results table -> column here, of the seeds of a model, and whether its spread is told too.
TOLD = {
    "n_parameters": ("n_parameters", False),
    "score_on_training": ("train_mean", True),
    "score_at_best_validation": ("best_validation_mean", True),
    "n_epochs": ("n_epochs", False),
    "cpu_seconds": ("cpu_seconds", False),
    "seconds_per_epoch": ("seconds_per_epoch", False),
    "seconds": ("seconds", False),
}
# The first cell of a process pays for its start, so a mean would be that of the order of cells.
BY_MEDIAN = frozenset({"cpu_seconds", "seconds_per_epoch", "seconds"})
# Whose memory it is -> the column that holds it, the first one that a model has is told. What a whole process held is
# another thing, and stands apart: it was recorded before the memory of a cell was.
MEMORY = {"the GPU": "peak_device_mib", "the cell": "memory_mib"}
OF_PROCESS = "peak_rss_mib"
PLACES = {1: "first", 2: "second", 3: "third"}
ALWAYS = ("task", "model", "metric", "direction", "n_seeds", "mean", "sd", "place")
UNKNOWN = "-"


def _write_score(value: float) -> str:
    return f"{value:.4g}"


@dataclass(frozen=True)
class Column:
    """One number of each row: its heading, how it is written, and the column that holds its spread, if any."""

    heading: str
    write: Callable[[float], str]
    spread: str = ""


# Column of the facts -> how it is shown.
NUMBERS = {
    "n_parameters": Column("#Param", "{:,.0f}".format),
    "mean": Column("test", _write_score, "sd"),
    "n_seeds": Column("seeds", "{:.0f}".format),
    "train_mean": Column("train", _write_score, "train_sd"),
    "best_validation_mean": Column("at best val.", _write_score, "best_validation_sd"),
    "n_epochs": Column("epochs", "{:.5g}".format),
    "cpu_seconds": Column("CPU s", "{:.3g}".format),
    "seconds_per_epoch": Column("wall s / epoch", "{:.3g}".format),
    "seconds": Column("wall, in all", write_seconds),
    "memory_mib": Column("MiB", "{:,.0f}".format),
    "process_mib": Column("process MiB", "{:,.0f}".format),
}


@dataclass(frozen=True, kw_only=True, eq=False)
class TrainingFacts:
    """A row per (task, model) in ``frame``, best first, and the sentences that belong under it."""

    frame: pd.DataFrame
    notes: tuple[str, ...]

    @property
    def numbers(self) -> list[str]:
        """Columns of numbers that are known."""
        return [name for name in NUMBERS if name in self.frame.columns]

    @property
    def columns(self) -> tuple[str, ...]:
        """Headings of the table."""
        return ("task", "model", *(NUMBERS[name].heading for name in self.numbers), "place")

    @property
    def rows(self) -> list[tuple[str, str, list[tuple[str, float | None]], str]]:
        """Title of the task, model, of each number its text and the number itself, by which pages sort, and place."""
        rows = ({str(name): value for name, value in row.items()} for row in self.frame.to_dict("records"))
        return [
            (
                _title(row),
                row["model"],
                [(_write_number(row, name), _number_of(row, name)) for name in self.numbers],
                row["place"],
            )
            for row in rows
        ]


def training_facts(comparison: Comparison, table: ScoreFrame) -> TrainingFacts | None:
    """Return what was trained; None where the table tells nothing of it but scores."""
    frame = training_frame(comparison, table)
    if set(frame.columns) <= set(ALWAYS):
        return None
    sizes = (str(found) for found in comparison.findings if found.column == "n_parameters")
    return TrainingFacts(frame=frame, notes=(*_notes(frame), *cost_doubts(table), *sizes))


def training_frame(comparison: Comparison, table: ScoreFrame) -> pd.DataFrame:
    """Return a row per (task, model), best first: parameters, scores, what training took, and the place.

    A model has one place for every model that is told to be better than it, and one more: what the adjusted paired test
    does not tell apart shares a place. ``n_epochs`` counts all that were trained. Columns of which the table tells
    nothing are left out.
    """
    costs = _costs(comparison, table)
    rows: list[dict[str, Any]] = []
    for task in comparison.tasks:
        for cell in _best_first(task):
            told = {name: found.get((task.task, cell.model)) for name, found in costs.items()}
            known = {"n_seeds": cell.n_finished, "mean": cell.mean, "sd": cell.sd}
            # Texts of a data frame hold whole characters alone, and JSON can spell out half of one.
            label = cell.model.encode("utf-8", "replace").decode()
            names = {"task": task.task, "model": label, "metric": task.metric, "direction": str(task.direction)}
            rows.append({**names, **known, **told, "place": PLACES.get(_place(task, cell.model), "")})
    frame = pd.DataFrame(rows)
    empty = [name for name in frame.columns if name not in ALWAYS and frame[name].isna().all()]
    return frame.drop(columns=empty)


def _costs(comparison: Comparison, table: ScoreFrame) -> dict[str, Mapping[tuple[str, str], Any]]:
    """Return column here -> (task, model) -> its value."""
    known = {str(name) for name in table.columns}
    found: dict[str, Mapping[tuple[str, str], Any]] = {}
    for column, (name, has_spread) in TOLD.items():
        if column not in known:
            continue
        by_seed = costs_by_seed(comparison, table, column)
        usual = statistics.median if column in BY_MEDIAN else statistics.fmean
        found[name] = {key: usual(values) for key, values in by_seed.items()}
        if has_spread:
            spread = {key: statistics.stdev(values) for key, values in by_seed.items() if len(values) > 1}
            found[name.replace("_mean", "_sd")] = spread
    memory: dict[tuple[str, str], tuple[float, str]] = {}
    for of, column in MEMORY.items():
        if column in known:
            by_seed = costs_by_seed(comparison, table, column)
            memory = {key: (statistics.median(values), of) for key, values in by_seed.items()} | memory
    found["memory_mib"] = {key: mib for key, (mib, _) in memory.items()}
    found["memory_of"] = {key: of for key, (_, of) in memory.items()}
    if OF_PROCESS in known:
        by_seed = costs_by_seed(comparison, table, OF_PROCESS)
        found["process_mib"] = {key: statistics.median(each) for key, each in by_seed.items() if key not in memory}
    return found


def _notes(frame: pd.DataFrame) -> Iterator[str]:
    yield "scores: mean \u00b1 standard deviation over seeds; epochs: means, times and memory: medians over seeds"
    if "cpu_seconds" in frame or "seconds" in frame:
        yield "CPU s: what a cell computed; wall: by the clock, with all that ran beside it"
    if "train_mean" in frame:
        yield "train: the score on the training part at the selected epoch"
    if "best_validation_mean" in frame:
        yield "at best val.: the test score at the epoch that validation would have chosen, beside the one reported"
    if "memory_of" in frame:
        yield f"MiB: the most memory at once, of {' or of '.join(sorted(set(frame['memory_of'].dropna())))}"
    if "process_mib" in frame:
        yield (
            "process MiB: the most that the whole process ever held, with libraries and earlier cells; what the cell "
            "held itself is not known, and the two are no comparison"
        )
    if (frame["place"] != "").any():
        yield (
            "place: one for every model that the adjusted paired test tells to be better, and one more, so that models "
            "which it does not tell apart share a place"
        )


def _best_first(task: TaskComparison) -> list[CellSummary]:
    sign = -1.0 if task.direction == "up" else 1.0
    return sorted(task.cells, key=lambda cell: (cell.mean is None, sign * (cell.mean or 0.0), cell.model))


def _place(task: TaskComparison, model: str) -> int:
    """Return 1 and one more for each model that a verdict tells to be better; 0 where no pair of it was tested."""
    own = [pair for pair in task.pairs if model in {pair.first, pair.second} and pair.p is not None]
    if not own:
        return 0
    # Advantages are positive where the first is better.
    return 1 + sum(pair.is_apart and ((pair.effects.mean.mean or 0.0) < 0) is (model == pair.first) for pair in own)


def training_table(facts: TrainingFacts) -> ReportTable:
    """Return a row per (task, model), a dash where nothing is known."""
    return ReportTable(
        columns=facts.columns,
        rows=tuple((task, model, *(text for text, _ in numbers), place) for task, model, numbers, place in facts.rows),
        empty="nothing was trained",
        notes=facts.notes,
        numbers=lambda: facts.frame,
        latex=lambda look: _write_latex(facts, look),
    )


def _rows(facts: TrainingFacts) -> list[dict[str, Any]]:
    return [{str(name): value for name, value in row.items()} for row in facts.frame.to_dict("records")]


def _title(row: Mapping[str, Any]) -> str:
    return f"{row['task']} ({row['metric']} {ARROWS[Direction(row['direction'])]})"


def _write_number(row: Mapping[str, Any], name: str) -> str:
    """Write a number, with its spread where it has one."""
    column = NUMBERS[name]
    if pd.isna(row[name]):
        return UNKNOWN
    spread = row.get(column.spread) if column.spread else None
    more = "" if spread is None or pd.isna(spread) else f" \u00b1 {spread:.2g}"
    return f"{column.write(row[name])}{more}"


def _number_of(row: Mapping[str, Any], name: str) -> float | None:
    return None if pd.isna(row[name]) else float(row[name])


def _write_latex(facts: TrainingFacts, look: LatexLook) -> str:
    """Return a line with each task, and one for each of its models."""
    numbers = facts.numbers
    names = ("Model", *(tex_name(NUMBERS[name].heading) for name in numbers), "Place")
    tabular = Tabular(
        columns=f"l{'r' * len(numbers)}l@{{}}",
        head=(" & ".join(names) + r" \\",),
        rows=tuple(_tex_rows(facts, len(names))),
    )
    return write_document([tabular], facts.notes, look)


def _tex_rows(facts: TrainingFacts, n_columns: int) -> Iterator[tuple[int, str]]:
    task = ""
    for row in _rows(facts):
        if row["task"] != task:
            task = row["task"]
            yield tex_task(task, row["metric"], Direction(row["direction"]), n_columns=n_columns)
        cells = (tex_name(row["model"]), *(_tex_number(row, name) for name in facts.numbers), row["place"])
        yield tex_lines(row["model"]), " & ".join(cells) + r" \\"


def _tex_number(row: Mapping[str, Any], name: str) -> str:
    text = _write_number(row, name)
    if text == UNKNOWN:
        return "--"
    return f"${text.replace(chr(0xB1), chr(92) + 'pm')}$" if NUMBERS[name].spread else text.replace(" ", r"\,")
