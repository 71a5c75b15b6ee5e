"""The shape for many models: one row each in rank order, a dot at its rank, and the groups as bars at the right."""

from __future__ import annotations

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
from gnz_track.report.cd_lanes import Span, pack_groups
from gnz_track.report.cd_shapes import Dot, Stroke
from gnz_track.report.labels import Measure

__all__ = ["lay_out_list"]

# More lanes than this are a curtain; then all pairs are shown, which takes a column for each model.
MOST_LANES = 24
LENGTH, SHORTEST = 150.0, 80.0
# From the axis to the first row, and from the plot to the first lane.
DROP, ASIDE = 4.0, 9.0
RADIUS, CELL = 2.0, 1.5
OVERHANG = 2.4


def lay_out_list(facts: CdFacts, look: CdLook, measure: Measure) -> tuple[Shape, ...]:
    """Return the shapes, with the axis from (0, 0) to the right and a row for each model below it."""
    names = write_names(facts, look, measure)
    rows = _place_rows(names)
    spans = pack_groups(facts.cliques, {name: -y for name, y in rows.items()}, overhang=OVERHANG, gap=GAP)
    n_lanes = max((span.lane + 1 for span in spans), default=0)
    is_matrix = n_lanes > MOST_LANES
    aside = ASIDE + LANE * (len(names) if is_matrix else n_lanes)
    scale = make_scale(facts, look, _choose_length(names, aside, look))
    shapes: list[Shape] = draw_axis(facts, scale, look, measure)
    for name in names:
        y = rows[name.model]
        guide = ((-PAD / 2, y), (scale.length + (aside if spans else 0.0), y))
        shapes.append(Stroke(points=guide, width=0.4, role="guide", tone="faint"))
        shapes.append(Dot(x=scale.at(name.rank), y=y, radius=RADIUS, role="rank"))
        shapes += place_name(name, -PAD, y, align="right", look=look, measure=measure)
    start = scale.length + ASIDE
    if is_matrix:
        return (*shapes, *_draw_matrix(facts, rows, start))
    return (*shapes, *(_draw_bar(span, start, facts) for span in spans))


def _place_rows(names: tuple[Name, ...]) -> dict[str, float]:
    rows, y = {}, -DROP
    for name in names:
        rows[name.model] = y - name.height / 2
        y -= name.height
    return rows


def _choose_length(names: tuple[Name, ...], aside: float, look: CdLook) -> float:
    if look.width is None:
        return LENGTH
    beside = max(name.width + name.rank_width for name in names) + 2 * PAD + aside + 8.0
    if 72.0 * look.width - beside < SHORTEST:
        allowed = f"at least {(SHORTEST + beside) / 72.0:.2f} inches with these names, or None"
        raise BadValue("the width of the diagram", look.width, allowed)
    return 72.0 * look.width - beside


def _draw_bar(span: Span, start: float, facts: CdFacts) -> Shape:
    x = start + LANE * (span.lane + 0.5)
    return make_bar(span, ((x, -span.start), (x, -span.stop)), tuple((x, -place) for place in span.places), facts)


def _draw_matrix(facts: CdFacts, rows: dict[str, float], start: float) -> list[Shape]:
    """Return a dot for each pair that is not told apart; the faint diagonal says which column is whose."""
    columns = {name: start + LANE * (place + 0.5) for place, name in enumerate(rows)}
    pairs = {(a, b) for group in facts.cliques for a in group.members for b in group.members if a != b}
    tone = "held" if facts.is_held_back else "ink"
    shapes: list[Shape] = [Dot(x=columns[a], y=y, radius=CELL, role="self", tone="faint") for a, y in rows.items()]
    ordered = [(a, b) for a in rows for b in rows if (a, b) in pairs]
    return shapes + [Dot(x=columns[b], y=rows[a], radius=CELL, role="pair", tone=tone) for a, b in ordered]
