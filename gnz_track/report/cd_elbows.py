"""The classical shape: names in two columns, each led by an elbow to its rank on the axis above."""

from __future__ import annotations

from collections.abc import Sequence

from gnz_track.errors import BadValue
from gnz_track.report.cd_axis import (
    GAP,
    LANE,
    PAD,
    CdLook,
    Name,
    Shape,
    draw_axis,
    make_bar,
    make_scale,
    place_name,
    write_names,
)
from gnz_track.report.cd_facts import CdFacts
from gnz_track.report.cd_lanes import pack_groups, spread
from gnz_track.report.cd_shapes import Stroke
from gnz_track.report.labels import Measure

__all__ = ["lay_out_elbows"]

# Leaders of near ranks are led apart on the first points below the axis: then a bar ends visibly at one of them.
APART, FAN = 4.0, 6.0
# How far a bar reaches beyond its first and last leader: less than half way to the next.
OVERHANG = 1.4
SHORTEST, LONGEST, EACH = 130.0, 230.0, 13.0


def lay_out_elbows(facts: CdFacts, look: CdLook, measure: Measure) -> tuple[Shape, ...]:
    """Return the shapes, with the axis from (0, 0) to the right and all names below it."""
    names = write_names(facts, look, measure)
    names = names if look.is_best_left else names[::-1]
    n_left = (len(names) + 1) // 2
    sides = (names[:n_left], names[: n_left - 1 : -1])
    scale = make_scale(facts, look, _choose_length(len(names), sides, look))
    at = [scale.at(name.rank) for name in names]
    apart = spread(at, gap=APART, low=-PAD / 2, high=scale.length + PAD / 2)
    spans = pack_groups(
        facts.cliques, dict(zip([n.model for n in names], apart, strict=True)), overhang=OVERHANG, gap=GAP
    )
    shapes: list[Shape] = draw_axis(facts, scale, look, measure)
    for span in spans:
        y = -FAN - LANE * (span.lane + 0.6)
        ends = ((span.start, y), (span.stop, y))
        shapes.append(make_bar(span, ends, tuple((x, y) for x in span.places), facts))
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
            shapes += place_name(name, beside, y, align=align, look=look, measure=measure)
            y -= name.height / 2
    return tuple(shapes)


def _choose_length(k: int, sides: Sequence[Sequence[Name]], look: CdLook) -> float:
    """Return the length of the axis: what a given width leaves, or what k ranks need."""
    least = max(SHORTEST * 0.7, APART * (k - 1))
    if look.width is None:
        return max(least, min(LONGEST, max(SHORTEST, EACH * (k - 1))))
    beside = sum(max(name.width + name.rank_width for name in side) + 2 * PAD + 5.0 for side in sides)
    if 72.0 * look.width - beside < least:
        allowed = f"at least {(least + beside) / 72.0:.2f} inches with these names, or None"
        raise BadValue("the width of the diagram", look.width, allowed)
    return 72.0 * look.width - beside
