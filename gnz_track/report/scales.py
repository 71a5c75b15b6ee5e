"""Ticks whose labels do not collide, and limits that panels share."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

from matplotlib.axes import Axes
from matplotlib.ticker import FixedFormatter, FixedLocator, MaxNLocator, NullLocator

from gnz_track.kinds import Direction
from gnz_track.report.canvas import measure_text

__all__ = [
    "TICK_SIZE",
    "decimals_for",
    "fence",
    "log_ticks",
    "set_ticks",
    "share_limits",
    "signed",
    "spread_ticks",
    "widen",
    "write_number",
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
