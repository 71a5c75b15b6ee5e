"""Data of the page: the tables that stand on it, and the runs and pairs that its script shows on demand."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd
from markupsafe import Markup

from gnz_track.report.figures.labels import ARROWS, show_controls
from gnz_track.stats.comparison.cells import read_cells
from gnz_track.stats.comparison.comparison import CellSummary, Comparison, PairComparison, TaskComparison, Verdict

__all__ = [
    "NOT_RUN",
    "ScoreCell",
    "TaskSection",
    "embed_json",
    "make_page_data",
    "make_sections",
    "missing_of",
    "order_of",
    "rank_rows",
]

# One letter for each verdict; a pair that differs says which model is better.
LETTERS = {
    Verdict.equivalent: "e",
    Verdict.undetermined: "u",
    Verdict.identical: "i",
    Verdict.nothing: "n",
}
NOT_RUN = "not run on this task"
FIRST, SECOND = {Verdict.different: "A", Verdict.trivial: "a"}, {Verdict.different: "B", Verdict.trivial: "b"}
# Within a script, these end it, or a line of it, whatever stands around them.
ESCAPES = str.maketrans({"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029"})


@dataclass(frozen=True, kw_only=True)
class ScoreCell:
    """One model on one task, as texts; ``task`` and ``model`` are its numbers, by which the page finds its runs."""

    task: int
    model: int
    name: str
    mean: str
    value: float | None
    interval: str
    sd: str
    counts: str
    behind: str
    p: str
    verdict: str
    is_best: bool
    is_level: bool
    is_short: bool


@dataclass(frozen=True, kw_only=True)
class TaskSection:
    """One task: its heading, the line in words, its cells, best first, and how many pairs it has."""

    place: int
    task: str
    metric: str
    direction: str
    line: str
    cells: tuple[ScoreCell, ...]
    n_pairs: int
    not_planned: tuple[str, ...]
    by_model: Mapping[int, ScoreCell]


def make_sections(comparison: Comparison) -> list[TaskSection]:
    """Return a section for each task."""
    places = {model: place for place, model in enumerate(order_of(comparison))}
    return [_section(place, task, places) for place, task in enumerate(comparison.tasks)]


def rank_rows(comparison: Comparison) -> list[tuple[str, int, str, int, int, int]]:
    """Return (model, its number, mean rank, pairs across tasks that it wins, loses, and that are undetermined)."""
    ranks = comparison.across.ranks
    if ranks is None or ranks.n_tasks < 1:
        return []
    means = dict(zip(ranks.models, ranks.mean_ranks, strict=True))
    counts: dict[str, list[int]] = {model: [0, 0, 0] for model in ranks.order}
    for pair in comparison.across.pairs:
        for model, ahead in ((pair.first, pair.wins - pair.losses), (pair.second, pair.losses - pair.wins)):
            if model in counts:
                is_found = str(pair.verdict) in {"different", "trivial"}
                counts[model][2 if not is_found else 0 if ahead > 0 else 1] += 1
    return [(model, place, f"{means[model]:.2f}", *counts[model]) for place, model in enumerate(ranks.order)]  # type: ignore[misc]


def missing_of(comparison: Comparison) -> Iterator[tuple[str, str, str]]:
    """Yield (task, model, what is missing) of each cell that was planned and is not whole, and of those not planned."""
    for task in comparison.tasks:
        for cell in task.cells:
            if cell.n_finished < cell.n_planned:
                yield task.task, cell.model, f"{cell.n_failed} failed, {cell.n_missing} missing of {cell.n_planned}"
        for model in task.not_planned:
            yield task.task, model, NOT_RUN


def write_number(value: float | None) -> str:
    """Write a number with four significant digits; nothing where there is none."""
    return "" if value is None else f"{value:.4g}"


def _section(place: int, task: TaskComparison, places: Mapping[str, int]) -> TaskSection:
    with_best = {
        (pair.second if pair.first == task.best else pair.first): pair
        for pair in task.pairs
        if task.best in {pair.first, pair.second}
    }
    made = [_cell(cell, task, place, places[cell.model], with_best.get(cell.model)) for cell in task.cells]
    return TaskSection(
        place=place,
        task=task.task,
        metric=task.metric,
        direction=ARROWS[task.direction],
        line=str(task).removeprefix(f"{task.task} ({task.metric}, {task.direction}): "),
        cells=tuple(_best_first(made, is_up=str(task.direction) == "up")),
        n_pairs=len(task.pairs),
        not_planned=task.not_planned,
        by_model={cell.model: cell for cell in made},
    )


def _best_first(cells: Sequence[ScoreCell], *, is_up: bool) -> list[ScoreCell]:
    def key(cell: ScoreCell) -> tuple[bool, float]:
        value = cell.value if cell.value is not None else 0.0
        return cell.value is None, -value if is_up else value

    return sorted(cells, key=key)


def _cell(cell: CellSummary, task: TaskComparison, place: int, model: int, pair: PairComparison | None) -> ScoreCell:
    low, high = cell.interval.low, cell.interval.high
    is_best = cell.model == task.best
    found: dict[str, Any] = {"behind": "", "p": "", "verdict": "best" if is_best else ""}
    if pair is not None and not is_best:
        mean = pair.effects.mean.mean
        behind = mean if pair.first == task.best or mean is None else -mean
        found = {
            "behind": write_number(behind),
            "p": "no p" if pair.p_adjusted is None else f"{pair.p_adjusted:.3g}",
            "verdict": str(pair.verdict),
        }
    return ScoreCell(
        task=place,
        model=model,
        name=cell.model,
        mean=write_number(cell.mean) or "no score",
        value=cell.mean,
        interval="" if low is None or high is None else f"{write_number(low)} to {write_number(high)}",
        sd=write_number(cell.sd),
        counts=f"{cell.n_finished} of {cell.n_planned}",
        is_best=is_best,
        is_level=cell.model in task.not_distinguishable,
        is_short=cell.n_finished < cell.n_planned,
        **found,
    )


def embed_json(data: object) -> Markup:
    """Return data as JSON that may stand in a script element, whatever texts it holds."""
    text = json.dumps(show_controls(data), separators=(",", ":"), allow_nan=False, ensure_ascii=False)
    # Halves of characters have no UTF-8.
    return Markup(text.encode("utf-8", "replace").decode().translate(ESCAPES))  # noqa: S704  (escaped just above)


def make_page_data(comparison: Comparison, table: pd.DataFrame, *, ui: str) -> dict[str, Any]:
    """Return models, and by task their runs and pairs, models by number; numbers of pairs have five digits.

    Of the models the first ``n_ranked`` have a mean rank.

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
        "n_ranked": len(_ranked(comparison)),
        "tasks": [_task(task, places, failed.get(task.task, [])) for task in comparison.tasks],
        "across": _across(comparison, places),
    }


def order_of(comparison: Comparison) -> tuple[str, ...]:
    """Return the models that are ranked, best first, and then those that are not."""
    ranked = _ranked(comparison)
    return (*ranked, *(model for model in comparison.models if model not in ranked))


def _ranked(comparison: Comparison) -> tuple[str, ...]:
    ranks = comparison.across.ranks
    return tuple(ranks.order) if ranks is not None else ()


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
