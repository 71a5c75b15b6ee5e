"""The critical-difference diagram as TikZ, set in the fonts of the document that includes it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from gnz_track.report.cd_axis import CdLook, Shape
from gnz_track.report.cd_facts import CdFacts
from gnz_track.report.cd_layout import lay_out_cd
from gnz_track.report.cd_shapes import Bar, CdLayout, Dot, Label, Point, Stroke
from gnz_track.report.latex_names import DEFINITIONS, tex_sign

__all__ = ["save_cd_tikz", "write_cd_tikz", "write_layout"]

TONES = {"ink": "black", "soft": "black!70", "held": "black!38", "faint": "black!15"}
ANCHORS = {"left": "base west", "center": "base", "right": "base east"}
SIGNS = {
    "\u03b1": r"\(\alpha\)",
    "\u03c7": r"\(\chi\)",
    "\u00b2": r"\(^{2}\)",
    "\u00a0": "~",
    "\u2019": "'",
    "\ufffd": "?",
}


def write_cd_tikz(facts: CdFacts, *, look: CdLook | None = None) -> str:
    r"""Return a tikzpicture for ``\input``; the document needs ``\usepackage{tikz}`` and nothing else.

    Names in other scripts need an engine and a font that have them, such as LuaLaTeX; pdfLaTeX prints their numbers.
    """
    return write_layout(lay_out_cd(facts, look=look))


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


def write_layout(layout: CdLayout) -> str:
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
    options = f"anchor={ANCHORS[label.align]}, text={TONES[label.tone]}, font={{{font}}}"
    return [f"\\node[{options}] at {_point((label.x, label.y))} {{{text}}};"]


def _write_stroke(stroke: Stroke) -> list[str]:
    return [_write_line(stroke.points, stroke.width, stroke.tone)]


def _write_bar(bar: Bar) -> list[str]:
    spots = [
        f"\\fill[{TONES[bar.tone]}] {_point(spot)} circle[radius={_length(bar.spot_radius)}bp];" for spot in bar.spots
    ]
    return [_write_line(bar.ends, bar.width, bar.tone), *spots]


def _write_dot(dot: Dot) -> list[str]:
    return [f"\\fill[{TONES[dot.tone]}] {_point((dot.x, dot.y))} circle[radius={_length(dot.radius)}bp];"]


def _write_line(points: tuple[Point, ...], width: float, tone: str) -> str:
    return f"\\draw[{TONES[tone]}, line width={_length(width)}bp] {' -- '.join(_point(point) for point in points)};"


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
