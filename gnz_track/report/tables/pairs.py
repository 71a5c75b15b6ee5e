"""Pairs of models on each task: advantage with its interval, raw and adjusted p, and the verdict."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pandas as pd

from gnz_track.report.tables.latex import LatexLook, Tabular, tex_lines, tex_name, tex_text, write_document, write_p
from gnz_track.report.tables.scores import GridTask, lay_out_scores
from gnz_track.report.tables.table import ReportTable
from gnz_track.stats.comparison.comparison import Comparison, PairComparison

__all__ = ["pair_table"]

COLUMNS = ("task", "model A", "model B", "A better by", "interval", "p", "adjusted p", "seeds", "verdict", "remarks")
# Column of the numbers -> its kind.
NUMBERS = {
    "task": "str",
    "model_a": "str",
    "model_b": "str",
    "n_pairs": "int64",
    "advantage": "float64",
    "low": "float64",
    "high": "float64",
    "simultaneous_low": "float64",
    "simultaneous_high": "float64",
    "d_z": "float64",
    "hedges_g": "float64",
    "p": "float64",
    "p_adjusted": "float64",
    "p_t_adjusted": "float64",
    "p_wilcoxon_adjusted": "float64",
    "p_equivalence_adjusted": "float64",
    "can_reject": "bool",
    "verdict": "str",
    "remarks": "str",
}
# Longer names of a pair in LaTeX go over several lines.
IN_PAIR = 16


def pair_table(comparison: Comparison) -> ReportTable:
    """Return a row per pair of models, task by task."""
    return ReportTable(
        columns=COLUMNS,
        rows=tuple(map(_row_of, comparison.pairs)),
        empty="no pair of models to compare",
        numbers=lambda: _numbers(comparison),
        latex=lambda look: _write_latex(comparison, look),
    )


def _row_of(pair: PairComparison) -> tuple[str, ...]:
    mean = pair.effects.mean
    return (
        pair.task,
        pair.first,
        pair.second,
        _write_number(mean.mean, "+.4g"),
        f"{_write_number(mean.low, '+.4g')} to {_write_number(mean.high, '+.4g')}",
        _write_number(pair.p, ".3g"),
        _write_number(pair.p_adjusted, ".3g"),
        str(pair.n_pairs),
        str(pair.verdict),
        "; ".join(pair.remarks),
    )


def _write_number(value: float | None, form: str) -> str:
    return "n.a." if value is None else format(value, form)


def _numbers(comparison: Comparison) -> pd.DataFrame:
    """Return a row per pair of models on a task: advantage, tests, effect sizes, verdict, run ids of both."""
    rows = []
    for task in comparison.tasks:
        runs = {cell.model: list(cell.run_ids) for cell in task.cells}
        rows += [{**_numbers_of(pair), "runs_a": runs[pair.first], "runs_b": runs[pair.second]} for pair in task.pairs]
    reals = [name for name, value in NUMBERS.items() if value == "float64"]
    return pd.DataFrame(rows, columns=[*NUMBERS, "runs_a", "runs_b"]).astype(dict.fromkeys(reals, "float64"))


def _numbers_of(pair: PairComparison) -> dict[str, Any]:
    mean, size = pair.effects.mean, pair.effects.standardised
    values = (
        *(pair.task, pair.first, pair.second, pair.n_pairs, mean.mean, mean.low, mean.high),
        *(pair.simultaneous.low, pair.simultaneous.high, size.d_z, size.hedges, pair.p, pair.p_adjusted),
        *(pair.t_adjusted, pair.wilcoxon_adjusted, pair.equivalence_adjusted),
        *(pair.can_reject, str(pair.verdict), "; ".join(pair.remarks)),
    )
    return dict(zip(NUMBERS, values, strict=True))


def _write_latex(comparison: Comparison, look: LatexLook) -> str:
    """Return the table of pairs, task by task: advantage with its interval, raw and adjusted p, verdict."""
    adjusted = "p_{\\mathrm{Holm}}" if comparison.choices.adjustment == "holm" else "p_{\\mathrm{adj}}"
    head = rf"Pair & Advantage & \multicolumn{{1}}{{c}}{{$p$}} & \multicolumn{{1}}{{c}}{{${adjusted}$}} & Verdict \\"
    grid = lay_out_scores(comparison)
    rows = [row for task in grid.tasks for row in _tex_rows(task, look)]
    level = f"{100 * (1 - comparison.choices.alpha):.4g} %"
    note = f"advantage of the first model, positive where it is better, with its {level} interval; {comparison.choices}"
    if not rows:
        rows = [(1, r"\multicolumn{5}{l}{no pair of models to compare} \\")]
    tabular = Tabular(columns="lrrrl@{}", head=(head,), rows=tuple(rows))
    return write_document([tabular], [note], look, runs=grid.runs)


def _tex_rows(task: GridTask, look: LatexLook) -> Iterator[tuple[int, str]]:
    """Give a line with the task, and one for each of its pairs."""
    if not task.record.pairs:
        return
    name = (look.pretty_tasks or {}).get(task.task) or tex_text(task.task)
    # A box breaks where a long name would leave the page.
    title = rf"\parbox[t]{{.8\linewidth}}{{\raggedright\textit{{{name}}}\strut}}"
    yield tex_lines(task.task, longest=60), rf"\multicolumn{{5}}{{l}}{{{title}}} \\"
    for pair in task.record.pairs:
        mean = pair.effects.mean
        advantage = "n.a." if mean.mean is None else f"${task.write(mean.mean, '+')}$"
        if mean.mean is not None and mean.high is not None:
            # Student's interval reaches as far down as up.
            advantage = f"${task.write(mean.mean, '+')} \\pm {task.write(mean.high - mean.mean)}$"
        verdict = rf"\textbf{{{pair.verdict}}}" if pair.is_rejected and pair.can_reject else str(pair.verdict)
        models = " vs.\\ ".join(tex_name(model, longest=IN_PAIR) for model in (pair.first, pair.second))
        lines = max(tex_lines(model, longest=IN_PAIR) for model in (pair.first, pair.second))
        yield lines, rf"{models} & {advantage} & {write_p(pair.p)} & {write_p(pair.p_adjusted)} & {verdict} \\"
