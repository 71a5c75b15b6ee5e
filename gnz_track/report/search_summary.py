"""All that a report says of searches, in one record: gains and costs, what the trials tell, what to beware of."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import pandas as pd

from gnz_track.report.captions import count
from gnz_track.report.search_cells import group_searches
from gnz_track.report.search_facts import (
    RANDOM_SAMPLERS,
    SearchFacts,
    TaskBudgets,
    curve_of,
    ranks_by_budget,
    read_facts,
)
from gnz_track.report.tuned_models import DEFAULT_WON, TunedModel, compare_tuned
from gnz_track.stats.choices import Choices
from gnz_track.stats.expected_best import BudgetRanks
from gnz_track.store.search_record import SearchRecord

__all__ = ["SearchSummary", "summarise_searches"]


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
        rest = f"; {count(n_alike, 'pair')} {'is' if n_alike == 1 else 'are'} not told apart" if n_alike else ""
        kept = f"; for {count(n_kept, 'model')} {DEFAULT_WON}" if n_kept else ""
        return f"{said}{rest}{kept}; the searches took {write_seconds(seconds)} of wall time"


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
    for task in sorted({group.first.task for group in groups}):
        own = [group for group in groups if group.first.task == task]
        first = own[0].first
        learners = [group.first.model for group in own if group.first.sampler not in RANDOM_SAMPLERS]
        yield TaskBudgets(
            task=task,
            metric=first.metric,
            direction=first.direction,
            curves={group.first.model: curve_of(group) for group in own},
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
