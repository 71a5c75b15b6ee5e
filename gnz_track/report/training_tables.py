"""Facts of training as a table: for a terminal, as Markdown, CSV, parquet and LaTeX, and for the page."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from gnz_track.kinds import Direction
from gnz_track.report.labels import clean_name
from gnz_track.report.latex_names import tex_lines, tex_name
from gnz_track.report.latex_tables import LatexLook, Tabular, write_document
from gnz_track.report.search_summary import write_seconds
from gnz_track.report.search_tables import ARROWS, TEX_ARROWS
from gnz_track.report.text_tables import align_rows, escape_markdown, pipe_rows, save_table
from gnz_track.report.training_facts import TrainingFacts

__all__ = [
    "TrainingSection",
    "make_training_section",
    "save_training",
    "write_training_latex",
    "write_training_markdown",
    "write_training_text",
]

UNKNOWN = "-"
Write = Callable[[str], str]


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


@dataclass(frozen=True, kw_only=True)
class TrainingSection:
    """Texts of the page on training: of each number its text, and the number itself, by which it is sorted."""

    columns: tuple[str, ...]
    rows: tuple[tuple[str, str, tuple[tuple[str, float | None], ...], str], ...]
    notes: tuple[str, ...]


def make_training_section(facts: TrainingFacts | None) -> TrainingSection | None:
    """Return the section on training; None where nothing is known of it."""
    if facts is None:
        return None
    numbers = _known(facts)
    rows = [
        (
            _title(row, str),
            row["model"],
            tuple((_write_number(row, name), _number_of(row, name)) for name in numbers),
            row["place"],
        )
        for row in _rows(facts)
    ]
    return TrainingSection(columns=_header(facts), rows=tuple(rows), notes=facts.notes)


def write_training_text(facts: TrainingFacts) -> str:
    """Return what was trained as plain text, as wide as it is."""
    return align_rows(_header(facts), _texts(facts, clean_name)) + "".join(
        f"{clean_name(note)}\n" for note in facts.notes
    )


def write_training_markdown(facts: TrainingFacts) -> str:
    """Return what was trained as a Markdown table, a dash where nothing is known."""
    table = pipe_rows(_header(facts), _texts(facts, escape_markdown))
    return f"{table}\n" + "".join(f"- {escape_markdown(note)}\n" for note in facts.notes)


def write_training_latex(facts: TrainingFacts, look: LatexLook | None = None) -> str:
    """Return what was trained as LaTeX: a line with each task, and one for each of its models."""
    numbers = _known(facts)
    names = ("Model", *(tex_name(NUMBERS[name].heading) for name in numbers), "Place")
    tabular = Tabular(
        columns=f"l{'r' * len(numbers)}l@{{}}",
        head=(" & ".join(names) + r" \\",),
        rows=tuple(_tex_rows(facts, len(names))),
    )
    return write_document([tabular], facts.notes, look or LatexLook())


def save_training(facts: TrainingFacts, path: str | Path) -> Path:
    """Write what was trained to a file; its suffix says as what."""
    writers: Mapping[str, Callable[[TrainingFacts], str]] = {
        ".txt": write_training_text,
        ".md": write_training_markdown,
    }
    return save_table(Path(path), facts, writers, lambda found: found.frame)


def _known(facts: TrainingFacts) -> list[str]:
    return [name for name in NUMBERS if name in facts.frame.columns]


def _header(facts: TrainingFacts) -> tuple[str, ...]:
    return ("task", "model", *(NUMBERS[name].heading for name in _known(facts)), "place")


def _rows(facts: TrainingFacts) -> list[dict[str, Any]]:
    return [{str(name): value for name, value in row.items()} for row in facts.frame.to_dict("records")]


def _texts(facts: TrainingFacts, write: Write) -> list[tuple[str, ...]]:
    numbers = _known(facts)
    return [
        (_title(row, write), write(row["model"]), *(_write_number(row, name) for name in numbers), row["place"])
        for row in _rows(facts)
    ]


def _title(row: Mapping[str, Any], write: Write) -> str:
    return write(f"{row['task']} ({row['metric']} {ARROWS[Direction(row['direction'])]})")


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


def _tex_rows(facts: TrainingFacts, n_columns: int) -> Iterator[tuple[int, str]]:
    task = ""
    for row in _rows(facts):
        if row["task"] != task:
            task = row["task"]
            arrow = TEX_ARROWS[Direction(row["direction"])]
            title = f"\\textit{{{tex_name(task, longest=60)}}}, {tex_name(row['metric'])} {arrow}"
            yield tex_lines(task, longest=60), rf"\multicolumn{{{n_columns}}}{{l}}{{{title}}} \\"
        cells = (tex_name(row["model"]), *(_tex_number(row, name) for name in _known(facts)), row["place"])
        yield tex_lines(row["model"]), " & ".join(cells) + r" \\"


def _tex_number(row: Mapping[str, Any], name: str) -> str:
    text = _write_number(row, name)
    if text == UNKNOWN:
        return "--"
    return f"${text.replace(chr(0xB1), chr(92) + 'pm')}$" if NUMBERS[name].spread else text.replace(" ", r"\,")
