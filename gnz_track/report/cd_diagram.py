"""The critical-difference diagram as a Matplotlib figure."""

from __future__ import annotations

from matplotlib.axes import Axes
from matplotlib.collections import LineCollection

from gnz_track.report.canvas import HouseFigure, fonts_for, house_style
from gnz_track.report.cd_axis import CdLook
from gnz_track.report.cd_facts import CdFacts
from gnz_track.report.cd_layout import lay_out_cd
from gnz_track.report.cd_shapes import Bar, CdLayout, Dot, Point

__all__ = ["CdFacts", "CdLook", "draw_cd_diagram", "draw_layout"]

TONES = {"ink": "0", "soft": "0.3", "held": "0.62", "faint": "0.85"}


def draw_cd_diagram(facts: CdFacts, *, look: CdLook | None = None) -> HouseFigure:
    """Draw mean ranks and groups; exactly as large as it has to be, so it is saved without a tight bounding box."""
    return draw_layout(lay_out_cd(facts, look=look))


def draw_layout(layout: CdLayout) -> HouseFigure:
    """Draw a layout, point by point."""
    with house_style():
        figure = HouseFigure(figsize=(layout.width / 72.0, layout.height / 72.0))
        figure.alt_text = layout.caption
        # Over the whole canvas, so that its coordinates are points.
        axes = figure.add_axes((0.0, 0.0, 1.0, 1.0), xlim=(0.0, layout.width), ylim=(0.0, layout.height))
        axes.set_autoscale_on(False)
        axes.axis("off")
        _draw_strokes(axes, layout)
        for bar in layout.bars:
            _draw_bar(axes, bar)
        _draw_dots(axes, layout.dots)
        for label in layout.labels:
            axes.text(
                label.x,
                label.y,
                label.text,
                fontsize=label.size,
                family=list(fonts_for(label.text)),
                color=TONES[label.tone],
                ha=label.align,
                va="baseline",
                parse_math=False,
                gid=f"cd-{label.role}",
            )
    return figure


def _draw_strokes(axes: Axes, layout: CdLayout) -> None:
    for stroke in layout.strokes:
        _draw_line(axes, stroke.points, stroke.width, stroke.tone, f"cd-{stroke.role}")


def _draw_bar(axes: Axes, bar: Bar) -> None:
    _draw_line(axes, bar.ends, bar.width, bar.tone, "cd-bar")
    _draw_dots(axes, tuple(Dot(x=x, y=y, radius=bar.spot_radius, role="spot", tone=bar.tone) for x, y in bar.spots))


def _draw_line(axes: Axes, points: tuple[Point, ...], width: float, tone: str, gid: str) -> None:
    # Behind the dots, and not cut at the edge of the axes.
    lines = LineCollection([points], linewidths=width, colors=TONES[tone], zorder=2, clip_on=False, gid=gid)
    lines.set_capstyle("butt")
    lines.set_joinstyle("miter")
    axes.add_collection(lines, autolim=False)


def _draw_dots(axes: Axes, dots: tuple[Dot, ...]) -> None:
    for tone, colour in TONES.items():
        found = [dot for dot in dots if dot.tone == tone]
        if found:
            # The area of a marker is the square of its diameter.
            sizes = [(2.0 * dot.radius) ** 2 for dot in found]
            xs, ys = [dot.x for dot in found], [dot.y for dot in found]
            axes.scatter(xs, ys, s=sizes, color=colour, linewidths=0, zorder=3, clip_on=False)
