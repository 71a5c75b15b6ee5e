"""Default against tuned by the paired verdict, and the summary of all searches: gains, costs, warnings."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from gnz_track.errors import UnknownName
from gnz_track.report.searches import (
    RANDOM_SAMPLERS,
    SearchCells,
    SearchFacts,
    SearchGroup,
    TaskBudgets,
    curve_of,
    find_cells,
    group_searches,
    has_other_winner,
    ranks_by_budget,
    read_facts,
)
from gnz_track.stats.comparison.choices import Choices, value_for
from gnz_track.stats.comparison.compare import compare
from gnz_track.stats.comparison.comparison import PairComparison
from gnz_track.stats.search.expected_best import BudgetRanks
from gnz_track.store.searches import SearchRecord
from gnz_track.text import plural
from gnz_track.types import Direction

__all__ = ["DEFAULT_WON", "SearchSummary", "TunedModel", "compare_tuned", "summarise_searches"]


DEFAULT, TUNED = "default", "tuned"
DEFAULT_WON = "the default is the best of its search"
ALL_FAILED = "all trials failed"


@dataclass(frozen=True, kw_only=True)
class TunedModel:
    """One model on one task with its default and with what its search chose, over the seeds that both have.

    ``advantage`` is that of the tuned one, with its interval and Holm's p over all tuned models. ``validation`` is what
    the search saw of both; the rest is what the search was and what it cost, over all of its trials.
    """

    task: str
    model: str
    metric: str
    direction: Direction
    kind: str
    sampler: str
    n_searches: int
    n_seeds: int
    default: float | None
    tuned: float | None
    advantage: float | None
    low: float | None
    high: float | None
    p_adjusted: float | None
    verdict: str
    note: str
    validation_default: float | None
    validation_tuned: float | None
    budget: Mapping[str, float]
    n_trials: int
    n_failed: int
    epochs: int
    seconds: float
    cpu_seconds: float
    reporting_seconds: float
    best: tuple[tuple[int | None, Mapping[str, Any]], ...]

    @property
    def title(self) -> str:
        """Task and model."""
        return f"{self.task} {self.model}"

    @property
    def cost_ratio(self) -> float | None:
        """Time of the search in multiples of that of the cells that report its winner."""
        return self.seconds / self.reporting_seconds if self.reporting_seconds > 0 else None


def compare_tuned(
    table: pd.DataFrame, searches: Iterable[SearchRecord], choices: Choices | None = None
) -> tuple[TunedModel, ...]:
    """Compare default and tuned cells of each search, paired by seed; the verdicts are those of one family.

    Only cells of the table count: those that a search trained blind, on seeds of its own, are never among them.

    Parameters
    ----------
    table
        Results table.
    searches
        The searches.
    choices
        Choices of the comparison.
    """
    groups = group_searches(searches)
    found = [(group, _cells_of(group, table)) for group in groups]
    names = [f"{group[0].task} \u00b7 {group[0].model} {number}" for number, group in enumerate(groups)]
    pairs = _compare([*zip(names, found, strict=True)], table, choices or Choices())
    return tuple(
        _tuned_model(group, cells, table, pairs.get(name)) for name, (group, cells) in zip(names, found, strict=True)
    )


def _cells_of(group: SearchGroup, table: pd.DataFrame) -> SearchCells:
    """Return the cells of all searches of a group together."""
    default: dict[int, int] = {}
    tuned: dict[int, int] = {}
    for search in group:
        of_default, of_tuned = find_cells(table, search)
        default |= of_default
        tuned |= of_tuned
    return default, tuned


def _compare(
    named: Sequence[tuple[str, tuple[SearchGroup, SearchCells]]], table: pd.DataFrame, choices: Choices
) -> dict[str, PairComparison]:
    """Return the pair of each group that has one; where the default won there is no difference to test."""
    rows, margins = [], {}
    for name, (group, cells) in named:
        first = group[0]
        if not has_other_winner(group):
            continue
        margins[name] = value_for(choices.margin, first.task, first.metric)
        for model, places in zip((DEFAULT, TUNED), cells, strict=True):
            rows += [{**table.iloc[place].to_dict(), "task": name, "model": model} for place in places.values()]
    if not rows:
        return {}
    frame = pd.DataFrame(rows).assign(hyperparameters="{}", search="")
    if not ((frame["status"] == "finished") & frame["score"].notna()).any():
        return {}
    margin = {name: value for name, value in margins.items() if value is not None} or None
    chosen = dataclasses.replace(choices, family="all", margin=margin)
    return {pair.task: pair for pair in compare(frame, chosen).pairs}


def _tuned_model(
    group: SearchGroup, cells: SearchCells, table: pd.DataFrame, pair: PairComparison | None
) -> TunedModel:
    first = group[0]
    default_scores, tuned_scores = (_scores(table, places) for places in cells)
    common = sorted(set(default_scores) & set(tuned_scores))
    costs = [search.cost for search in group]
    tuned = table.iloc[list(cells[1].values())]
    facts: dict[str, Any] = {name: sum(cost[name] for cost in costs) for name in ("epochs", "seconds", "cpu_seconds")}
    return TunedModel(
        task=first.task,
        model=first.model,
        metric=first.metric,
        direction=first.direction,
        kind=first.kind,
        sampler=first.sampler,
        n_searches=len(group),
        n_seeds=len(common),
        default=_mean(default_scores, common),
        tuned=_mean(tuned_scores, common),
        **_verdict(group, pair),
        validation_default=_mean_of(_score_of(search, 0) for search in group),
        validation_tuned=_mean_of(search.best_score for search in group),
        budget=first.budget,
        n_trials=sum(len(search.trials) for search in group),
        n_failed=sum(search.n_failed for search in group),
        reporting_seconds=float(tuned["seconds"].sum()),
        best=tuple((search.seed, dict(search.best)) for search in group),
        **facts,
    )


def _verdict(group: SearchGroup, pair: PairComparison | None) -> dict[str, Any]:
    found: dict[str, Any] = {"advantage": None, "low": None, "high": None, "p_adjusted": None, "verdict": ""}
    if not any(search.best for search in group):
        return {**found, "note": ALL_FAILED}
    if not has_other_winner(group):
        return {**found, "note": DEFAULT_WON}
    if pair is None:
        return {**found, "note": "its default and its winner share no finished seed"}
    mean, sign = pair.effects.mean, 1.0 if pair.first == TUNED else -1.0
    ends = [None if end is None else sign * end + 0.0 for end in (mean.low, mean.high)]
    low, high = ends if sign > 0 else ends[::-1]
    return {
        "advantage": None if mean.mean is None else sign * mean.mean + 0.0,
        "low": low,
        "high": high,
        "p_adjusted": pair.p_adjusted,
        "verdict": str(pair.verdict),
        "note": "; ".join(pair.remarks),
    }


def _scores(table: pd.DataFrame, places: Mapping[int, int]) -> dict[int, float]:
    rows = {seed: table.iloc[place] for seed, place in places.items()}
    is_known = {seed: row["status"] == "finished" and pd.notna(row["score"]) for seed, row in rows.items()}
    return {seed: float(row["score"]) for seed, row in rows.items() if is_known[seed]}


def _mean(scores: Mapping[int, float], seeds: Iterable[int]) -> float | None:
    return _mean_of(scores[seed] for seed in seeds)


def _mean_of(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return float(np.mean(known)) if known else None


def _score_of(search: SearchRecord, number: int) -> float | None:
    return next((trial.score for trial in search.trials if trial.number == number), None)


@dataclass(frozen=True, kw_only=True, eq=False)
class SearchSummary:
    """Tuned models against their defaults, and the searches behind them; ``choices`` say how they were compared."""

    models: tuple[TunedModel, ...]
    facts: tuple[SearchFacts, ...]
    budgets: tuple[TaskBudgets, ...]
    ranks: BudgetRanks
    warnings: tuple[str, ...]
    choices: Choices

    @property
    def sentence(self) -> str:
        """Count of the models that tuning helped, and the cost of all searches."""
        n_up = sum(one.verdict == "different" and (one.advantage or 0.0) > 0 for one in self.models)
        n_down = sum(one.verdict == "different" and (one.advantage or 0.0) < 0 for one in self.models)
        tested = [one for one in self.models if one.verdict]
        seconds = sum(one.seconds for one in self.models)
        said = f"of {len(self.models)} tuned models {n_up} are better than their default and {n_down} are worse"
        n_alike, n_kept = len(tested) - n_up - n_down, sum(one.note == DEFAULT_WON for one in self.models)
        rest = f"; {plural(n_alike, 'pair')} {'is' if n_alike == 1 else 'are'} not told apart" if n_alike else ""
        kept = f"; for {plural(n_kept, 'model')} {DEFAULT_WON}" if n_kept else ""
        return f"{said}{rest}{kept}; the searches took {write_seconds(seconds)} of wall time"

    def facts_of(self, task: str, model: str, seed: int | None) -> SearchFacts:
        """Return the facts of one search.

        Parameters
        ----------
        task, model
            Names of the search.
        seed
            Seed of a nested search; without it the first one.
        """
        for facts in self.facts:
            search = facts.search
            if (search.task, search.model) == (task, model) and seed in (None, search.seed):
                return facts
        wanted = f"{task} {model}" + ("" if seed is None else f" s{seed}")
        raise UnknownName("search", wanted, [facts.search.title for facts in self.facts])


def summarise_searches(
    table: pd.DataFrame, searches: Iterable[SearchRecord], choices: Choices | None = None
) -> SearchSummary:
    """Return the summary of searches, against the reporting cells of a results table.

    Parameters
    ----------
    table
        Results table with the reporting cells.
    searches
        The searches.
    choices
        Choices of the comparison.
    """
    found = tuple(searches)
    facts = tuple(read_facts(search) for search in found)
    return SearchSummary(
        models=compare_tuned(table, found, choices),
        facts=facts,
        budgets=tuple(_budgets(found)),
        ranks=ranks_by_budget(found),
        warnings=(*_unequal_budgets(found), *_borders(facts)),
        choices=choices or Choices(),
    )


def write_seconds(seconds: float) -> str:
    """Write a duration in the unit in which it has few digits.

    >>> write_seconds(3.14), write_seconds(90), write_seconds(7200)
    ('3.1 s', '90 s', '2.0 h')
    """
    if seconds >= 3600:
        return f"{seconds / 3600:.1f} h"
    return f"{seconds / 60:.0f} min" if seconds >= 600 else f"{seconds:.1f} s" if seconds < 10 else f"{seconds:.0f} s"


def _budgets(searches: tuple[SearchRecord, ...]) -> Iterator[TaskBudgets]:
    groups = group_searches(searches)
    for task in sorted({group[0].task for group in groups}):
        own = [group for group in groups if group[0].task == task]
        first = own[0][0]
        learners = [group[0].model for group in own if group[0].sampler not in RANDOM_SAMPLERS]
        yield TaskBudgets(
            task=task,
            metric=first.metric,
            direction=first.direction,
            curves={group[0].model: curve_of(group) for group in own},
            learners=tuple(learners),
        )


def _unequal_budgets(searches: tuple[SearchRecord, ...]) -> Iterator[str]:
    """Yield a sentence for each task whose models were not searched alike."""
    for task in sorted({search.task for search in searches}):
        own = [search for search in searches if search.task == task]
        allowed = {_say_budget(search): search.model for search in reversed(own)}
        if len(allowed) > 1:
            listed = "; ".join(f"{model}: {budget}" for budget, model in sorted(allowed.items()))
            yield f"{task}: models were searched with unequal budgets ({listed})"
        spent = {len(search.trials): search.model for search in reversed(own)}
        if len(allowed) == 1 and len(spent) > 1:
            listed = ", ".join(f"{model} {n}" for n, model in sorted(spent.items()))
            yield f"{task}: of equal budgets, models used different numbers of trials ({listed})"


def _borders(facts: tuple[SearchFacts, ...]) -> Iterator[str]:
    for one in facts:
        for words in one.warnings:
            yield f"{one.search.title}: {words}"


def _say_budget(search: SearchRecord) -> str:
    return ", ".join(f"{amount:g} {name}" for name, amount in sorted(search.budget.items()) if amount is not None)
