"""Default against tuned as a table: what a search gained on the reporting cells, and what it cost."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import pandas as pd

from gnz_track.report.figures.labels import ARROWS
from gnz_track.report.tables.latex import LatexLook, Tabular, tex_lines, tex_name, tex_task, write_document, write_p
from gnz_track.report.tables.table import ReportTable
from gnz_track.report.tuned_models import SearchSummary, TunedModel, write_seconds

__all__ = ["search_frame", "search_table", "write_best"]

COLUMNS = (
    "task",
    "model",
    "default",
    "tuned",
    "tuned better by",
    "interval",
    "adjusted p",
    "seeds",
    "verdict",
    "on validation",
    "trials",
    "failed",
    "search took (wall)",
    "of reporting",
)


def search_table(summary: SearchSummary) -> ReportTable:
    """Return a row for each tuned model, with what was chosen and what to beware of."""
    chosen = (f"{one.title} chose {write_best(one) or 'nothing'}" for one in summary.models)
    return ReportTable(
        columns=COLUMNS,
        rows=tuple(map(_row_of, summary.models)),
        empty="no search",
        notes=(f"{summary.sentence[:1].upper()}{summary.sentence[1:]}.", *chosen, *summary.warnings),
        numbers=lambda: search_frame(summary),
        latex=lambda look: _write_latex(summary, look),
    )


def _row_of(one: TunedModel) -> tuple[str, ...]:
    return (
        f"{one.task} ({one.metric} {ARROWS[one.direction]})",
        one.model,
        _write_number(one.default),
        _write_number(one.tuned),
        _write_number(one.advantage, "+.4g"),
        "" if one.low is None else f"{_write_number(one.low, '+.4g')} to {_write_number(one.high, '+.4g')}",
        _write_number(one.p_adjusted, ".3g"),
        str(one.n_seeds),
        one.verdict or one.note,
        f"{_write_number(one.validation_default)} to {_write_number(one.validation_tuned)}",
        str(one.n_trials),
        str(one.n_failed),
        write_seconds(one.seconds),
        "" if one.cost_ratio is None else f"x {one.cost_ratio:.3g}",
    )


def write_best(one: TunedModel) -> str:
    """Return the hyperparameters that were chosen; of nested searches those of each seed."""
    found = [(seed, _write_values(values)) for seed, values in one.best]
    if len(found) == 1:
        return found[0][1]
    return "; ".join(f"s{seed}: {values}" for seed, values in found)


def search_frame(summary: SearchSummary) -> pd.DataFrame:
    """Return a row for each tuned model with all of its numbers."""
    plain = ("task", "model", "metric", "kind", "sampler", "n_searches", "n_seeds", "verdict", "note")
    numbers = ("default", "tuned", "advantage", "low", "high", "p_adjusted", "validation_default", "validation_tuned")
    costs = ("n_trials", "n_failed", "epochs", "seconds", "cpu_seconds", "reporting_seconds")
    rows: list[dict[str, Any]] = [
        {
            **{name: getattr(one, name) for name in (*plain, *numbers, *costs)},
            "direction": str(one.direction),
            "best": write_best(one),
        }
        for one in summary.models
    ]
    columns = [*plain, "direction", *numbers, *costs, "best"]
    return pd.DataFrame(rows, columns=columns).astype(dict.fromkeys(numbers, "float64"))


def _write_latex(summary: SearchSummary, look: LatexLook) -> str:
    """Return means, advantage with its interval, adjusted p, verdict, and the cost."""
    adjusted = r"p_{\mathrm{Holm}}" if summary.choices.adjustment == "holm" else r"p_{\mathrm{adj}}"
    head = rf"Model & Default & Tuned & Advantage & ${adjusted}$ & Verdict & Trials & Cost \\"
    rows = list(_tex_rows(summary)) or [(1, r"\multicolumn{8}{l}{no search} \\")]
    tabular = Tabular(columns="lrrrrlrr@{}", head=(head,), rows=tuple(rows))
    level = f"{100 * (1 - summary.choices.alpha):.4g} %"
    said = "advantage of the tuned model, positive where it is better, with its"
    notes = [
        f"{said} {level} interval over the reporting seeds",
        "trials: those that failed in brackets; cost: training of all trials",
        *summary.warnings,
    ]
    return write_document([tabular], notes, look)


def _tex_rows(summary: SearchSummary) -> Iterator[tuple[int, str]]:
    """Give a line with each task, and one for each of its models."""
    task = ""
    for one in summary.models:
        if one.task != task:
            task = one.task
            yield tex_task(task, one.metric, one.direction, n_columns=8)
        advantage = "--" if one.advantage is None else f"${one.advantage:+.3g}$"
        if one.advantage is not None and one.high is not None:
            advantage = f"${one.advantage:+.3g} \\pm {one.high - one.advantage:.2g}$"
        failed = f" ({one.n_failed})" if one.n_failed else ""
        cells = (
            tex_name(one.model),
            _write_number(one.default) or "--",
            _write_number(one.tuned) or "--",
            advantage,
            "--" if one.p_adjusted is None else write_p(one.p_adjusted),
            tex_name(one.verdict or one.note, longest=16),
            f"{one.n_trials}{failed}",
            write_seconds(one.seconds).replace(" ", r"\,"),
        )
        yield max(tex_lines(one.model), tex_lines(one.verdict or one.note, longest=16)), " & ".join(cells) + r" \\"


def _write_values(values: Mapping[str, Any]) -> str:
    return ", ".join(
        f"{name} = {value:.3g}" if isinstance(value, float) else f"{name} = {value}"
        for name, value in sorted(values.items())
    )


def _write_number(value: float | None, form: str = ".4g") -> str:
    return "" if value is None else format(value, form)
