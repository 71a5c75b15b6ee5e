"""The report of a benchmark: a thin facade over a results table and its comparison."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, Unpack

import pandas as pd

from gnz_track.errors import BadValue, NothingToCompare, StoreUnusable, UnknownName
from gnz_track.predictions.facts import TaskPredictions
from gnz_track.records import to_json
from gnz_track.report.joining import NotMerged, join_tables
from gnz_track.report.published import (
    ChoiceName,
    Weights,
    describe_stability,
    equivalence_frame,
    friedman_facts,
    level_of,
    pairwise_frame,
    power_frame,
    rank_frame,
    summary_frame,
    translate,
    weigh_ranks,
)
from gnz_track.report.report_json import read_report, write_report
from gnz_track.report.sources import (
    ReportParts,
    count_rows,
    find_audits,
    find_searches,
    find_series,
    key_of,
    read_frame,
    read_parquet,
    read_store,
    with_score,
)
from gnz_track.report.stored_predictions import StoredPredictions
from gnz_track.report.tables.latex import FloatOptions, LatexLook, LatexOptions
from gnz_track.report.tables.pairs import pair_table
from gnz_track.report.tables.scores import score_table
from gnz_track.report.tables.searches import search_frame, search_table
from gnz_track.report.tables.training import training_facts, training_frame, training_table
from gnz_track.report.tuned_models import SearchSummary, summarise_searches
from gnz_track.stats.comparison.choices import Choices, choose
from gnz_track.stats.comparison.compare import compare
from gnz_track.stats.comparison.comparison import Comparison
from gnz_track.store.address import Address
from gnz_track.store.audits import AuditRecord
from gnz_track.store.row_filters import Where
from gnz_track.store.searches import SearchRecord
from gnz_track.types import Direction

if TYPE_CHECKING:
    from gnz_track.report.figures.style import HouseFigure

__all__ = ["BenchmarkReport"]

LOG = logging.getLogger(__name__)
# Level of the bands of learning curves.
BAND = 0.95
PARTS = ("test", "val", "train")
TARGETS = (0.02, 0.01, 0.005)

# Name of a series, such as "test/accuracy" -> one value per recorded epoch.
Series = Mapping[str, tuple[float, ...]]


class BenchmarkReport(Mapping[str, Mapping[str, Series]]):
    """A results table with its seeds and settings; ``report[task][model]`` is the series of the first seed.

    ``table`` has one row per cell, finished or failed, each with the run that it comes from; it is not to be changed.
    ``choices`` say how it is compared; ``not_merged`` lists runs that could not join it, and why; ``searches`` chose
    the hyperparameters of its tuned models, and are looked up in the store where they are not set. Methods have the
    names of the published package. A figure can be unpacked as ``figure, axes = report.plot()``; Matplotlib is imported
    when the first one is drawn.
    """

    ci_method = ChoiceName("interval")
    bootstrap_n = ChoiceName("n_resamples")
    bootstrap_seed = ChoiceName("seed")
    pairwise_method = ChoiceName("test")

    def __init__(
        self,
        table: pd.DataFrame,
        *,
        seeds: tuple[int, ...] | None = None,
        config: Mapping[str, Any],
        series: Mapping[str, Series] | None = None,
        address: Address | Sequence[Address] | None = None,
        not_merged: tuple[NotMerged, ...] = (),
    ) -> None:
        self.table = table
        self.seeds = tuple(sorted({int(seed) for seed in table["seed"].dropna()})) if seeds is None else seeds
        self.config = dict(config)
        self.choices = Choices()
        self.not_merged = not_merged
        self.addresses = (address,) if isinstance(address, Address) else tuple(address or ())
        self._series = dict(series or {})
        self._compared: dict[str, Comparison] = {}
        self._counted: pd.DataFrame | None = None
        self._searches: tuple[SearchRecord, ...] | None = None
        self._audits: dict[str, AuditRecord] | None = None
        self._predictions: Mapping[str, TaskPredictions] | None = None
        self._summaries: dict[str, SearchSummary] = {}

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
        return cls._of(read_report(source))

    @classmethod
    def _of(cls, parts: ReportParts) -> Self:
        found = cls(
            parts.table,
            seeds=parts.seeds,
            config=parts.config,
            series=parts.series,
            address=parts.address,
            not_merged=parts.not_merged,
        )
        found.choices, found._searches, found._predictions = parts.choices, parts.searches, parts.predictions
        return found

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
            config={**self.config, "merged": [dict(report.config) for report in reports]},
            series=series,
            address=tuple(dict.fromkeys(place for report in (self, *reports) for place in report.addresses)),
            not_merged=(*self.not_merged, *(item for report in reports for item in report.not_merged), *left),
        )
        searches = {search.key: search for report in (self, *reports) for search in report.searches}
        found.searches = tuple(searches.values())
        found.choices = self.choices
        return found

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
            predictions=self.predictions,
        )
        text = write_report(parts)
        if path is not None:
            _write_text(path, text)
        return text

    # Its rows, and what was found beside them.
    @property
    def histories(self) -> dict[str, dict[str, list[Series]]]:
        """``[task][model]`` -> the series of its finished cells, by seed; those of past runs are read on demand.

        A store keeps at most a hundred epochs of a curve; those between are on straight lines.
        """
        self._read_missing_series()
        return self._by_cell(lambda row: self._series.get(key_of(row), {}))

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
    def predictions(self) -> Mapping[str, TaskPredictions]:
        """Task -> what the stored predictions of its runs say, of tasks that have some; judged when first asked for."""
        if self._predictions is None:
            self._predictions = StoredPredictions(self._rows, self.addresses)
        return self._predictions

    @property
    def searches(self) -> tuple[SearchRecord, ...]:
        """The searches of the sweeps in the table, each with all of its trials; read from the store on demand."""
        if self._searches is None:
            sweep = "" if self.config.get("merged") else str(self.config.get("sweep", ""))
            try:
                self._searches = find_searches(self.table, self.addresses, sweep=sweep)
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

    # Statistics: nothing is computed here that the comparison does not.
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

    def summary(self, ci: float = 0.95, method: str | None = None) -> pd.DataFrame:
        """Return a row per (task, model): seeds, mean, standard deviation and error, and the interval of the mean.

        ``method`` is t, bootstrap (percentile), bca or bootstrap_t. Where a cell has one seed there is no interval:
        missing, never zero.
        """
        given = translate({"alpha": level_of(ci), "interval": method})
        return summary_frame(self._rows, choose(self.choices, given))

    def pairwise(self, alpha: float = 0.05, method: str | None = None) -> pd.DataFrame:
        """Return the adjusted paired test of each pair within a task; ``method`` is t, wilcoxon or another test.

        ``mean_diff`` is model_a minus model_b; ``advantage`` is positive where model_a is better.
        """
        return pairwise_frame(self.compare(alpha=alpha, test=method))

    def friedman(self, alpha: float = 0.05) -> dict[str, Any]:
        """Return Friedman's test on the ranks across tasks, corrected for ties, and Nemenyi's critical difference."""
        return friedman_facts(self.compare(alpha=alpha).across)

    def power(
        self, alpha: float = 0.05, target_power: float = 0.8, *, targets: Sequence[float] = TARGETS
    ) -> pd.DataFrame:
        """Return the smallest advantage that each pair's design detects, and the seeds that ``targets`` would need.

        All at the level that is left to one pair of its family: alpha / m.

        Parameters
        ----------
        alpha
            Level of the tests.
        target_power
            Power that a design is to have.
        targets
            Advantages in units of the metric.
        """
        return power_frame(self.compare(alpha=alpha, power=target_power), targets)

    def equivalence(self, margin: float, alpha: float = 0.05, *, method: str | None = None) -> pd.DataFrame:
        """Return two one-sided tests, and a verdict for each pair.

        Parameters
        ----------
        margin
            Largest difference that does not matter, in units of the metric.
        alpha, method
            Level of the tests, and their kind: t, wilcoxon or another one.
        """
        return equivalence_frame(self.compare(margin=margin, alpha=alpha, test=method))

    def rank_table(self) -> pd.DataFrame:
        """Return the rank of each model on each task, 1 for the best."""
        return rank_frame(self.compare().across)

    def mean_ranks(
        self, *, aggregation: str = "uniform", weights: Weights | None = None, groups: Mapping[str, str] | None = None
    ) -> pd.Series:
        """Return mean ranks, best first; only uniform ones may be held against a critical difference.

        Parameters
        ----------
        aggregation
            uniform, reliability, hierarchical or custom; see :func:`weigh_ranks`.
        weights, groups
            Task -> weight, and task -> group.
        """
        return weigh_ranks(self.compare(), aggregation=aggregation, weights=weights, groups=groups)

    def rank_stability(self, *, n_boot: int = 10_000, alpha: float = 0.05, seed: int = 0) -> dict[str, Any]:
        """Return how much the order of the models depends on the tasks.

        Parameters
        ----------
        n_boot, seed
            Number of resamples of the tasks, and the seed of the bootstrap.
        alpha
            Level of the tests.
        """
        return describe_stability(self.compare(alpha=alpha), n_boot=n_boot, seed=seed)

    def training(self, alpha: float = 0.05, method: str | None = None) -> pd.DataFrame:
        """Return a row per (task, model), best first: size, scores of both parts, effort, and the place.

        Models that the adjusted paired test does not tell apart share a place.
        """
        return training_frame(self.compare(alpha=alpha, test=method), self.table)

    def tuning(self) -> pd.DataFrame:
        """Return a row per tuned model: its default, its gain with the paired verdict, and what its search cost."""
        return search_frame(self._known_summary())

    # Tables as LaTeX.
    def to_latex(
        self, path: str | Path, *, ci: float = 0.95, method: str | None = None, **look: Unpack[LatexOptions]
    ) -> Path:
        """Write the table of means and intervals.

        Bold is the best; a dagger marks those that the adjusted paired test does not tell from it.

        Parameters
        ----------
        path, ci, method
            File to write; level of the intervals of means, and their kind: t, bootstrap, bca or bootstrap_t.
        **look
            Fields of :class:`LatexLook`: caption, label, bold_best, pretty_tasks, siunitx and width.
        """
        comparison = self.compare(alpha=level_of(ci), interval=method)
        return _write_text(path, score_table(comparison).to_latex(LatexLook(**look)))

    def pairwise_to_latex(
        self, path: str | Path, *, alpha: float = 0.05, method: str | None = None, **look: Unpack[FloatOptions]
    ) -> Path:
        """Write the table of pairs within tasks, with raw and adjusted p-values and verdicts.

        Parameters
        ----------
        path, alpha, method
            File to write; level of the tests, and their kind: t, wilcoxon or another one.
        **look
            LaTeX of the author's own, with which the table floats: caption and label.
        """
        return _write_text(path, pair_table(self.compare(alpha=alpha, test=method)).to_latex(LatexLook(**look)))

    def training_to_latex(
        self, path: str | Path, *, alpha: float = 0.05, method: str | None = None, **look: Unpack[FloatOptions]
    ) -> Path:
        """Write the table of what was trained.

        Parameters
        ----------
        path, alpha, method
            File to write; level of the tests, and their kind: t, wilcoxon or another one.
        **look
            LaTeX of the author's own, with which the table floats: caption and label.
        """
        facts = training_facts(self.compare(alpha=alpha, test=method), self.table)
        if facts is None:
            raise NothingToCompare("the table tells nothing of the training but scores")
        return _write_text(path, training_table(facts).to_latex(LatexLook(**look)))

    def tuning_to_latex(self, path: str | Path, **look: Unpack[FloatOptions]) -> Path:
        """Write the table of tuned models against their defaults; ``look`` is caption and label."""
        return _write_text(path, search_table(self._known_summary()).to_latex(LatexLook(**look)))

    # Figures.
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
        from gnz_track.report.figures.learning_curves import draw_learning_curves, series_of_part

        rows = self.table[self.table["direction"].isin(list(Direction))]
        directions = {str(row.task): Direction(row.direction) for row in rows.itertuples()}
        curves = series_of_part(self.histories, part)
        return draw_learning_curves(curves, directions=directions, max_cols=max_cols, ylabel=ylabel)

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
        task, model, seed
            Names of the search, and the seed of a nested one.
        """
        from gnz_track.report.figures.searches import draw_search_history

        return draw_search_history(self._known_summary().facts_of(task, model, seed))

    def plot_importance(self, task: str, model: str, *, seed: int | None = None) -> HouseFigure:
        """Draw how much of the validation scores goes with each hyperparameter of one search.

        Parameters
        ----------
        task, model, seed
            Names of the search, and the seed of a nested one.
        """
        from gnz_track.report.figures.searches import draw_importances

        return draw_importances(self._known_summary().facts_of(task, model, seed))

    # The mapping: task -> model -> series of its first seed.
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
        missing = {row.run_id: key_of(row) for row in rows.itertuples() if row.run_id}
        missing = {run_id: key for run_id, key in missing.items() if key not in self._series}
        self._series |= find_series(missing, self.addresses)

    def _known_summary(self) -> SearchSummary:
        summary = self.search_summary
        if summary is None:
            raise NothingToCompare("no search is behind this report; tune its models: gnz tune")
        return summary


def _write_text(path: str | Path, text: str) -> Path:
    """Write a file, its folder included."""
    target = Path(path)
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(text, encoding="utf-8")
    return target
