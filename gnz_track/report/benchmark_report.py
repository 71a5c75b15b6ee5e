"""What a benchmark found: a thin facade over a results table."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import pandas as pd

from gnz_track.report.summary import SummaryRow, summarise
from gnz_track.stats.intervals import t_interval
from gnz_track.store.address import Address
from gnz_track.store.curve_reader import read_curves

__all__ = ["BenchmarkReport"]

# Name of a series, such as "test/accuracy" -> one value per recorded epoch.
Series = Mapping[str, tuple[float, ...]]


class BenchmarkReport(Mapping[str, Mapping[str, Series]]):
    """A results table with its seeds and settings; ``report[task][model]`` is the series of the first seed.

    ``table`` has one row per cell, finished or failed, each with the run that it comes from.
    """

    def __init__(
        self,
        table: pd.DataFrame,
        *,
        seeds: tuple[int, ...],
        config: Mapping[str, Any],
        series: Mapping[str, Series] | None = None,
        address: Address | None = None,
    ) -> None:
        self.table = table
        self.seeds = seeds
        self.config = dict(config)
        self._series = dict(series or {})
        self._address = address

    @property
    def histories(self) -> dict[str, dict[str, list[Series]]]:
        """``[task][model]`` -> the series of its finished cells, by seed; those of past runs are read on demand."""
        self._read_missing_series()
        found: dict[str, dict[str, list[Series]]] = {task: {} for task in dict.fromkeys(self.table["task"])}
        for row in self._finished.sort_values("seed", kind="stable").itertuples():
            found[row.task].setdefault(row.model, []).append(self._series[row.fingerprint])
        return found

    def final_metrics(self) -> dict[str, dict[str, list[float]]]:
        """Return ``[task][model]`` -> scores at the selected epoch, by seed; failed cells have none."""
        found: dict[str, dict[str, list[float]]] = {}
        for row in self._finished.sort_values("seed", kind="stable").itertuples():
            found.setdefault(row.task, {}).setdefault(row.model, []).append(float(row.score))
        return found

    def metric_name(self, task: str = "") -> str:
        """Return the metric of a task, or of the first one."""
        rows = self.table[self.table["task"] == task] if task else self.table
        return str(rows["metric"].iloc[0]) if len(rows) else ""

    def summary(self, ci: float = 0.95) -> pd.DataFrame:
        """Return a row per (task, model): seeds, mean, standard deviation and error, and Student's t interval.

        Where a cell has one seed there is no interval: missing, never zero.
        """
        columns = ["task", "model", "metric", "n_seeds", "n_failed", "mean", "std", "sem", "ci_low", "ci_high"]
        finals = self.final_metrics()
        rows = [
            (*_names(row), *_moments(finals.get(row.task, {}).get(row.model, []), ci)) for row in summarise(self.table)
        ]
        return pd.DataFrame(rows, columns=columns).set_index(["task", "model"])

    def __getitem__(self, task: str) -> Mapping[str, Series]:
        return {model: series[0] for model, series in self.histories[task].items()}

    def __iter__(self) -> Iterator[str]:
        return iter(dict.fromkeys(self.table["task"]))

    def __len__(self) -> int:
        return int(self.table["task"].nunique())

    def __repr__(self) -> str:
        n_failed = len(self.table) - len(self._finished)
        failed = f", {n_failed} failed" if n_failed else ""
        sizes = f"{len(self)} tasks, {self.table['model'].nunique()} models, {len(self.seeds)} seeds"
        return f"BenchmarkReport({sizes}: {len(self._finished)} cells{failed})"

    def _repr_html_(self) -> str:
        """Show the summary in a notebook."""
        return str(self.summary().to_html(float_format="{:.4f}".format, na_rep=""))

    @property
    def _finished(self) -> pd.DataFrame:
        return self.table[self.table["status"] == "finished"]

    def _read_missing_series(self) -> None:
        rows = self._finished
        missing = rows[~rows["fingerprint"].isin(list(self._series)) & (rows["run_id"] != "")]
        if missing.empty or self._address is None:
            return
        curves = read_curves(self._address, missing["run_id"])
        for row in missing.itertuples():
            series = curves[row.run_id]
            self._series[row.fingerprint] = {
                name: tuple(value for _, value in points) for name, points in series.items()
            }


def _names(row: SummaryRow) -> tuple[str | int, ...]:
    return row.task, row.model, row.metric, row.n_finished, row.n_failed


def _moments(scores: list[float], ci: float) -> tuple[float | None, ...]:
    """Return mean, standard deviation, standard error and the ends of the interval; None where undefined."""
    found = t_interval(scores, alpha=1 - ci)
    return found.mean, found.sd, found.sem, found.low, found.high
