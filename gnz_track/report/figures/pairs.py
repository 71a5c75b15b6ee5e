"""All pairs of models on each task: advantages above the diagonal, adjusted p-values below it; or a row per pair."""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap, to_rgb
from matplotlib.patches import Rectangle

from gnz_track.errors import UnknownName
from gnz_track.report.figures.axes import (
    Key,
    Margins,
    Panel,
    columns_for,
    decimals_for,
    draw_words,
    open_sheet,
    order_models,
    put_text,
    share_limits,
    signed,
)
from gnz_track.report.figures.labels import say_seeds, say_test, say_unattainable, say_verdicts, write_p
from gnz_track.report.figures.style import HouseFigure, cut_text, house_style, measure_text, short_names
from gnz_track.stats.comparison.comparison import Comparison, PairComparison, TaskComparison, Verdict
from gnz_track.text import plural

__all__ = [
    "LOOKS",
    "PairRows",
    "choose_rows",
    "draw_pairs",
    "find_tasks",
    "name_pairs",
    "verdict_key",
    "why_no_pairs",
]


# Twelve models; a longer list is read by nobody, and is in the tables.
MOST_ROWS = 66
LEFT_TO_RIGHT = "\u200e"
LABEL_WIDTH = 104.0
NAME_SIZE = 7.0
# A verdict has a shape and a filling of its own, so that no colour is needed.
LOOKS: dict[Verdict, dict[str, Any]] = {
    Verdict.different: {"marker": "o", "color": "#0072B2", "fillstyle": "full"},
    Verdict.trivial: {"marker": "D", "color": "#D55E00", "fillstyle": "left", "markerfacecoloralt": "white"},
    Verdict.equivalent: {"marker": "s", "color": "#009E73", "fillstyle": "full"},
    Verdict.undetermined: {"marker": "o", "color": "0.35", "fillstyle": "full", "markerfacecolor": "white"},
    Verdict.identical: {"marker": "s", "color": "0.35", "fillstyle": "full", "markerfacecolor": "white"},
    Verdict.nothing: {"marker": "X", "color": "0.35", "fillstyle": "full"},
}
WORDS = {
    Verdict.different: "different",
    Verdict.trivial: "different, but within the margin",
    Verdict.equivalent: "equivalent",
    Verdict.undetermined: "undetermined",
    Verdict.identical: "the same score on every seed",
    Verdict.nothing: "both learnt nothing",
}


# A task, and its pairs that are drawn, from top to bottom.
PairRows = tuple[TaskComparison, tuple[PairComparison, ...]]


def find_tasks(comparison: Comparison, task: str | None) -> tuple[TaskComparison, ...]:
    """Return the task of a name, or all of them."""
    return comparison.tasks if task is None else (comparison[task],)


def choose_rows(tasks: Sequence[TaskComparison], *, sort_within: bool) -> tuple[PairRows, ...]:
    """Return the rows of each task that has a pair; where they are too many, those with the best model."""
    found = []
    for task in tasks:
        pairs = task.pairs
        if len(pairs) > MOST_ROWS:
            with_best = [pair for pair in pairs if task.best in {pair.first, pair.second}]
            pairs = tuple(sorted(with_best, key=_nearness)[:MOST_ROWS])
        if sort_within:
            pairs = tuple(sorted(pairs, key=_order))
        if pairs:
            found.append((task, pairs))
    return tuple(found)


def name_pairs(rows: Sequence[PairRows]) -> dict[tuple[str, str], str]:
    """Return the label of each pair."""
    names = sorted({name for _, pairs in rows for pair in pairs for name in (pair.first, pair.second)})
    shown = short_names(names, LABEL_WIDTH, size=NAME_SIZE)
    return {
        (pair.first, pair.second): _subtract(shown[pair.first], shown[pair.second])
        for _, pairs in rows
        for pair in pairs
    }


def verdict_key(pairs: Sequence[PairComparison]) -> list[Key]:
    """Return the key of the verdicts that occur."""
    found = {pair.verdict for pair in pairs}
    return [
        Key(text=WORDS[verdict], line={**look, "markersize": 4.5})
        for verdict, look in LOOKS.items()
        if verdict in found
    ]


def why_no_pairs(comparison: Comparison, tasks: Sequence[TaskComparison]) -> str:
    """Return the sentence that stands where there is no pair to draw."""
    models = plural(len(comparison.models), "model")
    where = f"task {tasks[0].task}" if len(tasks) == 1 else plural(len(tasks), "task")
    return f"No pair of models to compare on {where}: the comparison has {models}, and a pair needs two with scores."


def say_left_out(rows: Sequence[PairRows]) -> str:
    """Return how many pairs are not drawn; empty where all are."""
    n = sum(len(task.pairs) - len(pairs) for task, pairs in rows)
    if not n:
        return ""
    is_cut = any(len(task.pairs) > len(pairs) == MOST_ROWS for task, pairs in rows)
    which = f", the {MOST_ROWS} nearest to it" if is_cut else ""
    return f"Drawn are the pairs with the best model of each task{which}; {plural(n, 'other pair')} are in the tables."


def _subtract(first: str, second: str) -> str:
    """Return the difference of two names, read from left to right also where the names are not."""
    turns = any(unicodedata.bidirectional(sign) in {"R", "AL"} for sign in first + second)
    mark = LEFT_TO_RIGHT if turns else ""
    return f"{mark}{first}{mark} \u2212 {mark}{second}{mark}"


def _nearness(pair: PairComparison) -> tuple[bool, float]:
    """Smallest advantage first; pairs without one last."""
    mean = pair.effects.mean.mean
    return mean is None, abs(mean or 0.0)


def _order(pair: PairComparison) -> tuple[bool, float, str, str]:
    """Largest advantage first; pairs without one last."""
    mean = pair.effects.mean.mean
    return mean is None, -(mean or 0.0), pair.first, pair.second


ROW = 10.0
GAP = 12.0
HEADS = ("advantage", "interval", "p", "verdict")


def _draw_lists(comparison: Comparison, tasks: Sequence[TaskComparison], max_cols: int | None) -> HouseFigure:
    """Draw a list for each task that has pairs, largest advantage first."""
    rows = choose_rows(tasks, sort_within=True)
    labels = name_pairs(rows)
    cells = [[_write_cells(task, pair) for pair in pairs] for task, pairs in rows]
    widths = [
        max(measure_text(text, NAME_SIZE).width for text in (head, *(line[place] for part in cells for line in part)))
        for place, head in enumerate(HEADS)
    ]
    widths[-1] += 8.0
    longest = max(measure_text(label, NAME_SIZE).width for label in labels.values()) + 6.0
    width = sum(widths) + GAP * len(widths)
    margins = Margins(left=longest, inner=longest + 20.0, right=4.0, top=28.0, bottom=10.0)
    figure, panels = open_sheet(
        [(width, ROW * len(pairs)) for _, pairs in rows],
        margins=margins,
        n_columns=columns_for(len(rows), width, margins, most=max_cols),
        caption=_list_caption(comparison, rows),
        key=verdict_key([pair for _, pairs in rows for pair in pairs]),
        names=[name for task, _ in rows for name in (task.task, *task.models)],
    )
    with house_style():
        for panel, (task, pairs), lines in zip(panels, rows, cells, strict=True):
            _draw_rows(figure, panel, pairs, [labels[pair.first, pair.second] for pair in pairs])
            _print_cells(figure, panel, lines, widths)
            left = panel.box.left - longest + 6.0
            put_text(figure, left, panel.box.top + 15.0, _title(task, width + longest), size=8.0, role="title")
    return figure


def _title(task: TaskComparison, width: float) -> str:
    return cut_text(task.task, width - 6.0, size=8.0, ending=f" ({task.metric})")


def _write_cells(task: TaskComparison, pair: PairComparison) -> tuple[str, ...]:
    """Return the texts of one row: advantage, interval, p, verdict."""
    found = pair.effects.mean
    decimals = decimals_for(max(abs(one.effects.mean.mean or 0.0) for one in task.pairs))
    mean = "not run" if found.mean is None else signed(found.mean, decimals)
    is_bounded = found.low is not None and found.high is not None
    ends = f"[{signed(found.low or 0.0, decimals)}, {signed(found.high or 0.0, decimals)}]" if is_bounded else "n.a."
    verdict = str(pair.verdict) if pair.can_reject else f"{pair.verdict} \u2020"
    return mean, ends, write_p(pair.p_adjusted), verdict


def _draw_rows(figure: HouseFigure, panel: Panel, pairs: Sequence[PairComparison], labels: Sequence[str]) -> None:
    axes = panel.axes
    n, width = len(pairs), panel.box.right - panel.box.left
    axes.set(xlim=(0.0, width), ylim=(n, 0.0), xticks=[], yticks=[])
    for spine in axes.spines.values():
        spine.set_visible(False)
    axes.axhline(0.0, color="0", linewidth=0.6, clip_on=False)
    axes.axhline(n, color="0", linewidth=0.6, clip_on=False)
    for place, (pair, label) in enumerate(zip(pairs, labels, strict=True)):
        look = {**LOOKS[pair.verdict], "markersize": 3.5}
        axes.plot([width - 4.0], [place + 0.5], linestyle="", gid=f"gnz-{pair.verdict}", **look)
        y = panel.box.top - ROW * (place + 0.5) - 0.36 * NAME_SIZE
        put_text(figure, panel.box.left - 4.0, y, label, size=NAME_SIZE, align="right", role="pair")


def _print_cells(figure: HouseFigure, panel: Panel, lines: Sequence[Sequence[str]], widths: Sequence[float]) -> None:
    ends = [panel.box.left + sum(widths[: place + 1]) + GAP * (place + 1) for place in range(len(widths))]
    # The mark of the verdict stands behind its word.
    ends[-1] -= 10.0
    for place, head in enumerate(HEADS):
        put_text(figure, ends[place], panel.box.top + 3.0, head, size=NAME_SIZE, align="right", role="axis")
    for row, line in enumerate(lines):
        y = panel.box.top - ROW * (row + 0.5) - 0.36 * NAME_SIZE
        for end, text in zip(ends, line, strict=True):
            put_text(figure, end, y, text, size=NAME_SIZE, align="right", role="cell")


def _list_caption(comparison: Comparison, rows: Sequence[PairRows]) -> str:
    tasks = [task for task, _ in rows]
    level = f"{100 * (1 - comparison.choices.alpha):g} %"
    said = [
        f"Mean paired advantage over {say_seeds(tasks)}, positive where the first model is better, with its {level}",
        f"paired t interval; p adjusted. Verdicts: {say_test(comparison, tasks)}.",
        say_unattainable([pair for _, pairs in rows for pair in pairs], how="\u2020"),
        say_left_out(rows),
    ]
    return " ".join(part for part in said if part)


# More models than this leave no room for numbers.
MOST_NUMBERED = 15
# More models than this make a file of many megabytes, if each cell is a shape of its own.
MOST_SHAPES = 40
NAME_WIDTH = 130.0
NUMBER_SIZE = 5.8
SYMBOL_CELL = 8.5
# White in the middle; both ends are told apart by readers who see no red or no green, and their signs by everyone.
DIVERGING = LinearSegmentedColormap.from_list("gnz-advantage", ["#C75B00", "#FDE3C8", "#FFFFFF", "#CFE3F3", "#0072B2"])
# Three bins of p: (name, part of alpha up to which it goes, grey).
BINS = (("strong", 0.2, "0.45"), ("plain", 1.0, "0.75"), ("none", math.inf, "0.95"))
BAR_WIDTH, BAR_HEIGHT = 60.0, 4.0


@dataclass(frozen=True, kw_only=True)
class MatrixLayout:
    """Layout of all panels: the models in their order, and the size of a cell in points."""

    models: tuple[str, ...]
    alpha: float
    cell: tuple[float, float]

    @property
    def is_numbered(self) -> bool:
        """Whether there is room for numbers."""
        return len(self.models) <= MOST_NUMBERED


def draw_pairs(
    comparison: Comparison, *, task: str | None = None, layout: str = "matrix", max_cols: int | None = None
) -> HouseFigure:
    """Draw the tests of each pair of models, a panel per task, models in one order: by their mean rank.

    Parameters
    ----------
    comparison
        Comparison of the models.
    task
        Task to draw; all of them without one.
    layout
        ``matrix``, or ``list`` with a row per pair.
    max_cols
        Most panels side by side.
    """
    if layout not in LAYOUTS:
        raise UnknownName("layout of the pairs", layout, LAYOUTS)
    tasks = tuple(one for one in find_tasks(comparison, task) if one.pairs)
    if not tasks:
        found = find_tasks(comparison, task)
        return draw_words(why_no_pairs(comparison, found), names=[one.task for one in found])
    return LAYOUTS[layout](comparison, tasks, max_cols)


def _draw_matrices(comparison: Comparison, tasks: Sequence[TaskComparison], max_cols: int | None) -> HouseFigure:
    there = {name for one in tasks for name in one.models}
    models = tuple(name for name in order_models(comparison) if name in there)
    plan = MatrixLayout(models=models, alpha=comparison.choices.alpha, cell=_cell(tasks, len(models)))
    names = short_names(models, NAME_WIDTH, size=NAME_SIZE)
    width, height = plan.cell[0] * len(models), plan.cell[1] * len(models)
    longest = max(measure_text(name, NAME_SIZE).width for name in names.values())
    # A title, and a bar with three labels, are wider than a matrix of two models.
    extra = max(0.0, 92.0 - width)
    margins = Margins(left=longest + 24.0, inner=22.0 + extra, right=8.0 + extra, top=26.0, bottom=26.0)
    figure, panels = open_sheet(
        [(width, height)] * len(tasks),
        margins=margins,
        n_columns=columns_for(len(tasks), width, margins, most=max_cols),
        caption=_matrix_caption(comparison, tasks, plan),
        key=_key(plan),
        names=[*models, *(one.task for one in tasks)],
    )
    with house_style():
        limits = share_limits([(0.0, _largest(one)) for one in tasks], [one.metric for one in tasks])
        for panel, one, (_, limit) in zip(panels, tasks, limits, strict=True):
            _draw_panel(panel, one, plan, limit or 1.0)
            panel.title(one.task, room=extra, rise=11.0)
            _draw_scale(figure, panel, limit or 1.0)
            _label(figure, panel, plan, names)
    return figure


LAYOUTS: dict[str, Callable[[Comparison, Sequence[TaskComparison], int | None], HouseFigure]] = {
    "matrix": _draw_matrices,
    "list": _draw_lists,
}


def _cell(tasks: Sequence[TaskComparison], k: int) -> tuple[float, float]:
    if k > MOST_NUMBERED:
        return SYMBOL_CELL, SYMBOL_CELL
    texts = {text for one in tasks for pair in one.pairs for text in _texts(one, pair)}
    return max(measure_text(text, NUMBER_SIZE).width for text in texts) + 8.0, 12.0


def _texts(task: TaskComparison, pair: PairComparison) -> tuple[str, str, str]:
    decimals = decimals_for(_largest(task))
    mean = pair.effects.mean.mean or 0.0
    return signed(mean, decimals), signed(-mean, decimals), write_p(pair.p_adjusted)


def _largest(task: TaskComparison) -> float:
    return max((abs(pair.effects.mean.mean or 0.0) for pair in task.pairs), default=0.0)


def _cells(task: TaskComparison, plan: MatrixLayout) -> Iterator[tuple[int, int, PairComparison | None, float | None]]:
    """Yield row, column, pair and advantage of the model of the row, for all cells above the diagonal."""
    pairs = {(pair.first, pair.second): pair for pair in task.pairs}
    for row, better in enumerate(plan.models):
        for column in range(row + 1, len(plan.models)):
            other = plan.models[column]
            pair = pairs.get((better, other)) or pairs.get((other, better))
            mean = None if pair is None else pair.effects.mean.mean
            turned = mean if mean is None or pair is None or pair.first == better else -mean
            yield row, column, pair, turned


def _draw_panel(panel: Panel, task: TaskComparison, plan: MatrixLayout, limit: float) -> None:
    """Draw both triangles; ``limit`` is that of the scale of advantages."""
    k = len(plan.models)
    axes = panel.axes
    axes.set(xlim=(0, k), ylim=(k, 0), xticks=[], yticks=[])
    for spine in axes.spines.values():
        spine.set_visible(False)
    colours = np.ones((k, k, 3))
    for row, column, pair, advantage in _cells(task, plan):
        if advantage is not None:
            colours[row, column] = DIVERGING(0.5 + 0.5 * advantage / limit)[:3]
        if pair is not None and pair.p_adjusted is not None:
            colours[column, row] = to_rgb(BINS[_bin(pair.p_adjusted, plan.alpha)][2])
    if k > MOST_SHAPES:
        axes.imshow(colours, extent=(0, k, k, 0), interpolation="none", aspect="auto", gid="gnz-cells")
    else:
        edges = np.arange(k + 1)
        axes.pcolormesh(edges, edges, colours, edgecolors="white", linewidth=0.8, gid="gnz-cells")
    _hatch(axes, task, plan)
    for place in range(k):
        axes.add_patch(
            Rectangle((place, place), 1, 1, facecolor="white", edgecolor="0.85", linewidth=0.4, clip_on=False)
        )
    (_print_numbers if plan.is_numbered else _print_symbols)(axes, task, plan, colours)


def _hatch(axes: Axes, task: TaskComparison, plan: MatrixLayout) -> None:
    for row, column, pair, advantage in _cells(task, plan):
        absent = [(column, row)] if advantage is None else []
        absent += [(row, column)] if pair is None or pair.p_adjusted is None else []
        for place in absent:
            look: dict[str, Any] = {"facecolor": "white", "edgecolor": "0.6", "hatch": "//////", "linewidth": 0.0}
            axes.add_patch(Rectangle(place, 1, 1, gid="gnz-absent", **look))


def _print_numbers(axes: Axes, task: TaskComparison, plan: MatrixLayout, colours: np.ndarray) -> None:
    decimals = decimals_for(_largest(task))
    for row, column, pair, advantage in _cells(task, plan):
        p = None if pair is None else pair.p_adjusted
        above = None if advantage is None else signed(advantage, decimals)
        for (y, x), text, gid in (((row, column), above, "advantage"), ((column, row), p and write_p(p), "p")):
            if text:
                colour = "0" if colours[y, x] @ (0.299, 0.587, 0.114) > 0.55 else "1"
                middle: dict[str, Any] = {
                    "ha": "center",
                    "va": "center_baseline",
                    "fontsize": NUMBER_SIZE,
                    "parse_math": False,
                }
                weight = "bold" if pair is not None and pair.is_rejected and gid == "advantage" else "normal"
                axes.text(x + 0.5, y + 0.5, text, color=colour, weight=weight, gid=f"gnz-{gid}", **middle)


def _print_symbols(axes: Axes, task: TaskComparison, plan: MatrixLayout, _: np.ndarray) -> None:
    """Mark the sign of each advantage above the diagonal, and the bin of each p below it."""
    marks: dict[str, list[tuple[float, float]]] = {"+": [], "_": [], "strong": [], "plain": []}
    for row, column, pair, advantage in _cells(task, plan):
        if advantage and pair is not None and pair.is_rejected:
            marks["+" if advantage > 0 else "_"].append((column + 0.5, row + 0.5))
        if pair is not None and pair.p_adjusted is not None:
            name = BINS[_bin(pair.p_adjusted, plan.alpha)][0]
            marks.get(name, []).append((row + 0.5, column + 0.5))
    for name, places in marks.items():
        if places:
            xs, ys = zip(*places, strict=True)
            axes.plot(xs, ys, linestyle="", gid=f"gnz-{name}", **SYMBOLS[name])


SYMBOLS: Mapping[str, Mapping[str, Any]] = {
    "+": {"marker": "+", "color": "0", "markersize": 4.0, "markeredgewidth": 0.7},
    "_": {"marker": "_", "color": "0", "markersize": 4.0, "markeredgewidth": 0.7},
    "strong": {"marker": "o", "color": "1", "markersize": 3.2, "markeredgewidth": 0.0},
    "plain": {"marker": "o", "color": "0", "markersize": 3.0, "markeredgewidth": 0.5, "markerfacecolor": "none"},
}


def _bin(p: float, alpha: float) -> int:
    return next(place for place, (_, part, _) in enumerate(BINS) if p <= part * alpha)


def _draw_scale(figure: HouseFigure, panel: Panel, limit: float) -> None:
    """Draw the colours of the advantages, from one end of the scale to the other, below a panel."""
    width, height = 72.0 * figure.get_size_inches()
    left, bottom = panel.box.left, panel.box.bottom - 9.0
    texts = (signed(-limit, decimals_for(limit)), "0", signed(limit, decimals_for(limit)))
    long = max(BAR_WIDTH, sum(measure_text(text, NUMBER_SIZE).width for text in texts) + 12.0)
    place = (left / width, bottom / height, long / width, BAR_HEIGHT / height)
    axes = figure.add_axes(place, xticks=[], yticks=[], label="scale")
    axes.pcolormesh([np.linspace(-1, 1, 64)], cmap=DIVERGING, vmin=-1, vmax=1, linewidth=0)
    for spine in axes.spines.values():
        spine.set_visible(False)
    for text, share, align in zip(texts, (0.0, 0.5, 1.0), ("left", "center", "right"), strict=True):
        put_text(figure, left + share * long, bottom - 7.5, text, size=NUMBER_SIZE, align=align, role="tick")


def _label(figure: HouseFigure, panel: Panel, plan: MatrixLayout, names: Mapping[str, str]) -> None:
    """Write numbers above and to the left; names only in the first column, for the order is the same everywhere."""
    across, down = plan.cell
    every = 1 if across >= 2 * NUMBER_SIZE or len(plan.models) < 10 else 2
    for place, model in enumerate(plan.models):
        y = panel.box.top - down * (place + 0.5) - 0.36 * NUMBER_SIZE
        x = panel.box.left + across * (place + 0.5)
        number = str(place + 1)
        if place % every == 0:
            put_text(figure, x, panel.box.top + 2.5, number, size=5.8, align="center", role="tick")
        if down >= NUMBER_SIZE:
            put_text(figure, panel.box.left - 3.0, y, number, size=5.8, align="right", role="tick")
        if panel.is_first:
            y = panel.box.top - down * (place + 0.5) - 0.36 * NAME_SIZE
            put_text(figure, panel.box.left - 15.0, y, names[model], size=NAME_SIZE, align="right", role="model")


def _key(plan: MatrixLayout) -> list[Key]:
    alpha = plan.alpha
    bounds = (f"p \u2264 {alpha / 5:g}", f"p \u2264 {alpha:g}", f"p > {alpha:g}")
    entries = [
        Key(text=text, patch={"facecolor": grey, "edgecolor": "0.6", "linewidth": 0.4})
        for text, (_, _, grey) in zip(bounds, BINS, strict=True)
    ]
    look = {"facecolor": "white", "edgecolor": "0.6", "hatch": "//////", "linewidth": 0.4}
    return [*entries, Key(text="not available", patch=look)]


def _matrix_caption(comparison: Comparison, tasks: Sequence[TaskComparison], plan: MatrixLayout) -> str:
    pairs = [pair for one in tasks for pair in one.pairs]
    metrics = sorted({one.metric for one in tasks})
    marks = (
        "bold where the test tells the two apart"
        if plan.is_numbered
        else "with + or \u2212 where the test tells the two apart"
    )
    symbols = "" if plan.is_numbered else " (a full dot and a circle are the first two bins)"
    ranked = "by mean rank over tasks" if comparison.across.ranks and comparison.across.ranks.order else "by name"
    said = [
        f"Above the diagonal: mean advantage in {' or '.join(metrics)} of the model of the row over that of the",
        f"column, blue where the row is better, orange where it is worse, {marks}.",
        f"Below: adjusted p{symbols}. Models are ordered {ranked}, the same in all panels. {say_seeds(tasks)};",
        f"{say_test(comparison, tasks)}; {say_verdicts(pairs)}.",
        say_unattainable(pairs, how="Undetermined by design"),
    ]
    return " ".join(part for part in said if part)
