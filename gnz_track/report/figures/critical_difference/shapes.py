"""Shapes of a critical-difference diagram as data: labels, strokes, dots and bars; lengths in points, y upwards."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from gnz_track.report.figures.labels import Extent

__all__ = ["Bar", "Box", "CdLayout", "Dot", "Label", "Point", "Shape", "Stroke", "box_of"]

Point = tuple[float, float]


@dataclass(frozen=True)
class Box:
    """A rectangle along the axes."""

    left: float
    bottom: float
    right: float
    top: float


@dataclass(frozen=True, kw_only=True)
class Label:
    """One line of text; ``x`` is its left end, middle or right end by ``align``, ``y`` its baseline."""

    text: str
    x: float
    y: float
    size: float
    extent: Extent
    role: str
    align: str = "left"
    tone: str = "ink"

    @property
    def box(self) -> Box:
        """Place of the text."""
        left = self.x - {"left": 0.0, "center": 0.5, "right": 1.0}[self.align] * self.extent.width
        return Box(left, self.y - self.extent.descent, left + self.extent.width, self.y + self.extent.ascent)

    def moved(self, dx: float, dy: float) -> Label:
        """Return the same elsewhere."""
        return replace(self, x=self.x + dx, y=self.y + dy)


@dataclass(frozen=True, kw_only=True)
class Stroke:
    """A line through points."""

    points: tuple[Point, ...]
    width: float
    role: str
    tone: str = "ink"

    @property
    def box(self) -> Box:
        """Place of the line."""
        return _around(self.points, self.width / 2)

    def moved(self, dx: float, dy: float) -> Stroke:
        """Return the same elsewhere."""
        return replace(self, points=_shift(self.points, dx, dy))


@dataclass(frozen=True, kw_only=True)
class Dot:
    """A filled circle."""

    x: float
    y: float
    radius: float
    role: str
    tone: str = "ink"

    @property
    def box(self) -> Box:
        """Place of the circle."""
        return _around([(self.x, self.y)], self.radius)

    def moved(self, dx: float, dy: float) -> Dot:
        """Return the same elsewhere."""
        return replace(self, x=self.x + dx, y=self.y + dy)


@dataclass(frozen=True, kw_only=True)
class Bar:
    """The bar of one group: thick from end to end, or, where it skips models, thin with a spot on each member."""

    members: tuple[str, ...]
    lane: int
    ends: tuple[Point, Point]
    spots: tuple[Point, ...]
    is_contiguous: bool
    width: float
    spot_radius: float
    tone: str = "ink"

    @property
    def box(self) -> Box:
        """Place of the bar."""
        return _around(self.ends, max(self.width / 2, self.spot_radius if self.spots else 0.0))

    def moved(self, dx: float, dy: float) -> Bar:
        """Return the same elsewhere."""
        start, stop = _shift(self.ends, dx, dy)
        return replace(self, ends=(start, stop), spots=_shift(self.spots, dx, dy))


Shape = Label | Stroke | Dot | Bar


@dataclass(frozen=True, kw_only=True)
class CdLayout:
    """A whole diagram of ``shape`` elbows, list or words on a canvas from (0, 0) to (width, height).

    ``caption`` says everything in words, whether or not it is among the labels.
    """

    shape: str
    width: float
    height: float
    labels: tuple[Label, ...]
    strokes: tuple[Stroke, ...]
    dots: tuple[Dot, ...]
    bars: tuple[Bar, ...]
    caption: str

    @property
    def n_lanes(self) -> int:
        """Number of lanes that the bars are packed in."""
        return max((bar.lane + 1 for bar in self.bars), default=0)


def box_of(shapes: Sequence[Shape]) -> Box:
    """Return the smallest box around shapes."""
    boxes = [shape.box for shape in shapes]
    return Box(
        min(box.left for box in boxes),
        min(box.bottom for box in boxes),
        max(box.right for box in boxes),
        max(box.top for box in boxes),
    )


def _around(points: Sequence[Point], margin: float) -> Box:
    xs, ys = [x for x, _ in points], [y for _, y in points]
    return Box(min(xs) - margin, min(ys) - margin, max(xs) + margin, max(ys) + margin)


def _shift(points: Sequence[Point], dx: float, dy: float) -> tuple[Point, ...]:
    return tuple((x + dx, y + dy) for x, y in points)
