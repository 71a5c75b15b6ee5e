"""Style of all figures: colours and marks, measured, wrapped and cut text, and files of stable bytes.

Figures are made without pyplot, so nothing is shown, kept open or shared. Names of users are drawn with
``parse_math=False``: a dollar sign is a dollar sign.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from io import StringIO
from os import PathLike
from pathlib import Path
from typing import IO, Any

import matplotlib as mpl
from matplotlib import font_manager
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.ft2font import FT2Font
from matplotlib.text import Text

from gnz_track.errors import BadValue
from gnz_track.report.figures.labels import Extent, clean_name
from gnz_track.report.tables.latex import escape_tex

__all__ = [
    "HouseFigure",
    "Mark",
    "cut_text",
    "fonts_for",
    "house_style",
    "marks_of",
    "measure_text",
    "short_names",
    "undrawable",
    "wrap_name",
    "wrap_prose",
]


FONT = "DejaVu Sans"
# Comes with Matplotlib and draws any character as a box that says which script it is of.
LAST_FONT = "Last Resort High-Efficiency"
# Any: the names of Matplotlib's settings are a type of their own.
STYLE: Any = {
    "font.family": [FONT],
    "font.size": 8.0,
    "axes.titlesize": 8.0,
    "axes.labelsize": 8.0,
    "xtick.labelsize": 7.0,
    "ytick.labelsize": 7.0,
    "legend.fontsize": 7.0,
    "legend.frameon": False,
    "axes.linewidth": 0.6,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "lines.linewidth": 1.2,
    "lines.markersize": 4.0,
    "hatch.linewidth": 0.5,
    "figure.dpi": 100.0,
    "savefig.dpi": 200.0,
    # Widths do not depend on the resolution, and text stays text that can be found, copied and set in other fonts.
    "text.hinting": "none",
    "pdf.fonttype": 42,
    "ps.fonttype": 42,
    "svg.fonttype": "none",
    "svg.hashsalt": "gnz-track",
    "pgf.rcfonts": False,
}
# Who made a file and when is left out: the same figure gives the same bytes.
NO_DATE: dict[str, dict[str, str | None]] = {
    "svg": {"Date": None, "Creator": "gnz-track"},
    "pdf": {"CreationDate": None, "Creator": "gnz-track", "Producer": "gnz-track"},
    "png": {"Software": "gnz-track"},
    "pgf": {},
}
# Where each kind of file says what the figure shows.
SUBJECT = {"svg": "Description", "pdf": "Subject", "png": "Description"}
TEX_SYSTEMS = ("pdflatex", "lualatex", "xelatex")

# M. Okabe, K. Ito, Color universal design (2008), without its yellow, which is lost on white.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#000000", "#E69F00", "#56B4E9")
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "<", ">")
LINES = ("-", "--", ":", "-.")
HATCHES = ("", "////", "\\\\\\\\", "....", "xxxx", "----", "||||", "++++")
# Of a font in which widths are measured, to what other resolutions and programs may make of them.
SLACK = 1.04
# A line of prose ends behind spaces (others hold numbers and signs together); a name has no spaces to end at.
PROSE = re.compile("[^ ]* *")
NAME = re.compile(r"[^\s_\-/.,;:]*[\s_\-/.,;:]*")


@dataclass(frozen=True)
class Mark:
    """Look of one model in all figures, by the place of its name among all; in grey print all but the colour tell it.

    No two of the first 252 have the same colour, marker and line, and no two of the first 56 the same colour and hatch.
    """

    place: int

    @property
    def colour(self) -> str:
        """Its colour."""
        return COLOURS[self.place % len(COLOURS)]

    @property
    def marker(self) -> str:
        """Its marker."""
        return MARKERS[self.place % len(MARKERS)]

    @property
    def line(self) -> str:
        """Its line pattern."""
        return LINES[self.place % len(LINES)]

    @property
    def hatch(self) -> str:
        """Its hatch."""
        return HATCHES[self.place % len(HATCHES)]

    @property
    def point(self) -> dict[str, Any]:
        """A point, as options of Line2D; the markers of every other round are open."""
        fill = {"markerfacecolor": "white"} if self.place // len(MARKERS) % 2 == 1 else {}
        return {"marker": self.marker, "color": self.colour, "markeredgewidth": 0.9, **fill}


class HouseFigure(Figure):
    """A figure that is saved in the house style wherever ``savefig`` is called; ``alt_text`` goes into the file."""

    alt_text: str = ""

    def __iter__(self) -> Iterator[Any]:
        """Give the figure and its axes, so that ``figure, axes = report.plot()`` works as in the published package."""
        yield self
        yield self.axes[0] if len(self.axes) == 1 else list(self.axes)

    def _repr_svg_(self) -> str:
        """Show the figure in a notebook, whether Matplotlib was told of it or not."""
        with StringIO() as text:
            self.savefig(text, format="svg")
            return text.getvalue()

    def savefig(self, fname: str | PathLike[Any] | IO[Any], *, transparent: bool | None = None, **options: Any) -> None:
        """Save the figure as Matplotlib does, but text as text and without the date."""
        named = Path(fname).suffix[1:] if isinstance(fname, str | PathLike) else ""
        kind = str(options.pop("format", None) or named or "png").lower()
        given: Mapping[str, Any] = options.pop("metadata", None) or {}
        _write(self, fname, kind, {"transparent": transparent, "metadata": given, **options})


@contextmanager
def house_style() -> Iterator[None]:
    """Set the style of the house, and nothing of the user's own, while figures are made or saved."""
    with mpl.rc_context():
        mpl.rcdefaults()
        mpl.rcParams.update(STYLE)
        yield


def marks_of(names: Sequence[str]) -> dict[str, Mark]:
    """Return a mark for each name, by its place."""
    return {name: Mark(place) for place, name in enumerate(names)}


@lru_cache(maxsize=8192)
def measure_text(text: str, size: float) -> Extent:
    """Return how far one line reaches in the font of the house, in points, with a little to spare."""
    dots = 720.0
    with mpl.rc_context({"text.hinting": STYLE["text.hinting"], "text.usetex": False}):
        drawn = Text(0, 0, text, fontsize=size, family=list(fonts_for(text)), parse_math=False)
        found = _renderer(dots).get_text_width_height_descent(text, drawn.get_fontproperties(), ismath=False)
    width, height, descent = (72.0 / dots * length for length in found)
    return Extent(width * SLACK, height - descent, descent)


@lru_cache(maxsize=4096)
def fonts_for(text: str) -> tuple[str, ...]:
    """Return the fonts that draw a text: the house's, others for what it lacks, and boxes for what no font has."""
    missing = {sign for sign in text if ord(sign) not in _characters(FONT)}
    found = [FONT]
    for name in _other_fonts() if missing else ():
        if drawn := {sign for sign in missing if ord(sign) in _characters(name)}:
            found.append(name)
            missing -= drawn
        if not missing:
            break
    return (*found, LAST_FONT) if missing else tuple(found)


def undrawable(texts: Sequence[str]) -> tuple[str, ...]:
    """Return the characters that no installed font draws; in SVG they are still text, elsewhere they are boxes."""
    signs = sorted({sign for text in texts if fonts_for(text)[-1] == LAST_FONT for sign in text})
    return tuple(sign for sign in signs if fonts_for(sign)[-1] == LAST_FONT)


def _write(figure: Figure, target: str | PathLike[Any] | IO[Any], kind: str, options: Mapping[str, Any]) -> None:
    subject = {SUBJECT[kind]: alt} if (alt := getattr(figure, "alt_text", "")) and kind in SUBJECT else {}
    metadata = {**NO_DATE.get(kind, {}), **subject, **options.get("metadata", {})}
    rest = {name: value for name, value in options.items() if name != "metadata"}
    # Some kinds of file take no such option at all.
    told: dict[str, Any] = {"metadata": metadata} if metadata else {}
    with house_style(), _set_by_tex(figure, kind):
        Figure.savefig(figure, target, format=kind, **told, **rest)


@contextmanager
def _set_by_tex(figure: Figure, kind: str) -> Iterator[None]:
    """Choose a TeX system, and escape what TeX would otherwise read as commands, while a .pgf file is written."""
    if kind != "pgf":
        yield
        return
    installed = [name for name in TEX_SYSTEMS if shutil.which(name)]
    if not installed:
        allowed = f"on a machine with one of {', '.join(TEX_SYSTEMS)}, which measure the text; or .svg, .pdf, .png"
        raise BadValue("the suffix of the figure", ".pgf", allowed, command="apt-get install texlive-latex-recommended")
    mpl.rcParams["pgf.texsystem"] = installed[0]
    texts = [(found, found.get_text()) for found in figure.findobj(_is_literal) if isinstance(found, Text)]
    try:
        for found, text in texts:
            found.set_text(escape_tex(text))
        yield
    finally:
        for found, text in texts:
            found.set_text(text)


def _is_literal(artist: object) -> bool:
    return isinstance(artist, Text) and not artist.get_parse_math()


@lru_cache(maxsize=1)
def _renderer(dots: float) -> Any:
    canvas: Any = FigureCanvasAgg(Figure(figsize=(1, 1), dpi=dots))
    return canvas.get_renderer()


@lru_cache(maxsize=512)
def _characters(name: str) -> frozenset[int]:
    return frozenset(FT2Font(font_manager.findfont(name, fallback_to_default=False)).get_charmap())


@lru_cache(maxsize=1)
def _other_fonts() -> tuple[str, ...]:
    """Return the installed fonts by name; without slanted and bold ones, and without those that draw only boxes."""
    upright = {font.name for font in font_manager.fontManager.ttflist if font.style == "normal" and font.weight == 400}
    return tuple(sorted(upright - {FONT, LAST_FONT}))


def wrap_name(name: str, width: float, *, size: float) -> tuple[str, ...]:
    """Return the lines of a name, none wider than ``width`` points unless one character alone is.

    Parameters
    ----------
    name
        Name of a model or a task.
    width
        Most points of a line.
    size
        Font size in points.
    """
    return _wrap(NAME.findall(name), width, size=size)


def wrap_prose(text: str, width: float, *, size: float) -> tuple[str, ...]:
    """Return the lines of a text, none wider than ``width`` points unless one character alone is.

    Parameters
    ----------
    text
        Sentences.
    width
        Most points of a line.
    size
        Font size in points.
    """
    return _wrap(PROSE.findall(text), width, size=size)


def _wrap(pieces: Sequence[str], width: float, *, size: float) -> tuple[str, ...]:
    lines, line = [], ""
    for piece in (part for whole in pieces for part in _cut(whole, width, size=size)):
        if line and measure_text((line + piece).rstrip(), size).width > width:
            lines.append(line.rstrip())
            line = ""
        line += piece
    return (*lines, line.rstrip()) if line.strip() else tuple(lines)


def _cut(piece: str, width: float, *, size: float) -> list[str]:
    """Return a piece in parts that fit, cut between characters where it must be."""
    parts = []
    while piece:
        n = len(piece)
        while n > 1 and (found := measure_text(piece[:n].rstrip(), size).width) > width:
            n = max(1, min(n - 1, int(n * width / found)))
        parts.append(piece[:n])
        piece = piece[n:]
    return parts


def cut_text(text: str, width: float, *, size: float, ending: str = "") -> str:
    """Return one line, cut in its middle where it is too wide.

    Parameters
    ----------
    text
        The line.
    width
        Most points.
    size
        Font size in points.
    ending
        Text behind it, never cut.
    """
    whole = clean_name(text) + ending
    if measure_text(whole, size).width <= width:
        return whole
    shown = clean_name(text)
    fits, too_many = 0, len(shown)
    while too_many - fits > 1:
        kept = (fits + too_many) // 2
        is_narrow = measure_text(_without_middle(shown, kept) + ending, size).width <= width
        fits, too_many = (kept, too_many) if is_narrow else (fits, kept)
    return _without_middle(shown, fits) + ending


def short_names(names: Sequence[str], width: float, *, size: float) -> dict[str, str]:
    """Return a line for each name; those that would look equal are numbered.

    Parameters
    ----------
    names
        Names to shorten.
    width
        Most points of a line.
    size
        Font size in points.
    """
    found: dict[str, str] = {}
    taken: set[str] = set()
    for name in dict.fromkeys(names):
        shown, n = cut_text(name, width, size=size), 1
        while shown in taken:
            n += 1
            shown = cut_text(name, width, size=size, ending=f" #{n}")
        taken.add(shown)
        found[name] = shown
    return found


def _without_middle(text: str, kept: int) -> str:
    head = (kept + 1) // 2
    return f"{text[:head].rstrip()}\u2026{text[len(text) - (kept - head) :].lstrip()}"
