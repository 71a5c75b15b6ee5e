"""The report of a benchmark: a thin facade over a results table and its comparison.

The figures of a report under their published names; Matplotlib is imported when the first one is drawn.

What a report says of searches: which there were, what they gained, and their figures.
"""

from __future__ import annotations

import abc
import logging
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import pandas as pd

from gnz_track.errors import BadValue, NothingToCompare, StoreUnusable, UnknownName
from gnz_track.records import to_json
from gnz_track.report.joining import NotMerged, join_tables
from gnz_track.report.published import ChoiceName, level_of, summary_frame, translate
from gnz_track.report.report_json import ReportParts, read_report, write_report
from gnz_track.report.report_statistics import ReportStatistics, write_text
from gnz_track.report.sources import Source, count_rows, find_audits, read_frame, read_parquet, read_store, with_score
from gnz_track.report.tables.latex import LatexLook
from gnz_track.report.tables.searches import search_frame, write_searches_latex
from gnz_track.report.tuned_models import SearchSummary, summarise_searches
from gnz_track.stats.comparison.choices import Choices, choose
from gnz_track.stats.comparison.compare import compare
from gnz_track.stats.comparison.comparison import Comparison
from gnz_track.store.address import Address
from gnz_track.store.audits import AuditRecord
from gnz_track.store.curves import straighten
from gnz_track.store.past_runs import read_curves
from gnz_track.store.row_filters import Where
from gnz_track.store.searches import SearchRecord, read_searches
from gnz_track.types import Direction

__all__ = ["BenchmarkReport", "ReportFigures", "ReportSearches", "searches_of"]


if TYPE_CHECKING:
    from gnz_track.report.figures.style import HouseFigure


# Level of the bands of learning curves.
BAND = 0.95
PARTS = ("test", "val", "train")


class ReportFigures(abc.ABC):
    """What can be drawn of a report.

    Each figure can be unpacked as ``figure, axes = report.plot()``, as the published package returns it.
    """

    table: pd.DataFrame

    @abc.abstractmethod
    def compare(self, **choices: Any) -> Comparison:
        """Return what the table says under these choices."""

    @property
    @abc.abstractmethod
    def histories(self) -> Mapping[str, Mapping[str, list[Any]]]:
        """``[task][model]`` -> series by seed."""

    def plot(self, *, ci: float = 0.95) -> HouseFigure:
        """Draw the means of all cells with their intervals as bars."""
        from gnz_track.report.figures.bars import draw_bars

        return draw_bars(self.compare(alpha=level_of(ci)))

    def plot_forest(
        self, *, task: str | None = None, ci: float = 0.95, sort_within: bool = True, band: Any = None
    ) -> HouseFigure:
        """Draw the paired differences of each task with their intervals.

        Parameters
        ----------
        task
            Task to draw; all of them without one.
        ci
            Level of the intervals.
        sort_within
            Sort by advantage.
        band
            Margin to shade; True or None shades that of the comparison where one was chosen.
        """
        from gnz_track.report.figures.forest import draw_forest

        shaded = None if isinstance(band, bool) else band
        return draw_forest(self.compare(alpha=level_of(ci)), task=task, sort_within=sort_within, band=shaded)

    def plot_pairwise(
        self,
        *,
        task: str | None = None,
        alpha: float | None = None,
        layout: str = "matrix",
        max_cols: int | None = None,
        method: str | None = None,
    ) -> HouseFigure:
        """Draw all pairs within tasks.

        Parameters
        ----------
        task
            Task to draw; all of them without one.
        alpha
            Level of the tests.
        layout
            ``matrix`` (advantages and adjusted p) or ``list``.
        max_cols
            Most panels side by side.
        method
            Test of a pair: t, wilcoxon or another one.
        """
        from gnz_track.report.figures.pairs import draw_pairs

        comparison = self.compare(alpha=alpha, test=method)
        return draw_pairs(comparison, task=task, layout=layout, max_cols=max_cols)

    def plot_critical_difference(self, alpha: float | None = None, *, posthoc: str | None = None) -> HouseFigure:
        """Draw mean ranks across tasks, and bars over models that are not told apart.

        The pairs are tested one by one (Wilcoxon with Holm); ``posthoc="nemenyi"`` draws Nemenyi's with its ruler.
        """
        from gnz_track.report.figures.critical_difference.content import cd_facts_of
        from gnz_track.report.figures.critical_difference.draw import draw_cd_diagram

        return draw_cd_diagram(cd_facts_of(self.compare(alpha=alpha, posthoc=posthoc)))

    def plot_learning_curves(
        self, *, part: str = "test", ci: float = 0.95, max_cols: int | None = None, ylabel: str | None = None
    ) -> HouseFigure:
        """Draw a series over epochs, a panel per task, with the 95 % interval over seeds at each epoch.

        Parameters
        ----------
        part
            Part of the data: test, val or train.
        ci
            Level of the bands, 0.95.
        max_cols
            Most panels side by side.
        ylabel
            Label of the vertical axes.
        """
        if ci != BAND:
            raise BadValue("ci", ci, f"{BAND} for learning curves")
        if part not in PARTS:
            raise UnknownName("part of the data", part, PARTS)
        from gnz_track.report.figures.learning_curves import draw_learning_curves

        rows = self.table[self.table["direction"].isin(list(Direction))]
        directions = {str(row.task): Direction(row.direction) for row in rows.itertuples()}
        figure = draw_learning_curves(_only(self.histories, part), directions=directions, max_cols=max_cols)
        for text in figure.findobj(_stands_upright) if ylabel is not None else ():
            text.set_text(ylabel)  # type: ignore[attr-defined]
        return figure

    def plot_profiles(self, **choices: Any) -> HouseFigure:
        """Draw the share of runs above each score, on the scale that ``bounds`` declare."""
        from gnz_track.report.figures.profiles import draw_profiles

        return draw_profiles(self.compare(**choices))

    def plot_trade_off(self, cost: str = "") -> HouseFigure:
        """Draw scores against ``cpu_seconds``, ``seconds`` (of the wall) or ``n_parameters``, with the Pareto front."""
        from gnz_track.report.figures.trade_offs import draw_trade_off

        return draw_trade_off(self.compare(), self.table, cost=cost)

    def plot_detectable_effects(self) -> HouseFigure:
        """Draw how small an effect so many seeds detect."""
        from gnz_track.report.figures.seeds_needed import draw_detectable_effects

        return draw_detectable_effects(self.compare())


def _only(histories: Mapping[str, Mapping[str, list[Any]]], part: str) -> dict[str, dict[str, list[Any]]]:
    """Return the series of one part of the data."""
    return {
        task: {
            model: [{name: one[name] for name in one if name.startswith(f"{part}/")} for one in seeds]
            for model, seeds in models.items()
        }
        for task, models in histories.items()
    }


def _stands_upright(artist: Any) -> bool:
    """Tell whether an artist is the label of a vertical axis."""
    return hasattr(artist, "get_text") and artist.get_rotation() == 90.0 and bool(artist.get_text())


if TYPE_CHECKING:
    from gnz_track.report.figures.style import HouseFigure
    from gnz_track.report.searches import SearchFacts


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
        from gnz_track.report.figures.searches import draw_expected_best

        return draw_expected_best(self._known_summary().budgets)

    def plot_rank_by_budget(self) -> HouseFigure:
        """Draw the mean ranks of the searched models against the number of trials."""
        from gnz_track.report.figures.searches import draw_budget_ranks

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
        from gnz_track.report.figures.searches import draw_search_history

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
        from gnz_track.report.figures.searches import draw_importances

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


# Name of a series, such as "test/accuracy" -> one value per recorded epoch.
Series = Mapping[str, tuple[float, ...]]


class BenchmarkReport(ReportStatistics, ReportFigures, ReportSearches, Mapping[str, Mapping[str, Series]]):
    """A results table with its seeds and settings; ``report[task][model]`` is the series of the first seed.

    ``table`` has one row per cell, finished or failed, each with the run that it comes from; it is not to be changed.
    ``choices`` say how it is compared; ``not_merged`` lists runs that could not join it, and why; ``searches`` chose
    the hyperparameters of its tuned models, and are looked up in the store where they are not set.
    """

    ci_method = ChoiceName("interval")
    bootstrap_n = ChoiceName("n_resamples")
    bootstrap_seed = ChoiceName("seed")
    pairwise_method = ChoiceName("test")

    def __init__(
        self,
        table: pd.DataFrame,
        *,
        seeds: tuple[int, ...],
        config: Mapping[str, Any],
        series: Mapping[str, Series] | None = None,
        address: Address | Sequence[Address] | None = None,
        not_merged: tuple[NotMerged, ...] = (),
    ) -> None:
        self.table = table
        self.seeds = seeds
        self.config = dict(config)
        self.choices = Choices()
        self.not_merged = not_merged
        self.addresses = (address,) if isinstance(address, Address) else tuple(address or ())
        self._series = dict(series or {})
        self._compared: dict[str, Comparison] = {}
        self._counted: pd.DataFrame | None = None
        self._searches = None
        self._audits: dict[str, AuditRecord] | None = None
        self._summaries = {}

    @classmethod
    def from_store(
        cls,
        store: str | Address = "",
        *,
        sweep: str = "",
        experiment: str = "",
        suite: str = "",
        task: str = "",
        where: Where | None = None,
    ) -> Self:
        """Return the report of past runs: all cells that a sweep wanted, or the comparable ones of a selection.

        Parameters
        ----------
        store
            Address of the store; empty for the usual one.
        sweep, experiment, suite, task
            Names to select by; an empty one selects all.
        where
            Column of the results table -> its value, or a collection of values.
        """
        return cls._of(read_store(store, sweep=sweep, experiment=experiment, suite=suite, task=task, where=where))

    @classmethod
    def from_parquet(cls, path: str | Path) -> Self:
        """Return the report of a results table in a parquet file."""
        return cls._of(read_parquet(path))

    @classmethod
    def from_frame(cls, frame: pd.DataFrame) -> Self:
        """Return the report of plain numbers: task, model, seed, score, metric, direction (up or down)."""
        return cls._of(read_frame(frame))

    @classmethod
    def from_json(cls, source: str | Path) -> Self:
        """Return the report that :meth:`to_json` wrote, from a file or from the text itself."""
        parts = read_report(source)
        found = cls(
            parts.table, seeds=parts.seeds, config=parts.config, series=parts.series, not_merged=parts.not_merged
        )
        found.searches = parts.searches
        found.choices = parts.choices
        return found

    @classmethod
    def _of(cls, source: Source) -> Self:
        seeds = _seeds(source.table)
        return cls(
            source.table, seeds=seeds, config=source.config, address=source.address, not_merged=source.not_merged
        )

    def extend(self, *others: BenchmarkReport | Iterable[BenchmarkReport]) -> BenchmarkReport:
        """Return a report with the comparable runs of others as well; ``not_merged`` tells why the rest is not in it.

        The same cell is one row. Runs of one model, task and seed that differ in data, split, protocol, budget,
        hyperparameters or metric do not join.
        """
        reports = [one for item in others for one in ([item] if isinstance(item, BenchmarkReport) else item)]
        table, left = join_tables(self.table, [report.table for report in reports])
        series = {key: value for report in (*reversed(reports), self) for key, value in report._series.items()}  # noqa: SLF001
        found = BenchmarkReport(
            table,
            seeds=_seeds(table),
            config={**self.config, "merged": [dict(report.config) for report in reports]},
            series=series,
            address=tuple(dict.fromkeys(place for report in (self, *reports) for place in report.addresses)),
            not_merged=(*self.not_merged, *(item for report in reports for item in report.not_merged), *left),
        )
        searches = {search.key: search for report in (self, *reports) for search in report.searches}
        found.searches = tuple(searches.values())
        found.choices = self.choices
        return found

    @property
    def comparison(self) -> Comparison:
        """The comparison under the report's own choices."""
        return self.compare()

    def compare(self, **choices: Any) -> Comparison:
        """Compare the models; ``choices`` are fields of :class:`Choices`, and None means the report's own."""
        chosen = choose(self.choices, translate(choices))
        key = to_json(chosen)
        if key not in self._compared:
            self._compared[key] = compare(self.table, chosen)
        return self._compared[key]

    @property
    def epoch_selection(self) -> str:
        """At which epoch scores are read: that of the protocol, which was fixed before training."""
        return "final"

    @epoch_selection.setter
    def epoch_selection(self, value: str) -> None:
        if value != "final":
            allowed = "final here; the epoch is chosen while training: run_benchmark(..., protocol=...)"
            raise BadValue("epoch_selection", value, allowed)

    @property
    def quality(self) -> dict[str, AuditRecord]:
        """Task -> the latest audit of its data, of those that were audited: see ``gnz audit``.

        Where none were given, those of the stores that the report comes from.
        """
        return find_audits(self.table, self.addresses) if self._audits is None else self._audits

    @quality.setter
    def quality(self, audits: Mapping[str, AuditRecord]) -> None:
        self._audits = dict(audits)

    @property
    def histories(self) -> dict[str, dict[str, list[Series]]]:
        """``[task][model]`` -> the series of its finished cells, by seed; those of past runs are read on demand.

        A store keeps at most a hundred epochs of a curve; those between are on straight lines.
        """
        self._read_missing_series()
        return self._by_cell(lambda row: self._series.get(_key(row), {}))

    @property
    def run_ids(self) -> dict[str, dict[str, list[str]]]:
        """``[task][model]`` -> the runs behind its scores, by seed."""
        return self._by_cell(lambda row: str(row.run_id))

    def final_metrics(self) -> dict[str, dict[str, list[float]]]:
        """Return ``[task][model]`` -> scores at the selected epoch, by seed; failed cells have none."""
        found = self._by_cell(lambda row: float(row.score))
        return {task: models for task, models in found.items() if models}

    def metric_name(self, task: str = "") -> str:
        """Return the metric of a task, or of the first one."""
        rows = self.table[self.table["task"] == task] if task else self.table
        return str(rows["metric"].iloc[0]) if len(rows) else ""

    def summary(self, ci: float = 0.95, method: str | None = None) -> pd.DataFrame:
        """Return a row per (task, model): seeds, mean, standard deviation and error, and the interval of the mean.

        ``method`` is t, bootstrap (percentile), bca or bootstrap_t. Where a cell has one seed there is no interval:
        missing, never zero.
        """
        given = translate({"alpha": level_of(ci), "interval": method})
        return summary_frame(self._rows, choose(self.choices, given))

    def to_json(self, path: str | Path | None = None) -> str:
        """Return the whole report as JSON, and write it to ``path`` where one is given."""
        self._read_missing_series()
        parts = ReportParts(
            table=self.table,
            seeds=self.seeds,
            config=self.config,
            series=self._series,
            choices=self.choices,
            not_merged=self.not_merged,
            searches=self.searches,
        )
        text = write_report(parts)
        if path is not None:
            write_text(path, text)
        return text

    def __getitem__(self, task: str) -> Mapping[str, Series]:
        return {model: series[0] for model, series in self.histories[task].items()}

    def __iter__(self) -> Iterator[str]:
        return iter(dict.fromkeys(self.table["task"]))

    def __len__(self) -> int:
        return int(self.table["task"].nunique())

    def __repr__(self) -> str:
        n_finished, n_failed = len(with_score(self._rows)), int((self.table["status"] == "failed").sum())
        failed = f", {n_failed} failed" if n_failed else ""
        sizes = f"{len(self)} tasks, {self._rows['label'].nunique()} models, {len(self.seeds)} seeds"
        return f"BenchmarkReport({sizes}: {n_finished} cells{failed})"

    def _repr_html_(self) -> str:
        """Show the summary in a notebook."""
        return str(self.summary().to_html(float_format="{:.4f}".format, na_rep=""))

    @property
    def _rows(self) -> pd.DataFrame:
        if self._counted is None:
            self._counted = count_rows(self.table)
        return self._counted

    def _by_cell(self, read: Any) -> dict[str, dict[str, list[Any]]]:
        """Return ``[task][model]`` -> what is read of each row with a score, by seed; tasks and models as they come."""
        found: dict[str, dict[str, list[Any]]] = {str(task): {} for task in dict.fromkeys(self.table["task"])}
        rows = with_score(self._rows)
        for row in rows.sort_index().itertuples():
            found[row.task].setdefault(row.label, [])
        for row in rows.itertuples():
            found[row.task][row.label].append(read(row))
        return found

    def _read_missing_series(self) -> None:
        rows = with_score(self._rows)
        missing = {row.run_id: _key(row) for row in rows.itertuples() if row.run_id and _key(row) not in self._series}
        for address in self.addresses:
            if not missing:
                return
            for run_id, series in read_curves(address, missing).items():
                if series or address is self.addresses[-1]:
                    self._series[missing.pop(run_id)] = {name: straighten(curve) for name, curve in series.items()}


def _key(row: Any) -> str:
    return str(row.fingerprint or row.run_id)


def _seeds(table: pd.DataFrame) -> tuple[int, ...]:
    return tuple(sorted({int(seed) for seed in table["seed"].dropna()}))
