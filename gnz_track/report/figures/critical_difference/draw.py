"""The critical-difference diagram as a Matplotlib figure, and as TikZ in the fonts of the document that includes it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.collections import LineCollection

from gnz_track.report.figures.critical_difference.content import CdFacts
from gnz_track.report.figures.critical_difference.layout import CdLook, lay_out_cd
from gnz_track.report.figures.critical_difference.shapes import Bar, CdLayout, Dot, Label, Point, Shape, Stroke
from gnz_track.report.figures.style import HouseFigure, fonts_for, house_style
from gnz_track.report.tables.latex import DEFINITIONS, tex_sign

__all__ = ["draw_cd_diagram", "save_cd_tikz", "write_cd_tikz"]

TONES = {"ink": "0", "soft": "0.3", "held": "0.62", "faint": "0.85"}
GREYS = {"ink": "black", "soft": "black!70", "held": "black!38", "faint": "black!15"}
ANCHORS = {"left": "base west", "center": "base", "right": "base east"}
SIGNS = {
    "\u03b1": r"\(\alpha\)",
    "\u03c7": r"\(\chi\)",
    "\u00b2": r"\(^{2}\)",
    "\u00a0": "~",
    "\u2019": "'",
    "\ufffd": "?",
}


def draw_cd_diagram(facts: CdFacts, *, look: CdLook | None = None) -> HouseFigure:
    """Draw mean ranks and groups; exactly as large as it has to be, so it is saved without a tight bounding box."""
    return _draw_layout(lay_out_cd(facts, look=look))


def _draw_layout(layout: CdLayout) -> HouseFigure:
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


def write_cd_tikz(facts: CdFacts, *, look: CdLook | None = None) -> str:
    r"""Return a tikzpicture for ``\input``; the document needs ``\usepackage{tikz}`` and nothing else.

    Names in other scripts need an engine and a font that have them, such as LuaLaTeX; pdfLaTeX prints their numbers.
    """
    return _write_layout(lay_out_cd(facts, look=look))


def save_cd_tikz(facts: CdFacts, path: str | Path, *, look: CdLook | None = None) -> Path:
    """Write the tikzpicture to a file.

    Parameters
    ----------
    facts
        Content of the diagram.
    path
        File to write.
    look
        Choices of taste.
    """
    target = Path(path)
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(write_cd_tikz(facts, look=look), encoding="utf-8")
    return target


def _write_layout(layout: CdLayout) -> str:
    """Return a layout as TikZ; its caption is left to the document, and stands in the first line."""
    lines = [
        f"% {' '.join(layout.caption.split())}",
        DEFINITIONS,
        r"\begin{tikzpicture}[x=1bp, y=1bp, inner sep=0pt, outer sep=0pt]",
        f"  \\useasboundingbox (0, {_length(_bottom(layout))}) rectangle {_point((layout.width, layout.height))};",
    ]
    shapes = [*layout.strokes, *layout.bars, *layout.dots, *_kept(layout)]
    lines += [f"  {line}" for shape in shapes for line in WRITERS[type(shape)](shape)]
    return "\n".join([*lines, r"\end{tikzpicture}", ""])


def _kept(layout: CdLayout) -> list[Label]:
    """Return the labels without the caption, unless there is nothing else."""
    return [label for label in layout.labels if label.role != "caption" or layout.shape == "words"]


def _bottom(layout: CdLayout) -> float:
    shapes: list[Shape] = [*layout.strokes, *layout.bars, *layout.dots, *_kept(layout)]
    return min(shape.box.bottom for shape in shapes) - 1.0


def _write_label(label: Label) -> list[str]:
    text = "".join(SIGNS.get(sign) or tex_sign(sign) for sign in label.text)
    # The dimensions that LaTeX calls pt are a little smaller than those of the layout.
    font = f"\\fontsize{{{_length(label.size)}bp}}{{{_length(1.2 * label.size)}bp}}\\selectfont"
    options = f"anchor={ANCHORS[label.align]}, text={GREYS[label.tone]}, font={{{font}}}"
    return [f"\\node[{options}] at {_point((label.x, label.y))} {{{text}}};"]


def _write_stroke(stroke: Stroke) -> list[str]:
    return [_write_line(stroke.points, stroke.width, stroke.tone)]


def _write_bar(bar: Bar) -> list[str]:
    spots = [
        f"\\fill[{GREYS[bar.tone]}] {_point(spot)} circle[radius={_length(bar.spot_radius)}bp];" for spot in bar.spots
    ]
    return [_write_line(bar.ends, bar.width, bar.tone), *spots]


def _write_dot(dot: Dot) -> list[str]:
    return [f"\\fill[{GREYS[dot.tone]}] {_point((dot.x, dot.y))} circle[radius={_length(dot.radius)}bp];"]


def _write_line(points: tuple[Point, ...], width: float, tone: str) -> str:
    return f"\\draw[{GREYS[tone]}, line width={_length(width)}bp] {' -- '.join(_point(point) for point in points)};"


def _point(point: Point) -> str:
    return f"({_length(point[0])}, {_length(point[1])})"


def _length(value: float) -> str:
    return f"{value:.2f}".rstrip("0").rstrip(".")


WRITERS: dict[type, Callable[..., list[str]]] = {
    Label: _write_label,
    Stroke: _write_stroke,
    Bar: _write_bar,
    Dot: _write_dot,
}
