"""Lay out a critical-difference diagram: pure geometry, computed before anything is drawn.

J. Demsar, Statistical comparisons of classifiers over multiple data sets, J. Mach. Learn. Res. 7 (2006) 1-30.
"""

from __future__ import annotations

from collections.abc import Callable

from gnz_track.errors import BadValue, UnknownName
from gnz_track.report.canvas import measure_text, undrawable
from gnz_track.report.cd_axis import CdLook, Shape
from gnz_track.report.cd_elbows import lay_out_elbows
from gnz_track.report.cd_facts import CdFacts, write_caption
from gnz_track.report.cd_list import lay_out_list
from gnz_track.report.cd_shapes import Bar, Box, CdLayout, Dot, Label, Stroke, box_of
from gnz_track.report.labels import Measure, clean_name, wrap_prose

__all__ = ["CdLayout", "CdLook", "lay_out_cd"]

MARGIN = 3.0
# A caption narrower than this is a column of single words.
NARROWEST = 240.0
# With more models than this, two columns of labels are a thicket of lines.
MOST_ELBOWS = 20
# With more lanes than this above the labels, the lines to them are longer than the diagram is wide.
MOST_LANES = 10

SHAPES: dict[str, Callable[[CdFacts, CdLook, Measure], tuple[Shape, ...]]] = {
    "elbows": lay_out_elbows,
    "list": lay_out_list,
}


def lay_out_cd(facts: CdFacts, *, look: CdLook | None = None, measure: Measure = measure_text) -> CdLayout:
    """Return where everything stands; a sentence instead of a diagram where there is nothing to compare.

    ``measure`` tells how far a line of text reaches; the canvas is as large as the text needs.
    """
    look = look or CdLook()
    if look.shape not in {"auto", *SHAPES}:
        raise UnknownName("shape of the diagram", look.shape, {"auto", *SHAPES})
    if not facts.has_diagram:
        return _finish("words", (), _say_all(facts, ()), look=look, measure=measure)
    chosen = _choose_shape(facts, look, measure) if look.shape == "auto" else look.shape
    shapes = SHAPES[chosen](facts, look, measure)
    return _finish(chosen, shapes, _say_all(facts, shapes), look=look, measure=measure)


def _choose_shape(facts: CdFacts, look: CdLook, measure: Measure) -> str:
    """Return elbows where there are few models, few lanes, and room for two columns."""
    if len(facts.models) > MOST_ELBOWS:
        return "list"
    try:
        shapes = lay_out_elbows(facts, look, measure)
    except BadValue:
        # Too wide for the width that was asked for; a list is narrower, and says so if it is too wide as well.
        return "list"
    n_lanes = max((item.lane + 1 for item in shapes if isinstance(item, Bar)), default=0)
    return "elbows" if n_lanes <= MOST_LANES else "list"


def _finish(shape: str, shapes: tuple[Shape, ...], caption: str, *, look: CdLook, measure: Measure) -> CdLayout:
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
    lines = wrap_prose(caption, wide, size=size, measure=measure) if look.has_caption or not shapes else ()
    top = around.bottom - (0.8 * look.font_size if shapes else 0.0)
    all_shapes = [*shapes, *_stack(lines, left, top, size=size, measure=measure)]
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


def _stack(lines: tuple[str, ...], left: float, top: float, *, size: float, measure: Measure) -> list[Label]:
    labels = []
    for line in lines:
        extent = measure(line, size)
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
