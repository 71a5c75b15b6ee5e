"""Runs and pairs that the page's script shows on demand, as compact JSON."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import pandas as pd
from markupsafe import Markup

from gnz_track.report.figures.labels import show_controls
from gnz_track.stats.comparison.cells import read_cells
from gnz_track.stats.comparison.comparison import Comparison, PairComparison, TaskComparison
from gnz_track.stats.comparison.verdicts import Verdict

__all__ = ["embed_json", "make_page_data"]

# One letter for each verdict; a pair that differs says which model is better.
LETTERS = {
    Verdict.equivalent: "e",
    Verdict.undetermined: "u",
    Verdict.identical: "i",
    Verdict.nothing: "n",
}
FIRST, SECOND = {Verdict.different: "A", Verdict.trivial: "a"}, {Verdict.different: "B", Verdict.trivial: "b"}
# Within a script, these end it, or a line of it, whatever stands around them.
ESCAPES = str.maketrans({"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029"})


def embed_json(data: object) -> Markup:
    """Return data as JSON that may stand in a script element, whatever texts it holds."""
    text = json.dumps(show_controls(data), separators=(",", ":"), allow_nan=False, ensure_ascii=False)
    # Halves of characters have no UTF-8.
    return Markup(text.encode("utf-8", "replace").decode().translate(ESCAPES))  # noqa: S704  (escaped just above)


def make_page_data(comparison: Comparison, table: pd.DataFrame, *, ui: str) -> dict[str, Any]:
    """Return models, and by task their runs and pairs, models by number; numbers of pairs have five digits.

    Parameters
    ----------
    comparison
        Comparison of the models.
    table
        Results table behind it.
    ui
        Address of MLflow's user interface.
    """
    order = order_of(comparison)
    places = {model: place for place, model in enumerate(order)}
    failed = _failed(table, places)
    return {
        "ui": ui,
        "models": list(order),
        "tasks": [_task(task, places, failed.get(task.task, [])) for task in comparison.tasks],
        "across": _across(comparison, places),
    }


def order_of(comparison: Comparison) -> tuple[str, ...]:
    """Return the models, best first as far as they are ranked."""
    ranks = comparison.across.ranks
    ranked = ranks.order if ranks is not None else ()
    return (*ranked, *(model for model in comparison.models if model not in ranked))


def letter_of(verdict: Verdict, advantage: float | None) -> str:
    """Return the letter of a verdict on two models, by the advantage of the first one."""
    if verdict in LETTERS:
        return LETTERS[verdict]
    return (FIRST if (advantage or 0.0) > 0 else SECOND)[verdict]


def short(value: float | None) -> float | None:
    """Return a number with five significant digits."""
    return None if value is None else float(f"{value:.5g}")


def _task(task: TaskComparison, places: Mapping[str, int], failed: Sequence[list[Any]]) -> dict[str, Any]:
    cells = [[places[cell.model], list(cell.seeds), list(cell.scores), list(cell.run_ids)] for cell in task.cells]
    return {
        "name": task.task,
        "metric": task.metric,
        "direction": str(task.direction),
        "cells": cells,
        "failed": failed,
        "pairs": _pairs(task.pairs, places),
    }


def _pairs(pairs: Iterable[PairComparison], places: Mapping[str, int]) -> dict[str, Any]:
    """Return columns: numbers of both models, letters, mean advantage with its interval, adjusted p, seeds, remarks."""
    rows = [
        (
            places[pair.first],
            places[pair.second],
            letter_of(pair.verdict, pair.effects.mean.mean),
            short(pair.effects.mean.mean),
            short(pair.effects.mean.low),
            short(pair.effects.mean.high),
            short(pair.p_adjusted),
            pair.n_pairs,
            _remark(pair),
        )
        for pair in pairs
    ]
    names = ("a", "b", "v", "d", "low", "high", "p", "n", "note")
    columns: dict[str, Any] = {name: [row[place] for row in rows] for place, name in enumerate(names)}
    columns["v"] = "".join(columns["v"])
    # Most pairs have no remark.
    columns["note"] = {str(place): note for place, note in enumerate(columns["note"]) if note}
    return columns


def _remark(pair: PairComparison) -> str:
    seeds = pair.seeds_for_observed
    plan = f"{seeds} seeds to find it" if seeds is not None and pair.verdict is Verdict.undetermined else ""
    return "; ".join(filter(None, [*pair.remarks, plan]))


def _across(comparison: Comparison, places: Mapping[str, int]) -> dict[str, Any]:
    rows = [
        (
            places[pair.first],
            places[pair.second],
            letter_of(pair.verdict, pair.wins - pair.losses),
            pair.wins,
            pair.ties,
            pair.losses,
            short(pair.p_adjusted),
            short(pair.nemenyi_p),
        )
        for pair in comparison.across.pairs
    ]
    names = ("a", "b", "v", "wins", "ties", "losses", "p", "nemenyi")
    columns: dict[str, Any] = {name: [row[place] for row in rows] for place, name in enumerate(names)}
    return {**columns, "v": "".join(columns["v"])}


def _failed(table: pd.DataFrame, places: Mapping[str, int]) -> dict[str, list[list[Any]]]:
    """Return task -> [model, seed, run, reason] of each failed cell without a score."""
    found: dict[str, list[list[Any]]] = {}
    if "status" not in table.columns or not (table["status"] == "failed").any():
        return found
    has_reasons = {"run_id", "error"} <= set(table.columns)
    reasons = dict(zip(table["run_id"], table["error"], strict=True)) if has_reasons else {}
    for cell in read_cells(table):
        if cell.has_failed and cell.score is None:
            row = [places[cell.label], cell.seed, cell.run_id, str(reasons.get(cell.run_id, ""))]
            found.setdefault(cell.task, []).append(row)
    return found
