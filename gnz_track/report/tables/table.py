"""Scores and verdicts as tables: for a terminal, as Markdown, and as CSV and parquet with the runs of each number."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

import pandas as pd

from gnz_track.errors import BadValue
from gnz_track.report.figures.labels import clean_name
from gnz_track.report.tables.scores import GridCell, GridTask, ScoreGrid, lay_out_scores
from gnz_track.stats.comparison.comparison import Comparison, PairComparison

__all__ = [
    "SUFFIXES",
    "align_rows",
    "escape_markdown",
    "pipe_rows",
    "save_scores",
    "save_table",
    "save_verdicts",
    "score_frame",
    "verdict_frame",
    "write_scores_markdown",
    "write_scores_text",
    "write_verdicts_markdown",
    "write_verdicts_text",
]

# How a number looks that is the best of its task, one that is not told from it, and any other; and what that means.
PLAIN = ("{} *", "{} ~", "{}")
BOLD = ("**{}**", "{} \u2248", "{}")
SAID = "{} best mean, {} not distinguishable from it"
# Of two directions, models are columns as long as there are no more of them than this.
MOST_COLUMNS = 8
VERDICTS = ("task", "model A", "model B", "A better by", "interval", "p", "adjusted p", "seeds", "verdict", "remarks")
# Characters with a meaning in Markdown, or in the HTML that it may hold.
MARKDOWN = str.maketrans({sign: f"\\{sign}" for sign in "\\`*_[]|~$"} | {"<": "&lt;", ">": "&gt;", "&": "&amp;"})
Rows = list[tuple[str, ...]]
Marks = tuple[str, str, str]
Source = TypeVar("Source")


def score_frame(comparison: Comparison) -> pd.DataFrame:
    """Return a row per (task, model) that was run: counts, mean, interval, verdict against the best, run ids."""
    rows = [
        {
            "task": task.task,
            "model": cell.model,
            "metric": task.metric,
            "direction": str(task.direction),
            "n_planned": cell.n_planned,
            "n_finished": cell.n_finished,
            "n_failed": cell.n_failed,
            "n_missing": cell.n_missing,
            "mean": cell.mean,
            "sd": cell.sd,
            "iqm": cell.iqm,
            "low": cell.interval.low,
            "high": cell.interval.high,
            "is_best": cell.model == task.best,
            "is_tied_with_best": cell.model in task.not_distinguishable,
            "seeds": list(cell.seeds),
            "scores": list(cell.scores),
            "run_ids": list(cell.run_ids),
        }
        for task in comparison.tasks
        for cell in task.cells
    ]
    return pd.DataFrame(rows).astype(dict.fromkeys(("mean", "sd", "iqm", "low", "high"), "float64"))


def verdict_frame(comparison: Comparison) -> pd.DataFrame:
    """Return a row per pair of models on a task: advantage, tests, effect sizes, verdict, run ids of both."""
    rows = []
    for task in comparison.tasks:
        runs = {cell.model: list(cell.run_ids) for cell in task.cells}
        rows += [{**_verdict(pair), "runs_a": runs[pair.first], "runs_b": runs[pair.second]} for pair in task.pairs]
    reals = [name for name, value in _COLUMNS.items() if value == "float64"]
    return pd.DataFrame(rows, columns=[*_COLUMNS, "runs_a", "runs_b"]).astype(dict.fromkeys(reals, "float64"))


def write_scores_text(comparison: Comparison) -> str:
    """Return the scores as plain text, as wide as they are."""
    grid = lay_out_scores(comparison)
    header, rows = _scores(grid, clean_name, PLAIN)
    return align_rows(header, rows) + "\n" + "\n".join((SAID.format("*", "~"), *map(clean_name, grid.notes))) + "\n"


def write_scores_markdown(comparison: Comparison) -> str:
    """Return the scores as a Markdown table; the best is bold."""
    grid = lay_out_scores(comparison)
    header, rows = _scores(grid, escape_markdown, BOLD)
    marks = SAID.format("**bold**", "\u2248")
    return (
        pipe_rows(header, rows) + "\n" + "".join(f"- {note}\n" for note in (marks, *map(escape_markdown, grid.notes)))
    )


def write_verdicts_text(comparison: Comparison) -> str:
    """Return the verdict on each pair as plain text."""
    rows = _verdicts(comparison, clean_name)
    return align_rows(VERDICTS, rows) if rows else "no pair of models to compare\n"


def write_verdicts_markdown(comparison: Comparison) -> str:
    """Return the verdict on each pair as a Markdown table."""
    rows = _verdicts(comparison, escape_markdown)
    return pipe_rows(VERDICTS, rows) if rows else "no pair of models to compare\n"


def save_scores(comparison: Comparison, path: str | Path) -> Path:
    """Write the scores to a file; its suffix says as what."""
    writers = {".txt": write_scores_text, ".md": write_scores_markdown}
    return save_table(Path(path), comparison, writers, score_frame)


def save_verdicts(comparison: Comparison, path: str | Path) -> Path:
    """Write the verdicts to a file; its suffix says as what."""
    writers = {".txt": write_verdicts_text, ".md": write_verdicts_markdown}
    return save_table(Path(path), comparison, writers, verdict_frame)


SUFFIXES = (".txt", ".md", ".csv", ".parquet")
_COLUMNS = {
    "task": "str",
    "model_a": "str",
    "model_b": "str",
    "n_pairs": "int64",
    "advantage": "float64",
    "low": "float64",
    "high": "float64",
    "simultaneous_low": "float64",
    "simultaneous_high": "float64",
    "d_z": "float64",
    "hedges_g": "float64",
    "p": "float64",
    "p_adjusted": "float64",
    "p_t_adjusted": "float64",
    "p_wilcoxon_adjusted": "float64",
    "p_equivalence_adjusted": "float64",
    "can_reject": "bool",
    "verdict": "str",
    "remarks": "str",
}


def _verdict(pair: PairComparison) -> dict[str, Any]:
    mean, size = pair.effects.mean, pair.effects.standardised
    values = (
        *(pair.task, pair.first, pair.second, pair.n_pairs, mean.mean, mean.low, mean.high),
        *(pair.simultaneous.low, pair.simultaneous.high, size.d_z, size.hedges, pair.p, pair.p_adjusted),
        *(pair.t_adjusted, pair.wilcoxon_adjusted, pair.equivalence_adjusted),
        *(pair.can_reject, str(pair.verdict), "; ".join(pair.remarks)),
    )
    return dict(zip(_COLUMNS, values, strict=True))


def _scores(grid: ScoreGrid, write: Callable[[str], str], marks: Marks) -> tuple[Sequence[str], Rows]:
    """Return header and rows: a row per task, or per model where these are many."""
    if len(grid.models) <= MOST_COLUMNS or len(grid.models) <= len(grid.tasks):
        header = ("task", "metric", *map(write, grid.models))
        rows = [
            (
                write(task.task),
                write(f"{task.metric} ({task.arrow})"),
                *(_write_cell(task, name, grid, marks) for name in grid.models),
            )
            for task in grid.tasks
        ]
        return header, rows
    header = ("model", *(write(f"{task.task} ({task.metric}, {task.arrow})") for task in grid.tasks))
    return header, [
        (write(name), *(_write_cell(task, name, grid, marks) for task in grid.tasks)) for name in grid.models
    ]


def _write_cell(task: GridTask, model: str, grid: ScoreGrid, marks: Marks) -> str:
    cell = task.cells.get(model)
    if cell is None:
        return "-"
    if cell.mean is None:
        return f"none ({cell.lack})"
    best, tied, plain = marks
    counts = "" if cell.is_complete else f" ({cell.n_finished}/{cell.n_planned})"
    text = f"{task.write(cell.mean)}{_write_ends(cell, task, grid)}{counts}"
    return (best if cell.is_best else tied if cell.is_tied_with_best else plain).format(text)


def _write_ends(cell: GridCell, task: GridTask, grid: ScoreGrid) -> str:
    if cell.ends is None:
        return ""
    below, above = cell.ends
    if grid.has_even_ends:
        return f" \u00b1 {task.write(above)}"
    return f" -{task.write(below)} +{task.write(above)}"


def _verdicts(comparison: Comparison, write: Callable[[str], str]) -> Rows:
    return [
        (
            write(pair.task),
            write(pair.first),
            write(pair.second),
            _write_number(pair.effects.mean.mean, "+.4g"),
            f"{_write_number(pair.effects.mean.low, '+.4g')} to {_write_number(pair.effects.mean.high, '+.4g')}",
            _write_number(pair.p, ".3g"),
            _write_number(pair.p_adjusted, ".3g"),
            str(pair.n_pairs),
            str(pair.verdict),
            write("; ".join(pair.remarks)) if pair.remarks else "",
        )
        for pair in comparison.pairs
    ]


def _write_number(value: float | None, form: str) -> str:
    return "n.a." if value is None else format(value, form)


def align_rows(header: Sequence[str], rows: Rows) -> str:
    """Return columns of texts, as wide as they are."""
    widths = [max(len(row[place]) for row in (header, *rows)) for place in range(len(header))]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) for row in (header, *rows)]
    return "".join(f"{line.rstrip()}\n" for line in lines)


def pipe_rows(header: Sequence[str], rows: Rows) -> str:
    """Return a Markdown table of texts that are escaped already."""
    lines = [header, ("---",) * len(header), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def escape_markdown(text: str) -> str:
    """Return a name as Markdown shows it, whatever signs it holds."""
    return clean_name(text).translate(MARKDOWN)


def save_table(
    path: Path,
    source: Source,
    writers: Mapping[str, Callable[[Source], str]],
    frame: Callable[[Source], pd.DataFrame],
) -> Path:
    """Write a table to a file: as text, or as all numbers of its frame.

    Parameters
    ----------
    path
        File to write; its suffix names the form.
    source
        Record that has a table.
    writers
        Suffix -> writer of a text.
    frame
        Maker of the frame, for CSV and parquet.
    """
    kind = path.suffix.lower()
    if kind not in SUFFIXES:
        raise BadValue("the suffix of the table", path.suffix, ", ".join(SUFFIXES))
    path.parent.mkdir(parents=True, exist_ok=True)
    if kind == ".parquet":
        _write_parquet(frame(source), path)
    elif kind == ".csv":
        path.write_text(_csv(frame(source)), encoding="utf-8", newline="")
    else:
        path.write_text(writers[kind](source), encoding="utf-8")
    return path


def _csv(frame: pd.DataFrame) -> str:
    """Return CSV in which lists are separated by blanks, what is missing is empty and whole counts are whole."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(frame.columns)
    for row in frame.itertuples(index=False):
        writer.writerow([_flat(str(name), value) for name, value in zip(frame.columns, row, strict=True)])
    return text.getvalue()


def _flat(name: str, value: Any) -> Any:
    if isinstance(value, list):
        return " ".join(map(str, value))
    if pd.isna(value):
        return ""
    # Means of counts are real numbers, and of most counts all seeds have the same.
    is_whole_count = name.startswith("n_") and isinstance(value, float) and value.is_integer()
    return int(value) if is_whole_count else value


def _write_parquet(frame: pd.DataFrame, path: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    plain = pa.Table.from_pandas(frame, preserve_index=False).replace_schema_metadata(None)
    pq.write_table(plain, path, compression="zstd", version="2.6", store_schema=False)
