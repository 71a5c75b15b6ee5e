"""What both shapes of a critical-difference diagram share: its look, the axis of ranks, the ruler, names in lines."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from gnz_track.report.cd_facts import CdFacts
from gnz_track.report.cd_lanes import Span
from gnz_track.report.cd_shapes import Bar, Dot, Label, Point, Stroke
from gnz_track.report.labels import Extent, Measure, clean_name, wrap_name

__all__ = [
    "GAP",
    "INSIDE",
    "LANE",
    "PAD",
    "CdLook",
    "Name",
    "RankScale",
    "Shape",
    "draw_axis",
    "make_bar",
    "make_scale",
    "place_name",
    "write_names",
]

Shape = Label | Stroke | Dot | Bar

# From one lane to the next, and the least gap between two bars in one lane; more than the bars are thick.
LANE, GAP = 5.0, 4.0
THICK, THIN, SPOT = 2.6, 0.8, 1.5
# Between a line and the text that belongs to it.
PAD = 5.0
# A longer name goes over several lines.
WIDEST_NAME = 190.0
# Of the font's size: a line of text, and how far the middle of a small letter stands above the baseline.
LINE, MIDDLE = 1.18, 0.33
SMALL = 0.85
STEPS = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000)
INSIDE = 1e-9


@dataclass(frozen=True, kw_only=True)
class CdLook:
    """Choices of taste: ``width`` in inches (None: as narrow as can be), ``shape`` auto, elbows or list.

    ``is_zoomed`` keeps the axis to the ranks that occur. The caption is part of the figure unless the document has it.
    """

    width: float | None = None
    font_size: float = 8.0
    shape: str = "auto"
    is_best_left: bool = True
    is_zoomed: bool = False
    has_caption: bool = True


@dataclass(frozen=True, kw_only=True)
class RankScale:
    """Ranks from ``low`` to ``high`` on an axis from 0 to ``length``."""

    low: int
    high: int
    length: float
    is_best_left: bool

    def at(self, rank: float) -> float:
        """Return where a rank stands."""
        part = (rank - self.low) / (self.high - self.low)
        return self.length * (part if self.is_best_left else 1.0 - part)


@dataclass(frozen=True, kw_only=True)
class Name:
    """A model with its name in lines, its mean rank as text, and how much room they take."""

    model: str
    rank: float
    lines: tuple[str, ...]
    rank_text: str
    width: float
    rank_width: float
    height: float


def make_scale(facts: CdFacts, look: CdLook, length: float) -> RankScale:
    """Return the axis: 1 to k, or, zoomed, the whole ranks around those that occur."""
    low, high = 1, len(facts.models)
    if look.is_zoomed:
        ranks = facts.mean_ranks.values()
        low, high = math.floor(min(ranks) + INSIDE), math.ceil(max(ranks) - INSIDE)
        high = max(high, low + 1)
    return RankScale(low=low, high=high, length=length, is_best_left=look.is_best_left)


def write_names(facts: CdFacts, look: CdLook, measure: Measure) -> tuple[Name, ...]:
    """Return the names from best to worst, measured; a name is at least a line high."""
    ranks = facts.mean_ranks
    widest = max(measure(f"{rank:.2f}", SMALL * look.font_size).width for rank in ranks.values())
    return tuple(_write_name(model, rank, widest, look, measure) for model, rank in ranks.items())


def _write_name(model: str, rank: float, rank_width: float, look: CdLook, measure: Measure) -> Name:
    size = look.font_size
    lines = wrap_name(clean_name(model), WIDEST_NAME, size=size, measure=measure)
    extents = [measure(line, size) for line in lines]
    return Name(
        model=model,
        rank=rank,
        lines=lines,
        rank_text=f"{rank:.2f}",
        width=max(extent.width for extent in extents),
        rank_width=rank_width,
        # A little more around several lines, or they would run into the next name.
        height=sum(_line_height(extent, size) for extent in extents) + (0.5 * size if len(lines) > 1 else 0.0),
    )


def _line_height(extent: Extent, size: float) -> float:
    return max(extent.ascent + extent.descent + 1.0, LINE * size)


def place_name(name: Name, x: float, y: float, *, align: str, look: CdLook, measure: Measure) -> list[Label]:
    """Return the labels of a name whose middle stands at y: the mean rank nearest to the diagram, then the name."""
    size, side = look.font_size, -1.0 if align == "right" else 1.0
    small = measure(name.rank_text, SMALL * size)
    y_rank = y - MIDDLE * SMALL * size
    labels = [
        Label(
            text=name.rank_text, x=x, y=y_rank, size=SMALL * size, extent=small, role="rank", align=align, tone="soft"
        )
    ]
    x += side * (name.rank_width + PAD)
    heights = [_line_height(measure(line, size), size) for line in name.lines]
    top = y + sum(heights) / 2
    for line, height in zip(name.lines, heights, strict=True):
        extent = measure(line, size)
        # The middle of small letters stands in the middle of the line, unless the line is taller than letters are.
        lowest = top - height + extent.descent + 0.5
        baseline = min(max(top - height / 2 - MIDDLE * size, lowest), top - extent.ascent - 0.5)
        labels.append(Label(text=line, x=x, y=baseline, size=size, extent=extent, role="model", align=align))
        top -= height
    return labels


def draw_axis(facts: CdFacts, scale: RankScale, look: CdLook, measure: Measure) -> list[Shape]:
    """Return the axis at y = 0 with its numbers above, what it means at its left, and the ruler where there is one."""
    size = SMALL * look.font_size
    shapes: list[Shape] = [Stroke(points=((0.0, 0.0), (scale.length, 0.0)), width=0.8, role="axis")]
    whole = range(scale.low, scale.high + 1)
    numbered = _thin_out(whole, scale, measure("0" * len(str(scale.high)), size).width + 3.0)
    for rank in whole:
        x = scale.at(rank)
        tick = 3.5 if rank in numbered else 2.0
        if rank in numbered or scale.length / len(whole) > 2.5:
            shapes.append(Stroke(points=((x, 0.0), (x, tick)), width=0.6, role="tick"))
        if rank in numbered:
            extent = measure(str(rank), size)
            shapes.append(Label(text=str(rank), x=x, y=5.5, size=size, extent=extent, role="tick", align="center"))
    title = "mean rank"
    extent = measure(title, size)
    x = -PAD - measure(str(scale.high), size).width / 2
    shapes.append(Label(text=title, x=x, y=5.5, size=size, extent=extent, role="title", align="right", tone="soft"))
    return [*shapes, *_draw_ruler(facts, scale, size, measure)]


def _thin_out(whole: Sequence[int], scale: RankScale, room: float) -> frozenset[int]:
    """Return the ranks that get a number: both ends, and round ones that leave room."""
    one = scale.length / (scale.high - scale.low)
    step = next((step for step in STEPS if step * one >= room), scale.high)
    ends = (whole[0], whole[-1])
    inner = [rank for rank in whole if rank % step == 0 and min(abs(rank - end) for end in ends) * one >= room]
    return frozenset([*ends, *inner])


def _draw_ruler(facts: CdFacts, scale: RankScale, size: float, measure: Measure) -> list[Shape]:
    difference = facts.critical_difference
    if difference is None:
        return []
    y, stop = 5.5 + 2.0 * size, difference * scale.length / (scale.high - scale.low)
    text = f"CD = {difference:.3g}"
    label = Label(text=text, x=stop + PAD, y=y - MIDDLE * size, size=size, extent=measure(text, size), role="ruler")
    lines = (((0.0, y), (stop, y)), ((0.0, y - 2.0), (0.0, y + 2.0)), ((stop, y - 2.0), (stop, y + 2.0)))
    return [*(Stroke(points=points, width=0.8, role="ruler") for points in lines), label]


def make_bar(span: Span, ends: tuple[Point, Point], spots: tuple[Point, ...], facts: CdFacts) -> Bar:
    """Return the bar of a group: thick, or thin with a spot on each member where the group skips models."""
    return Bar(
        members=span.group.members,
        lane=span.lane,
        ends=ends,
        spots=() if span.group.is_contiguous else spots,
        is_contiguous=span.group.is_contiguous,
        width=THICK if span.group.is_contiguous else THIN,
        spot_radius=SPOT,
        tone="held" if facts.is_held_back else "ink",
    )
