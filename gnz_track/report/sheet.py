"""Panels on a figure that is as large as their labels need: a key above, a caption below, all lengths in points."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.patches import Rectangle
from matplotlib.transforms import Affine2D, Transform

from gnz_track.report.canvas import HouseFigure, fonts_for, house_style, measure_text, undrawable
from gnz_track.report.cd_shapes import Box
from gnz_track.report.labels import wrap_prose
from gnz_track.report.short_names import cut_text

__all__ = ["WIDTH", "Key", "Margins", "Panel", "Sheet", "columns_for", "draw_words", "open_sheet", "put_text"]

# Of the text of a page: seven inches.
WIDTH = 504.0
EDGE = 4.0
NARROWEST = 250.0
CAPTION_SIZE = 7.0
KEY_SIZE = 7.0
KEY_MARK = 20.0
KEY_GAP = 12.0
KEY_LINE = 11.0
LINE_SPACING = 1.3
SOFT = "0.3"


@dataclass(frozen=True, kw_only=True)
class Margins:
    """Room around the axes of a panel; ``inner`` stands for ``left`` in all columns but the first."""

    left: float
    inner: float
    right: float = 8.0
    top: float = 14.0
    bottom: float = 14.0


@dataclass(frozen=True, kw_only=True)
class Key:
    """One entry of the key: a text, and how its mark is drawn, as a line (of Line2D) or a patch (of Rectangle)."""

    text: str
    line: Mapping[str, Any] = field(default_factory=dict)
    patch: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Panel:
    """Axes, and where they stand on the figure."""

    axes: Axes
    box: Box
    is_first: bool

    def title(self, text: str, *, room: float = 0.0, rise: float = 5.0) -> None:
        """Write above the axes, from their left edge; cut where it is too wide.

        Parameters
        ----------
        text
            The line.
        room
            Points that it may be wider than the axes.
        rise
            Points above the axes.
        """
        figure = _figure_of(self)
        shown = cut_text(text, self.box.right - self.box.left + room, size=8.0)
        put_text(figure, self.box.left, self.box.top + rise, shown, size=8.0, role="title")

    def below(self, text: str, *, drop: float) -> None:
        """Write below the axes, in their middle."""
        middle, width = (self.box.left + self.box.right) / 2, self.box.right - self.box.left
        shown = cut_text(text, width, size=7.0)
        put_text(_figure_of(self), middle, self.box.bottom - drop, shown, size=7.0, align="center", role="axis")

    def beside(self, text: str, *, offset: float) -> None:
        """Write upwards to the left of the axes, in their middle."""
        middle, height = (self.box.bottom + self.box.top) / 2, self.box.top - self.box.bottom
        figure = _figure_of(self)
        shown = cut_text(text, height, size=7.0)
        found = put_text(figure, self.box.left - offset, middle, shown, size=7.0, align="center", role="axis")
        found.set(rotation=90.0, va="center")


@dataclass(frozen=True)
class Sheet:
    """A figure with its panels, row by row."""

    figure: HouseFigure
    panels: tuple[Panel, ...]


def columns_for(n: int, width: float, margins: Margins, *, most: int | None = None) -> int:
    """Return how many panels fit side by side on a page, at least one.

    Parameters
    ----------
    n
        Number of panels.
    width
        Width of each in points.
    margins
        Room around each.
    most
        Largest number of columns.
    """
    fitting = int((WIDTH - 2 * EDGE - margins.left - margins.right + margins.inner) // (width + margins.inner))
    return max(1, min(n, fitting if most is None else max(1, most)))


def open_sheet(
    sizes: Sequence[tuple[float, float]],
    *,
    margins: Margins,
    n_columns: int,
    caption: str,
    key: Sequence[Key] = (),
    names: Sequence[str] = (),
) -> Sheet:
    """Return a figure with a key above, axes row by row, and a caption below.

    Parameters
    ----------
    sizes
        (width, height) of each panel in points.
    margins
        Room around each.
    n_columns
        Panels side by side.
    caption
        Sentences below.
    key
        Entries above.
    names
        All names that are drawn, to tell of characters that no font draws.
    """
    caption = _with_undrawable(caption, names)
    rows = [sizes[start : start + n_columns] for start in range(0, len(sizes), n_columns)]
    pitch = max(width for width, _ in sizes)
    heights = [max(height for _, height in row) for row in rows]
    wide = margins.left + margins.right + n_columns * pitch + (n_columns - 1) * margins.inner
    wide = max(wide, NARROWEST)
    lines = wrap_prose(caption, wide, size=CAPTION_SIZE, measure=measure_text)
    places = _place_key(key, wide)
    key_height = KEY_LINE * (1 + max(row for _, row in places)) + 4.0 if places else 0.0
    below = LINE_SPACING * CAPTION_SIZE * len(lines) + 4.0
    panels_height = sum(heights) + len(rows) * (margins.top + margins.bottom)
    total = 2 * EDGE + key_height + panels_height + below
    with house_style():
        figure = HouseFigure(figsize=((wide + 2 * EDGE) / 72.0, total / 72.0))
        figure.alt_text = caption
        top = total - EDGE
        _draw_key(figure, key, places, top)
        top -= key_height
        panels = []
        for row, height in zip(rows, heights, strict=True):
            top -= margins.top
            for column, (width, tall) in enumerate(row):
                left = EDGE + margins.left + column * (pitch + margins.inner)
                panels.append(_add_panel(figure, Box(left, top - tall, left + width, top), is_first=column == 0))
            top -= height + margins.bottom
        _draw_lines(figure, lines, EDGE + below)
    return Sheet(figure, tuple(panels))


def draw_words(sentence: str, *, names: Sequence[str] = ()) -> HouseFigure:
    """Return a figure that says why there is nothing to draw."""
    said = _with_undrawable(sentence, names)
    lines = wrap_prose(said, NARROWEST, size=8.0, measure=measure_text)
    height = LINE_SPACING * 8.0 * len(lines) + 2 * EDGE + 4.0
    with house_style():
        figure = HouseFigure(figsize=((NARROWEST + 2 * EDGE) / 72.0, height / 72.0))
        figure.alt_text = said
        _draw_lines(figure, lines, height - EDGE, size=8.0)
    return figure


def put_text(
    figure: HouseFigure, x: float, y: float, text: str, *, size: float, align: str = "left", role: str = "label"
) -> Any:
    """Write one line of literal text.

    Parameters
    ----------
    figure
        Figure to write on.
    x, y
        Start of the baseline, in points from the lower left corner.
    text
        The line.
    size
        Font size in points.
    align
        ``left``, ``center`` or ``right`` of x.
    role
        Name of the text in the file.
    """
    width, height = 72.0 * figure.get_size_inches()
    found = figure.text(
        x / width,
        y / height,
        text,
        fontsize=size,
        ha=align,
        va="baseline",
        family=list(fonts_for(text)),
        parse_math=False,
        gid=f"gnz-{role}",
    )
    if role in {"caption", "axis", "tick"}:
        found.set_color(SOFT)
    return found


def _add_panel(figure: HouseFigure, box: Box, *, is_first: bool) -> Panel:
    width, height = 72.0 * figure.get_size_inches()
    place = (box.left / width, box.bottom / height, (box.right - box.left) / width, (box.top - box.bottom) / height)
    return Panel(figure.add_axes(place), box, is_first)


def _figure_of(panel: Panel) -> HouseFigure:
    figure: Any = panel.axes.figure
    return figure  # type: ignore[no-any-return]


def _draw_lines(figure: HouseFigure, lines: Sequence[str], top: float, *, size: float = CAPTION_SIZE) -> None:
    for place, line in enumerate(lines):
        put_text(figure, EDGE, top - size - LINE_SPACING * size * place, line, size=size, role="caption")


def _place_key(key: Sequence[Key], width: float) -> list[tuple[float, int]]:
    """Return the left end and the row of each entry, in columns of one width."""
    if not key:
        return []
    longest = max(measure_text(entry.text, KEY_SIZE).width for entry in key) + KEY_MARK + 4.0
    n_columns = max(1, min(len(key), int((width + KEY_GAP) // (longest + KEY_GAP))))
    return [(EDGE + (place % n_columns) * (longest + KEY_GAP), place // n_columns) for place in range(len(key))]


def _draw_key(figure: HouseFigure, key: Sequence[Key], places: Sequence[tuple[float, int]], top: float) -> None:
    points: Transform = Affine2D().scale(1 / 72.0) + figure.dpi_scale_trans
    for entry, (left, row) in zip(key, places, strict=True):
        y = top - KEY_LINE * (row + 0.5)
        if entry.line:
            xs = [left, left + KEY_MARK / 2, left + KEY_MARK]
            figure.add_artist(Line2D(xs, [y, y, y], transform=points, markevery=[1], **entry.line))
        if entry.patch:
            figure.add_artist(Rectangle((left, y - 3.5), KEY_MARK, 7.0, transform=points, **entry.patch))
        put_text(figure, left + KEY_MARK + 4.0, y - 0.36 * KEY_SIZE, entry.text, size=KEY_SIZE, role="key")


def _with_undrawable(caption: str, names: Sequence[str]) -> str:
    signs = undrawable([cut_text(name, WIDTH, size=7.0) for name in names])
    listed = ", ".join(f"U+{ord(sign):04X}" for sign in signs[:6]) + (", ..." if len(signs) > 6 else "")
    return f"{caption} No installed font draws {listed}; the SVG file holds them as text." if signs else caption
