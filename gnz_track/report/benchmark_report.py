"""The report of a benchmark: a thin facade over a results table and its comparison."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Self

import pandas as pd

from gnz_track.errors import BadValue
from gnz_track.records import to_json
from gnz_track.report.choice_names import ChoiceName, level_of, translate
from gnz_track.report.counted_rows import count_rows, with_score
from gnz_track.report.found_audits import find_audits
from gnz_track.report.joining import NotMerged, join_tables
from gnz_track.report.published_frames import summary_frame
from gnz_track.report.report_figures import ReportFigures
from gnz_track.report.report_json import ReportParts, read_report, write_report
from gnz_track.report.report_searches import ReportSearches
from gnz_track.report.report_statistics import ReportStatistics, write_text
from gnz_track.report.sources import Source, read_frame, read_parquet, read_store
from gnz_track.stats.choices import Choices, choose
from gnz_track.stats.compare import compare
from gnz_track.stats.comparison import Comparison
from gnz_track.store.address import Address
from gnz_track.store.audit_record import AuditRecord
from gnz_track.store.curve_reader import read_curves
from gnz_track.store.curves import straighten
from gnz_track.store.reading import Where

__all__ = ["BenchmarkReport"]

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
