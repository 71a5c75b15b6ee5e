"""What a report says of searches: which there were, what they gained, and their figures."""

from __future__ import annotations

import abc
import logging
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from gnz_track.errors import NothingToCompare, StoreUnusable, UnknownName
from gnz_track.records import to_json
from gnz_track.report.latex_tables import LatexLook
from gnz_track.report.report_statistics import write_text
from gnz_track.report.search_summary import SearchSummary, summarise_searches
from gnz_track.report.search_tables import search_frame, write_searches_latex
from gnz_track.stats.choices import Choices
from gnz_track.store.address import Address
from gnz_track.store.search_reader import read_searches
from gnz_track.store.search_record import SearchRecord

if TYPE_CHECKING:
    from gnz_track.report.canvas import HouseFigure
    from gnz_track.report.search_facts import SearchFacts

__all__ = ["ReportSearches", "searches_of"]

LOG = logging.getLogger(__name__)


class ReportSearches(abc.ABC):
    """The searches behind the tuned models of a report."""

    table: pd.DataFrame
    config: dict[str, Any]
    choices: Choices
    addresses: tuple[Address, ...]
    _searches: tuple[SearchRecord, ...] | None
    _summaries: dict[str, SearchSummary]

    @property
    def searches(self) -> tuple[SearchRecord, ...]:
        """The searches of the sweeps in the table, each with all of its trials; read from the store on demand."""
        if self._searches is None:
            sweep = "" if self.config.get("merged") else str(self.config.get("sweep", ""))
            try:
                self._searches = searches_of(self.table, self.addresses, sweep=sweep)
            except StoreUnusable as error:
                # Scores are here already: a report of them needs no store.
                LOG.warning("searches are left out: %s", error)
                self._searches = ()
        return self._searches

    @searches.setter
    def searches(self, given: Sequence[SearchRecord]) -> None:
        self._searches = tuple(given)
        self._summaries.clear()

    @property
    def search_summary(self) -> SearchSummary | None:
        """Default against tuned, what the trials tell, and what to beware of; None where nothing was searched."""
        if not self.searches:
            return None
        key = to_json(self.choices)
        if key not in self._summaries:
            self._summaries[key] = summarise_searches(self.table, self.searches, self.choices)
        return self._summaries[key]

    def tuning(self) -> pd.DataFrame:
        """Return a row per tuned model: its default, its gain with the paired verdict, and what its search cost."""
        return search_frame(self._known_summary())

    def tuning_to_latex(self, path: str | Path, *, caption: str | None = None, label: str | None = None) -> Path:
        """Write the table of tuned models against their defaults.

        Parameters
        ----------
        path
            File to write.
        caption, label
            LaTeX of the author's own; with one of them the table floats.
        """
        return write_text(path, write_searches_latex(self._known_summary(), LatexLook(caption=caption, label=label)))

    def plot_expected_best(self) -> HouseFigure:
        """Draw the expected best validation score against the number of trials, a panel per task."""
        from gnz_track.report.budget_curves import draw_expected_best

        return draw_expected_best(self._known_summary().budgets)

    def plot_rank_by_budget(self) -> HouseFigure:
        """Draw the mean ranks of the searched models against the number of trials."""
        from gnz_track.report.budget_curves import draw_budget_ranks

        return draw_budget_ranks(self._known_summary().ranks)

    def plot_search(self, task: str, model: str, *, seed: int | None = None) -> HouseFigure:
        """Draw the trials of one search, and the best so far.

        Parameters
        ----------
        task, model
            Names of the search.
        seed
            Seed of a nested search.
        """
        from gnz_track.report.search_figures import draw_search_history

        return draw_search_history(self._facts_of(task, model, seed))

    def plot_importance(self, task: str, model: str, *, seed: int | None = None) -> HouseFigure:
        """Draw how much of the validation scores goes with each hyperparameter of one search.

        Parameters
        ----------
        task, model
            Names of the search.
        seed
            Seed of a nested search.
        """
        from gnz_track.report.search_figures import draw_importances

        return draw_importances(self._facts_of(task, model, seed))

    def _known_summary(self) -> SearchSummary:
        summary = self.search_summary
        if summary is None:
            raise NothingToCompare("no search is behind this report; tune its models: gnz tune")
        return summary

    def _facts_of(self, task: str, model: str, seed: int | None) -> SearchFacts:
        known = self._known_summary().facts
        for facts in known:
            search = facts.search
            if (search.task, search.model) == (task, model) and seed in (None, search.seed):
                return facts
        wanted = f"{task} {model}" + ("" if seed is None else f" s{seed}")
        raise UnknownName("search", wanted, [facts.search.title for facts in known])


def searches_of(table: pd.DataFrame, addresses: Sequence[Address], *, sweep: str = "") -> tuple[SearchRecord, ...]:
    """Return the searches of a sweep, or of all sweeps that a table names; only of tasks in the table.

    A tuned cell may have been trained by another sweep, whose search is told by its name then.

    Parameters
    ----------
    table
        Results table.
    addresses
        Stores to look in.
    sweep
        Sweep of the searches; those of the table without one.
    """
    sweeps = [sweep] if sweep else sorted(set(table["sweep"]) - {""})
    found: dict[str, SearchRecord] = {}
    for address in addresses:
        for name in sweeps:
            found |= {search.key: search for search in read_searches(address, sweep=name)}
    known = {search.name for search in found.values()}
    left = table[(table["search"] != "") & ~table["search"].isin(known)]
    for suite, task in sorted(set(zip(left["suite"], left["task"], strict=True))):
        for address in addresses:
            for search in read_searches(address, suite=suite, task=task):
                # Of one search in several sweeps, any tells the same of these cells.
                if search.name in set(left["search"]) - known:
                    known.add(search.name)
                    found[search.key] = search
    return tuple(search for search in found.values() if search.task in set(table["task"]))
