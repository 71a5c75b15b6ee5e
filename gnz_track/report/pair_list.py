"""All pairs of models as a list: advantage, interval, adjusted p and verdict, a row per pair."""

from __future__ import annotations

from collections.abc import Sequence

from gnz_track.report.canvas import HouseFigure, house_style, measure_text
from gnz_track.report.captions import say_seeds, say_test, say_unattainable, write_p
from gnz_track.report.pair_rows import LOOKS, NAME_SIZE, PairRows, choose_rows, name_pairs, say_left_out, verdict_key
from gnz_track.report.scales import decimals_for, signed
from gnz_track.report.sheet import Margins, Panel, columns_for, open_sheet, put_text
from gnz_track.report.short_names import cut_text
from gnz_track.stats.comparison import Comparison, PairComparison, TaskComparison

__all__ = ["draw_pair_list"]

ROW = 10.0
GAP = 12.0
HEADS = ("advantage", "interval", "p", "verdict")


def draw_pair_list(comparison: Comparison, tasks: Sequence[TaskComparison], max_cols: int | None) -> HouseFigure:
    """Draw a list for each task that has pairs, largest advantage first.

    Parameters
    ----------
    comparison
        Comparison of the models.
    tasks
        Tasks to draw.
    max_cols
        Most panels side by side.
    """
    rows = choose_rows(tasks, sort_within=True)
    labels = name_pairs(rows)
    cells = [[_write_cells(row.task, pair) for pair in row.pairs] for row in rows]
    widths = [
        max(measure_text(text, NAME_SIZE).width for text in (head, *(line[place] for part in cells for line in part)))
        for place, head in enumerate(HEADS)
    ]
    widths[-1] += 8.0
    longest = max(measure_text(label, NAME_SIZE).width for label in labels.values()) + 6.0
    width = sum(widths) + GAP * len(widths)
    margins = Margins(left=longest, inner=longest + 20.0, right=4.0, top=28.0, bottom=10.0)
    sheet = open_sheet(
        [(width, ROW * len(row.pairs)) for row in rows],
        margins=margins,
        n_columns=columns_for(len(rows), width, margins, most=max_cols),
        caption=_caption(comparison, rows),
        key=verdict_key([pair for row in rows for pair in row.pairs]),
        names=[name for row in rows for name in (row.task.task, *row.task.models)],
    )
    with house_style():
        for panel, row, lines in zip(sheet.panels, rows, cells, strict=True):
            _draw_list(sheet.figure, panel, row, [labels[pair.first, pair.second] for pair in row.pairs])
            _print_cells(sheet.figure, panel, lines, widths)
            left = panel.box.left - longest + 6.0
            put_text(sheet.figure, left, panel.box.top + 15.0, _title(row, width + longest), size=8.0, role="title")
    return sheet.figure


def _title(row: PairRows, width: float) -> str:
    return cut_text(row.task.task, width - 6.0, size=8.0, ending=f" ({row.task.metric})")


def _write_cells(task: TaskComparison, pair: PairComparison) -> tuple[str, ...]:
    """Return the texts of one row: advantage, interval, p, verdict."""
    found = pair.effects.mean
    decimals = decimals_for(max(abs(one.effects.mean.mean or 0.0) for one in task.pairs))
    mean = "not run" if found.mean is None else signed(found.mean, decimals)
    is_bounded = found.low is not None and found.high is not None
    ends = f"[{signed(found.low or 0.0, decimals)}, {signed(found.high or 0.0, decimals)}]" if is_bounded else "n.a."
    verdict = str(pair.verdict) if pair.can_reject else f"{pair.verdict} \u2020"
    return mean, ends, write_p(pair.p_adjusted), verdict


def _draw_list(figure: HouseFigure, panel: Panel, row: PairRows, labels: Sequence[str]) -> None:
    axes = panel.axes
    n, width = len(row.pairs), panel.box.right - panel.box.left
    axes.set(xlim=(0.0, width), ylim=(n, 0.0), xticks=[], yticks=[])
    for spine in axes.spines.values():
        spine.set_visible(False)
    axes.axhline(0.0, color="0", linewidth=0.6, clip_on=False)
    axes.axhline(n, color="0", linewidth=0.6, clip_on=False)
    for place, (pair, label) in enumerate(zip(row.pairs, labels, strict=True)):
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


def _caption(comparison: Comparison, rows: Sequence[PairRows]) -> str:
    tasks = [row.task for row in rows]
    level = f"{100 * (1 - comparison.choices.alpha):g} %"
    said = [
        f"Mean paired advantage over {say_seeds(tasks)}, positive where the first model is better, with its {level}",
        f"paired t interval; p adjusted. Verdicts: {say_test(comparison, tasks)}.",
        say_unattainable([pair for row in rows for pair in row.pairs], how="\u2020"),
        say_left_out(rows),
    ]
    return " ".join(part for part in said if part)
