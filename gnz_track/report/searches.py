"""Facts of a search by its trials, and the cells of a results table that belong to it."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from gnz_track.stats.estimates.variance import Decomposition
from gnz_track.stats.search.borders import Border, check_border, place_in_range
from gnz_track.stats.search.expected_best import BudgetRanks, ExpectedBest, expected_best, rank_by_budget
from gnz_track.stats.search.importance import Importance, decompose_trials, rank_hyperparameters
from gnz_track.store.searches import SearchRecord, TrialRecord, rising_best
from gnz_track.types import Direction, tuned_name

__all__ = [
    "RANDOM_SAMPLERS",
    "SearchCells",
    "SearchFacts",
    "SearchGroup",
    "TaskBudgets",
    "borders_of",
    "curve_of",
    "find_cells",
    "group_searches",
    "has_other_winner",
    "ranks_by_budget",
    "read_facts",
]

# Their trials do not depend on those before, so that any order of them is as good as any other.
RANDOM_SAMPLERS = frozenset({"random", "qmc", "grid"})
Values = Mapping[str, Any]
# The searches for one model on one task: one, or where they are nested one for each seed.
SearchGroup = tuple[SearchRecord, ...]


# Places of rows in a table, by seed: cells that are trained as the default, and as the winner of a search.
SearchCells = tuple[Mapping[int, int], Mapping[int, int]]


def has_other_winner(group: SearchGroup) -> bool:
    """Tell whether any search of a group found something else than the default."""
    return any(search.best and dict(search.best) != dict(search.default) for search in group)


def group_searches(searches: Iterable[SearchRecord]) -> tuple[SearchGroup, ...]:
    """Return the searches by task and model; nested ones that differ in nothing but the seed are together."""
    found: dict[tuple[str, ...], list[SearchRecord]] = {}
    for search in searches:
        name = search.name if search.seed is None else f"{search.space_digest} {search.sampler} {search.protocol}"
        key = (search.task, search.model, search.suite, search.sweep, search.kind, name)
        found.setdefault(key, []).append(search)
    return tuple(tuple(group) for _, group in sorted(found.items()))


def find_cells(table: pd.DataFrame, search: SearchRecord) -> SearchCells:
    """Return the rows of a search in a results table.

    Cells of its model are those of the default where they change nothing of what was searched. Tuned ones are those
    that bear the name of the search; where a cell had been trained before, by another search that found the same, it
    is known by its values.
    """
    wanted = (table["task"] == search.task) & (table["protocol"] == search.protocol)
    if search.seed is not None:
        wanted &= table["seed"] == search.seed
    default: dict[int, int] = {}
    found: dict[int, int] = {}
    by_values: dict[int, int] = {}
    tuned = tuned_name(search.model)
    for place in wanted.to_numpy().nonzero()[0].tolist():
        row = table.iloc[place]
        seed, values = int(row["seed"]), _values_of_cell(row["hyperparameters"], search)
        if row["model"] == search.model and values == dict(search.default):
            default.setdefault(seed, place)
        elif row["model"] == tuned and row["search"] == search.name:
            found.setdefault(seed, place)
        elif row["model"] == tuned and values == dict(search.best):
            by_values.setdefault(seed, place)
    return default, {**by_values, **found} if search.best else {}


def _values_of_cell(hyperparameters: str, search: SearchRecord) -> dict[str, Any]:
    """Return the values that a cell has of what was searched; what it does not name has its default."""
    named = json.loads(hyperparameters or "{}")
    return {**search.default, **{name: value for name, value in named.items() if name in search.space}}


@dataclass(frozen=True, kw_only=True)
class SearchFacts:
    """One search, and what its trials tell."""

    search: SearchRecord
    curve: ExpectedBest
    importances: tuple[Importance, ...]
    variance: Decomposition
    borders: tuple[Border, ...]

    @property
    def is_random(self) -> bool:
        """Whether its trials do not depend on those before."""
        return self.search.sampler in RANDOM_SAMPLERS

    @property
    def rises(self) -> tuple[tuple[int, float], ...]:
        """(number, score) of each trial that was better than all before it."""
        return tuple(rising_best(self.search))

    @property
    def warnings(self) -> tuple[str, ...]:
        """Sentences on the winner's place, as far as the search itself takes it for a border."""
        known = {border.name: border for border in self.borders}
        return tuple(
            str(known[name]) if name in known else f"the winner's {name} is at the end of its range"
            for name in self.search.borders
        )


@dataclass(frozen=True, kw_only=True)
class TaskBudgets:
    """The curves of the models that were searched on one task; ``learners`` are those whose sampler learns."""

    task: str
    metric: str
    direction: Direction
    curves: Mapping[str, ExpectedBest]
    learners: tuple[str, ...] = ()


def read_facts(search: SearchRecord) -> SearchFacts:
    """Return what the trials of a search tell."""
    trials = search.complete
    values = [trial.hyperparameters for trial in trials]
    scores = [trial.score for trial in trials if trial.score is not None]
    return SearchFacts(
        search=search,
        curve=expected_best(trial_scores(search), search.direction),
        importances=rank_hyperparameters(values, scores, search.direction, seed=search.study_seed),
        variance=decompose_trials([trial.seed_scores for trial in search.trials]),
        borders=borders_of(search),
    )


def trial_scores(search: SearchRecord) -> list[float]:
    """Return the scores of all trials, by number; NaN where one failed or was cut short."""
    known = {trial.number: trial.score for trial in search.complete}
    ordered = sorted(search.trials, key=lambda trial: trial.number)
    return [math.nan if (score := known.get(trial.number)) is None else score for trial in ordered]


def curve_of(group: SearchGroup) -> ExpectedBest:
    """Return the curve of a group: that of its search, or the mean over nested ones at the budgets that all had."""
    curves = [expected_best(trial_scores(search), search.direction) for search in group]
    if len(curves) == 1:
        return curves[0]
    common = sorted(set.intersection(*(set(curve.budgets) for curve in curves)))
    at = [[curve.budgets.index(n) for n in common] for curve in curves]

    def mean(name: str) -> tuple[float, ...]:
        rows = [[getattr(curve, name)[place] for place in places] for curve, places in zip(curves, at, strict=True)]
        return tuple(np.mean(rows, axis=0).tolist())

    return ExpectedBest(
        direction=curves[0].direction,
        alpha=curves[0].alpha,
        n_trials=min(curve.n_trials for curve in curves),
        n_failed=sum(curve.n_failed for curve in curves),
        budgets=tuple(common),
        **{name: mean(name) for name in ("means", "lows", "highs", "chances")},
    )


def ranks_by_budget(searches: Iterable[SearchRecord]) -> BudgetRanks:
    """Return the mean ranks of the searched models as a function of the budget; a nested search counts as a task."""
    scores: dict[str, dict[str, list[float]]] = {}
    directions: dict[str, Direction] = {}
    for search in searches:
        task = search.task if search.seed is None else f"{search.task} s{search.seed}"
        scores.setdefault(task, {})[search.model] = trial_scores(search)
        directions[task] = search.direction
    return rank_by_budget(scores, directions)


def borders_of(search: SearchRecord) -> tuple[Border, ...]:
    """Return where the winner sits on the border of its space; words without an order have no border."""
    found = []
    for name, dimension in search.space.items():
        trials = [trial for trial in search.complete if name in trial.hyperparameters]
        border = _border(name, dimension, trials, search) if name in search.best else None
        found += [border] if border is not None else []
    return tuple(found)


def _border(name: str, dimension: Any, trials: Sequence[TrialRecord], search: SearchRecord) -> Border | None:
    choices = dimension.get("choices") if isinstance(dimension, Mapping) else dimension
    placed = _in_choices(choices) if choices else _in_range(dimension)
    if placed is None:
        return None
    place, n_choices = placed
    values = [trial.hyperparameters[name] for trial in trials]
    winner = place(search.best[name])
    scored = [
        (spot, trial.score) for value, trial in zip(values, trials, strict=True) if (spot := place(value)) is not None
    ]
    if winner is None:
        return None
    spots, scores = [spot for spot, _ in scored], [score for _, score in scored if score is not None]
    return check_border(
        name, spots, scores, search.direction, winner=winner, n_choices=n_choices, seed=search.study_seed
    )


def _in_choices(choices: Any) -> tuple[Any, int] | None:
    """Return the function from a value to its place among choices in order, and how many there are."""
    if isinstance(choices, str) or not isinstance(choices, Sequence) or not all(map(_is_number, choices)):
        return None
    ordered = sorted(choices)
    return lambda value: ordered.index(value) / max(1, len(ordered) - 1) if value in ordered else None, len(ordered)


def _in_range(dimension: Any) -> tuple[Any, int] | None:
    """Return the function from a value to its place in a range, on the scale of drawing."""
    if not isinstance(dimension, Mapping) or not all(_is_number(dimension.get(end)) for end in ("low", "high")):
        return None
    low, high = dimension["low"], dimension["high"]
    is_log = bool(dimension.get("log") or dimension.get("is_log"))

    def place(value: Any) -> float | None:
        # A default may lie outside of what was searched.
        return place_in_range(value, low, high, is_log=is_log) if _is_number(value) and low <= value <= high else None

    return (place, 0) if low < high else None


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
