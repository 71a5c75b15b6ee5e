"""Panels on a figure that is as large as their labels need: a key above, a caption below, all lengths in points.

Labels of ticks do not collide, panels of one metric share their limits, and models have one order and one look.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.patches import Rectangle
from matplotlib.ticker import FixedFormatter, FixedLocator, MaxNLocator, NullLocator
from matplotlib.transforms import Affine2D, Transform

from gnz_track.report.figures.critical_difference.shapes import Box
from gnz_track.report.figures.style import (
    HouseFigure,
    Mark,
    cut_text,
    fonts_for,
    house_style,
    marks_of,
    measure_text,
    short_names,
    undrawable,
    wrap_prose,
)
from gnz_track.stats.comparison.comparison import Comparison
from gnz_track.types import Direction

__all__ = [
    "TICK_SIZE",
    "WIDTH",
    "Key",
    "Margins",
    "Panel",
    "columns_for",
    "decimals_for",
    "draw_words",
    "fence",
    "line_key",
    "log_ticks",
    "model_marks",
    "open_sheet",
    "order_models",
    "put_text",
    "set_ticks",
    "share_limits",
    "signed",
    "spread_ticks",
    "widen",
    "write_number",
]


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
) -> tuple[HouseFigure, list[Panel]]:
    """Return a figure with a key above and a caption below, and its panels, row by row.

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
    lines = wrap_prose(caption, wide, size=CAPTION_SIZE)
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
        panels: list[Panel] = []
        for row, height in zip(rows, heights, strict=True):
            top -= margins.top
            for column, (width, tall) in enumerate(row):
                left = EDGE + margins.left + column * (pitch + margins.inner)
                panels.append(_add_panel(figure, Box(left, top - tall, left + width, top), is_first=column == 0))
            top -= height + margins.bottom
        _draw_lines(figure, lines, EDGE + below)
    return figure, panels


def draw_words(sentence: str, *, names: Sequence[str] = ()) -> HouseFigure:
    """Return a figure that says why there is nothing to draw."""
    said = _with_undrawable(sentence, names)
    lines = wrap_prose(said, NARROWEST, size=8.0)
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


KEY_WIDTH = 130.0


def model_marks(names: Sequence[str]) -> dict[str, Mark]:
    """Return the mark of each model, by its name, so that figures of one sweep agree."""
    return marks_of(sorted(set(names)))


def order_models(comparison: Comparison) -> tuple[str, ...]:
    """Return all models by mean rank; behind them those without one, by name."""
    ranks = comparison.across.ranks
    ranked = ranks.order if ranks else ()
    return (*ranked, *sorted(set(comparison.models) - set(ranked)))


def line_key(models: Sequence[str], marks: Mapping[str, Mark], *, has_lines: bool) -> list[Key]:
    """Return the key of models by marker, colour and line pattern.

    Parameters
    ----------
    models
        Names in the order of the key.
    marks
        Model -> its mark.
    has_lines
        Whether lines are drawn between markers.
    """
    shown = short_names(models, KEY_WIDTH, size=KEY_SIZE)
    return [
        Key(
            text=shown[model],
            line={
                **marks[model].point,
                "linestyle": marks[model].line if has_lines else "",
                "markersize": 4.0,
                "linewidth": 1.0,
            },
        )
        for model in models
    ]


TICK_SIZE = 6.5
# Panels of one metric have one scale, unless the largest is so many times as wide as the smallest.
MOST_UNEQUAL = 4.0
SMALLEST_PLAIN = 1e-6
MINUS = "\u2212"

Limits = tuple[float, float]


def write_number(value: float, decimals: int) -> str:
    """Return a number as text with a true minus sign; a long one by its power of ten.

    >>> write_number(-0.25, 2)
    '\u22120.25'
    """
    text = f"{value:.{max(0, decimals)}f}" if abs(value) < 1e5 and decimals <= 6 else f"{value:.2g}"
    text = text.replace("e+0", "e").replace("e-0", "e-").replace("e+", "e")
    is_zero = not text.strip("-0.")
    return text.lstrip("-") if is_zero else text.replace("-", MINUS)


def signed(value: float, decimals: int) -> str:
    """Return a difference as text: with its sign, and without the zero before the point.

    >>> signed(0.0125, 3)
    '+.013'
    """
    text = write_number(abs(value), decimals)
    text = text[1:] if text.startswith("0.") else text
    is_zero = not text.strip("0.")
    return ("" if is_zero else "+" if value > 0 else MINUS) + text


def decimals_for(largest: float) -> int:
    """Return how many decimals give a number three digits, or as many of them as six decimals show.

    Of a number that six decimals do not show at all, more are returned, so that it is written by its power of ten.

    >>> decimals_for(0.0123), decimals_for(123.4), decimals_for(0.0), decimals_for(1e-160)
    (4, 0, 1, 162)
    """
    if largest <= 0.0:
        return 1
    decimals = max(0, 2 - math.floor(math.log10(largest)))
    return decimals if largest < SMALLEST_PLAIN else min(6, decimals)


def widen(low: float, high: float, *, by: float = 0.05) -> Limits:
    """Return limits with a margin on both sides, also where they are equal.

    Parameters
    ----------
    low, high
        Limits to widen.
    by
        Margin as a share of the span.
    """
    span = high - low if high > low else max(abs(high), 1.0) * 0.1
    return low - by * span, high + by * span


def fence(values: Sequence[float], direction: Direction) -> Limits:
    """Return the extent of values without those that are far worse than the rest, which would squeeze it to a line.

    Far is more than three interquartile ranges from the quartile, the outer fence of J. W. Tukey, Exploratory Data
    Analysis, 1977; on the better side nothing is left out.

    >>> fence([1.0, 2.0, 3.0, 4.0, 100.0], Direction.down)
    (1.0, 4.0)
    """
    sign = 1.0 if direction is Direction.up else -1.0
    ordered = sorted(sign * value for value in values)
    first, last = (ordered[round(share * (len(ordered) - 1))] for share in (0.25, 0.75))
    kept = [value for value in ordered if value >= first - 3.0 * (last - first)]
    low, high = sorted((sign * kept[0], sign * kept[-1]))
    return low, high


def share_limits(extents: Sequence[Limits], metrics: Sequence[str]) -> list[Limits]:
    """Return limits for each panel: panels of one metric share theirs, unless some would be squeezed beyond reading."""
    found = []
    for own, metric in zip(extents, metrics, strict=True):
        same = [extent for extent, other in zip(extents, metrics, strict=True) if other == metric]
        widths = [high - low for low, high in same if high > low]
        is_shared = not widths or max(widths) <= MOST_UNEQUAL * min(widths)
        found.append((min(low for low, _ in same), max(high for _, high in same)) if is_shared else own)
    return found


def spread_ticks(limits: Limits, length: float, *, is_upright: bool = False) -> tuple[list[float], list[str]]:
    """Return ticks and their labels, as many as stand apart.

    Parameters
    ----------
    limits
        Ends of the axis.
    length
        Its length in points.
    is_upright
        Whether labels stand above each other.
    """
    for n in range(6, 0, -1):
        values = [
            float(value)
            for value in MaxNLocator(nbins=n, steps=[1, 2, 2.5, 5, 10]).tick_values(*limits)
            if limits[0] - 1e-9 * abs(limits[0]) <= value <= limits[1] + 1e-9 * abs(limits[1])
        ]
        labels = [write_number(value, _decimals(values)) for value in values]
        if len(values) > 1 and _stand_apart(
            [_share(value, limits) * length for value in values], labels, is_upright=is_upright
        ):
            return values, labels
    return values[:1], labels[:1]


def log_ticks(limits: Limits, length: float) -> tuple[list[float], list[str]]:
    """Return ticks and their labels on a logarithmic axis."""
    low, high = math.floor(math.log10(limits[0])), math.ceil(math.log10(limits[1]))
    logs = (math.log10(limits[0]), math.log10(limits[1]))
    for within in ((1, 2, 5), (1, 3), (1,)):
        values = [step * 10.0**power for power in range(low, high + 1) for step in within]
        values = [value for value in values if limits[0] <= value <= limits[1]]
        for every in (1, 2, 3, 5):
            kept = values[::every] if within == (1,) else values
            labels = [_short(value) for value in kept]
            if len(kept) > 1 and _stand_apart([_share(math.log10(v), logs) * length for v in kept], labels):
                return kept, labels
    middle = 10 ** ((logs[0] + logs[1]) / 2)
    return [middle], [_short(middle)]


def set_ticks(axes: Axes, side: str, ticks: tuple[Sequence[float], Sequence[str]]) -> None:
    """Set the ticks of the x or the y axis.

    Parameters
    ----------
    axes
        Axes to set.
    side
        ``x`` or ``y``.
    ticks
        Values and labels.
    """
    axis = {"x": axes.xaxis, "y": axes.yaxis}[side]
    axis.set_major_locator(FixedLocator(list(ticks[0])))
    axis.set_major_formatter(FixedFormatter(list(ticks[1])))
    axis.set_minor_locator(NullLocator())
    axis.set_tick_params(labelsize=TICK_SIZE, length=2.5, width=0.6, pad=2.0, labelcolor="0.3")


def _short(value: float) -> str:
    for size, letter in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if value >= size:
            return f"{value / size:.3g}{letter}" if value < 1e12 else f"{value:.1e}"
    return f"{value:.2g}"


def _decimals(values: Sequence[float]) -> int:
    step = min((b - a for a, b in pairwise(values)), default=abs(values[0]) if values else 1.0)
    if step <= 0.0:
        return 0
    least = max(0, -math.floor(math.log10(step) + 1e-9))
    is_exact = abs(round(step, least) - step) < 1e-6 * step
    return least if is_exact else least + 1


def _share(value: float, limits: Limits) -> float:
    return (value - limits[0]) / (limits[1] - limits[0])


def _stand_apart(places: Sequence[float], labels: Sequence[str], *, is_upright: bool = False) -> bool:
    halves = [TICK_SIZE * 0.7 if is_upright else measure_text(label, TICK_SIZE).width / 2 + 2.0 for label in labels]
    ends = list(zip(places, halves, strict=True))
    return all(b - a >= left + right for (a, left), (b, right) in pairwise(ends))
