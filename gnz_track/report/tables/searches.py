"""Searches as tables: default against tuned with what it cost, for a terminal, as Markdown, CSV, parquet and LaTeX."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from gnz_track.report.figures.labels import clean_name
from gnz_track.report.tables.latex import LatexLook, Tabular, tex_lines, tex_name, write_document, write_p
from gnz_track.report.tables.table import align_rows, escape_markdown, pipe_rows, save_table
from gnz_track.report.tuned_models import SearchSummary, TunedModel, write_seconds
from gnz_track.types import Direction

__all__ = [
    "SEARCH_COLUMNS",
    "save_searches",
    "search_frame",
    "search_rows",
    "write_best",
    "write_searches_latex",
    "write_searches_markdown",
    "write_searches_text",
]

SEARCH_COLUMNS = (
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
ARROWS = {Direction.up: "\u2191", Direction.down: "\u2193"}
TEX_ARROWS = {Direction.up: r"$\uparrow$", Direction.down: r"$\downarrow$"}
NOTHING = "no search\n"
Rows = list[tuple[str, ...]]


def search_rows(summary: SearchSummary, write: Callable[[str], str] = clean_name) -> Rows:
    """Return a row of texts for each tuned model, in :data:`SEARCH_COLUMNS`."""
    return [
        (
            write(f"{one.task} ({one.metric} {ARROWS[one.direction]})"),
            write(one.model),
            _write_number(one.default),
            _write_number(one.tuned),
            _write_number(one.advantage, "+.4g"),
            "" if one.low is None else f"{_write_number(one.low, '+.4g')} to {_write_number(one.high, '+.4g')}",
            _write_number(one.p_adjusted, ".3g"),
            str(one.n_seeds),
            write(one.verdict or one.note),
            f"{_write_number(one.validation_default)} to {_write_number(one.validation_tuned)}",
            str(one.n_trials),
            str(one.n_failed),
            write_seconds(one.seconds),
            "" if one.cost_ratio is None else f"x {one.cost_ratio:.3g}",
        )
        for one in summary.models
    ]


def write_best(one: TunedModel) -> str:
    """Return the hyperparameters that were chosen; of nested searches those of each seed.

    >>> write_best.__name__
    'write_best'
    """
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


def write_searches_text(summary: SearchSummary) -> str:
    """Return tuned models against their defaults as plain text, with what was chosen and what to beware of."""
    if not summary.models:
        return NOTHING
    lines = [align_rows(SEARCH_COLUMNS, search_rows(summary))]
    lines += [f"{_sentence(summary)}\n", *(f"{words}\n" for words in _notes(summary, clean_name))]
    return "".join(lines)


def write_searches_markdown(summary: SearchSummary) -> str:
    """Return tuned models against their defaults as a Markdown table."""
    if not summary.models:
        return NOTHING
    table = pipe_rows(SEARCH_COLUMNS, search_rows(summary, escape_markdown))
    notes = (_sentence(summary), *_notes(summary, escape_markdown))
    return f"{table}\n" + "".join(f"- {words}\n" for words in notes)


def write_searches_latex(summary: SearchSummary, look: LatexLook | None = None) -> str:
    """Return default against tuned as LaTeX: means, advantage with its interval, adjusted p, verdict, and the cost."""
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
    return write_document([tabular], notes, look or LatexLook())


def save_searches(summary: SearchSummary, path: str | Path) -> Path:
    """Write tuned models against their defaults to a file; its suffix says as what."""
    writers: Mapping[str, Callable[[SearchSummary], str]] = {
        ".txt": write_searches_text,
        ".md": write_searches_markdown,
    }
    return save_table(Path(path), summary, writers, search_frame)


def _sentence(summary: SearchSummary) -> str:
    return f"{summary.sentence[:1].upper()}{summary.sentence[1:]}."


def _notes(summary: SearchSummary, write: Callable[[str], str]) -> Iterator[str]:
    for one in summary.models:
        yield write(f"{one.title} chose {write_best(one) or 'nothing'}")
    yield from map(write, summary.warnings)


def _tex_rows(summary: SearchSummary) -> Iterator[tuple[int, str]]:
    """Give a line with each task, and one for each of its models."""
    task = ""
    for one in summary.models:
        if one.task != task:
            task = one.task
            name = f"\\textit{{{tex_name(task, longest=60)}}}, {tex_name(one.metric)} {TEX_ARROWS[one.direction]}"
            yield tex_lines(task, longest=60), rf"\multicolumn{{8}}{{l}}{{{name}}} \\"
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
