"""The section of the page on searches: its tables, and which figures it shows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from gnz_track.report.figures.labels import say_range
from gnz_track.report.figures.searches import (
    draw_budget_ranks,
    draw_expected_best,
    draw_importances,
    draw_search_history,
)
from gnz_track.report.searches import SearchFacts
from gnz_track.report.tables.searches import search_table, write_best
from gnz_track.report.tables.table import Marked
from gnz_track.report.tuned_models import SearchSummary, write_seconds
from gnz_track.stats.comparison.choices import TESTS
from gnz_track.stats.search.importance import HYPERPARAMETERS
from gnz_track.store.searches import SearchRecord
from gnz_track.text import plural

__all__ = ["SearchSection", "describe_search", "draw_search_figures", "make_search_section", "write_search_methods"]

MOST_TASKS, MOST_MODELS, MOST_SEARCHES = 60, 12, 12
# (name of its files, title, figure).
Drawn = tuple[str, str, Any]


@dataclass(frozen=True, kw_only=True)
class SearchSection:
    """Texts of the page on searches."""

    sentence: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str | Marked, ...], ...]
    chosen: tuple[tuple[str, str], ...]
    details: tuple[tuple[str, tuple[str, ...]], ...]
    warnings: tuple[str, ...]
    methods: str


def make_search_section(summary: SearchSummary | None) -> SearchSection | None:
    """Return the section on searches; None where nothing was searched."""
    if summary is None:
        return None
    sentence, table = summary.sentence, search_table(summary)
    return SearchSection(
        sentence=f"{sentence[:1].upper()}{sentence[1:]}.",
        columns=table.columns,
        rows=table.rows,
        chosen=tuple((one.title, write_best(one) or "nothing: all trials failed") for one in summary.models),
        details=tuple((facts.search.title, tuple(describe_search(facts))) for facts in summary.facts),
        warnings=summary.warnings,
        methods=write_search_methods(summary),
    )


def write_search_methods(summary: SearchSummary) -> str:
    """Return how hyperparameters were chosen, as a paper says it."""
    searches = [facts.search for facts in summary.facts]
    samplers = sorted({_with_version(search) for search in searches})
    n_trials = say_range(len(search.trials) for search in searches)
    n_seeds = say_range(len(search.tuning_seeds) for search in searches)
    kinds = {search.kind for search in searches}
    seeds = "the seed that is reported" if kinds == {"nested"} else "seeds that are not reported"
    n_failed = sum(search.n_failed for search in searches)
    failed = f"; {plural(n_failed, 'trial')} failed and counted against the budget" if n_failed else ""
    return (
        f"Hyperparameters of the models marked as tuned were chosen by {' and '.join(samplers)} over "
        f"{len(searches)} search{'' if len(searches) == 1 else 'es'} of {n_trials} trials, the default "
        f"configuration first, by the mean validation score over {n_seeds} seed{'' if n_seeds == '1' else 's'} "
        f"({seeds}); test labels were not part of any trial{failed}. Default and tuned were compared by "
        f"{TESTS[summary.choices.test]} over the reporting seeds, p adjusted ({summary.choices.adjustment}) over "
        f"{plural(sum(bool(one.verdict) for one in summary.models), 'pair')}. The expected best validation score of n "
        "trials is the unbiased estimate without replacement [Tang et al., ACL 2020]."
    )


def _with_version(search: SearchRecord) -> str:
    version = search.versions.get("optuna", "")
    return f"the sampler {search.sampler}" + (f" of Optuna {version}" if version else "")


def describe_search(facts: SearchFacts) -> Iterator[str]:
    """Yield sentences on one search: what it was, what a smaller budget finds, what the scores hang on."""
    search = facts.search
    budget = ", ".join(f"{amount:g} {name}" for name, amount in sorted(search.budget.items()) if amount is not None)
    versions = " ".join(f"{name} {version}" for name, version in sorted(search.versions.items()) if version)
    pruner = "" if search.pruner in {"", "none"} else f", pruner {search.pruner}"
    yield (
        f"{search.kind}, sampler {search.sampler}{pruner}, seed {search.study_seed}, tuning seeds "
        f"{', '.join(map(str, search.tuning_seeds))}; budget {budget}; space {search.space_digest}"
        f"{f'; {versions}' if versions else ''}"
    )
    cost = search.cost
    yield (
        f"{cost['trials']:g} trials, {cost['failed_trials']:g} failed, {cost['epochs']:g} epochs, "
        f"{write_seconds(cost['seconds'])} of wall time"
    )
    if facts.curve.budgets:
        order = "" if facts.is_random else " (in random order, which the sampler did not try them in)"
        yield f"validation {search.metric}: expected {facts.curve}{order}"
    shares = {item.factor: item.share for item in facts.variance.components}
    share = shares.get(HYPERPARAMETERS)
    yield (
        f"hyperparameters account for {share:.0%} of the variance of the validation scores"
        if share is not None
        else f"share of the variance due to hyperparameters: not known ({facts.variance.note})"
    )
    found = [str(one) for one in facts.importances if one.is_found]
    yield f"more than chance: {'; '.join(found)}" if found else "no hyperparameter by itself shows more than chance"


def draw_search_figures(summary: SearchSummary) -> tuple[list[Drawn], list[str]]:
    """Return the figures of searches, and in words those that are not drawn."""
    drawn: list[Drawn] = []
    left_out = []
    models = {model for task in summary.budgets for model in task.curves}
    if len(summary.budgets) > MOST_TASKS or len(models) > MOST_MODELS:
        left_out.append(f"Expected best: there are {len(summary.budgets)} tasks and {len(models)} models")
    else:
        drawn.append(("expected_best", "Expected best against the budget", draw_expected_best(summary.budgets)))
    if 1 < len(summary.ranks.models) <= MOST_MODELS and summary.ranks.budgets:
        drawn.append(("budget_ranks", "Ranks against the budget", draw_budget_ranks(summary.ranks)))
    for place, facts in enumerate(summary.facts[:MOST_SEARCHES]):
        title = facts.search.title
        drawn.append((f"search_history_{place:02}", f"Trials of {title}", draw_search_history(facts)))
        if any(one.share is not None for one in facts.importances):
            drawn.append((f"search_importance_{place:02}", f"Hyperparameters of {title}", draw_importances(facts)))
    rest = len(summary.facts) - MOST_SEARCHES
    if rest > 0:
        left_out.append(f"Trials of a search: drawn for the first {MOST_SEARCHES}, {rest} more are left")
    return drawn, left_out
