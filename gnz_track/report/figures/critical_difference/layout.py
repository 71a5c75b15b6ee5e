"""Geometry of a critical-difference diagram, computed before anything is drawn: all lengths in points.

J. Demsar, Statistical comparisons of classifiers over multiple data sets, J. Mach. Learn. Res. 7 (2006) 1-30. With few
models names stand in two columns, each led by an elbow to its rank on the axis above. With many, each model has a row
with a dot at its rank, and the groups are bars at the right. Which models a bar joins is found by
:mod:`gnz_track.stats.ranking.groups`; `pack_groups` gives it its ends and its lane, `_lay_out_elbows` and
`_place_bar` the place of that lane, `_make_bar` its looks.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from gnz_track.errors import BadValue, UnknownName
from gnz_track.report.figures.critical_difference.content import CdFacts, write_caption
from gnz_track.report.figures.critical_difference.shapes import (
    Bar,
    Box,
    CdLayout,
    Dot,
    Label,
    Point,
    Shape,
    Stroke,
    box_of,
)
from gnz_track.report.figures.labels import Extent, clean_name
from gnz_track.report.figures.style import measure_text, undrawable, wrap_name, wrap_prose
from gnz_track.stats.ranking.groups import Group

__all__ = ["CdLook", "lay_out_cd", "pack_groups", "spread"]

MARGIN = 3.0
# A caption narrower than this is a column of single words.
NARROWEST = 240.0
# With more models than this, two columns of labels are a thicket of lines.
MOST_ELBOWS = 20
# With more lanes than this above the labels, the lines to them are longer than the diagram is wide.
MOST_LANES = 10
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
# Leaders of near ranks are led apart on the first points below the axis: then a bar ends visibly at one of them.
APART, FAN = 4.0, 6.0
# How far a bar reaches beyond its first and last leader: less than half way to the next.
OVERHANG = 1.4
SHORTEST, LONGEST, EACH = 130.0, 230.0, 13.0
# More lanes than this are a curtain; then all pairs are shown, which takes a column for each model.
MOST_LIST_LANES = 24
LENGTH, SHORTEST_ROW = 150.0, 80.0
# From the axis to the first row, and from the plot to the first lane.
DROP, ASIDE = 4.0, 9.0
RADIUS, CELL = 2.0, 1.5
LIST_OVERHANG = 2.4


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
class _RankScale:
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


@dataclass(frozen=True, kw_only=True)
class _Span:
    """A group from ``start`` to ``stop`` in a lane, with the places of its members."""

    group: Group
    start: float
    stop: float
    places: tuple[float, ...]
    lane: int


def lay_out_cd(facts: CdFacts, *, look: CdLook | None = None) -> CdLayout:
    """Return where everything stands; a sentence instead of a diagram where there is nothing to compare."""
    look = look or CdLook()
    if look.shape not in {"auto", *SHAPES}:
        raise UnknownName("shape of the diagram", look.shape, {"auto", *SHAPES})
    if not facts.has_diagram:
        return _finish("words", (), _say_all(facts, ()), look=look)
    chosen = _choose_shape(facts, look) if look.shape == "auto" else look.shape
    shapes = SHAPES[chosen](facts, look)
    return _finish(chosen, shapes, _say_all(facts, shapes), look=look)


def _choose_shape(facts: CdFacts, look: CdLook) -> str:
    """Return elbows where there are few models, few lanes, and room for two columns."""
    if len(facts.models) > MOST_ELBOWS:
        return "list"
    try:
        shapes = _lay_out_elbows(facts, look)
    except BadValue:
        # Too wide for the width that was asked for; a list is narrower, and says so if it is too wide as well.
        return "list"
    n_lanes = max((item.lane + 1 for item in shapes if isinstance(item, Bar)), default=0)
    return "elbows" if n_lanes <= MOST_LANES else "list"


def _lay_out_elbows(facts: CdFacts, look: CdLook) -> tuple[Shape, ...]:
    """Return the shapes, with the axis from (0, 0) to the right and all names below it."""
    names = _write_names(facts, look)
    names = names if look.is_best_left else names[::-1]
    n_left = (len(names) + 1) // 2
    sides = (names[:n_left], names[: n_left - 1 : -1])
    scale = _make_scale(facts, look, _choose_axis_length(len(names), sides, look))
    at = [scale.at(name.rank) for name in names]
    apart = spread(at, gap=APART, low=-PAD / 2, high=scale.length + PAD / 2)
    spans = pack_groups(
        facts.cliques, dict(zip([n.model for n in names], apart, strict=True)), overhang=OVERHANG, gap=GAP
    )
    shapes: list[Shape] = _place_axis(facts, scale, look)
    for span in spans:
        y = -FAN - LANE * (span.lane + 0.6)
        ends = ((span.start, y), (span.stop, y))
        shapes.append(_make_bar(span, ends, tuple((x, y) for x in span.places), facts))
    top = -FAN - LANE * (max((span.lane + 1 for span in spans), default=0) + 0.2)
    places = {name.model: pair for name, *pair in zip(names, at, apart, strict=True)}
    for column, x, align in ((sides[0], -PAD, "right"), (sides[1], scale.length + PAD, "left")):
        y = top
        for name in column:
            y -= name.height / 2
            start, stop = places[name.model]
            points = ((start, 0.0), (stop, -FAN), (stop, y), (x, y))
            shapes.append(Stroke(points=points, width=0.6, role="leader", tone="soft"))
            beside = x + (-2.0 if align == "right" else 2.0)
            shapes += _place_name(name, beside, y, align=align, look=look)
            y -= name.height / 2
    return tuple(shapes)


def _choose_axis_length(k: int, sides: Sequence[Sequence[Name]], look: CdLook) -> float:
    """Return the length of the axis: what a given width leaves, or what k ranks need."""
    least = max(SHORTEST * 0.7, APART * (k - 1))
    if look.width is None:
        return max(least, min(LONGEST, max(SHORTEST, EACH * (k - 1))))
    beside = sum(max(name.width + name.rank_width for name in side) + 2 * PAD + 5.0 for side in sides)
    if 72.0 * look.width - beside < least:
        allowed = f"at least {(least + beside) / 72.0:.2f} inches with these names, or None"
        raise BadValue("the width of the diagram", look.width, allowed)
    return 72.0 * look.width - beside


def _lay_out_list(facts: CdFacts, look: CdLook) -> tuple[Shape, ...]:
    """Return the shapes, with the axis from (0, 0) to the right and a row for each model below it."""
    names = _write_names(facts, look)
    rows = _place_rows(names)
    spans = pack_groups(facts.cliques, {name: -y for name, y in rows.items()}, overhang=LIST_OVERHANG, gap=GAP)
    n_lanes = max((span.lane + 1 for span in spans), default=0)
    is_matrix = n_lanes > MOST_LIST_LANES
    aside = ASIDE + LANE * (len(names) if is_matrix else n_lanes)
    scale = _make_scale(facts, look, _choose_list_length(names, aside, look))
    shapes: list[Shape] = _place_axis(facts, scale, look)
    for name in names:
        y = rows[name.model]
        guide = ((-PAD / 2, y), (scale.length + (aside if spans else 0.0), y))
        shapes.append(Stroke(points=guide, width=0.4, role="guide", tone="faint"))
        shapes.append(Dot(x=scale.at(name.rank), y=y, radius=RADIUS, role="rank"))
        shapes += _place_name(name, -PAD, y, align="right", look=look)
    start = scale.length + ASIDE
    if is_matrix:
        return (*shapes, *_place_matrix(facts, rows, start))
    return (*shapes, *(_place_bar(span, start, facts) for span in spans))


def _place_rows(names: tuple[Name, ...]) -> dict[str, float]:
    rows, y = {}, -DROP
    for name in names:
        rows[name.model] = y - name.height / 2
        y -= name.height
    return rows


def _choose_list_length(names: tuple[Name, ...], aside: float, look: CdLook) -> float:
    if look.width is None:
        return LENGTH
    beside = max(name.width + name.rank_width for name in names) + 2 * PAD + aside + 8.0
    if 72.0 * look.width - beside < SHORTEST_ROW:
        allowed = f"at least {(SHORTEST_ROW + beside) / 72.0:.2f} inches with these names, or None"
        raise BadValue("the width of the diagram", look.width, allowed)
    return 72.0 * look.width - beside


def _place_bar(span: _Span, start: float, facts: CdFacts) -> Shape:
    x = start + LANE * (span.lane + 0.5)
    return _make_bar(span, ((x, -span.start), (x, -span.stop)), tuple((x, -place) for place in span.places), facts)


def _place_matrix(facts: CdFacts, rows: dict[str, float], start: float) -> list[Shape]:
    """Return a dot for each pair that is not told apart; the faint diagonal says which column is whose."""
    columns = {name: start + LANE * (place + 0.5) for place, name in enumerate(rows)}
    pairs = {(a, b) for group in facts.cliques for a in group.members for b in group.members if a != b}
    tone = "held" if facts.is_held_back else "ink"
    shapes: list[Shape] = [Dot(x=columns[a], y=y, radius=CELL, role="self", tone="faint") for a, y in rows.items()]
    ordered = [(a, b) for a in rows for b in rows if (a, b) in pairs]
    return shapes + [Dot(x=columns[b], y=rows[a], radius=CELL, role="pair", tone=tone) for a, b in ordered]


SHAPES: dict[str, Callable[[CdFacts, CdLook], tuple[Shape, ...]]] = {
    "elbows": _lay_out_elbows,
    "list": _lay_out_list,
}


def _make_scale(facts: CdFacts, look: CdLook, length: float) -> _RankScale:
    """Return the axis: 1 to k, or, zoomed, the whole ranks around those that occur."""
    low, high = 1, len(facts.models)
    if look.is_zoomed:
        ranks = facts.mean_ranks.values()
        low, high = math.floor(min(ranks) + INSIDE), math.ceil(max(ranks) - INSIDE)
        high = max(high, low + 1)
    return _RankScale(low=low, high=high, length=length, is_best_left=look.is_best_left)


def _write_names(facts: CdFacts, look: CdLook) -> tuple[Name, ...]:
    """Return the names from best to worst, measured; a name is at least a line high."""
    ranks = facts.mean_ranks
    widest = max(measure_text(f"{rank:.2f}", SMALL * look.font_size).width for rank in ranks.values())
    return tuple(_write_name(model, rank, widest, look) for model, rank in ranks.items())


def _write_name(model: str, rank: float, rank_width: float, look: CdLook) -> Name:
    size = look.font_size
    lines = wrap_name(clean_name(model), WIDEST_NAME, size=size)
    extents = [measure_text(line, size) for line in lines]
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


def _place_name(name: Name, x: float, y: float, *, align: str, look: CdLook) -> list[Label]:
    """Return the labels of a name whose middle stands at y: the mean rank nearest to the diagram, then the name."""
    size, side = look.font_size, -1.0 if align == "right" else 1.0
    small = measure_text(name.rank_text, SMALL * size)
    y_rank = y - MIDDLE * SMALL * size
    labels = [
        Label(
            text=name.rank_text, x=x, y=y_rank, size=SMALL * size, extent=small, role="rank", align=align, tone="soft"
        )
    ]
    x += side * (name.rank_width + PAD)
    heights = [_line_height(measure_text(line, size), size) for line in name.lines]
    top = y + sum(heights) / 2
    for line, height in zip(name.lines, heights, strict=True):
        extent = measure_text(line, size)
        # The middle of small letters stands in the middle of the line, unless the line is taller than letters are.
        lowest = top - height + extent.descent + 0.5
        baseline = min(max(top - height / 2 - MIDDLE * size, lowest), top - extent.ascent - 0.5)
        labels.append(Label(text=line, x=x, y=baseline, size=size, extent=extent, role="model", align=align))
        top -= height
    return labels


def _place_axis(facts: CdFacts, scale: _RankScale, look: CdLook) -> list[Shape]:
    """Return the axis at y = 0 with its numbers above, what it means at its left, and the ruler where there is one."""
    size = SMALL * look.font_size
    shapes: list[Shape] = [Stroke(points=((0.0, 0.0), (scale.length, 0.0)), width=0.8, role="axis")]
    whole = range(scale.low, scale.high + 1)
    numbered = _thin_out(whole, scale, measure_text("0" * len(str(scale.high)), size).width + 3.0)
    for rank in whole:
        x = scale.at(rank)
        tick = 3.5 if rank in numbered else 2.0
        if rank in numbered or scale.length / len(whole) > 2.5:
            shapes.append(Stroke(points=((x, 0.0), (x, tick)), width=0.6, role="tick"))
        if rank in numbered:
            extent = measure_text(str(rank), size)
            shapes.append(Label(text=str(rank), x=x, y=5.5, size=size, extent=extent, role="tick", align="center"))
    title = "mean rank"
    extent = measure_text(title, size)
    x = -PAD - measure_text(str(scale.high), size).width / 2
    shapes.append(Label(text=title, x=x, y=5.5, size=size, extent=extent, role="title", align="right", tone="soft"))
    return [*shapes, *_place_ruler(facts, scale, size)]


def _thin_out(whole: Sequence[int], scale: _RankScale, room: float) -> frozenset[int]:
    """Return the ranks that get a number: both ends, and round ones that leave room."""
    one = scale.length / (scale.high - scale.low)
    step = next((step for step in STEPS if step * one >= room), scale.high)
    ends = (whole[0], whole[-1])
    inner = [rank for rank in whole if rank % step == 0 and min(abs(rank - end) for end in ends) * one >= room]
    return frozenset([*ends, *inner])


def _place_ruler(facts: CdFacts, scale: _RankScale, size: float) -> list[Shape]:
    difference = facts.critical_difference
    if difference is None:
        return []
    y, stop = 5.5 + 2.0 * size, difference * scale.length / (scale.high - scale.low)
    text = f"CD = {difference:.3g}"
    label = Label(
        text=text, x=stop + PAD, y=y - MIDDLE * size, size=size, extent=measure_text(text, size), role="ruler"
    )
    lines = (((0.0, y), (stop, y)), ((0.0, y - 2.0), (0.0, y + 2.0)), ((stop, y - 2.0), (stop, y + 2.0)))
    return [*(Stroke(points=points, width=0.8, role="ruler") for points in lines), label]


def _make_bar(span: _Span, ends: tuple[Point, Point], spots: tuple[Point, ...], facts: CdFacts) -> Bar:
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


def pack_groups(groups: Sequence[Group], at: Mapping[str, float], *, overhang: float, gap: float) -> tuple[_Span, ...]:
    """Pack groups, each a bar, into the fewest lanes, sorted by start. Greedy by the start is optimal for intervals.

    Parameters
    ----------
    groups
        Groups of models.
    at
        Model -> its place.
    overhang
        Length of a group beyond its first and last place.
    gap
        Least distance of two groups in one lane.
    """
    places = {group.members: tuple(sorted(at[name] for name in group.members)) for group in groups}
    spans: list[_Span] = []
    reached: list[float] = []
    for group in sorted(groups, key=lambda one: (places[one.members][0], -places[one.members][-1], one.members)):
        start, stop = places[group.members][0] - overhang, places[group.members][-1] + overhang
        lane = next((n for n, end in enumerate(reached) if start - end >= gap), len(reached))
        reached[lane : lane + 1] = [stop]
        spans.append(_Span(group=group, start=start, stop=stop, places=places[group.members], lane=lane))
    return tuple(spans)


def spread(places: Sequence[float], *, gap: float, low: float, high: float) -> tuple[float, ...]:
    """Move sorted places as little as possible (in squares) until neighbours stand apart.

    R. E. Barlow et al., Statistical inference under order restrictions, 1972: pool adjacent violators.

    Parameters
    ----------
    places
        Places in rising order.
    gap
        Least distance of neighbours.
    low, high
        Limits, as far as there is room.
    """
    pools: list[tuple[float, int]] = []
    for n, place in enumerate(places):
        mean, size = place - n * gap, 1
        while pools and pools[-1][0] > mean:
            earlier, count = pools.pop()
            mean, size = (earlier * count + mean * size) / (count + size), count + size
        pools.append((mean, size))
    level = [mean for mean, size in pools for _ in range(size)]
    highest = max(low, high - (len(places) - 1) * gap)
    return tuple(min(max(value, low), highest) + n * gap for n, value in enumerate(level))


def _finish(shape: str, shapes: tuple[Shape, ...], caption: str, *, look: CdLook) -> CdLayout:
    """Put the caption below, and everything on a canvas that is as large as needed."""
    wanted = 0.0 if look.width is None else 72.0 * look.width
    around = box_of(shapes) if shapes else Box(0.0, 0.0, 0.0, 0.0)
    content = around.right - around.left
    if wanted and content + 2 * MARGIN > wanted + 1e-6:
        least = (content + 2 * MARGIN) / 72.0
        raise BadValue("the width of the diagram", look.width, f"at least {least:.2f} inches with these names, or None")
    wide = wanted - 2 * MARGIN if wanted else max(content, NARROWEST)
    left = around.left - (wide - content) / 2
    size = look.font_size * 0.85 if shapes else look.font_size
    lines = wrap_prose(caption, wide, size=size) if look.has_caption or not shapes else ()
    top = around.bottom - (0.8 * look.font_size if shapes else 0.0)
    all_shapes = [*shapes, *_stack(lines, left, top, size=size)]
    bounds = box_of(all_shapes)
    moved = [item.moved(MARGIN - left, MARGIN - bounds.bottom) for item in all_shapes]
    return CdLayout(
        shape=shape,
        width=wide + 2 * MARGIN,
        height=bounds.top - bounds.bottom + 2 * MARGIN,
        labels=tuple(item for item in moved if isinstance(item, Label)),
        strokes=tuple(item for item in moved if isinstance(item, Stroke)),
        dots=tuple(item for item in moved if isinstance(item, Dot)),
        bars=tuple(item for item in moved if isinstance(item, Bar)),
        caption=caption,
    )


def _stack(lines: tuple[str, ...], left: float, top: float, *, size: float) -> list[Label]:
    labels = []
    for line in lines:
        extent = measure_text(line, size)
        y = top - max(extent.ascent, 0.95 * size)
        labels.append(Label(text=line, x=left, y=y, size=size, extent=extent, role="caption", tone="soft"))
        top = y - max(extent.descent, 0.3 * size)
    return labels


def _say_all(facts: CdFacts, shapes: tuple[Shape, ...]) -> str:
    """Return the caption, with the characters that are drawn as boxes."""
    caption = write_caption(facts, is_by_pair=any(isinstance(item, Dot) and item.role == "pair" for item in shapes))
    signs = undrawable([clean_name(name) for name in facts.models])
    listed = ", ".join(f"U+{ord(sign):04X}" for sign in signs[:6]) + (", ..." if len(signs) > 6 else "")
    return f"{caption} No installed font draws {listed}; the SVG file holds them as text." if signs else caption
