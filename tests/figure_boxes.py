"""Where the texts of a figure stand as the renderer has them, and the figures of examples."""

from __future__ import annotations

import io
from collections.abc import Iterable, Sequence
from itertools import combinations
from typing import Any

import numpy as np
from diagrams import long_names
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.text import Text
from score_tables import table_of

from gnz_track.stats.comparison.compare import compare
from gnz_track.stats.comparison.comparison import Comparison

HOSTILE = [
    "<script>alert(1)</script>",
    "$x_1$",
    "\\frac{1}{2} $\\bad$",
    "M" * 200,
    "a-long_name " * 17,
    "\u05de\u05d5\u05d3\u05dc \u05d8\u05d5\u05d1",
    "\u0646\u0645\u0648\u0630\u062c",
    "\u4e2d\u6587\u6a21\u578b",
    "\U0001f600",
    "50% \"quoted\" 'name' & more",
    "../../etc/passwd",
    "line\nbreak\ttab",
    "\x00\x07",
]


def make_example(k: int, n_tasks: int, n_seeds: int = 5, *, seed: int = 0) -> np.ndarray:
    """Return scores [tasks, models, seeds] of models of different means, some of them equal."""
    draw = np.random.default_rng(seed)
    means = draw.uniform(0.6, 0.85, (n_tasks, 1, 1)) + np.round(draw.normal(0, 0.02, (n_tasks, k, 1)), 2)
    return means + draw.normal(0, 0.008, (n_tasks, 1, n_seeds)) + draw.normal(0, 0.008, (n_tasks, k, n_seeds))


def compare_example(k: int, n_tasks: int, n_seeds: int = 5, *, names: Sequence[str] = (), **given: Any) -> Comparison:
    """Return the comparison of an example; names have 21 characters unless given."""
    return compare(table_of(make_example(k, n_tasks, n_seeds), models=names or long_names(k)), **given)


def texts_of(figure: Figure) -> list[Text]:
    """Return all texts that are drawn, those of ticks included."""
    figure.draw_without_rendering()
    found = [item for item in figure.findobj(Text) if isinstance(item, Text) and item.get_visible()]
    return [text for text in found if text.get_text().strip() and text.get_window_extent().width > 0]


def count_faults(figure: Figure) -> tuple[int, int]:
    """Return how many pairs of texts overlap, and how many leave the canvas."""
    renderer = FigureCanvasAgg(figure).get_renderer()
    boxes = [text.get_window_extent(renderer) for text in texts_of(figure)]
    width, height = figure.bbox.width, figure.bbox.height
    outside = sum(box.x0 < 0 or box.y0 < 0 or box.x1 > width or box.y1 > height for box in boxes)
    ends = np.array([(box.x0, box.y0, box.x1, box.y1) for box in boxes])
    overlaps = 0
    for place, (x0, y0, x1, y1) in enumerate(ends[:-1]):
        rest = ends[place + 1 :]
        overlaps += int(((rest[:, 0] < x1) & (x0 < rest[:, 2]) & (rest[:, 1] < y1) & (y0 < rest[:, 3])).sum())
    return overlaps, outside


def name_faults(figure: Figure) -> list[str]:
    """Return the faults in words, for whoever has to mend them."""
    renderer = FigureCanvasAgg(figure).get_renderer()
    found = [(text.get_text(), text.get_window_extent(renderer)) for text in texts_of(figure)]
    return [f"{a!r} and {b!r}" for (a, one), (b, other) in combinations(found, 2) if one.overlaps(other)]


def words_of(figure: Figure) -> str:
    """Return all texts of a figure as one."""
    return " ".join(text.get_text() for text in texts_of(figure))


def with_gid(figure: Figure, gid: str) -> list[Any]:
    """Return what is drawn under a name."""
    return [item for axes in figure.axes for item in axes.get_children() if item.get_gid() == gid]


def bytes_of(figure: Figure, kind: str = "svg") -> bytes:
    """Return the file of a figure."""
    stream = io.BytesIO()
    figure.savefig(stream, format=kind)
    return stream.getvalue()


def points_of(lines: Iterable[Any]) -> list[tuple[float, float]]:
    """Return the points of lines, sorted."""
    return sorted((float(x), float(y)) for line in lines for x, y in line.get_xydata())
