"""Pairs of models as the rows of a figure: which ones, in which order, with which marks."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from gnz_track.report.captions import count
from gnz_track.report.sheet import Key
from gnz_track.report.short_names import short_names
from gnz_track.stats.comparison import Comparison, PairComparison, TaskComparison
from gnz_track.stats.verdicts import Verdict

__all__ = ["LOOKS", "PairRows", "choose_rows", "find_tasks", "name_pairs", "verdict_key", "why_no_pairs"]

# Twelve models; a longer list is read by nobody, and is in the tables.
MOST_ROWS = 66
LEFT_TO_RIGHT = "\u200e"
NAME_WIDTH = 104.0
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


@dataclass(frozen=True, kw_only=True)
class PairRows:
    """The rows of one task, from top to bottom; ``n_left_out`` pairs are not among them."""

    task: TaskComparison
    pairs: tuple[PairComparison, ...]
    n_left_out: int


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
            found.append(PairRows(task=task, pairs=pairs, n_left_out=len(task.pairs) - len(pairs)))
    return tuple(found)


def name_pairs(rows: Sequence[PairRows]) -> dict[tuple[str, str], str]:
    """Return the label of each pair."""
    names = sorted({name for row in rows for pair in row.pairs for name in (pair.first, pair.second)})
    shown = short_names(names, NAME_WIDTH, size=NAME_SIZE)
    return {
        (pair.first, pair.second): _subtract(shown[pair.first], shown[pair.second])
        for row in rows
        for pair in row.pairs
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
    models = count(len(comparison.models), "model")
    where = f"task {tasks[0].task}" if len(tasks) == 1 else count(len(tasks), "task")
    return f"No pair of models to compare on {where}: the comparison has {models}, and a pair needs two with scores."


def say_left_out(rows: Sequence[PairRows]) -> str:
    """Return how many pairs are not drawn; empty where all are."""
    n = sum(row.n_left_out for row in rows)
    if not n:
        return ""
    is_cut = any(row.n_left_out and len(row.pairs) == MOST_ROWS for row in rows)
    which = f", the {MOST_ROWS} nearest to it" if is_cut else ""
    return f"Drawn are the pairs with the best model of each task{which}; {count(n, 'other pair')} are in the tables."


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
