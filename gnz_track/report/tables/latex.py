"""Scores and verdicts as LaTeX: booktabs and nothing else, siunitx where it is asked for, all names escaped.

Best means are bold, and what the adjusted paired test does not tell from the best bears a dagger. A table that would be
wider than a page goes on below itself. Comments at the end name the runs behind each number.

Any text as LaTeX that prints it, whatever characters it holds.

Names as LaTeX prints them with any engine: escaped, with places to break long ones, in whatever script.
"""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypedDict

from gnz_track.report.figures.labels import clean_name
from gnz_track.report.tables.scores import GridCell, GridTask, ScoreGrid, lay_out_scores
from gnz_track.stats.comparison.comparison import Comparison, PairComparison

__all__ = [
    "DEFINITIONS",
    "FloatOptions",
    "LatexLook",
    "LatexOptions",
    "Tabular",
    "escape_tex",
    "tex_lines",
    "tex_name",
    "tex_sign",
    "tex_text",
    "tex_width",
    "write_document",
    "write_p",
    "write_scores_latex",
    "write_verdicts_latex",
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


def escape_tex(text: str) -> str:
    r"""Return text that LaTeX prints as it is.

    >>> print(escape_tex("50%_of $x^2$"))
    50\%\_of \$x\textasciicircum{}2\$
    """
    return text.translate(TABLE)


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


ARROWS = {"up": r"$\uparrow$", "down": r"$\downarrow$"}
MOST_LINES = 45
# What is printed of smaller ones; files for machines have all digits.
SMALLEST_P = 0.001
CELL, GAP, IN_PAIR = 15, 2, 16
BOLD_AND_DAGGER = "bold: best mean; \u2020: not distinguishable from it"
BETWEEN = "\n\\par\\medskip\\noindent\n"


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


def write_scores_latex(comparison: Comparison, look: LatexLook | None = None) -> str:
    """Return the table of scores: a row per model, a column per task."""
    chosen = look or LatexLook()
    grid = lay_out_scores(comparison)
    tabulars = [_scores(grid, tasks, chosen) for tasks in _blocks(grid, chosen)]
    marks = [BOLD_AND_DAGGER] if chosen.bold_best else []
    runs = ((f"{task.task}, {model}", cell.run_ids) for task in grid.tasks for model, cell in task.cells.items())
    return write_document(tabulars, [*marks, *grid.notes], chosen, runs=runs)


def write_verdicts_latex(comparison: Comparison, look: LatexLook | None = None) -> str:
    """Return the table of pairs, task by task: advantage with its interval, raw and adjusted p, verdict."""
    chosen = look or LatexLook()
    adjusted = "p_{\\mathrm{Holm}}" if comparison.choices.adjustment == "holm" else "p_{\\mathrm{adj}}"
    head = rf"Pair & Advantage & \multicolumn{{1}}{{c}}{{$p$}} & \multicolumn{{1}}{{c}}{{${adjusted}$}} & Verdict \\"
    grid = lay_out_scores(comparison)
    rows = [row for task in grid.tasks for row in _verdicts(task, comparison[task.task].pairs, chosen)]
    level = f"{100 * (1 - comparison.choices.alpha):.4g} %"
    note = f"advantage of the first model, positive where it is better, with its {level} interval; {comparison.choices}"
    if not rows:
        rows = [(1, r"\multicolumn{5}{l}{no pair of models to compare} \\")]
    runs = ((f"{task.task}, {model}", cell.run_ids) for task in grid.tasks for model, cell in task.cells.items())
    tabular = Tabular(columns="lrrrl@{}", head=(head,), rows=tuple(rows))
    return write_document([tabular], [note], chosen, runs=runs)


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


def _blocks(grid: ScoreGrid, look: LatexLook) -> list[list[GridTask]]:
    """Return the tasks that fit side by side, about as many in each block."""
    room = look.width - max(tex_width(name) for name in grid.models) - GAP
    widths = [_width(task, look) for task in grid.tasks]
    n_blocks = _fill_blocks(widths, room)[-1] + 1
    even = [place * n_blocks // len(widths) for place in range(len(widths))]
    fits = all(
        sum(width for width, block in zip(widths, even, strict=True) if block == one) <= room for one in range(n_blocks)
    )
    blocks: list[list[GridTask]] = [[] for _ in range(n_blocks)]
    for task, block in zip(grid.tasks, even if fits else _fill_blocks(widths, room), strict=True):
        blocks[block].append(task)
    return blocks


def _fill_blocks(widths: Sequence[int], room: int) -> list[int]:
    """Return the number of the block of each width, with every block as full as it can be."""
    found, used, block = [], 0, 0
    for width in widths:
        if used and used + width > room:
            used, block = 0, block + 1
        used += width
        found.append(block)
    return found


def _width(task: GridTask, look: LatexLook) -> int:
    head = tex_width((look.pretty_tasks or {}).get(task.task, task.task))
    return max(head, CELL + 2 * (task.decimals - 3), len(task.metric) + 2) + GAP


def _scores(grid: ScoreGrid, tasks: Sequence[GridTask], look: LatexLook) -> Tabular:
    pretty = look.pretty_tasks or {}
    names = " & ".join(pretty.get(task.task) or tex_name(task.task) for task in tasks)
    metrics = " & ".join(f"{tex_name(task.metric)} {ARROWS[task.direction]}" for task in tasks)
    # Superscripts and subscripts of one row would touch those of the next.
    strut = "" if grid.has_even_ends else r"\rule[-1.2ex]{0pt}{3.6ex}"
    rows = []
    for model in grid.models:
        cells = [strut + tex_name(model), *(_write_cell(task, model, grid, look) for task in tasks)]
        rows.append((tex_lines(model), " & ".join(cells) + r" \\"))
    head = (rf"Model & {names} \\", rf" & {metrics} \\")
    return Tabular(columns="l" + "c" * len(tasks), head=head, rows=tuple(rows))


def _write_cell(task: GridTask, model: str, grid: ScoreGrid, look: LatexLook) -> str:
    cell = task.cells.get(model)
    if cell is None:
        return "--"
    if cell.mean is None:
        return f"none ({cell.lack})"
    text = _write_mean(cell, task, grid, look)
    counts = "" if cell.is_complete else rf"\,\textsuperscript{{{cell.n_finished}/{cell.n_planned}}}"
    return text + counts


def _write_mean(cell: GridCell, task: GridTask, grid: ScoreGrid, look: LatexLook) -> str:
    is_best, is_tied = cell.is_best and look.bold_best, cell.is_tied_with_best and look.bold_best
    mean = "" if cell.mean is None else task.write(cell.mean)
    below, above = ("", "") if cell.ends is None else map(task.write, cell.ends)
    weight = ", mode=text, reset-text-series=false" if is_best else ""
    if look.siunitx and (grid.has_even_ends or not above):
        number = rf"\num[separate-uncertainty=true{weight}]{{{mean}{f' +- {above}' if above else ''}}}"
        text = rf"{{\bfseries {number}}}" if is_best else number
    else:
        body = (
            mean
            if not above
            else rf"{mean} \pm {above}"
            if grid.has_even_ends
            else rf"{mean}^{{+{above}}}_{{-{below}}}"
        )
        text = rf"$\mathbf{{{body}}}$" if is_best else f"${body}$"
    return rf"{text}$^{{\dagger}}$" if is_tied else text


def _verdicts(task: GridTask, pairs: Sequence[PairComparison], look: LatexLook) -> Iterator[tuple[int, str]]:
    """Give a line with the task, and one for each of its pairs."""
    if not pairs:
        return
    name = (look.pretty_tasks or {}).get(task.task) or tex_text(task.task)
    # A box breaks where a long name would leave the page.
    title = rf"\parbox[t]{{.8\linewidth}}{{\raggedright\textit{{{name}}}\strut}}"
    yield tex_lines(task.task, longest=60), rf"\multicolumn{{5}}{{l}}{{{title}}} \\"
    for pair in pairs:
        mean = pair.effects.mean
        advantage = "n.a." if mean.mean is None else f"${task.write(mean.mean, '+')}$"
        if mean.mean is not None and mean.high is not None:
            # Student's interval reaches as far down as up.
            advantage = f"${task.write(mean.mean, '+')} \\pm {task.write(mean.high - mean.mean)}$"
        verdict = rf"\textbf{{{pair.verdict}}}" if pair.is_rejected and pair.can_reject else str(pair.verdict)
        models = " vs.\\ ".join(tex_name(model, longest=IN_PAIR) for model in (pair.first, pair.second))
        lines = max(tex_lines(model, longest=IN_PAIR) for model in (pair.first, pair.second))
        yield lines, rf"{models} & {advantage} & {write_p(pair.p)} & {write_p(pair.p_adjusted)} & {verdict} \\"


def write_p(value: float | None) -> str:
    """Return a p-value with three significant digits, trailing zeros kept."""
    if value is None:
        return "n.a."
    return f"{value:#.3g}" if value >= SMALLEST_P else f"$<{SMALLEST_P}$"
