"""Seeds against the smallest effect that they detect: where this design stands, and what more seeds would show."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import cycle
from typing import Any

from matplotlib.axes import Axes

from gnz_track.report.figures.axes import Key, Margins, draw_words, log_ticks, open_sheet, set_ticks
from gnz_track.report.figures.style import COLOURS, LINES, MARKERS, HouseFigure, house_style
from gnz_track.stats.comparison.comparison import Comparison, PairComparison
from gnz_track.stats.design.power import DesignPower, smallest_effect
from gnz_track.text import plural

__all__ = ["draw_detectable_effects"]

SEEDS = (2, 3, 4, 5, 6, 7, 8, 10, 12, 15, 20, 25, 30, 40, 50, 70, 100)
WIDTH, HEIGHT = 300.0, 175.0
# Families of other sizes lie between the smallest and the largest.
MOST_FAMILIES = 3
# In standard deviations of the difference; nobody plans for more.
LARGEST = 12.0


def draw_detectable_effects(comparison: Comparison) -> HouseFigure:
    """Draw the smallest d_z that a paired t over so many seeds detects, at alpha and at alpha / m, exactly."""
    designs = [pair.design for pair in comparison.pairs if pair.design.effect is not None]
    names = list(comparison.models)
    if not designs:
        return draw_words(_why_nothing(comparison), names=names)
    sizes = _family_sizes(designs)
    most = max(2.5 * max(design.n_pairs for design in designs), 20)
    seeds = sorted({*(n for n in SEEDS if n <= most), *(design.n_pairs for design in designs)})
    figure, panels = open_sheet(
        [(WIDTH, HEIGHT)],
        margins=Margins(left=40.0, inner=40.0, right=14.0, top=8.0, bottom=30.0),
        n_columns=1,
        caption=_caption(comparison, designs, sizes),
        key=_key(comparison, sizes),
    )
    (panel,) = panels
    with house_style():
        low, high = _draw_curves(panel.axes, comparison, seeds, sizes)
        low, high = _draw_designs(panel.axes, designs, sizes, (low, high))
        across = (seeds[0] / 1.08, seeds[-1] * 1.08)
        panel.axes.set(xscale="log", yscale="log", xlim=across, ylim=(low / 1.15, high * 1.15))
        set_ticks(panel.axes, "x", _seed_ticks(across))
        set_ticks(panel.axes, "y", log_ticks((low / 1.15, high * 1.15), HEIGHT))
        panel.axes.grid(visible=True, color="0.9", linewidth=0.4)
        panel.axes.set_axisbelow(True)
        panel.below("seeds", drop=22.0)
        panel.beside("smallest detectable d_z", offset=30.0)
    return figure


def _why_nothing(comparison: Comparison) -> str:
    if not comparison.pairs:
        models = plural(len(comparison.models), "model")
        return f"No detectable effect to draw: {models} on {plural(len(comparison.tasks), 'task')} make no pair."
    return "No detectable effect to draw: a paired test needs two seeds in common, and no pair of models has them."


def _family_sizes(designs: Sequence[DesignPower]) -> list[int]:
    """Return 1 and the sizes of the families, of many only the ends and the middle."""
    found = sorted({design.m for design in designs} - {1})
    if len(found) > MOST_FAMILIES:
        found = [found[0], found[len(found) // 2], found[-1]]
    return [1, *found]


def _draw_curves(axes: Axes, comparison: Comparison, seeds: Sequence[int], sizes: Sequence[int]) -> tuple[float, float]:
    alpha, power = comparison.choices.alpha, comparison.choices.power
    drawn: list[float] = []
    for m, look in zip(sizes, _looks(), strict=False):
        found = [(n, smallest_effect(n, alpha=alpha / m, power=power)) for n in seeds]
        known = [(n, effect) for n, effect in found if effect is not None and effect <= LARGEST]
        axes.plot([n for n, _ in known], [effect for _, effect in known], gid=f"gnz-m-{m}", zorder=2, **look)
        drawn += [effect for _, effect in known]
    return min(drawn), max(drawn)


def _draw_designs(
    axes: Axes, designs: Sequence[DesignPower], sizes: Sequence[int], limits: tuple[float, float]
) -> tuple[float, float]:
    """Mark where the pairs of this comparison stand, as their record says."""
    low, high = limits
    for m, look, marker in zip(sizes, _looks(), MARKERS, strict=False):
        alone = {(design.n_pairs, design.effect) for design in designs if m == 1}
        among = {(design.n_pairs, design.effect_in_family) for design in designs if design.m == m}
        points = sorted((n, effect) for n, effect in alone | among if effect is not None)
        if points:
            xs, ys = [n for n, _ in points], [effect for _, effect in points]
            axes.plot(
                xs, ys, linestyle="", marker=marker, color=look["color"], zorder=3, gid="gnz-design", markersize=5
            )
            low, high = min(low, *ys), max(high, *ys)
    return low, high


def _looks() -> list[dict[str, Any]]:
    return [{"color": colour, "linestyle": line} for colour, line in zip(COLOURS, cycle(LINES), strict=False)]


def _seed_ticks(limits: tuple[float, float]) -> tuple[list[float], list[str]]:
    values = [
        float(n) for n in (2, 3, 5, 7, 10, 15, 20, 30, 50, 70, 100, 200, 500, 1000) if limits[0] <= n <= limits[1]
    ]
    kept = values if len(values) < 13 else values[::2]
    return kept, [f"{value:g}" for value in kept]


def _key(comparison: Comparison, sizes: Sequence[int]) -> list[Key]:
    alpha = comparison.choices.alpha
    texts = [f"one pair alone, at {alpha:g}", *(f"among m = {m} pairs, at {alpha:g}/{m}" for m in sizes[1:])]
    return [
        Key(text=text, line={**look, "marker": marker, "markersize": 4.5, "linewidth": 1.2})
        for text, look, marker in zip(texts, _looks(), MARKERS, strict=False)
    ]


def _caption(comparison: Comparison, designs: Sequence[DesignPower], sizes: Sequence[int]) -> str:
    here = sorted({design.n_pairs for design in designs})
    n_pairs = str(here[0]) if len(here) == 1 else f"{here[0]} to {here[-1]}"
    n_silent = sum(_is_silent(pair) for pair in comparison.pairs)
    sizes_left_out = len({design.m for design in designs} - set(sizes))
    said = [
        "Smallest mean advantage, in standard deviations of the seed-wise difference (d_z), that a two-sided paired t",
        f"detects with power {comparison.choices.power:g}: exact, by the noncentral t.",
        f"Marks: this comparison, with {n_pairs} seeds.",
        "For planning; it says nothing of the effects that were observed.",
        f"{plural(n_silent, 'pair')} with fewer than two seeds in common left out." if n_silent else "",
        f"{plural(sizes_left_out, 'further size')} of families not drawn." if sizes_left_out else "",
    ]
    return " ".join(part for part in said if part)


def _is_silent(pair: PairComparison) -> bool:
    return pair.design.effect is None
