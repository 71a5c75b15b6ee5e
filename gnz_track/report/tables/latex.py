"""LaTeX of tables: any text escaped, names that break, tabulars that fit on a page, and their floats.

A table needs booktabs and nothing else, and siunitx where it is asked for. One that would be longer than a page goes on
on the next. Comments at the end name the runs behind each number.
"""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypedDict

from gnz_track.report.figures.labels import clean_name
from gnz_track.types import Direction

__all__ = [
    "ARROWS",
    "DEFINITIONS",
    "FloatOptions",
    "LatexLook",
    "LatexOptions",
    "Tabular",
    "escape_tex",
    "tex_lines",
    "tex_name",
    "tex_sign",
    "tex_task",
    "tex_text",
    "tex_width",
    "write_document",
    "write_p",
]

# Braces after a hyphen and its like keep TeX from joining two of them into one longer sign.
SPECIAL = {
    "\\": r"\textbackslash{}",
    "{": r"\{",
    "}": r"\}",
    "$": r"\$",
    "&": r"\&",
    "#": r"\#",
    "%": r"\%",
    "_": r"\_",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    # Packages for some languages give this sign a meaning of its own.
    '"': r"{\char34}",
    "`": r"{\char96}",
    "'": "'{}",
    "-": "-{}",
    ",": ",{}",
}
TABLE = str.maketrans(SPECIAL)
# pdfLaTeX knows few signs; other engines take them all. A sign that is unknown is named, and stops no document.
DEFINITIONS = r"\providecommand{\gnzsign}[2]{\ifdefined\directlua#1\else\ifdefined\XeTeXversion#1\else[U+#2]\fi\fi}"
# Grave, acute, circumflex, tilde, diaeresis, ring, caron, cedilla: on a letter, every encoding has them.
ACCENTS = "\u0300\u0301\u0302\u0303\u0308\u030a\u030c\u0327"
LETTERS = "\u00df\u00e6\u00c6\u00f8\u00d8\u0153\u0152\u0142\u0141"
LAST = 0x17F
SIGNS = {"\u2020": r"$\dagger$", "\u00b1": r"$\pm$", "\u2013": "--", "\u2019": "'", "\u00a0": "~"}
# Names longer than this are set in lines, and broken behind these signs or after so many others.
LONGEST, BREAKS, UNBROKEN = 28, "_-/.:;,", 4
# Shorter words are not broken.
SHORT = 24
MOST_LINES = 45
# What is printed of smaller ones; files for machines have all digits.
SMALLEST_P = 0.001
BETWEEN = "\n\\par\\medskip\\noindent\n"
ARROWS = {Direction.up: r"$\uparrow$", Direction.down: r"$\downarrow$"}


class FloatOptions(TypedDict, total=False):
    """Options of a table that floats; see :class:`LatexLook`."""

    caption: str | None
    label: str | None


class LatexOptions(FloatOptions, total=False):
    """Options of the table of scores; see :class:`LatexLook`."""

    bold_best: bool
    pretty_tasks: Mapping[str, str] | None
    siunitx: bool
    width: int


@dataclass(frozen=True, kw_only=True)
class LatexLook:
    r"""Look of a table; ``caption``, ``label`` and ``pretty_tasks`` (task -> heading) are LaTeX of the author's own.

    With a caption or a label the table floats. ``bold_best`` marks the best and what is not told from it; ``width`` is
    that of a page in characters. ``siunitx`` needs ``\usepackage{siunitx}``, version 3, beside booktabs.
    """

    bold_best: bool = True
    pretty_tasks: Mapping[str, str] | None = None
    caption: str | None = None
    label: str | None = None
    siunitx: bool = False
    width: int = 78


@dataclass(frozen=True, kw_only=True)
class Tabular:
    """One tabular: its columns, head and rows, all of them LaTeX; each row with the lines that it takes."""

    columns: str
    head: tuple[str, ...]
    rows: tuple[tuple[int, str], ...]

    @property
    def n_lines(self) -> int:
        """Number of lines that it takes."""
        return sum(lines for lines, _ in self.rows) + 3

    @property
    def parts(self) -> Iterator[Tabular]:
        """The same in pieces that fit on a page."""
        part: list[tuple[int, str]] = []
        for row in self.rows:
            if part and sum(lines for lines, _ in (*part, row)) > MOST_LINES:
                yield Tabular(columns=self.columns, head=self.head, rows=tuple(part))
                part = []
            part.append(row)
        yield Tabular(columns=self.columns, head=self.head, rows=tuple(part))

    def __str__(self) -> str:
        rows = (text for _, text in self.rows)
        lines = [rf"\begin{{tabular}}{{{self.columns}}}", r"\toprule", *self.head, r"\midrule", *rows]
        return "\n".join([*lines, r"\bottomrule", r"\end{tabular}"])


def write_document(
    tabulars: Sequence[Tabular],
    notes: Sequence[str],
    look: LatexLook,
    *,
    runs: Iterable[tuple[str, Sequence[str]]] = (),
) -> str:
    """Return tabulars with what they need, as floats where they have a caption; comments name the runs behind them.

    Parameters
    ----------
    tabulars
        Tables to set.
    notes
        Sentences below them.
    look
        Look of the table.
    runs
        (what a number is of, ids of the runs behind it).
    """
    parts = [part for tabular in tabulars for part in tabular.parts]
    below = " ".join(f"{note[:1].upper()}{note[1:].rstrip('.')}." for note in notes)
    packages = "booktabs and siunitx" if look.siunitx else "booktabs"
    lines = [f"% needs {packages}", DEFINITIONS]
    if look.caption is None and look.label is None:
        lines += [BETWEEN.join(map(str, parts)), *(f"% {clean_name(note)}" for note in notes)]
    else:
        lines += _floats(parts, below, look)
    lines += [f"% runs of {clean_name(name)}: {clean_name(' '.join(ids))}" for name, ids in runs if any(ids)]
    return "\n".join(lines) + "\n"


def _floats(parts: Sequence[Tabular], below: str, look: LatexLook) -> Iterator[str]:
    """Give floats, each with as many tabulars as a page holds."""
    pages: list[list[Tabular]] = [[]]
    for part in parts:
        if pages[-1] and sum(one.n_lines for one in (*pages[-1], part)) > MOST_LINES:
            pages.append([])
        pages[-1].append(part)
    for number, page in enumerate(pages):
        yield "\\begin{table}[tbp]\n\\centering\\footnotesize\\setlength{\\tabcolsep}{4pt}"
        if look.caption is not None:
            yield f"\\caption{{{look.caption}{' (continued)' if number else ''}}}"
        if look.label is not None and not number:
            yield f"\\label{{{look.label}}}"
        yield BETWEEN.join(map(str, page))
        if number == len(pages) - 1:
            yield rf"\par\smallskip{{\footnotesize\raggedright {tex_text(below)}\par}}"
        yield "\\end{table}"


def write_p(value: float | None) -> str:
    """Return a p-value with three significant digits, trailing zeros kept."""
    if value is None:
        return "n.a."
    return f"{value:#.3g}" if value >= SMALLEST_P else f"$<{SMALLEST_P}$"


def tex_task(task: str, metric: str, direction: Direction, *, n_columns: int) -> tuple[int, str]:
    """Return the row of a task over its models, and about how many lines it takes.

    Parameters
    ----------
    task, metric, direction
        The task, and how it is scored.
    n_columns
        Number of columns of the tabular.
    """
    title = f"\\textit{{{tex_name(task, longest=60)}}}, {tex_name(metric)} {ARROWS[direction]}"
    return tex_lines(task, longest=60), rf"\multicolumn{{{n_columns}}}{{l}}{{{title}}} \\"


def escape_tex(text: str) -> str:
    r"""Return text that LaTeX prints as it is.

    >>> print(escape_tex("50%_of $x^2$"))
    50\%\_of \$x\textasciicircum{}2\$
    """
    return text.translate(TABLE)


def tex_name(name: str, *, longest: int = LONGEST) -> str:
    """Return a name; one with more characters in a box of several lines."""
    text = clean_name(name)
    if len(text) <= longest:
        return "".join(map(tex_sign, text))
    return rf"\parbox[t]{{{longest / 2:g}em}}{{\raggedright {tex_text(text)}\strut}}"


def tex_text(text: str) -> str:
    """Return a text for a paragraph; in long words there are places to break."""
    return " ".join(
        _breakable(word) if len(word) > SHORT else "".join(map(tex_sign, word)) for word in clean_name(text).split(" ")
    )


def tex_width(name: str) -> int:
    """Return about how many characters wide a name is printed."""
    return min(len(clean_name(name)), LONGEST)


def tex_lines(name: str, *, longest: int = LONGEST) -> int:
    """Return in about how many lines a name is printed."""
    return math.ceil(len(clean_name(name)) / (longest - UNBROKEN)) if len(clean_name(name)) > longest else 1


def _breakable(word: str) -> str:
    parts, run = [], 0
    for sign in word:
        run = 0 if sign in BREAKS else run + 1
        parts.append(tex_sign(sign) + (r"\allowbreak{}" if run % UNBROKEN == 0 else ""))
    return "".join(parts)


def tex_sign(sign: str) -> str:
    """Return one character; :data:`DEFINITIONS` must stand before it, for those that pdfLaTeX does not know."""
    if sign in SIGNS:
        return SIGNS[sign]
    if sign.isascii() or sign in LETTERS:
        return escape_tex(sign)
    parts = unicodedata.normalize("NFD", sign)
    base, marks = parts[0], parts[1:]
    if ord(sign) <= LAST and base.isascii() and base.isalpha() and len(marks) == 1 and marks in ACCENTS:
        return sign
    return rf"\gnzsign{{{sign}}}{{{ord(sign):04X}}}"
