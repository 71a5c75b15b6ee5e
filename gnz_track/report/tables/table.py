"""A table of a report in every form that it is written in: plain text, Markdown, CSV, parquet and LaTeX."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from gnz_track.errors import BadValue
from gnz_track.report.figures.labels import clean_name
from gnz_track.report.tables.latex import LatexLook

__all__ = ["Marked", "ReportTable"]

# Mark of the best entry, of one that is not told from it, and both as the legend shows them.
PLAIN = ("{} *", "{} ~", "*", "~")
BOLD = ("**{}**", "{} \u2248", "**bold**", "\u2248")
# Characters with a meaning in Markdown, or in the HTML that it may hold.
MARKDOWN = str.maketrans({sign: f"\\{sign}" for sign in "\\`*_[]|~$"} | {"<": "&lt;", ">": "&gt;", "&": "&amp;"})


class Marked(NamedTuple):
    """An entry that is the best of its task, or that is not told from it."""

    text: str
    is_best: bool


@dataclass(frozen=True, kw_only=True, eq=False)
class ReportTable:
    """Columns and rows of texts for people, and all numbers for programs; names are escaped by each form.

    ``notes`` are sentences below, with ``legend`` on the two marks before them, and ``empty`` stands where there is no
    row. ``numbers`` makes the data frame of CSV and parquet, ``latex`` the text of LaTeX, whose columns are its own.
    """

    columns: tuple[str, ...]
    rows: tuple[tuple[str | Marked, ...], ...]
    empty: str
    numbers: Callable[[], pd.DataFrame]
    latex: Callable[[LatexLook], str]
    notes: tuple[str, ...] = ()
    legend: str = ""

    def to_text(self) -> str:
        """Return plain text, as wide as it is."""
        if not self.rows:
            return f"{self.empty}\n"
        lines = self._write(clean_name, PLAIN)
        widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
        aligned = ["  ".join(map(str.ljust, line, widths)).rstrip() for line in lines]
        return "".join(f"{line}\n" for line in (*aligned, *self._write_notes(clean_name, PLAIN)))

    def to_markdown(self) -> str:
        """Return a Markdown table, and the notes as a list."""
        if not self.rows:
            return f"{self.empty}\n"
        header, *rows = self._write(_escape_markdown, BOLD)
        lines = [header, ("---",) * len(header), *rows]
        table = "".join(f"| {' | '.join(line)} |\n" for line in lines)
        notes = "".join(f"- {note}\n" for note in self._write_notes(_escape_markdown, BOLD))
        return f"{table}\n{notes}" if notes else table

    def to_csv(self) -> str:
        """Return CSV in which lists are separated by blanks, what is missing is empty and whole counts are whole."""
        text, frame = io.StringIO(), self.numbers()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(frame.columns)
        for row in frame.itertuples(index=False):
            writer.writerow([_flatten(str(name), value) for name, value in zip(frame.columns, row, strict=True)])
        return text.getvalue()

    def to_latex(self, look: LatexLook | None = None) -> str:
        """Return LaTeX that needs booktabs, and siunitx where the look asks for it."""
        return self.latex(look or LatexLook())

    def write_parquet(self, path: Path) -> None:
        """Write all numbers into a parquet file."""
        import pyarrow as pa
        import pyarrow.parquet as pq

        plain = pa.Table.from_pandas(self.numbers(), preserve_index=False).replace_schema_metadata(None)
        pq.write_table(plain, path, compression="zstd", version="2.6", store_schema=False)

    def save(self, path: str | Path) -> Path:
        """Write the table to a file; its suffix names the form."""
        target = Path(path)
        kind = target.suffix.lower()
        if kind not in {*TEXTS, ".parquet"}:
            raise BadValue("the suffix of the table", target.suffix, ", ".join((*TEXTS, ".parquet")))
        target.parent.mkdir(parents=True, exist_ok=True)
        if kind == ".parquet":
            self.write_parquet(target)
        else:
            # Halves of characters, which some names hold, have no UTF-8.
            target.write_text(TEXTS[kind](self), encoding="utf-8", errors="replace", newline="")
        return target

    def _write(self, escape: Callable[[str], str], marks: tuple[str, ...]) -> list[tuple[str, ...]]:
        """Return the header and all rows, escaped and marked."""
        best, tied, *_ = marks

        def write(entry: str | Marked) -> str:
            if isinstance(entry, Marked):
                return (best if entry.is_best else tied).format(escape(entry.text))
            return escape(entry) if entry else ""

        return [tuple(map(write, row)) for row in (self.columns, *self.rows)]

    def _write_notes(self, escape: Callable[[str], str], marks: tuple[str, ...]) -> list[str]:
        return [*([self.legend.format(*marks[2:])] if self.legend else []), *map(escape, self.notes)]


TEXTS: dict[str, Callable[[ReportTable], str]] = {
    ".txt": ReportTable.to_text,
    ".md": ReportTable.to_markdown,
    ".csv": ReportTable.to_csv,
    ".tex": ReportTable.to_latex,
}


def _escape_markdown(text: str) -> str:
    """Return a name as Markdown shows it, whatever signs it holds."""
    return clean_name(text).translate(MARKDOWN)


def _flatten(name: str, value: Any) -> Any:
    if isinstance(value, list):
        return " ".join(map(str, value))
    if pd.isna(value):
        return ""
    # Means of counts are real numbers, and of most counts all seeds have the same.
    is_whole_count = name.startswith("n_") and isinstance(value, float) and value.is_integer()
    return int(value) if is_whole_count else value
